// A GPU: its memory, kernels on one stream, and asynchronous copies to and from the host.
#pragma once

#include <cuda_runtime.h>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "compressors/cuda/device/device_memory.h"
#include "compressors/cuda/grid/cuda_launch.cuh"

namespace thinpipe::cuda {

inline void check(cudaError_t error, const char* attempt) {
  if (error == cudaSuccess) return;
  throw RunError(std::string("CUDA: ") + attempt + ": " + cudaGetErrorString(error));
}

struct DestroyGraph {
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
/// An instantiated CUDA graph.
using CudaRecording = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, DestroyGraph>;

class CudaDevice : public DeviceMemory, public DeviceClock {
 public:
  /// Opens the current device. @throws RunError without a device
  CudaDevice() {
    check(cudaGetDevice(&number_), "get the device");
    int processors = 0;
    check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, number_),
          "get the number of multiprocessors");
    processors_ = static_cast<std::uint32_t>(processors);
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create a stream");
  }
  ~CudaDevice() override {
    for (void* memory : memory_) cudaFree(memory);
    for (void* memory : host_memory_) cudaFreeHost(memory);
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
    cudaStreamDestroy(stream_);
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    const std::size_t some = bytes == 0 ? 1 : bytes;
    check(cudaMalloc(&memory, some), ("allocate " + std::to_string(some) + " bytes").c_str());
    memory_.push_back(memory);
    zero(memory, some);
    return memory;
  }
  void* allocate_host(std::size_t bytes) override {
    void* memory = nullptr;
    const std::size_t some = bytes == 0 ? 1 : bytes;
    check(cudaMallocHost(&memory, some),
          ("allocate " + std::to_string(some) + " bytes of pinned memory").c_str());
    host_memory_.push_back(memory);
    std::memset(memory, 0, some);
    return memory;
  }
  std::size_t free_bytes() override {
    std::size_t free = 0, all = 0;
    check(cudaMemGetInfo(&free, &all), "get free memory");
    return free;
  }
  void upload(void* to, const void* from, std::size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "copy to the device");
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_),
          "copy from the device");
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_),
          "copy on the device");
  }
  void zero(void* at, std::size_t bytes) override {
    check(cudaMemsetAsync(at, 0, bytes, stream_), "clear memory");
  }
  void wait() override {
    if (mark_of_waits_) mark(*mark_of_waits_);
    check(cudaStreamSynchronize(stream_), "wait for the device");
  }

  void mark(std::size_t number) override {
    while (events_.size() <= number) {
      events_.push_back(nullptr);
      check(cudaEventCreate(&events_.back()), "create an event");
    }
    check(cudaEventRecord(events_[number], stream_), "record an event");
  }
  void mark_waits(std::optional<std::size_t> number) override { mark_of_waits_ = number; }
  double seconds(std::size_t from, std::size_t to) override {
    constexpr double kMilli = 1e-3;
    float milliseconds = 0;
    for (const std::size_t number : {from, to})
      check(cudaEventSynchronize(events_.at(number)), "wait for an event");
    check(cudaEventElapsedTime(&milliseconds, events_.at(from), events_.at(to)),
          "read the time between events");
    return kMilli * static_cast<double>(milliseconds);
  }
  void wait_for_all() override { check(cudaDeviceSynchronize(), "wait for the device"); }

  /// Launches a kernel on `blocks` thread blocks, in the order of the stream.
  void launch(const auto& kernel, std::size_t blocks) {
    if (blocks == 0) return;
    check(launch_kernel(kernel, static_cast<unsigned>(blocks), stream_), "launch a kernel");
  }

  using Recording = CudaRecording;

  /// Returns whether work may be captured as graphs. THINPIPE_CUDA_GRAPHS=0 turns graphs off, to
  /// measure their effect.
  bool can_record() const { return records_; }
  /// Captures the work that `enqueue` enqueues as a graph, without running it. Returns std::nullopt
  /// if the driver cannot make a graph of it.
  std::optional<Recording> record(const auto& enqueue) {
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture a graph");
    cudaGraph_t graph = nullptr;
    try {
      enqueue();
    } catch (...) {
      if (cudaStreamEndCapture(stream_, &graph) == cudaSuccess) cudaGraphDestroy(graph);
      cudaGetLastError();  // cleared: the exception says more
      throw;
    }
    cudaGraphExec_t ready = nullptr;
    cudaError_t error = cudaStreamEndCapture(stream_, &graph);
    if (error == cudaSuccess) {
      error = cudaGraphInstantiate(&ready, graph, 0);
      cudaGraphDestroy(graph);
    }
    if (error == cudaSuccess) return Recording(ready);
    cudaGetLastError();  // cleared: the work can run without a graph
    return std::nullopt;
  }
  /// Launches the captured graph.
  void repeat(const Recording& recording, const auto& /*enqueue*/) {
    check(cudaGraphLaunch(recording.get(), stream_), "launch a graph");
  }

  std::uint32_t processors() const { return processors_; }
  cudaStream_t stream() const { return stream_; }
  int number() const { return number_; }

 private:
  static bool graphs_wanted() {
    const char* const wanted = std::getenv("THINPIPE_CUDA_GRAPHS");
    return wanted == nullptr || std::string(wanted) != "0";
  }

  int number_ = 0;
  std::uint32_t processors_ = 1;
  cudaStream_t stream_ = nullptr;
  bool records_ = graphs_wanted();
  std::vector<void*> memory_, host_memory_;
  std::vector<cudaEvent_t> events_;  ///< by mark number
  std::optional<std::size_t> mark_of_waits_;
};

/// GPUs have a copy engine for each direction: one stream per direction keeps both busy.
class CudaCopies : public DeviceCopies {
 public:
  explicit CudaCopies(std::shared_ptr<CudaDevice> device) : device_(std::move(device)) {
    for (cudaStream_t* stream : {&down_, &up_})
      check(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), "create a stream for copies");
    check(cudaEventCreateWithFlags(&enqueued_, cudaEventDisableTiming), "create an event");
  }
  ~CudaCopies() override {
    for (cudaStream_t stream : {down_, up_}) cudaStreamSynchronize(stream);
    for (const UnderWay& one : all_) {
      cudaEventDestroy(one.begin);
      cudaEventDestroy(one.end);
    }
    cudaEventDestroy(enqueued_);
    for (cudaStream_t stream : {down_, up_}) cudaStreamDestroy(stream);
  }
  CudaCopies(const CudaCopies&) = delete;
  CudaCopies& operator=(const CudaCopies&) = delete;

  void use_in_this_thread() override { check(cudaSetDevice(device_->number()), "set the device"); }
  std::size_t begin_downloads(std::span<const DeviceCopy> copies) override {
    const std::lock_guard lock(mutex_);
    check(cudaEventRecord(enqueued_, device_->stream()), "record an event");
    check(cudaStreamWaitEvent(down_, enqueued_, 0), "make copies wait for kernels");
    const std::size_t number = begin(down_);
    for (const DeviceCopy& copy : copies)
      check(cudaMemcpyAsync(copy.to, copy.from, copy.bytes, cudaMemcpyDeviceToHost, down_),
            "copy from the device");
    check(cudaEventRecord(all_[number].end, down_), "record an event");
    return number;
  }
  std::size_t begin_upload(const DeviceCopy& copy) override {
    const std::lock_guard lock(mutex_);
    const std::size_t number = begin(up_);
    check(cudaMemcpyAsync(copy.to, copy.from, copy.bytes, cudaMemcpyHostToDevice, up_),
          "copy to the device");
    check(cudaEventRecord(all_[number].end, up_), "record an event");
    return number;
  }
  void join(std::size_t number) override {
    const std::lock_guard lock(mutex_);
    check(cudaStreamWaitEvent(device_->stream(), all_.at(number).end, 0),
          "make kernels wait for a copy");
  }

  // Neither function needs the device to be the calling thread's current one.
  bool ended(std::size_t number) override {
    const cudaError_t found = cudaEventQuery(end_of(number));
    if (found == cudaErrorNotReady) return false;
    check(found, "copy");
    return true;
  }
  double take(std::size_t number) override {
    check(cudaEventSynchronize(end_of(number)), "copy");
    const std::lock_guard lock(mutex_);
    UnderWay& one = all_.at(number);
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, one.begin, one.end), "read the time between events");
    one.used = false;
    constexpr double kMilli = 1e-3;
    return kMilli * static_cast<double>(milliseconds);
  }

 private:
  struct UnderWay {
    cudaEvent_t begin = nullptr, end = nullptr;
    bool used = false;
  };

  std::size_t begin(cudaStream_t stream) {
    use_in_this_thread();
    std::size_t number = 0;
    while (number < all_.size() && all_[number].used) ++number;
    if (number == all_.size()) {
      all_.emplace_back();
      for (cudaEvent_t* event : {&all_.back().begin, &all_.back().end})
        check(cudaEventCreate(event), "create an event");
    }
    all_[number].used = true;
    check(cudaEventRecord(all_[number].begin, stream), "record an event");
    return number;
  }
  cudaEvent_t end_of(std::size_t number) {
    const std::lock_guard lock(mutex_);
    return all_.at(number).end;
  }

  std::shared_ptr<CudaDevice> device_;
  cudaStream_t down_ = nullptr, up_ = nullptr;
  cudaEvent_t enqueued_ = nullptr;
  std::mutex mutex_;
  std::vector<UnderWay> all_;
};

}  // namespace thinpipe::cuda
