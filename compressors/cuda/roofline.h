// DeviceRoofline by thinpipe's own kernels: the reads with which other kernels are compared.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

#include "base/both.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/timed_device.h"

namespace thinpipe::cuda {

/// Adds up the bits of all elements, as words modulo 2^32, so that the order does not matter. The
/// array is split into kStreams segments; a thread reads 16 bytes of each segment before it adds
/// them up. Grid: blocks(n).
template <int kStreams>
struct ReadSum {
  static constexpr int kThreads = 256;
  struct Shared {};
  struct alignas(16) Vector {  ///< one read
    float elements[4];
  };

  const float* x;  ///< aligned to 16 bytes
  std::uint32_t n;
  std::uint32_t* sum;

  static constexpr std::uint32_t segment_of(std::uint32_t n) { return n / 4 / kStreams; }
  static constexpr std::uint32_t blocks(std::uint32_t n) {
    return n == 0 ? 0 : segment_of(n) / kThreads + 1;
  }

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const auto* const vectors = reinterpret_cast<const Vector*>(x);
    const std::uint32_t segment = n / 4 / kStreams;
    const std::uint32_t read_together = segment * kStreams * 4;
    typename Block::template Local<std::uint32_t> sums;
    block.each([&](std::uint32_t thread) {
      const std::uint32_t i = block.index() * kThreads + thread;
      std::uint32_t own = 0;
      if (i < segment) {
        Vector read[kStreams];
        for (int stream = 0; stream < kStreams; ++stream)
          read[stream] = vectors[static_cast<std::uint32_t>(stream) * segment + i];
        for (const Vector& vector : read)
          for (const float element : vector.elements) own += std::bit_cast<std::uint32_t>(element);
      }
      // The last elements, fewer than a vector per stream, and fewer than the block's threads.
      if (block.index() == 0 && thread < n - read_together)
        own += std::bit_cast<std::uint32_t>(x[read_together + thread]);
      sums[thread] = own;
    });
    const std::uint32_t total = block.sum(sums);
    once(block, [&] { block.add(sum, total); });
  }
};

template <class Device>
class Roofline : public DeviceRoofline {
 public:
  explicit Roofline(std::shared_ptr<Device> device)
      : device_(std::move(device)),
        sum_(static_cast<std::uint32_t*>(device_->allocate(sizeof(std::uint32_t)))) {}

  void read(const float* device_x, std::size_t elements, int streams) override {
    if (streams == 1) return launch<1>(device_x, elements);
    if (streams == 2) return launch<2>(device_x, elements);
    if (streams == 4) return launch<4>(device_x, elements);
    if (streams == 8) return launch<8>(device_x, elements);
    throw std::invalid_argument("no such number of streams");
  }
  std::uint32_t take_sum() override {
    std::uint32_t sum = 0;
    device_->download(&sum, sum_, sizeof sum);
    device_->zero(sum_, sizeof sum);
    device_->wait();
    return sum;
  }
  void copy(const float* device_from, std::size_t elements, float* device_to) override {
    device_->copy(device_to, device_from, elements * sizeof(float));
  }

 private:
  template <int kStreams>
  void launch(const float* device_x, std::size_t elements) {
    const auto n = static_cast<std::uint32_t>(elements);
    device_->launch(ReadSum<kStreams>{device_x, n, sum_}, ReadSum<kStreams>::blocks(n));
  }

  std::shared_ptr<Device> device_;
  std::uint32_t* sum_;
};

}  // namespace thinpipe::cuda
