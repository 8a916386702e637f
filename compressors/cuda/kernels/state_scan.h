// Reads codes of variable length, each of which begins where the previous one ends. A payload is
// divided into segments. The bits before a segment determine its state, for example the bit at
// which its first own code begins. One thread per possible state reads the segment. The results are
// then joined from the first segment on.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/scanned_positions.h"

namespace thinpipe::cuda {

// A stream of codes has
//   view_of()    returns the view of a job's payload, which has open()
//   kStates      number of states in which a segment may begin; the first one begins in state 0
//   kSegments    number of segments per thread block
//   constructor  reports the problem of an invalid payload
//   segments()   returns the number of segments
//   states()     returns the number of states that this payload may use
//   read()       reads a segment and adds its totals to `passed`, the totals before the segment;
//                passed.state is the segment's state, afterwards the state of the next segment;
//                calls body(i, end) after each code, where i is the code's index
//   good()       returns whether the totals are those of a valid payload

/// The common part of streams of bits, in segments of kBits bits.
template <std::uint32_t states, std::uint32_t segments_of_block, std::uint32_t bits_of_segment>
struct BitStream {
  static constexpr std::uint32_t kStates = states;
  static constexpr std::uint32_t kSegments = segments_of_block;
  static constexpr std::uint32_t kBits = bits_of_segment;

  std::uint64_t begin = 0;  ///< bit of the payload at which the codes begin
  std::uint64_t bits = 0;   ///< of all codes

  THINPIPE_KERNEL std::uint32_t segments() const {
    return static_cast<std::uint32_t>((bits + kBits - 1) / kBits);
  }
};

/// The common part of streams of codes of at most 63 bits. A segment's state is the bit at which
/// its first own code begins.
struct CodeStream : BitStream<64, 8, 2048> {
  static constexpr std::uint32_t kStuck = 63;  ///< no valid code where one should begin

  THINPIPE_KERNEL static std::uint32_t states() { return kStates; }

  /// Reads a segment, and calls body(end) after each code.
  /// @param read  read(bit, elements) reads the code at bit `bit` of the payload and sets the
  /// elements up to and including the one that the code selects; returns the code's length in bits,
  /// 0 without a valid code
  THINPIPE_KERNEL void read_codes(std::uint32_t segment, Passed& passed, auto read,
                                  auto body) const {
    if (passed.state == kStuck) return;
    const std::uint64_t first = std::uint64_t{kBits} * segment;
    const std::uint64_t end = first + kBits < bits ? first + kBits : bits;
    std::uint64_t at = first + passed.state;
    while (at < end) {
      std::uint32_t elements = 0;
      const std::uint32_t length = read(begin + at, elements);
      if (length == 0 || at + length > bits) {
        passed.state = kStuck;
        return;
      }
      at += length;
      passed.elements += elements;
      body(at);
      ++passed.count;
    }
    passed.state = static_cast<std::uint32_t>(at - end);
  }
};

/// Adds a segment's totals. Saturates at numbers larger than any tensor's.
THINPIPE_KERNEL inline void pass_on(Passed& before, const Passed& own) {
  constexpr std::uint64_t kTooMany = std::uint64_t{1} << 62;
  constexpr std::uint32_t kTooOften = std::uint32_t{1} << 31;
  before.elements += own.elements;
  if (before.elements > kTooMany) before.elements = kTooMany;
  before.count += own.count;
  if (before.count > kTooOften) before.count = kTooOften;
  before.state = own.state;
}

/// Workspace layout of a stream's kernels: the totals of every segment by state, then the totals of
/// every block of segments by state.
template <class Stream>
struct StateWorkspace {
  static constexpr std::uint32_t kStates = Stream::kStates;

  Passed* passed;
  std::uint32_t segments;

  THINPIPE_KERNEL Passed* of_segment(std::uint32_t segment) const {
    return passed + std::uint64_t{segment} * kStates;
  }
  THINPIPE_KERNEL Passed* of_block(std::uint32_t block) const {
    return of_segment(segments) + std::uint64_t{block} * kStates;
  }
  /// Returns the number of entries that `blocks` blocks of segments need.
  THINPIPE_BOTH static std::size_t entries(std::size_t blocks) {
    return (Stream::kSegments + 1) * std::size_t{kStates} * blocks;
  }
};

/// Reads every segment once for each state in which it may begin. Each thread block reads kSegments
/// segments, a block of segments, and joins their totals. Grid: the maximum number of blocks of
/// segments.
template <class Stream>
struct PassStates {
  static constexpr std::uint32_t kStates = Stream::kStates;
  static constexpr std::uint32_t kSegments = Stream::kSegments;
  static constexpr int kThreads = static_cast<int>(kSegments * kStates);
  struct Shared {
    Passed passed[kThreads];
  };

  THINPIPE_KERNEL void operator()(auto& block, Shared& shared, const DecodeJob& job) const {
    const auto payload = Stream::view_of(job);
    auto parts = payload.open();
    const Stream stream(payload, parts);
    if (tell_all(block, job, parts.problem)) return;
    const std::uint32_t first = block.index() * kSegments;
    const std::uint32_t segments = stream.segments();
    if (first >= segments) return;
    const StateWorkspace<Stream> states{job.passed, segments};
    block.each([&](int t) {
      const std::uint32_t segment = first + static_cast<std::uint32_t>(t) / kStates;
      const std::uint32_t state = static_cast<std::uint32_t>(t) % kStates;
      Passed own;
      own.state = state;
      if (segment >= segments || state >= stream.states()) return;
      stream.read(segment, own, [](std::uint32_t, std::uint64_t) {});
      shared.passed[t] = own;
      states.of_segment(segment)[state] = own;
    });
    each_of(block, stream.states(), [&](std::uint32_t state) {
      Passed all;
      all.state = state;
      for (std::uint32_t i = 0; i < kSegments && first + i < segments; ++i)
        pass_on(all, shared.passed[i * kStates + all.state]);
      states.of_block(block.index())[state] = all;
    });
  }
};

/// Computes the totals before every block of segments, and stores them in the block's entry for
/// state 0, replacing its totals. The blocks of segments are divided into parts, one per group of
/// threads. The kernel computes each part's result for every state, then the totals before each
/// part, then the totals before each block of the part. Grid: one thread block.
template <class Stream>
struct JoinStates {
  static constexpr std::uint32_t kStates = Stream::kStates;
  static constexpr std::uint32_t kMaxThreads = 1024;
  static constexpr std::uint32_t kParts = kMaxThreads / kStates;
  static constexpr int kThreads = static_cast<int>(kParts * kStates);
  struct Shared {
    Passed passed[kThreads];
    Passed before[kParts];
  };

  THINPIPE_KERNEL void operator()(auto& block, Shared& shared, const DecodeJob& job) const {
    const auto payload = Stream::view_of(job);
    auto parts = payload.open();
    const Stream stream(payload, parts);
    if (parts.problem != PayloadProblem::kNone) return;
    const std::uint32_t segments = stream.segments();
    const StateWorkspace<Stream> states{job.passed, segments};
    const std::uint64_t blocks = (segments + Stream::kSegments - 1) / Stream::kSegments;
    const auto begin_of = [&](std::uint32_t part) {
      return static_cast<std::uint32_t>(blocks * part / kParts);
    };
    block.each([&](int t) {
      const std::uint32_t part = static_cast<std::uint32_t>(t) / kStates;
      Passed all;
      all.state = static_cast<std::uint32_t>(t) % kStates;
      // The last part's result is not needed.
      if (part + 1 == kParts || all.state >= stream.states()) return;
      for (std::uint32_t i = begin_of(part); i < begin_of(part + 1); ++i)
        pass_on(all, states.of_block(i)[all.state]);
      shared.passed[t] = all;
    });
    once(block, [&] {
      Passed before;
      for (std::uint32_t part = 0; part < kParts; ++part) {
        shared.before[part] = before;
        if (part + 1 < kParts) pass_on(before, shared.passed[part * kStates + before.state]);
      }
    });
    each_of(block, kParts, [&](std::uint32_t part) {
      Passed before = shared.before[part];
      for (std::uint32_t i = begin_of(part); i < begin_of(part + 1); ++i) {
        const Passed own = states.of_block(i)[before.state];
        *states.of_block(i) = before;
        pass_on(before, own);
      }
      if (part + 1 == kParts && !stream.good(parts, before))
        tell(block, job, PayloadProblem::kPosition);
    });
  }
};

/// Returns the totals before a segment, after JoinStates.
template <class Stream>
THINPIPE_KERNEL Passed passed_before(const StateWorkspace<Stream>& states, std::uint32_t segment) {
  const std::uint32_t block = segment / Stream::kSegments;
  Passed before = *states.of_block(block);
  for (std::uint32_t i = block * Stream::kSegments; i < segment; ++i)
    pass_on(before, states.of_segment(i)[before.state]);
  return before;
}

/// Calls body(segment, before) for a block's segments, one thread each, with the totals before the
/// segment. Runs after JoinStates. Grid: as PassStates.
template <class Stream, class Block, class Body>
THINPIPE_KERNEL void each_segment(Block& block, const DecodeJob& job, const Stream& stream,
                                  Body body) {
  static_assert(Stream::kSegments <= Block::kSize);
  const std::uint32_t segments = stream.segments();
  const StateWorkspace<Stream> states{job.passed, segments};
  block.each([&](int t) {
    const std::uint32_t segment = block.index() * Stream::kSegments + static_cast<std::uint32_t>(t);
    if (t >= static_cast<int>(Stream::kSegments) || segment >= segments) return;
    body(segment, passed_before(states, segment));
  });
}

/// Reads the positions of the selected elements from a stream of gaps, one thread per segment.
/// Stream::read() updates the running totals `before`, which it takes as its parameter `passed`.
/// After each code, before.elements is the number of the tensor's elements up to and including the
/// element that the code selects. That element's index in the tensor is therefore before.elements -
/// 1. Grid: as PassStates.
template <class Stream>
struct ReadStates {
  static constexpr int kThreads = 32;
  struct Shared {};

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/, const DecodeJob& job) const {
    const auto payload = Stream::view_of(job);
    auto parts = payload.open();
    const Stream stream(payload, parts);
    if (parts.problem != PayloadProblem::kNone || parts.count == 0) return;
    each_segment(block, job, stream, [&](std::uint32_t segment, Passed before) {
      bool good = true;
      stream.read(segment, before, [&](std::uint32_t i, std::uint64_t end) {
        if (i >= parts.count) return;  // already reported
        good = good && before.elements <= payload.n;
        job.positions[i] = static_cast<std::uint32_t>(before.elements - 1);
        // The padding bits of the last byte must be 0.
        if (i + 1 == parts.count)
          good = good && stream.bits - end < 8 && payload.bits_at(stream.begin + end) == 0;
      });
      if (!good) tell(block, job, PayloadProblem::kPosition);
    });
  }
};

}  // namespace thinpipe::cuda
