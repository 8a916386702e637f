// Devices and memory of the simulated CUDA runtime.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include "tests/cuda_runtime/state.h"

namespace thinpipe::cuda::simulated {
namespace {

bool holds(const std::map<const std::byte*, std::size_t, std::less<>>& ranges, const void* at,
           std::size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(at);
  auto after = ranges.upper_bound(first);
  if (after == ranges.begin()) return false;
  --after;
  return first + bytes <= after->first + after->second;
}

cudaError_t allocate(void** memory, std::size_t bytes,
                     std::map<const std::byte*, std::size_t, std::less<>>& ranges) {
  const std::lock_guard lock(runtime().mutex);
  if (capturing != nullptr) return forbidden_in_capture();
  if (bytes > kMemoryBytes) return failed(cudaErrorMemoryAllocation);
  auto* const at = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{256}));
  std::memset(at, kUnwritten, bytes);
  ranges[at] = bytes;
  *memory = at;
  return cudaSuccess;
}
cudaError_t release(void* memory, std::map<const std::byte*, std::size_t, std::less<>>& ranges) {
  const std::lock_guard lock(runtime().mutex);
  if (memory == nullptr) return cudaSuccess;
  run_all();
  if (ranges.erase(static_cast<std::byte*>(memory)) == 0) return failed(cudaErrorInvalidValue);
  ::operator delete (memory, std::align_val_t{256});
  return cudaSuccess;
}

}  // namespace

cudaError_t launch(cudaStream_t stream, std::function<void()> kernel) {
  const std::lock_guard lock(runtime().mutex);
  // A kernel must be launched by a thread whose current device is the stream's.
  if (stream == nullptr || stream->device != current_device)
    return failed(cudaErrorInvalidResourceHandle);
  return enqueue(stream, std::move(kernel));
}

Alive alive() {
  const std::lock_guard lock(runtime().mutex);
  const Runtime& all = runtime();
  Alive now{.memory = all.memory.size(),
            .host_memory = all.host_memory.size(),
            .streams = 0,
            .events = all.events,
            .graphs = all.graphs};
  for (const CUstream_st& stream : all.streams) now.streams += stream.destroyed ? 0 : 1;
  return now;
}

void refuse_graphs(bool refuse) { runtime().refuses_graphs = refuse; }
std::size_t graph_launches() { return runtime().graph_launches; }

}  // namespace thinpipe::cuda::simulated

using namespace thinpipe::cuda::simulated;  // NOLINT(google-build-using-namespace): CUDA has none

cudaError_t cudaDriverGetVersion(int* version) {
  *version = kVersion;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr /*attribute*/, int /*device*/) {
  *value = 2;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = kDevices;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= kDevices) return failed(cudaErrorInvalidDevice);
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= kDevices) return failed(cudaErrorInvalidDevice);
  *properties = {.name = "simulated CUDA runtime",
                 .totalGlobalMem = kMemoryBytes,
                 .major = 9,
                 .minor = 0,
                 .l2CacheSize = 1 << 20,
                 .multiProcessorCount = 1};
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
  std::snprintf(text, static_cast<std::size_t>(size), "simulated:%d", device);
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  const std::lock_guard lock(runtime().mutex);
  if (capturing != nullptr) return forbidden_in_capture();
  run_all();
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    default:
      return "invalid argument";
  }
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return allocate(memory, bytes, runtime().memory);
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return allocate(memory, bytes, runtime().host_memory);
}
cudaError_t cudaFree(void* memory) { return release(memory, runtime().memory); }
cudaError_t cudaFreeHost(void* memory) { return release(memory, runtime().host_memory); }
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
  const std::lock_guard lock(runtime().mutex);
  *all = *free = kMemoryBytes;
  for (const auto& [at, bytes] : runtime().memory) *free -= std::min(*free, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  Runtime& all = runtime();
  const std::lock_guard lock(all.mutex);
  if (bytes == 0) return cudaSuccess;
  const bool to_device = holds(all.memory, to, bytes);
  const bool from_device = holds(all.memory, from, bytes);
  if (to_device != (kind != cudaMemcpyDeviceToHost) ||
      from_device != (kind != cudaMemcpyHostToDevice))
    return failed(cudaErrorInvalidValue);
  const void* const host = kind == cudaMemcpyHostToDevice ? from : to;
  const Work move = [to, from, bytes] { std::memcpy(to, from, bytes); };
  if (kind == cudaMemcpyDeviceToDevice || holds(all.host_memory, host, bytes)) {
    if (kind == cudaMemcpyDeviceToHost && capturing == nullptr) std::memset(to, kUnwritten, bytes);
    return enqueue(stream, move);
  }
  if (capturing != nullptr) return forbidden_in_capture();
  if (kind == cudaMemcpyHostToDevice) {  // unpinned memory is read at once
    const auto* const first = static_cast<const std::byte*>(from);
    return enqueue(stream, [to, staged = std::vector<std::byte>(first, first + bytes)] {
      std::copy(staged.begin(), staged.end(), static_cast<std::byte*>(to));
    });
  }
  const cudaError_t error = enqueue(stream, move);
  if (error == cudaSuccess) run(*stream);  // a copy to unpinned memory is synchronous
  return error;
}
cudaError_t cudaMemsetAsync(void* at, int value, std::size_t bytes, cudaStream_t stream) {
  const std::lock_guard lock(runtime().mutex);
  if (bytes == 0) return cudaSuccess;
  if (!holds(runtime().memory, at, bytes)) return failed(cudaErrorInvalidValue);
  return enqueue(stream, [at, value, bytes] { std::memset(at, value, bytes); });
}
