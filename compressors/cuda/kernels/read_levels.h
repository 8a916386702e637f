// Reads a tensor that is a single QSGD bucket in Elias codes, as a stream of codes (state_scan.h).
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/level_view.h"
#include "compressors/cuda/kernels/state_scan.h"

namespace thinpipe::cuda {

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

/// The codes of a whole tensor, as a stream for state_scan.h. A segment's state is the bit at which
/// its first own code begins. A code from an earlier segment takes at most 42 bits of a distance,
/// one sign bit and 13 bits of a level before it.
struct LevelStream {
  static constexpr std::uint32_t kStuck = 63;  ///< no valid code where one should begin
  static constexpr std::uint32_t kStates = 64;
  static constexpr std::uint32_t kSegments = 8;
  static constexpr std::uint32_t kBits = 2048;  ///< of a segment

  const WholeLevels& view;
  std::uint64_t begin = 0;
  std::uint64_t bits = 0;  ///< bits of all codes

  THINPIPE_KERNEL LevelStream(const WholeLevels& of, LevelParts& parts)
      : view(of), begin(parts.begin), bits(parts.end - parts.begin) {}
  THINPIPE_KERNEL static WholeLevels view_of(const DecodeJob& job) { return {LevelView::of(job)}; }
  THINPIPE_KERNEL std::uint32_t segments() const {
    return static_cast<std::uint32_t>((bits + kBits - 1) / kBits);
  }
  THINPIPE_KERNEL static std::uint32_t states() { return kStates; }
  /// The padding zeros of the last byte are also read as codes; AddLevels checks them.
  THINPIPE_KERNEL static bool good(const LevelParts& parts, const Passed& all) {
    return all.count >= parts.count;
  }

  template <class Body>
  THINPIPE_KERNEL void read(std::uint32_t segment, Passed& passed, Body body) const {
    read_levels(segment, passed,
                [&](std::uint64_t end, float /*level*/) { body(passed.count, end); });
  }
  /// body(end, level): a code ends at bit `end` of the stream.
  template <class Body>
  THINPIPE_KERNEL void read_levels(std::uint32_t segment, Passed& passed, Body body) const {
    if (passed.state == kStuck) return;
    const std::uint64_t first = std::uint64_t{kBits} * segment;
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

/// Computes out += factor * decoded after JoinStates, one thread per segment. Grid: as PassStates.
struct AddLevels {
  using Stream = LevelStream;
  static constexpr int kThreads = 32;
  struct Shared {};

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/, const DecodeJob& job) const {
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

}  // namespace thinpipe::cuda
