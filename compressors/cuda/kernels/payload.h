// The payload of a sparse method as wire format has it: count, values, positions, 32 bits each
// (docs/wire-format.md). The memory forgets what is sent.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/job.h"

namespace thinpipe::cuda {

/// The bytes of a payload in order: a count of one to five bytes, then words. Written by aligned
/// words, each of which has parts of two.
struct PayloadWords {
  std::uint32_t count;

  /// LEB128, the first byte the lowest.
  THINPIPE_BOTH std::uint64_t header() const {
    std::uint64_t bytes = 0;
    std::uint32_t left = count;
    int shift = 0;
    for (; left >= 0x80; left >>= 7, shift += 8)
      bytes |= static_cast<std::uint64_t>((left & 0x7f) | 0x80) << shift;
    return bytes | static_cast<std::uint64_t>(left) << shift;
  }
  THINPIPE_BOTH std::uint32_t header_bytes() const {
    std::uint32_t bytes = 1;
    for (std::uint32_t left = count; left >= 0x80; left >>= 7) ++bytes;
    return bytes;
  }
  /// Its last four bytes; where there are fewer, the lower ones are 0.
  THINPIPE_BOTH std::uint32_t header_end() const {
    const std::uint32_t bytes = header_bytes();
    return static_cast<std::uint32_t>(bytes > 4 ? header() >> 8 * (bytes - 4)
                                                : header() << 8 * (4 - bytes));
  }
  /// The aligned word in which `word`, that begins at byte `at`, begins, with what `before`, the
  /// word before it, leaves of it.
  THINPIPE_BOTH static std::uint32_t joined(std::uint32_t before, std::uint32_t word,
                                            std::uint32_t at) {
    const std::uint32_t shift = at % 4 * 8;
    return shift == 0 ? word : word << shift | before >> (32 - shift);
  }
};

/// Writes what chosen[Job::place] holds and clears the memory there. Leaves all states empty.
/// Grid: the tiles of kTile elements.
struct WritePayload {
  static constexpr int kThreads = 512;
  struct Shared {};

  const Job* jobs;
  const Tile* tiles;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const PayloadWords payload{job.findings->counts[job.place]};
    const std::uint32_t count = payload.count;
    const std::uint32_t header = payload.header_bytes();
    block.each([&](int t) {
      if (t == 0) job.states[0][tile.index] = job.states[1][tile.index] = 0;
      if (t == 0 && tile.index == 0) {
        job.findings->encoded = header + 8 * count;
        // A count of four or five bytes fills a word.
        if (header >= 4) job.payload[0] = static_cast<std::uint32_t>(payload.header());
        if (count == 0) job.payload[0] = 0;
      }
      const std::uint32_t begin = tile.index * kTile;
      for (std::uint32_t i = begin + static_cast<std::uint32_t>(t); i < begin + kTile;
           i += kThreads) {
        if (i >= count) break;
        write(job, payload, header, i);
        write(job, payload, header, count + i);
        if (i + 1 == count) end(job, header, count);
        const Chosen chosen = job.chosen_at(job.place);
        take_off(job, chosen.positions[i], chosen.values[i]);
      }
    });
  }

 private:
  /// The i-th of the words after the count: values, then positions.
  THINPIPE_KERNEL static std::uint32_t word(const Job& job, std::uint32_t count, std::uint32_t i) {
    const Chosen chosen = job.chosen_at(job.place);
    return i < count ? bits_of(chosen.values[i]) : chosen.positions[i - count];
  }
  THINPIPE_KERNEL static void write(const Job& job, const PayloadWords& payload,
                                    std::uint32_t header, std::uint32_t i) {
    // The bytes of the count that end in the first word's.
    const std::uint32_t before = i == 0 ? payload.header_end() : word(job, payload.count, i - 1);
    job.payload[header / 4 + i] = PayloadWords::joined(before, word(job, payload.count, i), header);
  }
  /// The bytes of the last position that begin another word.
  THINPIPE_KERNEL static void end(const Job& job, std::uint32_t header, std::uint32_t count) {
    if (header % 4 == 0) return;
    const std::uint32_t shift = header % 4 * 8;
    job.payload[header / 4 + 2 * count] = word(job, count, 2 * count - 1) >> (32 - shift);
  }
  THINPIPE_KERNEL static std::uint32_t bits_of(float value) {
    return std::bit_cast<std::uint32_t>(value);
  }
};

}  // namespace thinpipe::cuda
