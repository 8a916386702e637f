// Arithmetic that processors and GPUs share.
#pragma once

/// Before a function that CUDA code calls as well: the same source then makes the same bits on both
/// sides. Where no CUDA compiler reads it, it says nothing.
#ifdef __CUDACC__
#define THINPIPE_BOTH __host__ __device__
#else
#define THINPIPE_BOTH
#endif

/// Before a kernel's body, which runs on a GPU, or on a processor that plays one
/// (compressors/cuda/grid/serial_block.h).
#ifdef __CUDACC__
#define THINPIPE_KERNEL __device__
#else
#define THINPIPE_KERNEL
#endif
