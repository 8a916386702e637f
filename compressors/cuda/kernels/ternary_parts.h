// Packs ternary elements of buckets larger than a tile.
#pragma once

#include <bit>
#include <cstdint>

#include "compressors/cuda/kernels/ternary.h"

namespace thinpipe::cuda {

/// Packs elements as PackTernary does, for buckets larger than a tile, each of which is a job of
/// its own. A thread packs one byte at a time. Clears the prefix states of the buckets' tensors.
/// Grid: the tiles of kTile elements of every bucket.
struct PackTernaryParts {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kBytes = (kTile + 4) / 5;  ///< per tile
  struct Shared {};

  const Job* jobs;
  const Tile* tiles;
  TernaryLayout layout;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const auto length = static_cast<std::uint32_t>(quartic_size(job.n));
    auto* const bytes =
        (job.packed == nullptr ? reinterpret_cast<std::uint8_t*>(job.payload) : job.packed) +
        job.at;
    typename Block::template Local<std::uint32_t> nonzero;
    block.each([&](int t) {
      nonzero[t] = 0;
      if (t == 0) {
        const std::uint32_t at = job.first / kTile + tile.index;
        job.states[0][at] = job.states[1][at] = 0;
        if (tile.index == 0)
          job.payload[job.first / layout.bucket] =
              std::bit_cast<std::uint32_t>(job.findings->scale);
      }
      const std::uint32_t begin = tile.index * kBytes;
      const std::uint32_t end = begin + kBytes < length ? begin + kBytes : length;
      for (auto j = begin + static_cast<std::uint32_t>(t); j < end; j += kThreads)
        bytes[j] = byte_of(job, length, j, nonzero[t]);
    });
    count_nonzero(block, job, nonzero, tiles_of(job.n, kTile));
  }

 private:
  THINPIPE_KERNEL static std::uint8_t byte_of(const Job& job, std::uint32_t length, std::uint32_t j,
                                              std::uint32_t& nonzero) {
    constexpr TernaryDigit kDigit{.stochastic = false};
    std::uint32_t code = 0;
    for (std::uint64_t part = 0; part < 5; ++part) {
      const std::uint64_t i = part * length + j;
      code *= 3;
      if (i < job.n) {
        code +=
            kDigit(job, job.findings->scale, static_cast<std::uint32_t>(i), job.c()[i], nonzero);
      }
    }
    return static_cast<std::uint8_t>(code);
  }
};

}  // namespace thinpipe::cuda
