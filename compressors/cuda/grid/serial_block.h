// A simulated thread block on the CPU: runs one thread after the other, up to the next barrier. It
// tests without a GPU how a kernel's blocks and threads cooperate.
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

/// One simulated block of `kThreads` threads. Kernels run on this class and on CudaBlock, which has
/// the same functions. A kernel passes the code between two barriers to one call of each(). A
/// variable that a thread keeps across a barrier must be a Local.
template <int kThreads>
class SerialBlock {
 public:
  static constexpr int kSize = kThreads;
  static constexpr int kWarps = kThreads / kWarpThreads;
  static_assert(kThreads % kWarpThreads == 0);

  /// A variable of which every thread has its own copy.
  template <class T>
  class Local {
   public:
    T& operator[](int thread) { return values_[static_cast<std::size_t>(thread)]; }

   private:
    std::array<T, kThreads> values_{};
  };

  /// @param seed  of the order in which threads run between barriers; a kernel whose result depends
  ///              on the order has a race
  SerialBlock(unsigned index, std::uint64_t seed) : index_(index) {
    std::iota(order_.begin(), order_.end(), 0);
    SplitMix64 random(seed);
    for (std::size_t i = order_.size(); i > 1; --i)
      std::swap(order_[i - 1], order_[random.below(i)]);
  }

  unsigned index() const { return index_; }
  /// Makes index() count from block `first`, for grids that work on several jobs.
  void count_from(unsigned first) { index_ -= first; }

  /// Calls body(thread) in all threads, then waits for all of them.
  template <class Body>
  void each(Body body) {
    for (int thread : order_) body(thread);
  }

  /// As each(), without waiting at the end: until the next barrier, threads must not read what
  /// others write in `body`.
  template <class Body>
  void each_alone(Body body) {
    each(body);
  }

  // Collective operations of all threads. Each waits for all threads before and after.

  /// Returns the maximum of x over all threads.
  template <class T>
  T greatest(Local<T>& x) {
    T most = x[0];
    for (int thread = 1; thread < kThreads; ++thread) most = std::max(most, x[thread]);
    return most;
  }
  /// Returns the sum of x over all threads.
  std::uint32_t sum(Local<std::uint32_t>& x) {
    std::uint32_t total = 0;
    for (int thread = 0; thread < kThreads; ++thread) total += x[thread];
    return total;
  }
  /// Replaces x by its exclusive prefix sum over the threads. @returns the sum over all threads
  std::uint32_t prefix(Local<std::uint32_t>& x) {
    std::uint32_t before = 0;
    for (int thread = 0; thread < kThreads; ++thread)
      x[thread] = std::exchange(before, before + x[thread]);
    return before;
  }
  /// Sets rows[j] to the ballot of bit j of the flags: one bit for each thread of the warp, lowest
  /// bit first. All threads of a warp get the same rows.
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
  /// Returns the joined counts (sum or maximum) of all tiles before `tile`. The counts of `tile`
  /// itself are `own`.
  /// @param states  one for each tile of the tensor, all kNothing before the first block runs;
  /// blocks of a lower index start first
  template <Joined joined = Joined::kSum>
  Counts before(PrefixState* states, std::uint32_t tile, Counts own) {
    Counts counts;
    if (tile > 0) {
      if (kind_of(states[tile - 1]) != PrefixKind::kAll)
        throw std::logic_error("a tile ran before its predecessor");
      counts = counts_of(states[tile - 1]);
    }
    states[tile] = prefix_state(PrefixKind::kAll, join<joined>(counts, own));
    return counts;
  }
  /// Returns true only in the last of `blocks` blocks that call this function. This last block then
  /// sees the writes of all blocks. The counter `arrived` is 0 before the first call and after the
  /// last one.
  bool is_last(std::uint32_t* arrived, std::uint32_t blocks) {
    if (++*arrived < blocks) return false;
    *arrived = 0;
    return true;
  }

  // Atomic operations, which threads of all blocks may use on the same word. @returns the previous
  // value
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
