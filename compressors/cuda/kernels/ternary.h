// 3LC: three values, five of them to a byte, runs of zero bytes folded (kernels/ternary.h,
// encode/zero_run.h).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "compressors/cuda/kernels/chains.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/lanes.h"
#include "compressors/cuda/kernels/level_codes.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/cuda/kernels/words.h"
#include "compressors/encode/zero_run.h"
#include "compressors/kernels/ternary.h"

namespace thinpipe::cuda {

/// Where the parts of a payload lie: the scales of buckets, then the bytes of one after the other.
struct TernaryLayout {
  std::uint32_t bucket = 0;  ///< elements; 0: one for the whole tensor

  THINPIPE_BOTH std::size_t bucket_of(std::size_t n) const { return bucket == 0 ? n : bucket; }
  /// Scales; a tensor without elements has one where there are no buckets.
  THINPIPE_BOTH std::size_t scales(std::size_t n) const {
    return bucket == 0 ? 1 : (n + bucket - 1) / bucket;
  }
  THINPIPE_BOTH std::size_t bytes(std::size_t n) const {
    const std::size_t some = bucket_of(n);
    return n == 0 ? 0 : n / some * quartic_size(some) + quartic_size(n % some);
  }
  /// Elements of a tile: whole buckets.
  THINPIPE_BOTH std::uint32_t tile() const { return tile_of_buckets(bucket); }
};

/// A value's digit, 0 to 2; the value is sent or 0.
THINPIPE_KERNEL inline std::uint32_t digit_of(float c, bool sent, float scale, float& decoded) {
  const bool negative = std::bit_cast<std::uint32_t>(c) >> 31 != 0;
  decoded = !sent ? 0.0F : negative ? -scale : scale;
  return !sent ? 1 : negative ? 0 : 2;
}
/// Whether a value is nearer to the scale than to 0.
THINPIPE_KERNEL inline bool is_near(float c, float scale) {
  const float magnitude = std::fabs(c);
  return scale != 0 && magnitude + magnitude >= scale;
}

/// The value's digit, 0 to 2, of an element; leaves the error.
struct TernaryDigit {
  bool stochastic;

  THINPIPE_KERNEL std::uint32_t operator()(const Job& job, std::uint32_t i,
                                           std::uint32_t& nonzero) const {
    const float scale = job.findings->scale;
    const float c = element<Reading::kAsIs>(job, 0, i);
    const bool sent =
        stochastic ? counter_uniform(job.key, i) * scale < std::fabs(c) : is_near(c, scale);
    float decoded = 0;
    const std::uint32_t digit = digit_of(c, sent, scale, decoded);
    leave(job, i, c, decoded);
    nonzero += sent ? 1 : 0;
    return digit;
  }
};

/// Packs all elements, four bytes a thread at a time, into Job::packed, or, where that is null,
/// into the payload. Leaves states empty, and the count of values that are not zero in
/// Findings::counts[1]. Grid: the tiles of kTile elements.
struct PackTernary {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kBytes = 4;  ///< of a thread at a time
  static constexpr std::uint32_t kWords = (kTile + 5 * kBytes - 1) / (5 * kBytes);
  struct Shared {};

  const Job* jobs;
  const Tile* tiles;
  TernaryDigit digit;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    Findings& findings = *job.findings;
    const auto length = static_cast<std::uint32_t>(quartic_size(job.n));
    const std::uint32_t words = (length + kBytes - 1) / kBytes;
    auto* const packed =
        job.packed == nullptr ? job.payload + 1 : reinterpret_cast<std::uint32_t*>(job.packed);
    typename Block::template Local<std::uint32_t> nonzero;
    block.each([&](int t) {
      nonzero[t] = 0;
      if (t == 0) job.states[0][tile.index] = job.states[1][tile.index] = 0;
      if (t == 0 && tile.index == 0) {
        job.payload[0] = std::bit_cast<std::uint32_t>(findings.scale);
        findings.encoded = static_cast<std::uint32_t>(sizeof(float)) + length;
      }
      const std::uint32_t end =
          (tile.index + 1) * kWords < words ? (tile.index + 1) * kWords : words;
      for (auto w = tile.index * kWords + static_cast<std::uint32_t>(t); w < end; w += kThreads)
        packed[w] = word(job, length, w, nonzero[t]);
    });
    count_nonzero(block, job, nonzero, tiles_of(job.n, kTile));
  }

 private:
  THINPIPE_KERNEL std::uint32_t word(const Job& job, std::uint32_t length, std::uint32_t w,
                                     std::uint32_t& nonzero) const {
    std::uint32_t codes[kBytes] = {};
    for (std::uint64_t part = 0; part < 5; ++part) {
      for (std::uint32_t j = 0; j < kBytes; ++j) {
        const std::uint32_t byte = kBytes * w + j;
        const std::uint64_t i = part * length + byte;
        const bool is_there = byte < length && i < job.n;
        codes[j] =
            3 * codes[j] + (is_there ? digit(job, static_cast<std::uint32_t>(i), nonzero) : 0);
      }
    }
    return codes[0] | codes[1] << 8 | codes[2] << 16 | codes[3] << 24;
  }
};

/// The same of buckets with scales of their own, and the memory's sum before, in one pass. Grid:
/// the tiles of TernaryLayout::tile() elements.
struct PackTernaryBuckets {
  static constexpr int kThreads = 512;
  struct Shared {
    float values[kTile];  ///< elements, then what they decode to
    ChainRoom<std::uint32_t, kThreads> room;
    float scales[kMostBuckets];
  };

  const Job* jobs;
  const Tile* tiles;
  TernaryLayout layout;
  float sparsity;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const std::uint32_t begin = tile.index * layout.tile();
    const std::uint32_t some = job.n - begin < layout.tile() ? job.n - begin : layout.tile();
    const std::uint32_t scales = static_cast<std::uint32_t>(layout.scales(job.n));
    block.each([&](int t) {
      if (t == 0 && tile.index < tiles_of(job.n, kTile))
        job.states[0][tile.index] = job.states[1][tile.index] = 0;
      if (t == 0 && tile.index == 0)
        job.findings->encoded = static_cast<std::uint32_t>(4 * scales + layout.bytes(job.n));
      for (auto i = static_cast<std::uint32_t>(t); i < some; i += kThreads)
        shared.values[i] = element<Reading::kSum>(job, 0, begin + i);
    });
    add_chains(block, shared.room, shared.values, some, layout.bucket, GreatestRange::chain,
               [&](std::uint32_t at, const float* x, std::uint32_t n, const std::uint32_t* most) {
                 const float scale = ternary_scale(sparsity, GreatestRange::reach(x, n, most));
                 shared.scales[at] = scale;
                 job.payload[begin / layout.bucket + at] = std::bit_cast<std::uint32_t>(scale);
               });
    typename Block::template Local<std::uint32_t> nonzero;
    block.each([&](int t) {
      nonzero[t] = 0;
      const auto length = static_cast<std::uint32_t>(quartic_size(layout.bucket));
      auto* const packed =
          (job.packed == nullptr ? reinterpret_cast<std::uint8_t*>(job.payload + scales)
                                 : job.packed) +
          begin / layout.bucket * length;
      const auto bytes = static_cast<std::uint32_t>(layout.bytes(some));
      for (auto i = static_cast<std::uint32_t>(t); i < bytes; i += kThreads)
        packed[i] = byte_of(shared, some, i / length, i % length, nonzero[t]);
    });
    block.each([&](int t) {
      for (auto i = static_cast<std::uint32_t>(t); job.minds_sent() && i < some; i += kThreads)
        leave(job, begin + i, job.c()[begin + i], shared.values[i]);
    });
    count_nonzero(block, job, nonzero, tiles_of(job.n, layout.tile()));
  }

 private:
  /// The j-th byte of a bucket of a tile of so many elements.
  THINPIPE_KERNEL std::uint8_t byte_of(Shared& shared, std::uint32_t elements, std::uint32_t at,
                                       std::uint32_t j, std::uint32_t& nonzero) const {
    const std::uint32_t left = elements - at * layout.bucket;
    const std::uint32_t size = left < layout.bucket ? left : layout.bucket;
    const auto length = static_cast<std::uint32_t>(quartic_size(size));
    const float scale = shared.scales[at];
    std::uint32_t code = 0;
    for (std::uint32_t i = j; i < 5 * length; i += length) {
      code *= 3;
      if (i >= size) continue;
      float& value = shared.values[at * layout.bucket + i];
      const bool sent = is_near(value, scale);
      code += digit_of(value, sent, scale, value);
      nonzero += sent ? 1 : 0;
    }
    return static_cast<std::uint8_t>(code);
  }
};

/// Threads of the kernels below, and rows of 32 bytes that a warp of them has, as in choose.h.
constexpr int kByteThreads = 512;
constexpr unsigned kByteRows = kTile / kByteThreads;
struct ByteRows {
  static constexpr unsigned kSize = kByteRows;
  std::uint32_t words[kByteRows];
};

/// The thread's j-th byte of a tile.
THINPIPE_KERNEL inline std::uint32_t byte_place(std::uint32_t tile, int t, unsigned j) {
  return row_place(tile, t, j, kByteRows);
}

/// Folds runs of zero bytes in Job::packed into the payload, greedily from the left, as
/// zero_run_encode() does: a byte is put out for every byte that is not zero, and for every 14th of
/// a run, counted from its first. Grid: the tiles of kTile bytes; those of as many elements do.
struct FoldZeros {
  static constexpr int kThreads = kByteThreads;
  static constexpr unsigned kWarps = kThreads / 32;
  struct Shared {
    std::uint32_t last[kWarps];   ///< the last byte before the warp's that is not zero, plus 1
    std::uint32_t kept[kWarps];   ///< bytes put out by the tile's warps before
    Counts tile_last, tile_kept;  ///< of the whole tile
  };

  const Job* jobs;
  const Tile* tiles;
  TernaryLayout layout;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const auto length = static_cast<std::uint32_t>(layout.bytes(job.n));
    const auto scales = static_cast<std::uint32_t>(layout.scales(job.n));
    const std::uint32_t count = tiles_of(length, kTile);
    if (tile.index >= count) return;
    typename Block::template Local<std::uint32_t> nonzero;
    typename Block::template Local<std::uint32_t> kept;
    typename Block::template Local<ByteRows> nonzero_rows;
    typename Block::template Local<ByteRows> kept_rows;
    block.each([&](int t) {
      nonzero[t] = 0;
      for (unsigned j = 0; j < kByteRows; ++j) {
        const std::uint32_t i = byte_place(tile.index, t, j);
        nonzero[t] |= std::uint32_t{i < length && job.packed[i] != kQuarticZero} << j;
      }
    });
    block.ballots(nonzero, nonzero_rows);
    block.each([&](int t) {
      if (t % 32 == 0) shared.last[t / 32] = last_of(nonzero_rows[t], tile.index, t);
    });
    block.each([&](int t) {
      if (t != 0) return;
      std::uint32_t before = 0;
      for (std::uint32_t& warp : shared.last) {
        const std::uint32_t own = warp;
        warp = before;
        before = own > before ? own : before;
      }
      shared.tile_last = {before, 0};
    });
    const Counts earlier =
        block.template before<Joined::kGreatest>(job.states[0], tile.index, shared.tile_last);
    block.each([&](int t) {
      kept[t] = 0;
      std::uint32_t last =
          earlier.first > shared.last[t / 32] ? earlier.first : shared.last[t / 32];
      for (unsigned j = 0; j < kByteRows; ++j) {
        const std::uint32_t i = byte_place(tile.index, t, j);
        const std::uint32_t row = nonzero_rows[t].words[j];
        const std::uint32_t first = i - static_cast<std::uint32_t>(t) % 32;  // of the row
        const std::uint32_t below = row & lanes_before(t);
        const std::uint32_t mine = below == 0 ? last : first + highest(below) + 1;
        const bool is_nonzero = (nonzero[t] >> j & 1) != 0;
        if (i < length && (is_nonzero || (i - mine) % kLongestRun == 0)) kept[t] |= 1U << j;
        if (row != 0) last = first + highest(row) + 1;
      }
    });
    block.ballots(kept, kept_rows);
    block.each([&](int t) {
      if (t % 32 != 0) return;
      std::uint32_t own = 0;
      for (std::uint32_t row : kept_rows[t].words) own += ones(row);
      shared.kept[t / 32] = own;
    });
    block.each([&](int t) {
      if (t != 0) return;
      std::uint32_t before = 0;
      for (std::uint32_t& warp : shared.kept) {
        const std::uint32_t own = warp;
        warp = before;
        before += own;
      }
      shared.tile_kept = {before, 0};
    });
    const Counts bytes_before = block.before(job.states[1], tile.index, shared.tile_kept);
    block.each([&](int t) {
      auto* const out = reinterpret_cast<std::uint8_t*>(job.payload + scales);
      std::uint32_t at = bytes_before.first + shared.kept[t / 32];
      for (unsigned j = 0; j < kByteRows; ++j) {
        const std::uint32_t row = kept_rows[t].words[j];
        if ((kept[t] >> j & 1) != 0) {
          const std::uint32_t i = byte_place(tile.index, t, j);
          out[at + ones(row & lanes_before(t))] =
              (nonzero[t] >> j & 1) != 0 ? job.packed[i] : folded(job.packed, length, i);
        }
        at += ones(row);
      }
      if (t == 0 && tile.index + 1 == count) {
        job.findings->encoded = static_cast<std::uint32_t>(sizeof(float)) * scales +
                                bytes_before.first + shared.tile_kept.first;
      }
    });
  }

 private:
  /// The last byte of a warp's rows that is not zero, plus 1; 0: there is none.
  THINPIPE_KERNEL static std::uint32_t last_of(const ByteRows& rows, std::uint32_t tile, int t) {
    std::uint32_t last = 0;
    for (unsigned j = 0; j < kByteRows; ++j)
      if (rows.words[j] != 0) last = byte_place(tile, t, j) + highest(rows.words[j]) + 1;
    return last;
  }
  /// The byte for up to 14 zeros from i on.
  THINPIPE_KERNEL static std::uint8_t folded(const std::uint8_t* packed, std::uint32_t length,
                                             std::uint32_t i) {
    std::uint32_t run = 1;
    while (run < kLongestRun && i + run < length && packed[i + run] == kQuarticZero) ++run;
    return run == 1 ? kQuarticZero : static_cast<std::uint8_t>(kFirstRunByte + (run - 2));
  }
};

/// What was wrong with a ternary payload; 0: nothing.
enum class TernaryProblem : std::uint32_t {
  kNone = 0,
  kScale = 1,
  kByte = 2,     ///< one that stands for a run, where there are none
  kPadding = 3,  ///< a digit that stands for no element is not 0
  kLength = 4,   ///< the bytes stand for more or fewer elements
};

/// out += factor * decoded. `out` is unspecified where a problem is found, and nothing outside of
/// it is touched. Grid: the tiles of kTile bytes after the scale.
struct UnpackTernary {
  static constexpr int kThreads = kByteThreads;
  static constexpr unsigned kWarps = kThreads / 32;
  struct Shared {
    Counts tile;
  };

  const std::uint32_t* payload;  ///< aligned, readable to the end of its last word
  std::uint32_t bytes;           ///< after the scales
  std::uint32_t n;
  float factor;
  float* out;
  bool has_runs;
  TernaryLayout layout;
  PrefixState* states;  ///< one a tile, all empty
  std::uint32_t* problem;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const auto length = static_cast<std::uint32_t>(layout.bytes(n));
    const auto scales = static_cast<std::uint32_t>(layout.scales(n));
    const auto* const codes = reinterpret_cast<const std::uint8_t*>(payload + scales);
    constexpr std::uint32_t kOwn = kTile / kThreads;  // neighbours, of a thread
    typename Block::template Local<std::uint32_t> place;
    block.each([&](int t) {
      place[t] = 0;
      for (std::uint32_t j = 0; j < kOwn; ++j) {
        const std::uint32_t i = first_of(block.index(), t) + j;
        if (i < bytes) place[t] += span_of(codes[i]);
      }
    });
    const std::uint32_t total = block.prefix(place);
    block.each([&](int t) {
      if (t == 0) shared.tile = {total, 0};
    });
    const Counts earlier = block.before(states, block.index(), shared.tile);
    block.each([&](int t) {
      std::uint32_t at = earlier.first + place[t];
      for (std::uint32_t j = 0; j < kOwn; ++j) {
        const std::uint32_t i = first_of(block.index(), t) + j;
        if (i >= bytes) break;
        const std::uint8_t code = codes[i];
        if (code > kQuarticMax) {
          if (!has_runs) tell(block, TernaryProblem::kByte);
          if (!is_full(at, span_of(code))) tell(block, TernaryProblem::kPadding);
        } else if (at < length && !add(code, at)) {
          tell(block, TernaryProblem::kPadding);
        }
        at += span_of(code);
      }
      const std::uint32_t all = tiles_of(bytes, kTile) * kThreads;
      for (auto i = block.index() * kThreads + static_cast<std::uint32_t>(t); i < scales; i += all)
        if (payload[i] >= kInfinityBits) tell(block, TernaryProblem::kScale);
      if (t != 0) return;
      const bool is_last = (block.index() + 1) * kTile >= bytes;
      if (is_last && earlier.first + total != length) tell(block, TernaryProblem::kLength);
    });
  }

 private:
  THINPIPE_KERNEL static std::uint32_t first_of(unsigned tile, int t) {
    return tile * kTile + static_cast<std::uint32_t>(t) * (kTile / kThreads);
  }
  /// Quartic bytes that a byte stands for.
  THINPIPE_KERNEL static std::uint32_t span_of(std::uint8_t code) {
    return code > kQuarticMax ? static_cast<std::uint32_t>(run_length(code)) : 1;
  }
  template <class Block>
  THINPIPE_KERNEL void tell(Block& block, TernaryProblem found) const {
    block.set_greatest(problem, static_cast<std::uint32_t>(found));
  }
  /// The bucket that a byte of the payload is of, and the byte within it.
  struct Place {
    std::uint32_t bucket;
    std::uint32_t byte;
    std::uint32_t elements;
  };
  THINPIPE_KERNEL Place place_of(std::uint32_t at) const {
    if (layout.bucket == 0) return {0, at, n};
    const auto length = static_cast<std::uint32_t>(quartic_size(layout.bucket));
    const std::uint32_t bucket = at / length;
    const std::uint64_t begin = std::uint64_t{bucket} * layout.bucket;
    const std::uint64_t left = begin < n ? n - begin : 0;
    return {bucket, at % length,
            left < layout.bucket ? static_cast<std::uint32_t>(left) : layout.bucket};
  }
  /// Whether a run of zeros has elements for all digits: one that stands for none is 0, and not the
  /// 1 of a zero.
  THINPIPE_KERNEL bool is_full(std::uint32_t at, std::uint32_t span) const {
    const Place place = place_of(at);
    const std::size_t whole = layout.bucket_of(n);
    if (full_quartic_bytes(whole) != quartic_size(whole))
      return place.byte + span <= full_quartic_bytes(place.elements);
    // Only the last bucket ends otherwise.
    const std::size_t last = whole == 0 ? 0 : n % whole;
    return at + span <= layout.bytes(n) - quartic_size(last) + full_quartic_bytes(last);
  }
  /// False: a digit past the end is not 0.
  THINPIPE_KERNEL bool add(std::uint32_t code, std::uint32_t at) const {
    const Place place = place_of(at);
    const std::size_t length = quartic_size(place.elements);
    const std::uint64_t begin = std::uint64_t{place.bucket} * layout.bucket;
    const float value = factor * std::bit_cast<float>(payload[place.bucket]);
    bool good = true;
    for (std::uint32_t part = 5; part-- > 0; code /= 3) {
      const std::uint64_t i = part * length + place.byte;
      const std::uint32_t digit = code % 3;
      if (i < place.elements) {
        const float term = static_cast<float>(static_cast<int>(digit) - 1) * value;
        out[begin + i] = out[begin + i] + term;
      } else {
        good = good && digit == 0;
      }
    }
    return good;
  }
};

}  // namespace thinpipe::cuda
