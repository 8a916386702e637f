// Makes many copies within device memory in one launch. Source and destination may have any
// alignment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compressors/cuda/kernels/in_tile.h"

namespace thinpipe::cuda {

struct CopyJob {
  std::uint8_t* to = nullptr;
  const std::uint8_t* from = nullptr;
  std::size_t bytes = 0;
  std::uint32_t first_block[1] = {};
};

/// Copies CopyJob::bytes bytes, one aligned destination word of 4 bytes at a time. The source bytes
/// of one destination word lie in one or two aligned words. If all bytes of these words and of the
/// destination word belong to the copy, the kernel reads and writes words. Otherwise it copies the
/// bytes of the destination word one by one. Grid: blocks_for(CopyJob::bytes) blocks per job.
struct CopyBytes {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kWords = 4096;  ///< words of a block: 16 per thread
  static constexpr std::size_t kWord = sizeof(std::uint32_t);
  struct Shared {};

  /// Returns the number of blocks for a copy of `bytes` bytes, which may begin and end within a
  /// destination word.
  static constexpr std::size_t blocks_for(std::size_t bytes) {
    return bytes == 0 ? 0 : (bytes + 2 * (kWord - 1)) / (kWord * kWords) + 1;
  }

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/, const CopyJob& job) const {
    const std::size_t skipped = reinterpret_cast<std::uintptr_t>(job.to) % kWord;
    const std::size_t end = skipped + job.bytes;
    block.each([&](int t) {
      const std::size_t words = (end + kWord - 1) / kWord;
      each_in_tile<kThreads, kWords>(t, block.index(), words, [&](std::size_t word) {
        const std::size_t from = kWord * word < skipped ? 0 : kWord * word - skipped;
        const std::size_t to = kWord * (word + 1) < end ? kWord * (word + 1) - skipped : job.bytes;
        copy(job, from, to);
      });
    });
  }

 private:
  THINPIPE_KERNEL static void copy(const CopyJob& job, std::size_t begin, std::size_t end) {
    const std::uint8_t* const from = job.from + begin;
    const std::size_t skipped = reinterpret_cast<std::uintptr_t>(from) % kWord;
    const std::size_t read = skipped == 0 ? kWord : 2 * kWord;
    if (end - begin < kWord || begin < skipped || begin - skipped + read > job.bytes) {
      for (std::size_t i = begin; i < end; ++i) job.to[i] = job.from[i];
      return;
    }
    const auto* const words = reinterpret_cast<const std::uint32_t*>(from - skipped);
    const auto shift = static_cast<std::uint32_t>(8 * skipped);
    *reinterpret_cast<std::uint32_t*>(job.to + begin) =
        shift == 0 ? words[0] : words[0] >> shift | words[1] << (32 - shift);
  }
};

}  // namespace thinpipe::cuda
