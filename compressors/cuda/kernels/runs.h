// Runs of eight consecutive elements, which one thread moves in vectors of 16 bytes.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/source.h"

namespace thinpipe::cuda {

constexpr std::uint32_t kRunElements = 8;
constexpr std::uint32_t kRunsPerTile = kTile / kRunElements;

/// One read or write of a thread.
template <class T>
struct alignas(16) Vector {
  T values[16 / sizeof(T)];
};

/// Moves a run's first `count` values. The loop has a constant length, so that the values stay in
/// registers.
template <class To, class From>
THINPIPE_KERNEL void move_run(To* to, const From* from, std::uint32_t count) {
  for (std::uint32_t j = 0; j < kRunElements; ++j)
    if (j < count) to[j] = from[j];
}
THINPIPE_KERNEL inline bool is_whole_run(const void* at, std::uint32_t count) {
  return count == kRunElements &&
         reinterpret_cast<std::uintptr_t>(at) % alignof(Vector<float>) == 0;
}
template <class T>
THINPIPE_KERNEL void load_run(const T* from, std::uint32_t count, T (&to)[kRunElements]) {
  if (!is_whole_run(from, count)) return move_run(to, from, count);
  const auto* const vectors = reinterpret_cast<const Vector<T>*>(from);
  const Vector<T> low = vectors[0], high = vectors[1];
  for (std::uint32_t j = 0; j < 4; ++j) {
    to[j] = low.values[j];
    to[4 + j] = high.values[j];
  }
}
template <class T>
THINPIPE_KERNEL void store_run(T* to, std::uint32_t count, const T (&from)[kRunElements]) {
  if (!is_whole_run(to, count)) return move_run(to, from, count);
  auto* const vectors = reinterpret_cast<Vector<T>*>(to);
  Vector<T> low, high;
  for (std::uint32_t j = 0; j < 4; ++j) {
    low.values[j] = from[j];
    high.values[j] = from[4 + j];
  }
  vectors[0] = low;
  vectors[1] = high;
}

/// Moves a run's `count` bytes, as the lowest bytes of a number.
THINPIPE_KERNEL inline void store_bytes(std::uint8_t* to, std::uint32_t count,
                                        std::uint64_t bytes) {
  if (count % 4 == 0 && reinterpret_cast<std::uintptr_t>(to) % 4 == 0) {
    auto* const words = reinterpret_cast<std::uint32_t*>(to);
    if (count >= 4) words[0] = static_cast<std::uint32_t>(bytes);
    if (count >= 8) words[1] = static_cast<std::uint32_t>(bytes >> 32);
    return;
  }
  for (std::uint32_t j = 0; j < count; ++j) to[j] = static_cast<std::uint8_t>(bytes >> 8 * j);
}
THINPIPE_KERNEL inline std::uint64_t load_bytes(const std::uint8_t* from, std::uint32_t count) {
  if (count == 8 && reinterpret_cast<std::uintptr_t>(from) % 4 == 0) {
    const auto* const words = reinterpret_cast<const std::uint32_t*>(from);
    return words[0] | std::uint64_t{words[1]} << 32;
  }
  std::uint64_t bytes = 0;
  for (std::uint32_t j = 0; j < count; ++j) bytes |= std::uint64_t{from[j]} << 8 * j;
  return bytes;
}

/// Calls body(i, count) for the runs of a tile that thread t processes.
template <int kThreads, class Body>
THINPIPE_KERNEL void each_run(int t, std::uint32_t tile, std::uint32_t n, Body body) {
  for (auto run = static_cast<std::uint32_t>(t); run < kRunsPerTile; run += kThreads) {
    const std::uint32_t i = tile * kTile + run * kRunElements;
    if (i >= n) return;
    body(i, n - i < kRunElements ? n - i : kRunElements);
  }
}

/// Reads a run of c; for kSum, updates the memory, as element() does.
template <Reading reading>
THINPIPE_KERNEL void read_run(const Job& job, std::uint32_t i, std::uint32_t count,
                              float (&c)[kRunElements]) {
  const bool sums = reading == Reading::kSum && job.r != nullptr && !job.summed;
  if (!sums) return load_run(job.c() + i, count, c);
  if (job.u != nullptr || job.h != nullptr) {
    for (std::uint32_t j = 0; j < kRunElements; ++j)
      if (j < count) c[j] = element<reading>(job, i + j);
    return;
  }
  float g[kRunElements] = {};
  load_run(job.g + i, count, g);
  load_run(job.r + i, count, c);
  for (std::uint32_t j = 0; j < kRunElements; ++j) c[j] = sum_of(job, c[j], g[j]);
  store_run(job.r + i, count, c);
}

/// Updates the memory after a run was sent: leave() for each element.
THINPIPE_KERNEL inline void leave_run(const Job& job, std::uint32_t i, std::uint32_t count,
                                      const float (&c)[kRunElements],
                                      const float (&decoded)[kRunElements]) {
  if (job.h != nullptr) {
    for (std::uint32_t j = 0; j < kRunElements; ++j)
      if (j < count) leave(job, i + j, c[j], decoded[j]);
    return;
  }
  if (!job.keeps) return;
  float left[kRunElements];
  for (std::uint32_t j = 0; j < kRunElements; ++j) left[j] = remainder_of(c[j], decoded[j]);
  store_run(job.r + i, count, left);
}

/// Adds a run's terms to the output.
THINPIPE_KERNEL inline void add_run(float* out, std::uint32_t count,
                                    const float (&terms)[kRunElements]) {
  float sums[kRunElements] = {};
  load_run(out, count, sums);
  for (std::uint32_t j = 0; j < kRunElements; ++j) sums[j] = sums[j] + terms[j];
  store_run(out, count, sums);
}

}  // namespace thinpipe::cuda
