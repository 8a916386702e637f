// Positions of equal length, in the tensor or relative to the beginning of their chunk.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/laid_positions.h"
#include "compressors/cuda/kernels/payload.h"
#include "compressors/cuda/kernels/scanned_positions.h"

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

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
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

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/, const DecodeJob& job) const {
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

// Positions within chunks. If some chunks have fewer than k positions, the number of positions is
// written before the positions of each chunk (methods/sparseloco.cc).

/// Layout of a payload of `count` positions.
struct ChunkedPositions {
  ChunkLayout layout;
  bool complete;  ///< every chunk has all positions, so that no numbers are written

  THINPIPE_KERNEL static ChunkedPositions of(const ChunkLayout& layout, std::uint32_t count) {
    return {layout, count == layout.selected()};
  }
  THINPIPE_KERNEL static ChunkedPositions of(const Job& job, std::uint32_t count) {
    return of(job.chunks, count);
  }
  /// Returns the bits of a chunk's number of positions.
  THINPIPE_KERNEL std::uint32_t number_bits() const { return complete ? 0 : layout.bits + 1; }
  /// Returns the first bit of position i, which is in `chunk`.
  THINPIPE_KERNEL std::uint64_t bit_of(std::uint32_t i, std::uint32_t chunk) const {
    return std::uint64_t{layout.bits} * i + std::uint64_t{number_bits()} * (chunk + 1);
  }
  THINPIPE_KERNEL std::uint64_t bits(std::uint32_t count) const {
    return std::uint64_t{layout.bits} * count + std::uint64_t{number_bits()} * layout.chunks();
  }
  THINPIPE_KERNEL std::uint64_t most(std::uint32_t count, std::uint32_t /*n*/) const {
    return (bits(count) + 7) / 8;
  }
};

/// Writes the positions of the sent elements. Grid: the tiles of kTile elements.
struct LayChunked : OnTiles {
  static constexpr int kThreads = 512;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    const SentTile tile(jobs, tiles[block.index()]);
    const Job& job = tile.job;
    const std::uint32_t count = tile.count;
    const std::uint32_t* const positions = tile.positions;
    const std::uint32_t begin = tile.begin;
    const ChunkedPositions code = ChunkedPositions::of(job, count);
    const std::uint32_t bits = job.chunks.bits;
    block.each([&](int t) {
      if (tile.index == 0 && t == 0)
        job.findings->encoded = begin + static_cast<std::uint32_t>(code.most(count, job.n));
      each_in_tile<kThreads>(t, tile.index, count, [&](std::uint32_t i) {
        const std::uint32_t chunk = positions[i] >> bits;
        const std::uint64_t bit = std::uint64_t{8} * begin + code.bit_of(i, chunk);
        lay(block, job.payload, bit, positions[i] & (job.chunks.size() - 1));
        if (code.complete || (i > 0 && positions[i - 1] >> bits == chunk)) return;
        // Position i is the first of its chunk; the last is at most k positions later.
        const std::uint32_t most = count - i < job.chunks.k ? count : i + job.chunks.k;
        const std::uint32_t end = first_where(
            i + 1, most, [&](std::uint32_t at) { return positions[at] >> bits != chunk; });
        lay(block, job.payload, bit - code.number_bits(), end - i);
      });
    });
  }
};

/// Checks a payload's length. If the payload holds each chunk's number of positions, also sets
/// begins[c] to the number of positions before chunk c. Where such a number is stored depends on
/// all numbers before it, so one thread reads the numbers, from words that all threads have
/// fetched. Grid: one block.
struct FindChunks {
  static constexpr int kThreads = 512;
  static constexpr std::uint32_t kWords = 2048;  ///< fetched together
  struct Shared {
    std::uint32_t words[kWords + 1];
    std::uint64_t bit;  ///< of the next number, counted from the first position
    std::uint32_t chunk;
    std::uint32_t count;  ///< positions before the next number
    bool bad;
  };

  THINPIPE_KERNEL void operator()(auto& block, Shared& shared, const DecodeJob& job) const {
    const PayloadView& payload = job.payload;
    const ChunkLayout& layout = job.chunks;
    PayloadParts parts = payload.open();
    const ChunkedPositions code = ChunkedPositions::of(layout, parts.count);
    if (parts.problem == PayloadProblem::kNone && parts.count > layout.selected())
      parts.problem = PayloadProblem::kPosition;
    const std::uint64_t first = std::uint64_t{8} * parts.positions;
    if (parts.problem == PayloadProblem::kNone) {
      const bool exact = payload.bytes - parts.positions == (code.bits(parts.count) + 7) / 8 &&
                         payload.bits_at(first + code.bits(parts.count)) == 0;
      if (!exact) parts.problem = PayloadProblem::kLength;
    }
    once(block, [&] {
      if (parts.problem != PayloadProblem::kNone) tell(block, job, parts.problem);
      shared.bit = 0;
      shared.chunk = shared.count = 0;
      shared.bad = parts.problem != PayloadProblem::kNone;
    });
    if (shared.bad || code.complete) return;
    const std::uint32_t chunks = layout.chunks();
    while (shared.chunk < chunks && !shared.bad) {
      each_of(block, kWords + 1, [&](std::uint32_t i) {
        shared.words[i] = payload.bits_at(first + shared.bit + std::uint64_t{32} * i);
      });
      once(block, [&] { walk(job.begins, parts, code, shared); });
    }
    once(block, [&] {
      if (shared.bad || shared.count != parts.count) tell(block, job, PayloadProblem::kPosition);
    });
  }

 private:
  /// Reads numbers until the fetched words end.
  THINPIPE_KERNEL static void walk(std::uint32_t* begins, const PayloadParts& parts,
                                   const ChunkedPositions& code, Shared& shared) {
    const ChunkLayout& layout = code.layout;
    const std::uint32_t chunks = layout.chunks();
    std::uint64_t at = 0;
    for (; shared.chunk < chunks && at < std::uint64_t{32} * kWords; ++shared.chunk) {
      const std::uint64_t window = shared.words[at / 32] | std::uint64_t{shared.words[at / 32 + 1]}
                                                               << 32;
      const auto number = static_cast<std::uint32_t>(window >> at % 32) &
                          ((std::uint32_t{1} << code.number_bits()) - 1);
      shared.bad = number > layout.most_at(shared.chunk) || number > parts.count - shared.count;
      if (shared.bad) return;
      begins[shared.chunk] = shared.count;
      shared.count += number;
      at += code.number_bits() + std::uint64_t{layout.bits} * number;
    }
    shared.bit += at;
  }
};

/// Reads all positions of a payload, unless an earlier kernel found a problem in it. Grid: the
/// maximum number of tiles of kTile elements in the payload.
struct ReadChunked {
  static constexpr int kThreads = 512;
  struct Shared {};

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/, const DecodeJob& job) const {
    const PayloadView& payload = job.payload;
    const ChunkLayout& layout = job.chunks;
    const PayloadParts parts = payload.open();
    if (parts.problem != PayloadProblem::kNone || parts.count > layout.selected()) return;
    const ChunkedPositions code = ChunkedPositions::of(layout, parts.count);
    const bool usable = *job.problem == 0;
    block.each([&](int t) {
      if (!usable) return;
      each_in_tile<kThreads>(t, block.index(), parts.count, [&](std::uint32_t i) {
        const std::uint32_t chunk = chunk_of(job, code, i);
        const std::uint64_t bit = std::uint64_t{8} * parts.positions + code.bit_of(i, chunk);
        const std::uint32_t position = local(job, bit);
        const std::uint32_t before =
            code.complete ? chunk * layout.most_of(layout.size()) : job.begins[chunk];
        job.positions[i] = (chunk << layout.bits) + position;
        const bool ascends = i == before || local(job, bit - layout.bits) < position;
        if (!ascends || job.positions[i] >= layout.n) tell(block, job, PayloadProblem::kPosition);
      });
    });
  }

 private:
  THINPIPE_KERNEL static std::uint32_t local(const DecodeJob& job, std::uint64_t bit) {
    return job.payload.bits_at(bit) & (job.chunks.size() - 1);
  }
  /// Returns the last chunk that begins at or before position i.
  THINPIPE_KERNEL static std::uint32_t chunk_of(const DecodeJob& job, const ChunkedPositions& code,
                                                std::uint32_t i) {
    const ChunkLayout& layout = job.chunks;
    if (code.complete) return i / layout.most_of(layout.size());
    const auto is_later = [&](std::uint32_t chunk) { return job.begins[chunk] > i; };
    return first_where(1, layout.chunks(), is_later) - 1;
  }
};

}  // namespace thinpipe::cuda
