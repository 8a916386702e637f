// Reads positions, each of which depends on the whole payload before it. The kernels count each
// segment's elements and positions, add up the counts over segments, then read each segment's
// positions with the totals before the segment.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/payload.h"

namespace thinpipe::cuda {

/// Totals of a segment, or of all segments before it.
struct Passed {
  std::uint64_t elements = 0;  ///< of the tensor
  std::uint32_t count = 0;     ///< positions
  std::uint32_t state = 0;     ///< of a code that extends past the segment's end
};

/// Replaces each segment's totals by the sum over all segments before it. All threads of a block
/// take part.
/// @param parts  shared memory, one entry more than threads
/// @returns the sum over all segments
template <class Block>
THINPIPE_KERNEL Passed join_segments(Block& block, Passed* parts, Passed* segments,
                                     std::uint32_t count) {
  constexpr auto kParts = static_cast<std::uint64_t>(Block::kSize);
  const auto begin_of = [&](std::uint64_t part) {
    return static_cast<std::uint32_t>(count * part / kParts);
  };
  const auto add = [](Passed& to, const Passed& own) {
    to.elements += own.elements;
    to.count += own.count;
  };
  block.each([&](int t) {
    const auto part = static_cast<std::uint64_t>(t);
    Passed all;
    for (std::uint32_t i = begin_of(part); i < begin_of(part + 1); ++i) add(all, segments[i]);
    parts[t] = all;
  });
  once(block, [&] {
    Passed before;
    for (std::uint64_t part = 0; part < kParts; ++part) {
      const Passed own = parts[part];
      parts[part] = before;
      add(before, own);
    }
    parts[kParts] = before;
  });
  block.each([&](int t) {
    const auto part = static_cast<std::uint64_t>(t);
    Passed before = parts[t];
    for (std::uint32_t i = begin_of(part); i < begin_of(part + 1); ++i) {
      const Passed own = segments[i];
      segments[i] = before;
      add(before, own);
    }
  });
  return parts[kParts];
}

// A code is a view of a payload. It has
//   of()     the code of a payload, whose parts must outlive it
//   units()  the number of units; returns false if the payload's length is wrong
//   add()    adds a unit's totals
//   read()   calls body(i, position) for each position of a unit
//   good()   whether the totals are those of a valid payload

/// Run lengths: units of 16 bits (encode/position_codec.cc).
struct Run16Units {
  static constexpr std::uint32_t kSplit = 65535;

  const PayloadView& payload;
  const PayloadParts& parts;

  THINPIPE_KERNEL static Run16Units of(const DecodeJob& job, const PayloadParts& parts) {
    return {job.payload, parts};
  }
  THINPIPE_KERNEL bool units(std::uint32_t& units) const {
    const std::uint32_t bytes = payload.bytes - parts.positions;
    units = bytes / 2;
    if (bytes % 2 != 0) return false;
    // A run that was split is followed by a position.
    return units == 0 || run(units - 1) != kSplit;
  }
  THINPIPE_KERNEL void add(std::uint32_t unit, Passed& passed) const {
    const std::uint32_t zeros = run(unit);
    const std::uint32_t selected = zeros == kSplit ? 0 : 1;
    passed.elements += zeros + selected;
    passed.count += selected;
  }
  THINPIPE_KERNEL void read(std::uint32_t unit, Passed& passed, auto body) const {
    const std::uint32_t count = passed.count;
    add(unit, passed);
    if (passed.count > count) body(count, static_cast<std::uint32_t>(passed.elements - 1));
  }
  /// All positions are below n if the last one is.
  THINPIPE_KERNEL bool good(const Passed& all) const {
    return all.count == parts.count && all.elements <= payload.n;
  }

 private:
  THINPIPE_KERNEL std::uint32_t run(std::uint32_t unit) const {
    return payload.word_at(parts.positions + 2 * unit) & 0xffff;
  }
};

/// Ones of a bitmap: units of 32 elements (encode/position_codec.cc).
struct BitmapUnits {
  const PayloadView& payload;
  const PayloadParts& parts;
  const std::uint32_t* drawn;  ///< bitmap of seeded positions; null: the payload holds the bitmap

  THINPIPE_KERNEL static BitmapUnits of(const DecodeJob& job, const PayloadParts& parts) {
    return {job.payload, parts, job.drawn};
  }
  THINPIPE_KERNEL bool units(std::uint32_t& units) const {
    units = static_cast<std::uint32_t>((std::uint64_t{payload.n} + 31) / 32);
    const std::uint32_t bytes = payload.bytes - parts.positions;
    if (drawn != nullptr) return bytes == sizeof(std::uint32_t);
    return bytes == (std::uint64_t{payload.n} + 7) / 8;
  }
  THINPIPE_KERNEL void add(std::uint32_t unit, Passed& passed) const {
    const std::uint32_t word = bits(unit);
    passed.count += ones(word);
    // A 1 bit after the last element is invalid.
    if (word != 0) {
      const std::uint64_t end = std::uint64_t{32} * unit + highest(word) + 1;
      passed.elements = end > payload.n ? kBeyond : passed.elements;
    }
  }
  THINPIPE_KERNEL void read(std::uint32_t unit, Passed& passed, auto body) const {
    std::uint32_t word = bits(unit);
    for (; word != 0; word &= word - 1)
      body(passed.count++, 32 * unit + highest(word & (0 - word)));
  }
  THINPIPE_KERNEL bool good(const Passed& all) const {
    return all.count == parts.count && all.elements == 0;
  }

 private:
  static constexpr std::uint64_t kBeyond = 1;

  THINPIPE_KERNEL std::uint32_t bits(std::uint32_t unit) const {
    return drawn != nullptr ? drawn[unit] : payload.word_at(parts.positions + 4 * unit);
  }
};

/// Units per segment, and consecutive units per thread.
constexpr std::uint32_t kScanUnits = 2048;
constexpr int kScanThreads = 512;
constexpr std::uint32_t kScanEach = kScanUnits / kScanThreads;

/// Calls body(unit) for the units of a segment that thread t reads.
THINPIPE_KERNEL void each_unit(std::uint32_t segment, int t, std::uint32_t units, auto body) {
  const std::uint32_t first = segment * kScanUnits + static_cast<std::uint32_t>(t) * kScanEach;
  for (std::uint32_t unit = first; unit < first + kScanEach && unit < units; ++unit) body(unit);
}
/// Sets each thread's totals of a segment.
template <class Block, class Code, class Local>
THINPIPE_KERNEL void count_units(Block& block, const Code& code, std::uint32_t units, Local& counts,
                                 Local& elements) {
  block.each([&](int t) {
    Passed own;
    each_unit(block.index(), t, units, [&](std::uint32_t unit) { code.add(unit, own); });
    counts[t] = own.count;
    elements[t] = static_cast<std::uint32_t>(own.elements);
  });
}

/// Computes the totals of every segment, then replaces them by the totals of all segments before
/// it. Reports a problem for positions that no compressor writes. Grid: the maximum number of
/// segments.
template <class Code>
struct PassPositions {
  static constexpr int kThreads = kScanThreads;
  struct Shared {
    Passed parts[kScanThreads + 1];
  };

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared, const DecodeJob& job) const {
    PayloadParts parts = job.payload.open();
    const Code code = Code::of(job, parts);
    std::uint32_t units = 0;
    if (parts.problem == PayloadProblem::kNone && !code.units(units))
      parts.problem = PayloadProblem::kLength;
    if (tell_all(block, job, parts.problem)) return;
    const std::uint32_t segments = tiles_of(units, kScanUnits);
    if (block.index() >= segments) return;
    typename Block::template Local<std::uint32_t> counts, elements;
    count_units(block, code, units, counts, elements);
    const std::uint32_t count = block.sum(counts);
    const std::uint32_t passed = block.sum(elements);
    once(block, [&] { job.passed[block.index()] = {passed, count, 0}; });
    if (!block.is_last(job.arrived, segments)) return;
    const Passed all = join_segments(block, shared.parts, job.passed, segments);
    once(block, [&] {
      if (!code.good(all)) tell(block, job, PayloadProblem::kPosition);
    });
  }
};

/// Reads all positions of a payload without a problem. Grid: as PassPositions.
template <class Code>
struct ReadPositions {
  static constexpr int kThreads = kScanThreads;
  struct Shared {};

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/, const DecodeJob& job) const {
    if (*job.problem != 0) return;
    const PayloadParts parts = job.payload.open();
    const Code code = Code::of(job, parts);
    std::uint32_t units = 0;
    code.units(units);
    if (block.index() >= tiles_of(units, kScanUnits)) return;
    typename Block::template Local<std::uint32_t> counts, elements;
    count_units(block, code, units, counts, elements);
    block.prefix(counts);
    block.prefix(elements);
    block.each([&](int t) {
      Passed before = job.passed[block.index()];
      before.count += counts[t];
      before.elements += elements[t];
      each_unit(block.index(), t, units, [&](std::uint32_t unit) {
        code.read(unit, before,
                  [&](std::uint32_t i, std::uint32_t position) { job.positions[i] = position; });
      });
    });
  }
};

}  // namespace thinpipe::cuda
