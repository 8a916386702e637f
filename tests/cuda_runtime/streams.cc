// Streams, graphs and events of the simulated CUDA runtime.
#include "tests/cuda_runtime/state.h"

using namespace thinpipe::cuda::simulated;  // NOLINT(google-build-using-namespace): CUDA has none

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
