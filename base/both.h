// Macros for arithmetic that the host and GPUs share.
#pragma once

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
