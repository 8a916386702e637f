// A GPU's asynchronous copies to and from the host.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "compressors/cuda/device/device_copies.h"
#include "compressors/cuda/grid/cuda_device.cuh"

namespace thinpipe::cuda {

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
