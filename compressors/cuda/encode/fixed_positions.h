// Positions of equal length: each word is written, and each position read, independently.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/laid_positions.h"
#include "compressors/cuda/kernels/payload.h"

namespace thinpipe::cuda {

/// raw32 and index28 (encode/position_codec.cc).
template <std::uint32_t bits>
struct FixedPositions {
  THINPIPE_KERNEL static std::uint32_t bytes(std::uint32_t count) {
    return static_cast<std::uint32_t>((std::uint64_t{count} * bits + 7) / 8);
  }
  THINPIPE_KERNEL static std::uint32_t word(const Job& /*job*/, const std::uint32_t* positions,
                                            std::uint32_t count, std::uint32_t i) {
    if constexpr (bits == 32) return positions[i];
    const std::uint64_t first = std::uint64_t{32} * i;
    auto at = static_cast<std::uint32_t>(first / bits);
    const auto skipped = static_cast<std::uint32_t>(first % bits);
    std::uint32_t word = positions[at] >> skipped;
    for (std::uint32_t filled = bits - skipped; filled < 32 && ++at < count; filled += bits)
      word |= positions[at] << filled;
    return word;
  }
};

/// The step for which seeded positions are drawn (methods/selectors.h).
struct SeededTag {
  THINPIPE_KERNEL static std::uint32_t bytes(std::uint32_t /*count*/) {
    return sizeof(std::uint32_t);
  }
  THINPIPE_KERNEL static std::uint32_t word(const Job& job, const std::uint32_t* /*positions*/,
                                            std::uint32_t /*count*/, std::uint32_t /*i*/) {
    return job.tag;
  }
};

/// Writes the positions of the sent elements. Runs before the kernel that writes the values, which
/// completes the word that values and positions share. Grid: the parts.
template <class Code>
struct WritePositions : OnParts {
  static constexpr int kThreads = 512;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const SentTile tile(jobs, parts[block.index()]);
    const Job& job = tile.job;
    const std::uint32_t begin = tile.begin;
    const std::uint32_t end = begin + Code::bytes(tile.count);
    const std::uint32_t words = (Code::bytes(tile.count) + 3) / 4;
    const auto word = [&](std::uint32_t i) {
      return i < words ? Code::word(job, tile.positions, tile.count, i) : 0;
    };
    const std::uint32_t stride = job.parts * kThreads;
    block.each([&](int t) {
      const std::uint32_t first = tile.index * kThreads + static_cast<std::uint32_t>(t);
      if (first == 0) job.findings->encoded = end;
      // Writes the first word even without positions.
      for (std::uint32_t i = first; i == 0 || 4 * (begin / 4 + i) < end; i += stride)
        job.payload[begin / 4 + i] = joined(i == 0 ? 0 : word(i - 1), word(i), begin);
    });
  }
};

/// Reads positions of equal length. Reports a problem for positions that no compressor writes.
/// Grid: the maximum number of tiles of kTile elements in the payload.
template <std::uint32_t bits>
struct ReadFixedPositions {
  static constexpr int kThreads = 512;
  struct Shared {};

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/, const DecodeJob& job) const {
    const PayloadView& payload = job.payload;
    PayloadParts parts = payload.open();
    if (parts.problem == PayloadProblem::kNone) parts.problem = length(payload, parts);
    block.each([&](int t) {
      if (parts.problem != PayloadProblem::kNone) {
        if (t == 0) tell(block, job, parts.problem);
        return;
      }
      each_in_tile<kThreads>(t, block.index(), parts.count, [&](std::uint32_t i) {
        const std::uint32_t position = at(payload, parts, i);
        const bool ascends = i == 0 || at(payload, parts, i - 1) < position;
        if (!ascends || position >= payload.n) tell(block, job, PayloadProblem::kPosition);
        job.positions[i] = position;
      });
    });
  }

 private:
  THINPIPE_KERNEL static std::uint32_t at(const PayloadView& payload, const PayloadParts& parts,
                                          std::uint32_t i) {
    if constexpr (bits == 32) return payload.word_at(parts.positions + 4 * i);
    return payload.bits_at(std::uint64_t{8} * parts.positions + std::uint64_t{bits} * i) &
           ((std::uint32_t{1} << bits % 32) - 1);
  }
  /// Checks the length; the padding bits of the last byte must be 0.
  THINPIPE_KERNEL static PayloadProblem length(const PayloadView& payload,
                                               const PayloadParts& parts) {
    const std::uint64_t used = std::uint64_t{bits} * parts.count;
    const std::uint64_t bytes = payload.bytes - parts.positions;
    const bool exact =
        bytes == (used + 7) / 8 && payload.bits_at(std::uint64_t{8} * parts.positions + used) == 0;
    return exact ? PayloadProblem::kNone : PayloadProblem::kLength;
  }
};

}  // namespace thinpipe::cuda
