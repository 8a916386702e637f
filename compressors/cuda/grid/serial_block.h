// A processor that plays a block of a GPU's threads: one thread after the other, up to the next
// barrier. It tests how a kernel's blocks and threads cooperate where there is no GPU.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/splitmix64.h"
#include "compressors/cuda/grid/warp.h"
#include "compressors/cuda/kernels/prefix.h"

namespace thinpipe::cuda {

/// One block of `kThreads` threads. Kernels are written for it and for CudaBlock, which has the
/// same functions: all that is done between two barriers is one each(), and what a thread keeps
/// from one to the next is a Local.
template <int kThreads>
class SerialBlock {
 public:
  static constexpr int kSize = kThreads;
  static constexpr int kWarps = kThreads / kWarpThreads;
  static_assert(kThreads % kWarpThreads == 0);

  /// A variable that every thread has of its own.
  template <class T>
  class Local {
   public:
    T& operator[](int thread) { return values_[static_cast<std::size_t>(thread)]; }

   private:
    std::array<T, kThreads> values_{};
  };

  /// @param seed  of the order in which threads take their turns between barriers: a kernel that
  ///              depends on it has a race
  SerialBlock(unsigned index, std::uint64_t seed) : index_(index) {
    std::iota(order_.begin(), order_.end(), 0);
    SplitMix64 random(seed);
    for (std::size_t i = order_.size(); i > 1; --i)
      std::swap(order_[i - 1], order_[random.below(i)]);
  }

  unsigned index() const { return index_; }
  /// Where one grid has several works, this block's begins with block `first`: index() counts from
  /// there.
  void count_from(unsigned first) { index_ -= first; }

  /// Calls body(thread) on all threads, then waits for all of them.
  template <class Body>
  void each(Body body) {
    for (int thread : order_) body(thread);
  }

  // Collective operations of all threads. Each waits for all threads before and after.

  /// The greatest of all threads' x.
  template <class T>
  T greatest(Local<T>& x) {
    T most = x[0];
    for (int thread = 1; thread < kThreads; ++thread) most = std::max(most, x[thread]);
    return most;
  }
  /// The sum of all threads' counts.
  std::uint32_t sum(Local<std::uint32_t>& x) {
    std::uint32_t total = 0;
    for (int thread = 0; thread < kThreads; ++thread) total += x[thread];
    return total;
  }
  /// x becomes the sum of the x of the threads before. @returns the sum of all
  std::uint32_t prefix(Local<std::uint32_t>& x) {
    std::uint32_t before = 0;
    for (int thread = 0; thread < kThreads; ++thread)
      x[thread] = std::exchange(before, before + x[thread]);
    return before;
  }
  /// rows[j] has a bit for each thread of the warp, the first thread's the lowest: bit j of its
  /// flags. The same in all threads of a warp.
  template <class Rows>
  void ballots(Local<std::uint32_t>& flags, Local<Rows>& rows) {
    for (int thread = 0; thread < kThreads; ++thread) {
      const int begin = thread / kWarpThreads * kWarpThreads;
      for (unsigned j = 0; j < Rows::kSize; ++j) {
        std::uint32_t word = 0;
        for (int lane = 0; lane < kWarpThreads; ++lane)
          word |= (flags[begin + lane] >> j & 1) << lane;
        rows[thread].words[j] = word;
      }
    }
  }
  /// The counts of all tiles before `tile`, joined; it has `own`. `states` has one for each tile of
  /// the tensor, all nothing before the first block runs; blocks of a lower index come first.
  template <Joined joined = Joined::kSum>
  Counts before(PrefixState* states, std::uint32_t tile, Counts own) {
    Counts counts;
    if (tile > 0) {
      if (kind_of(states[tile - 1]) != PrefixKind::kAll)
        throw std::logic_error("a tile whose predecessor has not been there");
      counts = counts_of(states[tile - 1]);
    }
    states[tile] = prefix_state(PrefixKind::kAll, join<joined>(counts, own));
    return counts;
  }
  /// True for the block that comes last of `blocks`, which then sees what all of them have written.
  /// `arrived` is 0 before and after.
  bool is_last(std::uint32_t* arrived, std::uint32_t blocks) {
    if (++*arrived < blocks) return false;
    *arrived = 0;
    return true;
  }

  // Operations that threads of all blocks may do on the same word. @returns its previous value.
  std::uint32_t add(std::uint32_t* to, std::uint32_t value) {
    return std::exchange(*to, *to + value);
  }
  void set_greatest(std::uint32_t* to, std::uint32_t value) { *to = std::max(*to, value); }
  std::uint32_t set_bits(std::uint32_t* to, std::uint32_t bits) {
    return std::exchange(*to, *to | bits);
  }

 private:
  unsigned index_;
  std::array<int, kThreads> order_;
};

}  // namespace thinpipe::cuda
