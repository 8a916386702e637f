// Reads codes of which each begins where the one before ends. The bits before a stretch of the
// payload leave it in one of several states: a thread reads the stretch for every state, and the
// results are then joined from the beginning on.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/scanned_positions.h"

namespace thinpipe::cuda {

// A stream of codes has
//   view_of()        what it is read from, which has open()
//   kStates          in which a stretch may begin; the first stretch does in 0
//   kStretches       of a block of threads
//   its constructor  sets the problem of a payload that has none such
//   stretches()      how many there are
//   states()         those that there may be in this payload, from 0 on
//   read()           reads a stretch on from what comes before it, passed.state being the state it
//                    begins in, then the next one's; body(i, end) for every code
//   good()           whether what all stretches add is what a compressor writes

/// Adds what a stretch adds. Numbers that no tensor has are not told from each other.
THINPIPE_KERNEL inline void pass_on(Passed& before, const Passed& own) {
  constexpr std::uint64_t kTooMany = std::uint64_t{1} << 62;
  constexpr std::uint32_t kTooOften = std::uint32_t{1} << 31;
  before.elements += own.elements;
  if (before.elements > kTooMany) before.elements = kTooMany;
  before.count += own.count;
  if (before.count > kTooOften) before.count = kTooOften;
  before.state = own.state;
}

/// Where the kernels of a stream keep what they find: for every stretch its states, then for every
/// block of stretches.
template <class Stream>
struct StateRoom {
  static constexpr std::uint32_t kStates = Stream::kStates;

  Passed* passed;
  std::uint32_t stretches;

  THINPIPE_KERNEL Passed* of_stretch(std::uint32_t stretch) const {
    return passed + std::uint64_t{stretch} * kStates;
  }
  THINPIPE_KERNEL Passed* of_block(std::uint32_t block) const {
    return of_stretch(stretches) + std::uint64_t{block} * kStates;
  }
  /// Entries for so many blocks' stretches.
  THINPIPE_BOTH static std::size_t entries(std::size_t blocks) {
    return (Stream::kStretches + 1) * std::size_t{kStates} * blocks;
  }
};

/// Reads every stretch in every state it may begin in, and puts those of a block together. Grid:
/// the blocks of stretches that there may be.
template <class Stream>
struct PassStates {
  static constexpr std::uint32_t kStates = Stream::kStates;
  static constexpr std::uint32_t kStretches = Stream::kStretches;
  static constexpr int kThreads = static_cast<int>(kStretches * kStates);
  struct Shared {
    Passed passed[kThreads];
  };

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared, const DecodeJob& job) const {
    const auto payload = Stream::view_of(job);
    auto parts = payload.open();
    const Stream stream(payload, parts);
    if (parts.problem != PayloadProblem::kNone) {
      block.each([&](int t) {
        if (t == 0) tell(block, job, parts.problem);
      });
      return;
    }
    const std::uint32_t first = block.index() * kStretches;
    const std::uint32_t stretches = stream.stretches();
    if (first >= stretches) return;
    const StateRoom<Stream> states{job.passed, stretches};
    block.each([&](int t) {
      const std::uint32_t stretch = first + static_cast<std::uint32_t>(t) / kStates;
      const std::uint32_t state = static_cast<std::uint32_t>(t) % kStates;
      Passed own;
      own.state = state;
      if (stretch >= stretches || state >= stream.states()) return;
      stream.read(stretch, own, [](std::uint32_t, std::uint64_t) {});
      shared.passed[t] = own;
      states.of_stretch(stretch)[state] = own;
    });
    block.each([&](int t) {
      const auto state = static_cast<std::uint32_t>(t);
      if (state >= stream.states()) return;
      Passed all;
      all.state = state;
      for (std::uint32_t i = 0; i < kStretches && first + i < stretches; ++i)
        pass_on(all, shared.passed[i * kStates + all.state]);
      states.of_block(block.index())[state] = all;
    });
  }
};

/// Replaces what every block of stretches adds in its first state by the totals before it. There
/// are as many parts as groups of threads: first each part's result for every state, then the
/// totals before each part, then before its blocks. Grid: one block.
template <class Stream>
struct JoinStates {
  static constexpr std::uint32_t kStates = Stream::kStates;
  static constexpr std::uint32_t kMostThreads = 1024;
  static constexpr std::uint32_t kParts = kMostThreads / kStates;
  static constexpr int kThreads = static_cast<int>(kParts * kStates);
  struct Shared {
    Passed passed[kThreads];
    Passed before[kParts];
  };

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared, const DecodeJob& job) const {
    const auto payload = Stream::view_of(job);
    auto parts = payload.open();
    const Stream stream(payload, parts);
    if (parts.problem != PayloadProblem::kNone) return;
    const std::uint32_t stretches = stream.stretches();
    const StateRoom<Stream> states{job.passed, stretches};
    const std::uint64_t blocks = (stretches + Stream::kStretches - 1) / Stream::kStretches;
    const auto begin_of = [&](std::uint32_t part) {
      return static_cast<std::uint32_t>(blocks * part / kParts);
    };
    block.each([&](int t) {
      const std::uint32_t part = static_cast<std::uint32_t>(t) / kStates;
      Passed all;
      all.state = static_cast<std::uint32_t>(t) % kStates;
      // Nothing comes after the last part.
      if (part + 1 == kParts || all.state >= stream.states()) return;
      for (std::uint32_t i = begin_of(part); i < begin_of(part + 1); ++i)
        pass_on(all, states.of_block(i)[all.state]);
      shared.passed[t] = all;
    });
    block.each([&](int t) {
      if (t != 0) return;
      Passed before;
      for (std::uint32_t part = 0; part < kParts; ++part) {
        shared.before[part] = before;
        if (part + 1 < kParts) pass_on(before, shared.passed[part * kStates + before.state]);
      }
    });
    block.each([&](int t) {
      const auto part = static_cast<std::uint32_t>(t);
      if (part >= kParts) return;
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

/// Returns the totals before a stretch, after JoinStates.
template <class Stream>
THINPIPE_KERNEL Passed passed_before(const StateRoom<Stream>& states, std::uint32_t stretch) {
  const std::uint32_t block = stretch / Stream::kStretches;
  Passed before = *states.of_block(block);
  for (std::uint32_t i = block * Stream::kStretches; i < stretch; ++i)
    pass_on(before, states.of_stretch(i)[before.state]);
  return before;
}

/// Calls body(stretch, before) for a block's stretches, a thread each, with what comes before it,
/// once JoinStates has been there. Grid: as PassStates.
template <class Stream, class Block, class Body>
THINPIPE_KERNEL void each_stretch(Block& block, const DecodeJob& job, const Stream& stream,
                                  Body body) {
  static_assert(Stream::kStretches <= Block::kSize);
  const std::uint32_t stretches = stream.stretches();
  const StateRoom<Stream> states{job.passed, stretches};
  block.each([&](int t) {
    const std::uint32_t stretch =
        block.index() * Stream::kStretches + static_cast<std::uint32_t>(t);
    if (t >= static_cast<int>(Stream::kStretches) || stretch >= stretches) return;
    body(stretch, passed_before(states, stretch));
  });
}

/// Reads the positions of a stream whose codes are gaps, a thread a stretch: a code ends
/// passed.elements - 1. Grid: as PassStates.
template <class Stream>
struct ReadStates {
  static constexpr int kThreads = 32;
  struct Shared {};

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/, const DecodeJob& job) const {
    const auto payload = Stream::view_of(job);
    auto parts = payload.open();
    const Stream stream(payload, parts);
    if (parts.problem != PayloadProblem::kNone || parts.count == 0) return;
    each_stretch(block, job, stream, [&](std::uint32_t stretch, Passed before) {
      bool good = true;
      stream.read(stretch, before, [&](std::uint32_t i, std::uint64_t end) {
        if (i >= parts.count) return;  // the problem is known
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
