// With CUDA.
#include "compressors/cuda/gpu.h"

#include "compressors/cuda/grid/cuda_device.cuh"
#include "compressors/cuda/make.h"

namespace thinpipe {

GpuStatus probe_gpu() {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess)
    return {.available = false, .detail = cudaGetErrorString(error)};
  if (count == 0) return {.available = false, .detail = "no GPU"};
  cudaDeviceProp gpu;
  if (const cudaError_t error = cudaGetDeviceProperties(&gpu, 0); error != cudaSuccess)
    return {.available = false, .detail = cudaGetErrorString(error)};
  const std::size_t gibibytes = gpu.totalGlobalMem >> 30;
  return {.available = true,
          .detail = std::string(gpu.name) + ", " + std::to_string(gibibytes) +
                    " GiB, compute capability " + std::to_string(gpu.major) + "." +
                    std::to_string(gpu.minor)};
}

std::shared_ptr<DeviceMemory> open_gpu() { return std::make_shared<cuda::CudaDevice>(); }

std::unique_ptr<DeviceCompressor> make_gpu_compressor(const std::shared_ptr<DeviceMemory>& gpu,
                                                      const Spec& spec,
                                                      std::span<const TensorInfo> tensors,
                                                      const CompressorSettings& settings) {
  auto device = std::dynamic_pointer_cast<cuda::CudaDevice>(gpu);
  if (!device) throw RunError("the device is no GPU");
  return cuda::make_device_compressor(std::move(device), spec, tensors, settings);
}

}  // namespace thinpipe
