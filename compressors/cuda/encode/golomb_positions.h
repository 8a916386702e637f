// Reads Golomb-Rice codes. Where a code begins only the bits before it tell; but what they leave
// over to a stretch of bits is one of a few states: the bits of a remainder still to come, none
// where zeros of a quotient are counted. A thread reads a stretch for every one of these.
#pragma once

#include <cstdint>

#include "compressors/cuda/encode/scanned_positions.h"

namespace thinpipe::cuda {

/// Of remainders.
constexpr std::uint32_t kMostRemainder = 31;
constexpr std::uint32_t kGolombStates = kMostRemainder + 1;
/// Bits of a stretch, and stretches of a block.
constexpr std::uint32_t kGolombBits = 1024;
constexpr std::uint32_t kGolombStretches = 16;

/// The codes of a payload.
struct GolombStream {
  const PayloadView& payload;
  std::uint64_t begin = 0;  ///< bit of the payload
  std::uint64_t bits = 0;   ///< from there
  std::uint32_t remainder = 0;

  THINPIPE_KERNEL GolombStream(const PayloadView& of, PayloadParts& parts) : payload(of) {
    if (parts.problem != PayloadProblem::kNone) return;
    const std::uint32_t left = payload.bytes - parts.positions;
    if (parts.count == 0 ? left != 0 : left == 0) parts.problem = PayloadProblem::kLength;
    if (parts.problem != PayloadProblem::kNone || left == 0) return;
    remainder = payload.byte_at(parts.positions);
    if (remainder > kMostRemainder) parts.problem = PayloadProblem::kPosition;
    begin = std::uint64_t{8} * (parts.positions + 1);
    bits = std::uint64_t{8} * (left - 1);
  }
  THINPIPE_KERNEL std::uint32_t stretches() const {
    return static_cast<std::uint32_t>((bits + kGolombBits - 1) / kGolombBits);
  }

  /// Reads a stretch on from what comes before it. Calls body(i, end) where a position ends at bit
  /// `end` of the stream: it is the i-th, and passed.elements - 1.
  template <class Body>
  THINPIPE_KERNEL void read(std::uint32_t stretch, Passed& passed, Body body) const {
    std::uint64_t at = std::uint64_t{kGolombBits} * stretch;
    const std::uint64_t end = at + kGolombBits < bits ? at + kGolombBits : bits;
    while (at < end) {
      const auto left = end - at < 32 ? static_cast<std::uint32_t>(end - at) : 32;
      const std::uint32_t word = payload.bits_at(begin + at);
      if (passed.state == 0) {
        const std::uint32_t zeros = word == 0 ? 32 : highest(word & (0 - word));
        if (zeros >= left) {
          passed.elements += std::uint64_t{left} << remainder;
          at += left;
          continue;
        }
        passed.elements += std::uint64_t{zeros} << remainder;
        at += zeros + 1;
        passed.state = remainder;
      } else {
        const std::uint32_t some = passed.state < left ? passed.state : left;
        const std::uint64_t taken = word & ((std::uint64_t{1} << some) - 1);
        passed.elements += taken << (remainder - passed.state);
        at += some;
        passed.state -= some;
      }
      if (passed.state > 0) continue;
      ++passed.elements;
      body(passed.count, at);
      ++passed.count;
    }
  }
};

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

/// Reads every stretch in every state it may begin in, and puts those of a block together. Grid:
/// the blocks of stretches that there may be.
struct PassGolomb {
  static constexpr int kThreads = kGolombStretches * kGolombStates;
  struct Shared {
    Passed passed[kThreads];
  };

  PayloadView payload;
  ScanRoom room;  ///< passed: for every stretch its states, then for every block

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    PayloadParts parts = payload.open();
    const GolombStream stream(payload, parts);
    if (parts.problem != PayloadProblem::kNone) {
      block.each([&](int t) {
        if (t == 0) block.set_greatest(room.problem, static_cast<std::uint32_t>(parts.problem));
      });
      return;
    }
    const std::uint32_t first = block.index() * kGolombStretches;
    const std::uint32_t stretches = stream.stretches();
    if (first >= stretches) return;
    block.each([&](int t) {
      const std::uint32_t stretch = first + static_cast<std::uint32_t>(t) / kGolombStates;
      Passed own;
      own.state = static_cast<std::uint32_t>(t) % kGolombStates;
      if (stretch >= stretches || own.state > stream.remainder) return;
      stream.read(stretch, own, [](std::uint32_t, std::uint64_t) {});
      shared.passed[t] = own;
      room.passed[stretch * kGolombStates + static_cast<std::uint32_t>(t) % kGolombStates] = own;
    });
    block.each([&](int t) {
      if (static_cast<std::uint32_t>(t) > stream.remainder) return;
      Passed all;
      all.state = static_cast<std::uint32_t>(t);
      for (std::uint32_t i = 0; i < kGolombStretches && first + i < stretches; ++i)
        pass_on(all, shared.passed[i * kGolombStates + all.state]);
      of_blocks(room, stretches)[block.index() * kGolombStates + static_cast<std::uint32_t>(t)] =
          all;
    });
  }

  THINPIPE_KERNEL static Passed* of_blocks(const ScanRoom& room, std::uint32_t stretches) {
    return room.passed + std::uint64_t{stretches} * kGolombStates;
  }
};

/// What comes before every block, in place of what it adds in its first state. Grid: one block.
struct JoinGolomb {
  static constexpr int kThreads = 32;
  struct Shared {};

  PayloadView payload;
  ScanRoom room;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    PayloadParts parts = payload.open();
    const GolombStream stream(payload, parts);
    if (parts.problem != PayloadProblem::kNone) return;
    const std::uint32_t stretches = stream.stretches();
    Passed* const blocks = PassGolomb::of_blocks(room, stretches);
    block.each([&](int t) {
      if (t != 0) return;
      Passed before;
      for (std::uint32_t i = 0; i * kGolombStretches < stretches; ++i) {
        const Passed own = blocks[i * kGolombStates + before.state];
        blocks[i * kGolombStates] = before;
        pass_on(before, own);
      }
      // Behind the last code there are zeros, which a quotient may begin with.
      if (before.count != parts.count || before.state != 0)
        block.set_greatest(room.problem, static_cast<std::uint32_t>(PayloadProblem::kPosition));
    });
  }
};

/// Reads all positions, a thread a stretch. Grid: as PassGolomb.
struct ReadGolomb {
  static constexpr int kThreads = 32;
  static_assert(kGolombStretches <= kThreads);
  struct Shared {};

  PayloadView payload;
  ScanRoom room;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    PayloadParts parts = payload.open();
    const GolombStream stream(payload, parts);
    if (parts.problem != PayloadProblem::kNone || parts.count == 0) return;
    const std::uint32_t stretches = stream.stretches();
    const std::uint32_t first = block.index() * kGolombStretches;
    block.each([&](int t) {
      const std::uint32_t stretch = first + static_cast<std::uint32_t>(t);
      if (t >= static_cast<int>(kGolombStretches) || stretch >= stretches) return;
      Passed before = PassGolomb::of_blocks(room, stretches)[block.index() * kGolombStates];
      for (std::uint32_t i = first; i < stretch; ++i)
        pass_on(before, room.passed[i * kGolombStates + before.state]);
      bool good = true;
      stream.read(stretch, before, [&](std::uint32_t i, std::uint64_t end) {
        if (i >= parts.count) return;  // the problem is known
        good = good && before.elements <= payload.n;
        room.positions[i] = static_cast<std::uint32_t>(before.elements - 1);
        // What fills the last byte is 0.
        if (i + 1 == parts.count) good = good && stream.bits - end < 8;
      });
      if (!good)
        block.set_greatest(room.problem, static_cast<std::uint32_t>(PayloadProblem::kPosition));
    });
  }
};

}  // namespace thinpipe::cuda
