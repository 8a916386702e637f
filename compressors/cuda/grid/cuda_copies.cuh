// A GPU's copies to and from the host, beside its other work.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "compressors/cuda/device/device_copies.h"
#include "compressors/cuda/grid/cuda_device.cuh"

namespace thinpipe::cuda {

/// GPUs have an engine for each way: a stream for each keeps both busy.
class CudaCopies : public DeviceCopies {
 public:
  explicit CudaCopies(std::shared_ptr<CudaDevice> device) : device_(std::move(device)) {
    for (cudaStream_t* stream : {&down_, &up_})
      check(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), "make a stream for copies");
    check(cudaEventCreateWithFlags(&asked_, cudaEventDisableTiming), "make an event");
  }
  ~CudaCopies() override {
    for (cudaStream_t stream : {down_, up_}) cudaStreamSynchronize(stream);
    for (const UnderWay& one : all_) {
      cudaEventDestroy(one.begin);
      cudaEventDestroy(one.end);
    }
    cudaEventDestroy(asked_);
    for (cudaStream_t stream : {down_, up_}) cudaStreamDestroy(stream);
  }
  CudaCopies(const CudaCopies&) = delete;
  CudaCopies& operator=(const CudaCopies&) = delete;

  void use_in_this_thread() override { check(cudaSetDevice(device_->number()), "use the device"); }
  std::size_t begin_downloads(std::span<const DeviceCopy> copies) override {
    const std::lock_guard lock(mutex_);
    check(cudaEventRecord(asked_, device_->stream()), "record an event");
    check(cudaStreamWaitEvent(down_, asked_, 0), "let copies wait for kernels");
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
          "let kernels wait for a copy");
  }

  // Neither needs the device to be the current one of the thread that asks.
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
        check(cudaEventCreate(event), "make an event");
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
  cudaEvent_t asked_ = nullptr;
  std::mutex mutex_;
  std::vector<UnderWay> all_;
};

}  // namespace thinpipe::cuda
