// Passes over arrays other than compression: sums of local steps, an outer optimiser, elements at
// positions, copies, and elements of sparse all-reduces that are restored to memories.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compressors/cuda/kernels/job.h"

namespace thinpipe::cuda {

/// to += from
struct AddElement {
  float* to;
  const float* from;

  THINPIPE_KERNEL void operator()(std::size_t i) const { to[i] = to[i] + from[i]; }
};

/// v <- m v + x, out = rate (x + m v)
struct NesterovElement {
  const float* x;
  float* v;
  float* out;
  float momentum, rate;

  THINPIPE_KERNEL void operator()(std::size_t i) const {
    const float own = x[i];
    const float velocity = momentum * v[i] + own;
    v[i] = velocity;
    out[i] = rate * (own + momentum * velocity);
  }
};

/// to[p] = value; positions are distinct.
struct PutElement {
  float* to;
  const std::uint32_t* positions;
  const float* values;

  THINPIPE_KERNEL void operator()(std::size_t i) const { to[positions[i]] = values[i]; }
};

/// Grid: blocks_for(n).
template <class Element>
struct EachElement {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kElements = 4096;  ///< of a block: 16 a thread
  struct Shared {};

  Element element;
  std::size_t n;

  static constexpr std::size_t blocks_for(std::size_t n) { return (n + kElements - 1) / kElements; }

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    each_of_tile<kElements>(block, block.index(), n, [&](std::size_t i) { element(i); });
  }
};

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
    const std::size_t words = (end + kWord - 1) / kWord;
    each_of_tile<kWords>(block, block.index(), words, [&](std::size_t word) {
      const std::size_t from = kWord * word < skipped ? 0 : kWord * word - skipped;
      const std::size_t to = kWord * (word + 1) < end ? kWord * (word + 1) - skipped : job.bytes;
      copy(job, from, to);
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

/// Elements to restore to one tensor's memory.
struct GiveBackJob {
  float* memory = nullptr;
  const std::uint32_t* positions = nullptr;  ///< distinct
  const float* values = nullptr;
  std::uint32_t count = 0;
  bool is_estimate = false;
  std::uint32_t first_block[1] = {};
};

/// Adds each value to the memory at its position, or subtracts it if the memory is an estimate.
/// Results that are not finite become 0, as in scatter() of memory/memory.cc. Grid:
/// blocks_for(count).
struct GiveBack {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kElements = 4096;  ///< of a block: 16 a thread
  struct Shared {};

  static constexpr std::size_t blocks_for(std::size_t n) { return (n + kElements - 1) / kElements; }

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/, const GiveBackJob& job) const {
    each_of_tile<kElements>(block, block.index(), job.count, [&](std::uint32_t i) {
      float& kept = job.memory[job.positions[i]];
      const float value = job.is_estimate ? kept - job.values[i] : kept + job.values[i];
      kept = value - value == 0 ? value : 0.0F;
    });
  }
};

}  // namespace thinpipe::cuda
