// A thread block of a GPU, which SerialBlock simulates.
#pragma once

#include <cuda/atomic>

#include <cstdint>

#include "compressors/cuda/kernels/prefix.h"

namespace thinpipe::cuda {

constexpr unsigned kAllLanes = 0xffffffff;

/// SerialBlock documents each function.
template <int kThreads>
class CudaBlock {
 public:
  static constexpr int kSize = kThreads;
  static constexpr int kWarps = kThreads / kWarpThreads;
  static_assert(kThreads % kWarpThreads == 0 && kWarps <= kWarpThreads);

  template <class T>
  class Local {
   public:
    __device__ T& operator[](int) { return value_; }

   private:
    T value_{};
  };

  /// Shared memory of the block's functions.
  struct Shared {
    std::uint32_t words[kWarpThreads];
    PrefixState prefix;
    bool last;
  };

  __device__ explicit CudaBlock(Shared& shared) : shared_(shared) {}

  __device__ unsigned index() const { return blockIdx.x - first_; }
  __device__ void count_from(unsigned first) { first_ = first; }

  __device__ void each(auto body) {
    body(static_cast<int>(threadIdx.x));
    __syncthreads();
  }

  __device__ void each_alone(auto body) { body(static_cast<int>(threadIdx.x)); }

  __device__ std::uint32_t greatest(Local<std::uint32_t>& x) {
    const std::uint32_t most = __reduce_max_sync(kAllLanes, x[0]);
    __syncthreads();  // all threads have read the words of the previous call
    if (lane() == 0) shared_.words[warp()] = most;
    __syncthreads();
    return __reduce_max_sync(kAllLanes, shared_.words[lane() < kWarps ? lane() : 0]);
  }
  __device__ std::uint32_t sum(Local<std::uint32_t>& x) {
    const std::uint32_t part = __reduce_add_sync(kAllLanes, x[0]);
    __syncthreads();
    if (lane() == 0) shared_.words[warp()] = part;
    __syncthreads();
    return __reduce_add_sync(kAllLanes, lane() < kWarps ? shared_.words[lane()] : 0);
  }
  __device__ std::uint32_t prefix(Local<std::uint32_t>& x) {
    const std::uint32_t own = x[0];
    const std::uint32_t up_to = up_to_lane(own);
    __syncthreads();
    if (lane() == kWarpThreads - 1) shared_.words[warp()] = up_to;
    __syncthreads();
    const std::uint32_t warps = up_to_lane(lane() < kWarps ? shared_.words[lane()] : 0);
    const std::uint32_t before = __shfl_sync(kAllLanes, warps, warp() == 0 ? 0 : warp() - 1);
    x[0] = up_to - own + (warp() == 0 ? 0 : before);
    return __shfl_sync(kAllLanes, warps, kWarpThreads - 1);
  }
  template <class Rows>
  __device__ void ballots(Local<std::uint32_t>& flags, Local<Rows>& rows) {
#pragma unroll
    for (unsigned j = 0; j < Rows::kSize; ++j)
      rows[0].words[j] = __ballot_sync(kAllLanes, static_cast<int>(flags[0] >> j & 1));
  }
  /// Returns the joined counts of all tiles before `tile` (decoupled look-back). The first warp
  /// reads the states of 32 earlier tiles at a time, until one of them holds the counts of all
  /// tiles up to it.
  template <Joined joined = Joined::kSum>
  __device__ Counts before(PrefixState* states, std::uint32_t tile, Counts own) {
    using Word = ::cuda::atomic_ref<PrefixState, ::cuda::thread_scope_device>;
    __syncthreads();
    if (warp() == 0) {
      if (lane() == 0) {
        Word(states[tile])
            .store(prefix_state(tile == 0 ? PrefixKind::kAll : PrefixKind::kOwn, own),
                   ::cuda::memory_order_relaxed);
      }
      Counts counts;
      // Lane 0 reads the state of the previous tile, lane 1 that of the tile before it.
      for (std::uint32_t end = tile; end > 0;) {
        const std::uint32_t back = static_cast<std::uint32_t>(lane());
        PrefixState state = prefix_state(PrefixKind::kAll, {});  // before the first tile
        if (back < end) {
          do {
            state = Word(states[end - 1 - back]).load(::cuda::memory_order_relaxed);
          } while (kind_of(state) == PrefixKind::kNothing);
        }
        const unsigned all = __ballot_sync(kAllLanes, kind_of(state) == PrefixKind::kAll);
        const int nearest = all == 0 ? kWarpThreads - 1 : __ffs(static_cast<int>(all)) - 1;
        const Counts of_tile = lane() <= nearest ? counts_of(state) : Counts{};
        counts =
            join<joined>(counts, {reduced<joined>(of_tile.first), reduced<joined>(of_tile.second)});
        if (all != 0) break;
        end -= kWarpThreads;  // all 32 tiles had only their own counts
      }
      if (lane() == 0) {
        if (tile > 0) {
          Word(states[tile])
              .store(prefix_state(PrefixKind::kAll, join<joined>(counts, own)),
                     ::cuda::memory_order_relaxed);
        }
        shared_.prefix = prefix_state(PrefixKind::kAll, counts);
      }
    }
    __syncthreads();
    return counts_of(shared_.prefix);
  }
  __device__ bool is_last(std::uint32_t* arrived, std::uint32_t blocks) {
    using Count = ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();  // the block's writes, ordered by the barrier, come before its count
      const std::uint32_t others = Count(*arrived).fetch_add(1, ::cuda::memory_order_acq_rel);
      shared_.last = others + 1 == blocks;
      if (shared_.last) Count(*arrived).store(0, ::cuda::memory_order_relaxed);
    }
    __syncthreads();
    if (shared_.last) __threadfence();  // reads from here on see the other blocks' writes
    return shared_.last;
  }

  __device__ std::uint32_t add(std::uint32_t* to, std::uint32_t value) {
    return atomicAdd(to, value);
  }
  __device__ void set_greatest(std::uint32_t* to, std::uint32_t value) { atomicMax(to, value); }
  __device__ std::uint32_t set_bits(std::uint32_t* to, std::uint32_t bits) {
    return atomicOr(to, bits);
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % kWarpThreads; }
  __device__ static int warp() { return static_cast<int>(threadIdx.x) / kWarpThreads; }
  template <Joined joined>
  __device__ static std::uint32_t reduced(std::uint32_t x) {
    return joined == Joined::kSum ? __reduce_add_sync(kAllLanes, x)
                                  : __reduce_max_sync(kAllLanes, x);
  }
  /// Returns the sum of x over this lane and the lanes before it.
  __device__ static std::uint32_t up_to_lane(std::uint32_t x) {
    for (int distance = 1; distance < kWarpThreads; distance *= 2) {
      const std::uint32_t other = __shfl_up_sync(kAllLanes, x, distance);
      if (lane() >= distance) x += other;
    }
    return x;
  }

  Shared& shared_;
  unsigned first_ = 0;
};

}  // namespace thinpipe::cuda
