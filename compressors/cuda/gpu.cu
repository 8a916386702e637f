// The functions of gpu.h with CUDA.
#include "compressors/cuda/gpu.h"

#include "compressors/cuda/arithmetic.h"
#include "compressors/cuda/grid/cuda_device.cuh"
#include "compressors/cuda/make.h"

namespace thinpipe {
namespace {

/// Returns CUDA's version number as text: "13.2" for 13020.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

DeviceDescription describe_gpu() {
  using cuda::check;
  int device = 0, driver = 0, runtime = 0;
  cudaDeviceProp gpu;
  char bus[32] = "";
  check(cudaGetDevice(&device), "get the device");
  check(cudaGetDeviceProperties(&gpu, device), "get the device's properties");
  check(cudaDeviceGetPCIBusId(bus, sizeof bus, device), "get the device's PCI bus id");
  check(cudaDriverGetVersion(&driver), "get the driver's version");
  check(cudaRuntimeGetVersion(&runtime), "get the runtime's version");
  return {.name = gpu.name,
          .architecture = "sm_" + std::to_string(gpu.major) + std::to_string(gpu.minor),
          .bus = bus,
          .driver = version_text(driver),
          .runtime = version_text(runtime),
          .l2_bytes = static_cast<std::size_t>(gpu.l2CacheSize),
          .memory_bytes = gpu.totalGlobalMem,
          .multiprocessors = gpu.multiProcessorCount};
}

/// Opens streams on the calling thread's current device.
RankDevice open_streams(const DeviceDescription& description) {
  const auto device = std::make_shared<cuda::CudaDevice>();
  return {.description = description,
          .memory = device,
          .copies = std::make_shared<cuda::CudaCopies>(device),
          .arithmetic = std::make_shared<cuda::Arithmetic<cuda::CudaDevice>>(device),
          .make = cuda::maker_on(device),
          .beside = [description, number = device->number()] {
            cuda::check(cudaSetDevice(number), "set the device");
            return open_streams(description);
          }};
}

}  // namespace

GpuStatus probe_gpu() {
  int count = 0, driver = 0;
  // Without a driver the runtime reports a driver that is too old.
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
    return {.available = false, .detail = "no NVIDIA driver"};
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
  if (!device) throw RunError("the device is not a GPU");
  return cuda::make_device_compressor(std::move(device), spec, tensors, settings);
}

TimedDevice open_timed_gpu() {
  const auto device = std::make_shared<cuda::CudaDevice>();
  return {.description = describe_gpu(),
          .memory = device,
          .clock = device,
          .roofline = std::make_shared<cuda::Roofline<cuda::CudaDevice>>(device),
          .make = cuda::maker_on(device)};
}

RankDevice open_rank_gpu(int local_rank) {
  using cuda::check;
  int count = 0;
  check(cudaGetDeviceCount(&count), "count the GPUs");
  if (count == 0) throw RunError("CUDA: no GPU");
  check(cudaSetDevice(local_rank % count), "set the device");
  return open_streams(describe_gpu());
}

}  // namespace thinpipe
