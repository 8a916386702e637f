// QSGD in Elias codes: computes codes of equal length first, then recodes them
// (kernels/write_levels.h). Reads several records, or a tensor that is a single bucket, as a stream
// of codes (state_scan.h).
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "compressors/cuda/encode/device_decodes.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/level_stream.h"
#include "compressors/cuda/kernels/state_scan.h"
#include "compressors/cuda/kernels/write_levels.h"
#include "compressors/cuda/quantize/codes.h"
#include "compressors/methods/quantizers.h"
#include "compressors/wire/scale.h"

namespace thinpipe::cuda {

/// Problem found in a payload; 0: none.
enum class LevelProblem : std::uint32_t { kNone = 0, kRecord = 1, kCodes = 2 };

/// A payload of records.
struct LevelView {
  PayloadView payload;
  std::uint32_t bits;  ///< of a code of fixed length
  float factor;

  THINPIPE_KERNEL static LevelView of(const DecodeJob& job) {
    return {job.payload, job.bits, job.factor};
  }
  THINPIPE_KERNEL static SliceCut cut_of(const DecodeJob& job) {
    return {job.payload.n, job.bucket};
  }

  THINPIPE_KERNEL std::uint32_t levels() const { return (std::uint32_t{1} << (bits - 1)) - 1; }
  /// Returns the maximum bytes of the codes of n elements (stream_bytes in methods/qsgd.cc).
  THINPIPE_KERNEL std::uint64_t most_bytes(std::uint32_t n) const {
    return (omega_bits(n + 1) + std::uint64_t{n} * (2 + omega_bits(levels())) + 7) / 8;
  }

  struct Record {
    bool good = false;
    float step = 0;
    std::uint32_t codes = 0;  ///< first byte of the codes
    std::uint32_t bytes = 0;
  };
  /// Reads the record of n elements at byte `at`, which is not past the end.
  THINPIPE_KERNEL Record record_at(std::uint32_t at, std::uint32_t n) const {
    if (payload.bytes - at < sizeof(float) + 1) return {};
    const std::uint32_t step = payload.word_at(at);
    std::uint64_t bytes = 0;
    at += sizeof(float);
    const std::uint32_t codes = payload.after_number(at, bytes);
    if (codes == 0) return {};
    const bool fits = bytes <= most_bytes(n) && bytes <= payload.bytes - codes;
    return {fits && step < kInfinityBits, factor * std::bit_cast<float>(step), codes,
            static_cast<std::uint32_t>(bytes)};
  }
  /// Reads the code at bit `bit` of the payload. @returns its length in bits; 0: no valid code
  THINPIPE_KERNEL std::uint32_t code_at(std::uint64_t bit, std::uint32_t most,
                                        std::uint32_t& distance, float& level) const {
    const auto bits_at = [&](std::uint64_t at) { return payload.bits_at(at); };
    const std::uint32_t of_distance = get_omega(bits_at, bit, most, distance);
    if (of_distance == 0) return 0;
    const bool negative = (payload.bits_at(bit + of_distance) & 1) != 0;
    std::uint32_t own = 0;
    const std::uint32_t of_level = get_omega(bits_at, bit + of_distance + 1, levels(), own);
    level = negative ? -static_cast<float>(own) : static_cast<float>(own);
    return of_level == 0 ? 0 : of_distance + 1 + of_level;
  }
  /// Returns whether only the padding zeros of the last byte are left.
  THINPIPE_KERNEL bool ends(std::uint64_t bit, std::uint64_t end) const {
    return end - bit < 8 && (payload.bits_at(bit) & ((std::uint32_t{1} << (end - bit)) - 1)) == 0;
  }
};

/// Finds where the records of all buckets begin. The end of a record is known only from its head,
/// so one thread follows the records, in words that all threads have fetched. Grid: one block per
/// payload with several records.
struct FindRecords {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kWords = 2048;  ///< fetched together
  static constexpr std::uint32_t kHead = 12;     ///< maximum bytes of a record before its codes
  struct Shared {
    std::uint32_t words[kWords];
    std::uint32_t at;
    std::uint32_t bucket;
    bool good;
  };

  THINPIPE_KERNEL void operator()(auto& block, Shared& shared, const DecodeJob& job) const {
    const PayloadView& payload = job.payload;
    const std::uint32_t buckets = LevelView::cut_of(job).buckets();
    once(block, [&] {
      shared.at = shared.bucket = 0;
      shared.good = true;
    });
    while (shared.bucket < buckets && shared.good) {
      block.each([&](int t) {
        const std::uint32_t first = shared.at / 4;
        const std::uint32_t all = (payload.bytes + 3) / 4;
        for (auto i = static_cast<std::uint32_t>(t); i < kWords && first + i < all; i += kThreads)
          shared.words[i] = payload.words[first + i];
      });
      once(block, [&] { walk(job, buckets, shared); });
    }
    once(block, [&] {
      if (!shared.good || shared.at != payload.bytes) tell(block, job, LevelProblem::kRecord);
    });
  }

 private:
  /// Follows records until the fetched words end.
  THINPIPE_KERNEL static void walk(const DecodeJob& job, std::uint32_t buckets, Shared& shared) {
    const std::uint32_t base = shared.at / 4 * 4;
    const SliceCut cut = LevelView::cut_of(job);
    LevelView view = LevelView::of(job);
    view.payload.words = shared.words;
    view.payload.bytes -= base;
    for (std::uint32_t at = shared.at - base; shared.bucket < buckets && at + kHead <= 4 * kWords;
         ++shared.bucket) {
      const std::uint32_t left = cut.n - shared.bucket * cut.bucket;
      job.begins[shared.bucket] = base + at;
      const LevelView::Record record = view.record_at(at, left < cut.bucket ? left : cut.bucket);
      shared.good = record.good;
      if (!record.good) return;
      at = record.codes + record.bytes;
      shared.at = base + at;
    }
  }
};

/// Computes out += factor * decoded, one thread per bucket, unless a problem was found. Grid:
/// kThreads buckets per block.
struct ReadRecords {
  static constexpr int kThreads = 64;
  struct Shared {};

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/, const DecodeJob& job) const {
    const bool usable = *job.problem == 0;
    const std::uint32_t buckets = LevelView::cut_of(job).buckets();
    block.each([&](int t) {
      if (!usable) return;
      each_in_tile<kThreads, kThreads>(t, block.index(), buckets, [&](std::uint32_t bucket) {
        if (!read(job, bucket)) tell(block, job, LevelProblem::kCodes);
      });
    });
  }

 private:
  THINPIPE_KERNEL static bool read(const DecodeJob& job, std::uint32_t bucket) {
    const LevelView view = LevelView::of(job);
    const SliceCut cut = LevelView::cut_of(job);
    const std::uint32_t first = bucket * cut.bucket;
    const std::uint32_t n = cut.n - first < cut.bucket ? cut.n - first : cut.bucket;
    const LevelView::Record record = view.record_at(job.begins[bucket], n);
    std::uint64_t bit = std::uint64_t{8} * record.codes;
    const std::uint64_t end = bit + std::uint64_t{8} * record.bytes;
    std::uint32_t count = 0;
    const auto bits_at = [&](std::uint64_t at) { return view.payload.bits_at(at); };
    const std::uint32_t of_count = get_omega(bits_at, bit, n + 1, count);
    bit += of_count;
    if (of_count == 0 || bit > end) return false;
    std::uint32_t next = 0;  // the first element after the previous level
    for (std::uint32_t i = 1; i < count; ++i) {
      std::uint32_t distance = 0;
      float level = 0;
      const std::uint32_t bits = view.code_at(bit, n - next, distance, level);
      bit += bits;
      if (bits == 0 || bit > end) return false;
      next += distance;
      const float term = record.step * level;
      float& to = job.out[first + next - 1];
      to = to + term;
    }
    return view.ends(bit, end);
  }
};

/// Header of a whole tensor's record.
struct LevelParts {
  PayloadProblem problem = PayloadProblem::kLength;
  std::uint32_t count = 0;
  float step = 0;
  std::uint64_t begin = 0;  ///< bit
  std::uint64_t end = 0;
};

/// A whole tensor's record as a payload for state_scan.h.
struct WholeLevels : LevelView {
  THINPIPE_KERNEL LevelParts open() const {
    LevelParts parts;
    const Record record = record_at(0, payload.n);
    if (!record.good || record.codes + record.bytes != payload.bytes) return parts;
    std::uint32_t count = 0;
    const auto bits_at = [&](std::uint64_t at) { return payload.bits_at(at); };
    parts.begin = std::uint64_t{8} * record.codes;
    parts.end = parts.begin + std::uint64_t{8} * record.bytes;
    const std::uint32_t of_count = get_omega(bits_at, parts.begin, payload.n + 1, count);
    parts.begin += of_count;
    if (of_count == 0 || parts.begin > parts.end) return parts;
    parts.count = count - 1;
    parts.step = record.step;
    // If there are codes, AddLevels checks the bits after them.
    const bool good = parts.count > 0 || ends(parts.begin, parts.end);
    parts.problem = good ? PayloadProblem::kNone : PayloadProblem::kLength;
    return parts;
  }
};

/// The codes of a whole tensor, as a stream for state_scan.h. A code takes at most 42 bits of a
/// distance, one sign bit and 13 bits of a level.
struct LevelStream : CodeStream {
  const WholeLevels& view;

  THINPIPE_KERNEL LevelStream(const WholeLevels& of, LevelParts& parts) : view(of) {
    begin = parts.begin;
    bits = parts.end - parts.begin;
  }
  THINPIPE_KERNEL static WholeLevels view_of(const DecodeJob& job) { return {LevelView::of(job)}; }
  /// The padding zeros of the last byte are also read as codes; AddLevels checks them.
  THINPIPE_KERNEL static bool good(const LevelParts& parts, const Passed& all) {
    return all.count >= parts.count;
  }

  THINPIPE_KERNEL void read(std::uint32_t segment, Passed& passed, auto body) const {
    read_levels(segment, passed,
                [&](std::uint64_t end, float /*level*/) { body(passed.count, end); });
  }
  /// body(end, level): a code ends at bit `end` of the stream.
  THINPIPE_KERNEL void read_levels(std::uint32_t segment, Passed& passed, auto body) const {
    float level = 0;
    const auto read_level = [&](std::uint64_t bit, std::uint32_t& distance) {
      return view.code_at(bit, view.payload.n, distance, level);
    };
    read_codes(segment, passed, read_level, [&](std::uint64_t end) { body(end, level); });
  }
};

/// Computes out += factor * decoded after JoinStates, one thread per segment. Grid: as PassStates.
struct AddLevels {
  using Stream = LevelStream;
  static constexpr int kThreads = 32;
  struct Shared {};

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/, const DecodeJob& job) const {
    const WholeLevels payload = Stream::view_of(job);
    LevelParts parts = payload.open();
    const Stream stream(payload, parts);
    if (parts.problem != PayloadProblem::kNone || parts.count == 0) return;
    each_segment(block, job, stream, [&](std::uint32_t segment, Passed before) {
      bool good = true;
      stream.read_levels(segment, before, [&](std::uint64_t end, float level) {
        if (before.count >= parts.count) return;
        good = good && before.elements <= payload.payload.n;
        if (!good) return;
        const float term = parts.step * level;
        float& to = job.out[before.elements - 1];
        to = to + term;
        if (before.count + 1 == parts.count) good = payload.ends(stream.begin + end, parts.end);
      });
      if (!good) tell(block, job, LevelProblem::kCodes);
    });
  }
};

template <class Device>
class EliasQuantizer : public CodeQuantizer<Device, LevelCode<NormRange>> {
  using Fixed = CodeQuantizer<Device, LevelCode<NormRange>>;

 public:
  EliasQuantizer(const MakerInput& input, LevelCode<NormRange> code)
      : Fixed(code, input.bucket(), "", input.streams()) {
    this->packs_codes_ = true;
    for (std::size_t i = 0; i < input.tensors.size(); ++i)
      input.check_count(input.tensors[i],
                        EliasQuantizer::max_encoded_size(i, input.tensors[i].elements),
                        "bytes of payload at most");
  }

  std::size_t max_encoded_size(std::size_t /*tensor*/, std::size_t elements) const override {
    if (elements == 0) return 0;
    const SliceCut cut = SliceCut::of(static_cast<std::uint32_t>(elements), layout().bucket);
    return make_qsgd_elias_bucket(layout().bits, 0)->max_size_of(elements, cut.bucket);
  }
  bool fits(std::size_t tensor, std::size_t bytes, std::size_t elements) const override {
    return bytes <= max_encoded_size(tensor, elements);
  }
  void open(Device& device, std::size_t tensor, Job& job) override {
    Fixed::open(device, tensor, job);
    const SliceCut cut = SliceCut::of(job.n, layout().bucket);
    job.packed = device_array<std::uint8_t>(device, layout().bytes(job.n) + 4);
    workspaces_.push_back({.runs = device_array<LevelRun>(device, cut.slices()),
                           .records = device_array<LevelRecord>(device, cut.buckets())});
    tiles_.add(static_cast<std::uint32_t>(tensor), cut.tiles());
  }

  void launch(Device& device, const Batch& batch) override {
    if (tiles_.on_device == nullptr) {
      tiles_.upload(device);
      device_workspaces_ = uploaded(device, workspaces_);
    }
    Fixed::launch(device, batch);
    const LevelKernel tiles{{batch.jobs, tiles_.on_device}, device_workspaces_, layout()};
    device.launch(MeasureLevels{tiles}, tiles_.count());
    device.launch(JoinLevels{batch.jobs, device_workspaces_, layout()}, batch.tensors);
    device.launch(ClearLevels{tiles}, tiles_.count());
    device.launch(WriteLevels{tiles}, tiles_.count());
  }

  /// Plans the grids of the decoding kernels. The kernels of grid kParts find the records, and
  /// those of kElements read them. A tensor that is a single record of several slices is read as a
  /// stream of codes instead: the kernels of kPositions read its segments, and those of kTiles join
  /// them.
  void plan_decode(Device& /*device*/, DecodeJob& job, DecodePlan& plan) override {
    const SliceCut cut = SliceCut::of(job.payload.n, layout().bucket);
    job.bits = static_cast<std::uint32_t>(layout().bits);
    job.bucket = cut.bucket;
    if (cut.buckets() != 1 || cut.each() == 1) {
      plan[DecodeGrid::kParts] = 1;
      plan[DecodeGrid::kElements] = tiles_of(cut.buckets(), ReadRecords::kThreads);
      plan.begins = cut.buckets();
      return;
    }
    plan_states<LevelStream>(job.payload, plan);
    plan[DecodeGrid::kTiles] = 1;
  }
  void decode(Device& device, const DecodeBatch& batch) override {
    batch.launch(device, DecodeGrid::kParts, FindRecords{});
    batch.launch(device, DecodeGrid::kElements, ReadRecords{});
    batch.launch(device, DecodeGrid::kPositions, PassStates<LevelStream>{});
    batch.launch(device, DecodeGrid::kTiles, JoinStates<LevelStream>{});
    batch.launch(device, DecodeGrid::kPositions, AddLevels{});
  }
  std::string problem(std::uint32_t number) const override {
    return number >= static_cast<std::uint32_t>(LevelProblem::kCodes)
               ? "the Elias codes in the payload are not a bucket's"
               : "the steps, or the lengths, of buckets in the payload are not what a compressor "
                 "writes";
  }

 private:
  const CodeLayout& layout() const { return this->layout_; }

  std::vector<LevelWorkspace> workspaces_;
  TileTable tiles_;
  LevelWorkspace* device_workspaces_ = nullptr;
};

}  // namespace thinpipe::cuda
