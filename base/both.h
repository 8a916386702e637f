// Arithmetic that the host and GPUs share: macros, and one bit pattern for every NaN.
#pragma once

#include <bit>
#include <cstdint>

/// Marks a function that host code and CUDA code call, so that both compute the same bits. Expands
/// to nothing in a compiler other than CUDA's.
#ifdef __CUDACC__
#define THINPIPE_BOTH __host__ __device__
#else
#define THINPIPE_BOTH
#endif

/// Marks a kernel's body, which runs on a GPU, or on the host if it simulates a GPU
/// (compressors/cuda/grid/serial_device.h).
#ifdef __CUDACC__
#define THINPIPE_KERNEL __device__
#else
#define THINPIPE_KERNEL
#endif

namespace thinpipe {

/// The bits of every NaN that a GPU's addition or multiplication returns.
constexpr std::uint32_t kNanBits = 0x7fffffff;

/// Returns the result x of an addition or a multiplication, with kNanBits if x is a NaN. x86 copies
/// the bits of an operand instead, and which operand depends on the compiler.
THINPIPE_BOTH inline float canonical(float x) {
#ifdef __CUDA_ARCH__
  return x;
#else
  return x == x ? x : std::bit_cast<float>(kNanBits);
#endif
}

}  // namespace thinpipe
