// 3LC and stochastic ternary quantisers: packing (kernels/ternary.h), then folding of the runs of
// zero bytes (methods/quantizers.h), and decoding (compressors/kernels/ternary.cc).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/ternary.h"
#include "compressors/cuda/kernels/words.h"
#include "compressors/cuda/quantize/device_quantizer.h"
#include "compressors/kernels/quantize.h"
#include "compressors/methods/quantizers.h"

namespace thinpipe::cuda {

/// Threads of FoldZeros, and rows of 32 bytes per warp, as in choose.h.
constexpr int kByteThreads = 512;
constexpr unsigned kByteRows = kTile / kByteThreads;
using ByteRows = WarpRows<std::uint32_t, kByteRows>;

/// Returns the position of thread t's j-th byte of a tile.
THINPIPE_KERNEL inline std::uint32_t byte_position(std::uint32_t tile, int t, unsigned j) {
  return row_position(tile, t, j, kByteRows);
}

/// Writes the bytes of Job::packed to the payload and folds runs of zero bytes (kQuarticZero, the
/// byte of five zeros), greedily from the left, as zero_run_encode() does. Copies every other byte,
/// and writes one byte for each 14 zero bytes of a run, counted from the run's beginning. Grid: the
/// tiles of kTile bytes; the tiles of kTile elements suffice.
struct FoldZeros : OnTiles {
  static constexpr int kThreads = kByteThreads;
  static constexpr unsigned kWarps = kThreads / 32;
  struct Shared {
    std::uint32_t last[kWarps];   ///< last nonzero byte before the warp's bytes, plus 1
    std::uint32_t kept[kWarps];   ///< bytes written by earlier warps of the tile
    Counts tile_last, tile_kept;  ///< the same for the whole tile
  };

  TernaryLayout layout;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const auto length = static_cast<std::uint32_t>(layout.bytes(job.n));
    const auto scales = static_cast<std::uint32_t>(layout.scales(job.n));
    const std::uint32_t count = tiles_of(length, kTile);
    if (tile.index >= count) return;
    typename Block::template Local<std::uint32_t> nonzero, kept;
    typename Block::template Local<ByteRows> nonzero_rows, kept_rows;
    block.each([&](int t) {
      nonzero[t] = 0;
      for (unsigned j = 0; j < kByteRows; ++j) {
        const std::uint32_t i = byte_position(tile.index, t, j);
        nonzero[t] |= std::uint32_t{i < length && job.packed[i] != kQuarticZero} << j;
      }
    });
    block.ballots(nonzero, nonzero_rows);
    block.each([&](int t) {
      if (t % 32 == 0) shared.last[t / 32] = last_of(nonzero_rows[t], tile.index, t);
    });
    once(block, [&] {
      std::uint32_t before = 0;
      for (std::uint32_t& warp : shared.last) {
        const std::uint32_t own = warp;
        warp = before;
        before = own > before ? own : before;
      }
      shared.tile_last = {before, 0};
    });
    const Counts earlier =
        block.template before<Joined::kMax>(job.states[0], tile.index, shared.tile_last);
    block.each([&](int t) {
      kept[t] = 0;
      std::uint32_t last =
          earlier.first > shared.last[t / 32] ? earlier.first : shared.last[t / 32];
      for (unsigned j = 0; j < kByteRows; ++j) {
        const std::uint32_t i = byte_position(tile.index, t, j);
        const std::uint32_t row = nonzero_rows[t].words[j];
        const std::uint32_t first = i - static_cast<std::uint32_t>(t) % 32;  // byte of the row
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
    once(block, [&] {
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
          const std::uint32_t i = byte_position(tile.index, t, j);
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
  /// Returns the position of the last nonzero byte of a warp's rows, plus 1; 0 without such a byte.
  THINPIPE_KERNEL static std::uint32_t last_of(const ByteRows& rows, std::uint32_t tile, int t) {
    std::uint32_t last = 0;
    for (unsigned j = 0; j < kByteRows; ++j)
      if (rows.words[j] != 0) last = byte_position(tile, t, j) + highest(rows.words[j]) + 1;
    return last;
  }
  /// Returns the byte that encodes up to 14 zeros from byte i.
  THINPIPE_KERNEL static std::uint8_t folded(const std::uint8_t* packed, std::uint32_t length,
                                             std::uint32_t i) {
    std::uint32_t run = 1;
    while (run < kLongestRun && i + run < length && packed[i + run] == kQuarticZero) ++run;
    return run == 1 ? kQuarticZero : static_cast<std::uint8_t>(kFirstRunByte + (run - 2));
  }
};

/// Problem found in a ternary payload; 0: none.
enum class TernaryProblem : std::uint32_t {
  kNone = 0,
  kScale = 1,
  kByte = 2,     ///< a byte that encodes a run, without zero-run encoding
  kPadding = 3,  ///< a digit without an element is not 0
  kLength = 4,   ///< the bytes encode more or fewer elements
};

/// Computes out += factor * decoded. If a problem is found, `out` is unspecified, but nothing
/// outside of it is written. Grid: the tiles of kTile bytes after the scales.
struct UnpackTernary {
  static constexpr int kThreads = 512;
  struct Shared {
    Counts tile;
  };

  bool has_runs;
  TernaryLayout layout;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared, const DecodeJob& job) const {
    const std::uint32_t* const payload = job.payload.words;
    const std::uint32_t n = job.payload.n;
    const auto length = static_cast<std::uint32_t>(layout.bytes(n));
    const auto scales = static_cast<std::uint32_t>(layout.scales(n));
    const auto* const codes = reinterpret_cast<const std::uint8_t*>(payload + scales);
    const std::uint32_t bytes = job.payload.bytes - 4 * scales;  // of codes
    constexpr std::uint32_t kOwn = kTile / kThreads;             // consecutive bytes per thread
    typename Block::template Local<std::uint32_t> place;
    block.each([&](int t) {
      place[t] = 0;
      for (std::uint32_t j = 0; j < kOwn; ++j) {
        const std::uint32_t i = first_of(block.index(), t) + j;
        if (i < bytes) place[t] += span_of(codes[i]);
      }
    });
    const std::uint32_t total = block.prefix(place);
    once(block, [&] { shared.tile = {total, 0}; });
    const Counts earlier = block.before(job.states, block.index(), shared.tile);
    block.each([&](int t) {
      std::uint32_t at = earlier.first + place[t];
      for (std::uint32_t j = 0; j < kOwn; ++j) {
        const std::uint32_t i = first_of(block.index(), t) + j;
        if (i >= bytes) break;
        const std::uint8_t code = codes[i];
        if (code > kQuarticMax) {
          if (!has_runs) tell(block, job, TernaryProblem::kByte);
          if (!is_full(n, at, span_of(code))) tell(block, job, TernaryProblem::kPadding);
        } else if (at < length && !add(job, code, at)) {
          tell(block, job, TernaryProblem::kPadding);
        }
        at += span_of(code);
      }
      const std::uint32_t all = tiles_of(bytes, kTile) * kThreads;
      for (auto i = block.index() * kThreads + static_cast<std::uint32_t>(t); i < scales; i += all)
        if (payload[i] >= kInfinityBits) tell(block, job, TernaryProblem::kScale);
      if (t != 0) return;
      const bool is_last = (block.index() + 1) * kTile >= bytes;
      if (is_last && earlier.first + total != length) tell(block, job, TernaryProblem::kLength);
    });
  }

 private:
  THINPIPE_KERNEL static std::uint32_t first_of(unsigned tile, int t) {
    return tile * kTile + static_cast<std::uint32_t>(t) * (kTile / kThreads);
  }
  /// Returns the number of quartic bytes that a byte encodes.
  THINPIPE_KERNEL static std::uint32_t span_of(std::uint8_t code) {
    return code > kQuarticMax ? static_cast<std::uint32_t>(run_length(code)) : 1;
  }
  /// The bucket of a payload's byte, and the byte's index in it.
  struct Place {
    std::uint32_t bucket;
    std::uint32_t byte;
    std::uint32_t elements;
  };
  THINPIPE_KERNEL Place place_of(std::uint32_t n, std::uint32_t at) const {
    if (layout.bucket == 0) return {0, at, n};
    const auto length = static_cast<std::uint32_t>(quartic_size(layout.bucket));
    const std::uint32_t bucket = at / length;
    const std::uint64_t begin = std::uint64_t{bucket} * layout.bucket;
    const std::uint64_t left = begin < n ? n - begin : 0;
    return {bucket, at % length,
            left < layout.bucket ? static_cast<std::uint32_t>(left) : layout.bucket};
  }
  /// Returns whether every digit of a run of zeros belongs to an element of the tensor. An element
  /// of value zero has the digit 1, but a digit past the last element must be 0.
  THINPIPE_KERNEL bool is_full(std::uint32_t n, std::uint32_t at, std::uint32_t span) const {
    const Place place = place_of(n, at);
    const std::size_t whole = layout.bucket_of(n);
    if (full_quartic_bytes(whole) != quartic_size(whole))
      return place.byte + span <= full_quartic_bytes(place.elements);
    // Only the last bucket may end with digits without elements.
    const std::size_t last = whole == 0 ? 0 : n % whole;
    return at + span <= layout.bytes(n) - quartic_size(last) + full_quartic_bytes(last);
  }
  /// Adds a byte's values to `out`. Returns false if a digit past the end is not 0.
  THINPIPE_KERNEL bool add(const DecodeJob& job, std::uint32_t code, std::uint32_t at) const {
    const Place place = place_of(job.payload.n, at);
    const std::size_t length = quartic_size(place.elements);
    const std::uint64_t begin = std::uint64_t{place.bucket} * layout.bucket;
    const float value = job.factor * std::bit_cast<float>(job.payload.words[place.bucket]);
    bool good = true;
    for (std::uint32_t part = 5; part-- > 0; code /= 3) {
      const std::uint64_t i = part * length + place.byte;
      const std::uint32_t digit = code % 3;
      if (i < place.elements) {
        const float term = static_cast<float>(static_cast<int>(digit) - 1) * value;
        job.out[begin + i] = job.out[begin + i] + term;
      } else {
        good = good && digit == 0;
      }
    }
    return good;
  }
};

struct FitTernary {
  float sparsity;

  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    job.findings->scale =
        ternary_scale(sparsity, magnitude_of(static_cast<std::int32_t>(totals.most)));
  }
};

template <class Device>
class TernaryQuantizer : public DeviceQuantizer<Device> {
 public:
  TernaryQuantizer(const MakerInput& input, const TernaryOptions& options)
      : DeviceQuantizer<Device>(input.streams()), options_(options), layout_{input.bucket()} {}

  std::size_t max_encoded_size(std::size_t /*tensor*/, std::size_t elements) const override {
    return scale_bytes(elements) + layout_.bytes(elements);
  }
  std::uint32_t tile() const override { return layout_.tile(); }
  bool packs() const override { return options_.zero_run; }
  void open(Device& device, std::size_t /*tensor*/, Job& job) override {
    states_of_.push_back(states_count_);
    states_count_ += tiles_of(static_cast<std::uint32_t>(layout_.bytes(job.n)), kTile);
    if (!is_great()) return;
    // Without packing, the payload holds all scales before the buckets' bytes.
    const std::size_t scales = packs() ? 0 : scale_bytes(job.n);
    great_.add(device, job, layout_.bucket, max_encoded_size(0, job.n),
               [&](std::uint32_t first) { return scales + layout_.bytes(first); });
  }
  void launch(Device& device, const Batch& batch) override {
    if (is_great()) {
      const Batch buckets = great_.split(device, batch);
      find_scales(device, buckets);
      buckets.launch_tiles<PackTernaryParts>(device, layout_);
      great_.join(device, batch);
    } else if (layout_.bucket != 0) {
      batch.launch_tiles<PackTernaryBuckets>(device, layout_, options_.sparsity);
    } else {
      find_scales(device, batch);
      batch.launch_parts<PackTernary>(device, TernaryDigit{options_.stochastic});
    }
    if (options_.zero_run) batch.launch_tiles<FoldZeros>(device, layout_);
  }
  bool fits(std::size_t tensor, std::size_t bytes, std::size_t elements) const override {
    return bytes >= scale_bytes(elements) && bytes <= max_encoded_size(tensor, elements);
  }
  void plan_decode(Device& device, DecodeJob& job, DecodePlan& plan) override {
    if (states_ == nullptr) states_ = device_array<PrefixState>(device, states_count_);
    job.states = states_ + states_of_[job.tensor];
    const auto codes = job.payload.bytes - static_cast<std::uint32_t>(scale_bytes(job.payload.n));
    plan[DecodeGrid::kElements] = tiles_of(codes, kTile);
  }
  void decode(Device& device, const DecodeBatch& batch) override {
    device.zero(states_, states_count_ * sizeof(PrefixState));
    batch.launch(device, DecodeGrid::kElements, UnpackTernary{options_.zero_run, layout_});
  }
  std::string problem(std::uint32_t number) const override {
    constexpr const char* kProblems[] = {"", "the scale is not a finite number of at least 0",
                                         "byte over 242 without zero-run encoding",
                                         "padding is not zero",
                                         "bytes for more or fewer elements than the tensor has"};
    if (number == 0 || number >= std::size(kProblems)) return "";
    return std::string("ternary payload: ") + kProblems[number];  // in the order of TernaryProblem
  }

 private:
  std::size_t scale_bytes(std::size_t elements) const {
    return layout_.scales(elements) * sizeof(float);
  }
  bool is_great() const { return layout_.bucket > kMaxBucket; }
  void find_scales(Device& device, const Batch& batch) {
    using Greatest = AddUp<Reading::kSum, Of::kAll, FitTernary>;
    batch.launch_sum_tiles<Greatest>(device, FitTernary{options_.sparsity});
  }

  TernaryOptions options_;  ///< except for the stream and the bucket
  TernaryLayout layout_;
  GreatBuckets<Device> great_;
  std::vector<std::size_t> states_of_;  ///< by tensor, the index of its first state
  std::size_t states_count_ = 0;
  PrefixState* states_ = nullptr;  ///< for decoding
};

}  // namespace thinpipe::cuda
