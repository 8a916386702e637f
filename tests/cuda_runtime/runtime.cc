// The simulated CUDA runtime: devices and memory, streams, graphs and events.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/splitmix64.h"
#include "tests/cuda_runtime/simulated.h"

using Work = std::function<void()>;

struct CUstream_st {
  int device = 0;
  bool destroyed = false;
  std::deque<Work> queued;
  std::size_t begun = 0;
  std::unique_ptr<CUgraph_st> capture;

  std::size_t enqueued() const { return begun + queued.size(); }
};
struct CUgraph_st {
  std::vector<Work> work;
  bool broken = false;
};
struct CUgraphExec_st {
  std::vector<Work> work;
};
struct CUevent_st {
  int device = 0;
  bool timed = true;
  CUstream_st* stream = nullptr;  ///< null: never recorded
  std::size_t at = 0;             ///< index in the stream's work
  std::chrono::steady_clock::time_point when;
};

namespace thinpipe::cuda::simulated {
namespace {

// Callers of functions that run streams hold the mutex.

constexpr int kDevices = 2, kVersion = 13000;
constexpr unsigned char kUnwritten = 0xa5;
constexpr std::size_t kMemoryBytes = std::size_t{1} << 34;

/// Bytes of allocations, by address.
using Ranges = std::map<const std::byte*, std::size_t, std::less<>>;

struct Runtime {
  std::recursive_mutex mutex;
  SplitMix64 random{1};
  std::deque<CUstream_st> streams;  ///< all ever created, because events may refer to them
  Ranges memory, host_memory;
  std::size_t events = 0, graphs = 0, graph_launches = 0;
  bool refuses_graphs = false;
};

Runtime& runtime() {
  static Runtime one;
  return one;
}

thread_local int current_device = 0;
thread_local CUstream_st* capturing = nullptr;
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t failed(cudaError_t error) { return last_error = error; }

/// Fails a call that waits or allocates, in a thread that captures a graph.
cudaError_t forbidden_in_capture() {
  capturing->capture->broken = true;
  return failed(cudaErrorStreamCaptureUnsupported);
}

void run_until(CUstream_st& stream, std::size_t number) {
  while (stream.begun < number && !stream.queued.empty()) {
    const Work work = std::move(stream.queued.front());
    stream.queued.pop_front();
    ++stream.begun;
    work();
  }
}
void run(CUstream_st& stream) { run_until(stream, stream.enqueued()); }
void run_all() {
  for (CUstream_st& stream : runtime().streams) run(stream);
}

cudaError_t enqueue(CUstream_st* stream, Work work) {
  if (stream == nullptr || stream->destroyed) return failed(cudaErrorInvalidResourceHandle);
  if (stream->capture) {
    stream->capture->work.push_back(std::move(work));
    return cudaSuccess;
  }
  stream->queued.push_back(std::move(work));
  // A GPU may have finished any enqueued work by now.
  Runtime& all = runtime();
  constexpr std::uint64_t kOneOf = 8;
  if (all.random.below(kOneOf) == 0) run(all.streams[all.random.below(all.streams.size())]);
  return cudaSuccess;
}

bool is_done(const CUevent_st& event) {
  return event.stream == nullptr || event.stream->begun > event.at;
}

bool holds(const Ranges& ranges, const void* at, std::size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(at);
  auto after = ranges.upper_bound(first);
  if (after == ranges.begin()) return false;
  --after;
  return first + bytes <= after->first + after->second;
}

cudaError_t allocate(void** memory, std::size_t bytes, Ranges& ranges) {
  const std::lock_guard lock(runtime().mutex);
  if (capturing != nullptr) return forbidden_in_capture();
  if (bytes > kMemoryBytes) return failed(cudaErrorMemoryAllocation);
  auto* const at = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{256}));
  std::memset(at, kUnwritten, bytes);
  ranges[at] = bytes;
  *memory = at;
  return cudaSuccess;
}
cudaError_t release(void* memory, Ranges& ranges) {
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
  static constexpr std::pair<cudaError_t, const char*> kTexts[] = {
      {cudaSuccess, "no error"},
      {cudaErrorMemoryAllocation, "out of memory"},
      {cudaErrorInvalidResourceHandle, "invalid resource handle"},
      {cudaErrorNotReady, "device not ready"},
      {cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"},
      {cudaErrorStreamCaptureInvalidated,
       "operation failed due to a previous error during capture"}};
  for (const auto& [known, text] : kTexts)
    if (known == error) return text;
  return "invalid argument";
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

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  const std::lock_guard lock(runtime().mutex);
  *stream = &runtime().streams.emplace_back();
  (*stream)->device = current_device;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock(runtime().mutex);
  if (stream == nullptr || stream->destroyed) return failed(cudaErrorInvalidResourceHandle);
  run(*stream);
  stream->destroyed = true;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const std::lock_guard lock(runtime().mutex);
  if (capturing != nullptr) return forbidden_in_capture();
  if (stream == nullptr || stream->destroyed) return failed(cudaErrorInvalidResourceHandle);
  run(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  const std::lock_guard lock(runtime().mutex);
  if (event->stream == nullptr) return cudaSuccess;
  return enqueue(stream, [other = event->stream, at = event->at] { run_until(*other, at + 1); });
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode /*mode*/) {
  const std::lock_guard lock(runtime().mutex);
  if (capturing != nullptr || stream->capture) return failed(cudaErrorInvalidValue);
  stream->capture = std::make_unique<CUgraph_st>();
  capturing = stream;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::lock_guard lock(runtime().mutex);
  *graph = nullptr;
  if (capturing != stream) return failed(cudaErrorInvalidValue);
  const std::unique_ptr<CUgraph_st> recorded = std::move(stream->capture);
  capturing = nullptr;
  if (recorded->broken) return failed(cudaErrorStreamCaptureInvalidated);
  *graph = new CUgraph_st(*recorded);
  ++runtime().graphs;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* ready, cudaGraph_t graph,
                                 unsigned long long /*flags*/) {
  const std::lock_guard lock(runtime().mutex);
  if (runtime().refuses_graphs) return failed(cudaErrorInvalidValue);
  *ready = new CUgraphExec_st{graph->work};
  ++runtime().graphs;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const std::lock_guard lock(runtime().mutex);
  delete graph;
  --runtime().graphs;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  const std::lock_guard lock(runtime().mutex);
  ++runtime().graph_launches;
  for (const Work& work : graph->work)
    if (const cudaError_t error = enqueue(stream, work); error != cudaSuccess) return error;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  const std::lock_guard lock(runtime().mutex);
  delete graph;
  --runtime().graphs;
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  const std::lock_guard lock(runtime().mutex);
  *event = new CUevent_st;
  (*event)->device = current_device;
  (*event)->timed = (flags & cudaEventDisableTiming) == 0;
  ++runtime().events;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const std::lock_guard lock(runtime().mutex);
  if (event->stream != nullptr) run_until(*event->stream, event->at + 1);
  delete event;
  --runtime().events;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard lock(runtime().mutex);
  if (capturing != nullptr) return forbidden_in_capture();
  if (stream == nullptr || stream->destroyed || stream->device != event->device)
    return failed(cudaErrorInvalidResourceHandle);
  if (event->stream != nullptr) run_until(*event->stream, event->at + 1);
  const bool idle = stream->queued.empty();
  event->stream = stream;
  event->at = stream->enqueued();
  const cudaError_t error =
      enqueue(stream, [event] { event->when = std::chrono::steady_clock::now(); });
  if (idle) run(*stream);  // an event on an idle stream is reached at once
  return error;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::lock_guard lock(runtime().mutex);
  constexpr std::uint64_t kOneOf = 3;
  if (!is_done(*event) && runtime().random.below(kOneOf) == 0)
    run_until(*event->stream, event->at + 1);
  return is_done(*event) ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::lock_guard lock(runtime().mutex);
  if (capturing != nullptr) return forbidden_in_capture();
  if (event->stream != nullptr) run_until(*event->stream, event->at + 1);
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const std::lock_guard lock(runtime().mutex);
  for (const CUevent_st* event : {from, to}) {
    if (!event->timed || event->stream == nullptr) return failed(cudaErrorInvalidResourceHandle);
    if (!is_done(*event)) return failed(cudaErrorNotReady);
  }
  *milliseconds = std::chrono::duration<float, std::milli>(to->when - from->when).count();
  return cudaSuccess;
}
