// Macros for arithmetic that the host and GPUs share.
#pragma once

/// Marks a function that CUDA code calls as well. The same source then makes the same bits on the
/// host and on the GPU. Expands to nothing where no CUDA compiler reads it.
#ifdef __CUDACC__
#define THINPIPE_BOTH __host__ __device__
#else
#define THINPIPE_BOTH
#endif

/// Marks a kernel's body, which runs on a GPU, or on the host where it simulates a GPU
/// (compressors/cuda/grid/serial_device.h).
#ifdef __CUDACC__
#define THINPIPE_KERNEL __device__
#else
#define THINPIPE_KERNEL
#endif
