// Reads QSGD's buckets in Elias codes. Where there are several, a thread goes from record to
// record, and then every bucket has a thread; a tensor that is one bucket is read as other streams
// of codes are (encode/state_scan.h).
#pragma once

#include <bit>
#include <cstdint>

#include "compressors/cuda/encode/state_scan.h"
#include "compressors/cuda/kernels/level_stream.h"
#include "compressors/encode/scale.h"

namespace thinpipe::cuda {

/// What was wrong with a payload; 0: nothing.
enum class LevelProblem : std::uint32_t { kNone = 0, kRecord = 1, kCodes = 2 };

/// A payload of records.
struct LevelView {
  PayloadView payload;
  std::uint32_t bits;  ///< of a code of fixed length
  float factor;

  THINPIPE_KERNEL static LevelView of(const DecodeJob& job) {
    return {job.payload, job.bits, job.factor};
  }
  THINPIPE_KERNEL static PieceCut cut_of(const DecodeJob& job) {
    return {job.payload.n, job.bucket};
  }

  THINPIPE_KERNEL std::uint32_t levels() const { return (std::uint32_t{1} << (bits - 1)) - 1; }
  /// The most bytes of codes that n elements have (stream_bytes in quantize/qsgd.cc).
  THINPIPE_KERNEL std::uint64_t most_bytes(std::uint32_t n) const {
    return (omega_bits(n + 1) + std::uint64_t{n} * (2 + omega_bits(levels())) + 7) / 8;
  }

  struct Record {
    bool good = false;
    float step = 0;
    std::uint32_t codes = 0;  ///< the byte where they begin
    std::uint32_t bytes = 0;
  };
  /// That of n elements at a byte, which is not past the end.
  THINPIPE_KERNEL Record record_at(std::uint32_t at, std::uint32_t n) const {
    Record record;
    if (payload.bytes - at < sizeof(float) + 1) return record;
    const std::uint32_t step = payload.word_at(at);
    at += sizeof(float);
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < 5 && at < payload.bytes; ++i) {
      const std::uint32_t byte = payload.byte_at(at++);
      bytes |= static_cast<std::uint64_t>(byte & 0x7f) << 7 * i;
      if (byte >= 0x80) continue;
      const bool shortest = i == 0 || byte != 0;
      const bool fits = bytes <= most_bytes(n) && bytes <= payload.bytes - at;
      record = {shortest && fits && step < kInfinityBits, factor * std::bit_cast<float>(step), at,
                static_cast<std::uint32_t>(bytes)};
      return record;
    }
    return record;
  }
  /// The code at a bit of the payload. @returns its bits; 0: there is no such code
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
};

/// Where the records of all buckets begin. Grid: a block a payload of several.
struct FindRecords {
  static constexpr int kThreads = 32;
  struct Shared {};

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/, const DecodeJob& job) const {
    const LevelView view = LevelView::of(job);
    const PieceCut cut = LevelView::cut_of(job);
    block.each([&](int t) {
      if (t != 0) return;
      std::uint32_t at = 0;
      bool good = true;
      for (std::uint32_t bucket = 0; bucket < cut.buckets() && good; ++bucket) {
        const std::uint32_t left = cut.n - bucket * cut.bucket;
        job.begins[bucket] = at;
        const LevelView::Record record = view.record_at(at, left < cut.bucket ? left : cut.bucket);
        good = record.good;
        at = record.codes + record.bytes;
      }
      if (!good || at != view.payload.bytes)
        block.set_greatest(job.problem, static_cast<std::uint32_t>(LevelProblem::kRecord));
    });
  }
};

/// out += factor * decoded, a thread a bucket, where records are good. Grid: as many blocks.
struct ReadRecords {
  static constexpr int kThreads = 64;
  struct Shared {};

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/, const DecodeJob& job) const {
    const bool usable = *job.problem == 0;
    const std::uint32_t buckets = LevelView::cut_of(job).buckets();
    block.each([&](int t) {
      const std::uint32_t bucket =
          block.index() * static_cast<std::uint32_t>(kThreads) + static_cast<std::uint32_t>(t);
      if (!usable || bucket >= buckets) return;
      if (!read(job, bucket))
        block.set_greatest(job.problem, static_cast<std::uint32_t>(LevelProblem::kCodes));
    });
  }

 private:
  THINPIPE_KERNEL static bool read(const DecodeJob& job, std::uint32_t bucket) {
    const LevelView view = LevelView::of(job);
    const PieceCut cut = LevelView::cut_of(job);
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
    std::uint32_t next = 0;  // the first element that may still come
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
    return ends(view.payload, bit, end);
  }

 public:
  /// Nothing but the zeros that fill the last byte is left.
  THINPIPE_KERNEL static bool ends(const PayloadView& payload, std::uint64_t bit,
                                   std::uint64_t end) {
    return end - bit < 8 && (payload.bits_at(bit) & ((std::uint32_t{1} << (end - bit)) - 1)) == 0;
  }
};

/// What a record of a whole tensor says before its codes.
struct LevelParts {
  PayloadProblem problem = PayloadProblem::kLength;
  std::uint32_t count = 0;
  float step = 0;
  std::uint64_t begin = 0;  ///< bit
  std::uint64_t end = 0;
};

/// As a payload whose codes state_scan.h reads.
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
    // Where there are codes, what reads them looks at what is left.
    const bool good = parts.count > 0 || ReadRecords::ends(payload, parts.begin, parts.end);
    parts.problem = good ? PayloadProblem::kNone : PayloadProblem::kLength;
    return parts;
  }
};

/// A state is the bit at which a stretch's first own code begins, at most the 42 of a distance, a
/// sign and the 13 of a level after it.
struct LevelStream {
  static constexpr std::uint32_t kStuck = 63;  ///< no code begins where one should
  static constexpr std::uint32_t kStates = 64;
  static constexpr std::uint32_t kStretches = 8;
  static constexpr std::uint32_t kBits = 2048;  ///< of a stretch

  const WholeLevels& view;
  std::uint64_t begin = 0;
  std::uint64_t bits = 0;  ///< from there

  THINPIPE_KERNEL LevelStream(const WholeLevels& of, LevelParts& parts)
      : view(of), begin(parts.begin), bits(parts.end - parts.begin) {}
  THINPIPE_KERNEL static WholeLevels view_of(const DecodeJob& job) { return {LevelView::of(job)}; }
  THINPIPE_KERNEL std::uint32_t stretches() const {
    return static_cast<std::uint32_t>((bits + kBits - 1) / kBits);
  }
  THINPIPE_KERNEL static std::uint32_t states() { return kStates; }
  /// Zeros that fill the last byte read as codes as well; AddLevels looks at them.
  THINPIPE_KERNEL static bool good(const LevelParts& parts, const Passed& all) {
    return all.count >= parts.count;
  }

  template <class Body>
  THINPIPE_KERNEL void read(std::uint32_t stretch, Passed& passed, Body body) const {
    read_levels(stretch, passed,
                [&](std::uint64_t end, float /*level*/) { body(passed.count, end); });
  }
  /// body(end, level): a code ends at bit `end` of the stream.
  template <class Body>
  THINPIPE_KERNEL void read_levels(std::uint32_t stretch, Passed& passed, Body body) const {
    if (passed.state == kStuck) return;
    const std::uint64_t first = std::uint64_t{kBits} * stretch;
    const std::uint64_t end = first + kBits < bits ? first + kBits : bits;
    std::uint64_t at = first + passed.state;
    while (at < end) {
      std::uint32_t distance = 0;
      float level = 0;
      const std::uint32_t length = view.code_at(begin + at, view.payload.n, distance, level);
      if (length == 0 || at + length > bits) {
        passed.state = kStuck;
        return;
      }
      at += length;
      passed.elements += distance;
      body(at, level);
      ++passed.count;
    }
    passed.state = static_cast<std::uint32_t>(at - end);
  }
};

/// out += factor * decoded, a thread a stretch, once JoinStates has been there. Grid: as
/// PassStates.
struct AddLevels {
  using Stream = LevelStream;
  static constexpr int kThreads = 32;
  static_assert(Stream::kStretches <= kThreads);
  struct Shared {};

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/, const DecodeJob& job) const {
    const WholeLevels payload = Stream::view_of(job);
    LevelParts parts = payload.open();
    const Stream stream(payload, parts);
    if (parts.problem != PayloadProblem::kNone || parts.count == 0) return;
    const std::uint32_t stretches = stream.stretches();
    const StateRoom<Stream> states{job.passed, stretches};
    block.each([&](int t) {
      const std::uint32_t stretch =
          block.index() * Stream::kStretches + static_cast<std::uint32_t>(t);
      if (t >= static_cast<int>(Stream::kStretches) || stretch >= stretches) return;
      Passed before = passed_before(states, stretch);
      bool good = true;
      stream.read_levels(stretch, before, [&](std::uint64_t end, float level) {
        if (before.count >= parts.count) return;
        good = good && before.elements <= payload.payload.n;
        if (!good) return;
        const float term = parts.step * level;
        float& to = job.out[before.elements - 1];
        to = to + term;
        if (before.count + 1 == parts.count)
          good = ReadRecords::ends(payload.payload, stream.begin + end, parts.end);
      });
      if (!good) block.set_greatest(job.problem, static_cast<std::uint32_t>(LevelProblem::kCodes));
    });
  }
};

}  // namespace thinpipe::cuda
