// 3LC: three values, five of them to a byte, runs of zero bytes folded (kernels/ternary.h,
// encode/zero_run.h).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/lanes.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/cuda/kernels/words.h"
#include "compressors/encode/zero_run.h"
#include "compressors/kernels/ternary.h"

namespace thinpipe::cuda {

/// The value's digit, 0 to 2, of an element; leaves the error.
struct TernaryDigit {
  bool stochastic;

  THINPIPE_KERNEL std::uint32_t operator()(const Job& job, std::uint32_t i,
                                           std::uint32_t& nonzero) const {
    const float scale = job.findings->scale;
    const float c = element<Reading::kAsIs>(job, 0, i);
    const float magnitude = std::fabs(c);
    const bool sent = stochastic ? counter_uniform(job.key, i) * scale < magnitude
                                 : scale != 0 && magnitude + magnitude >= scale;
    const bool negative = std::bit_cast<std::uint32_t>(c) >> 31 != 0;
    leave(job, i, c, !sent ? 0.0F : negative ? -scale : scale);
    nonzero += sent ? 1 : 0;
    return !sent ? 1 : negative ? 0 : 2;
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

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const auto length = static_cast<std::uint32_t>(quartic_size(job.n));
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
      auto* const out = reinterpret_cast<std::uint8_t*>(job.payload + 1);
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
        job.findings->encoded =
            static_cast<std::uint32_t>(sizeof(float)) + bytes_before.first + shared.tile_kept.first;
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
  std::uint32_t bytes;           ///< after the scale
  std::uint32_t n;
  float factor;
  float* out;
  bool has_runs;
  PrefixState* states;  ///< one a tile, all empty
  std::uint32_t* problem;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const auto length = static_cast<std::uint32_t>(quartic_size(n));
    const auto* const codes = reinterpret_cast<const std::uint8_t*>(payload + 1);
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
    const float scale = std::bit_cast<float>(payload[0]);
    block.each([&](int t) {
      std::uint32_t at = earlier.first + place[t];
      for (std::uint32_t j = 0; j < kOwn; ++j) {
        const std::uint32_t i = first_of(block.index(), t) + j;
        if (i >= bytes) break;
        const std::uint8_t code = codes[i];
        if (code > kQuarticMax) {
          if (!has_runs) tell(block, TernaryProblem::kByte);
          // A digit that stands for no element is 0 and not the 1 of a zero.
          if (at + span_of(code) > full_quartic_bytes(n)) tell(block, TernaryProblem::kPadding);
        } else if (at < length && !add(code, length, at, factor * scale)) {
          tell(block, TernaryProblem::kPadding);
        }
        at += span_of(code);
      }
      if (t != 0) return;
      if (payload[0] >= kInfinityBits) tell(block, TernaryProblem::kScale);
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
  /// False: a digit past the end is not 0.
  THINPIPE_KERNEL bool add(std::uint32_t code, std::uint32_t length, std::uint32_t at,
                           float value) const {
    bool good = true;
    for (std::uint32_t part = 5; part-- > 0; code /= 3) {
      const std::uint64_t i = std::uint64_t{part} * length + at;
      const std::uint32_t digit = code % 3;
      if (i < n) {
        const float term = static_cast<float>(static_cast<int>(digit) - 1) * value;
        out[i] = out[i] + term;
      } else {
        good = good && digit == 0;
      }
    }
    return good;
  }
};

}  // namespace thinpipe::cuda
