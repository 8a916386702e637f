// DeviceArithmetic and DeviceRoofline by thinpipe's own kernels: passes over arrays other than
// compression, and the reads with which other kernels are compared.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

#include "base/both.h"
#include "compressors/cuda/kernels/batch.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/rank_device.h"
#include "compressors/cuda/timed_device.h"

namespace thinpipe::cuda {

/// to += from
struct AddElement {
  float* to;
  const float* from;

  THINPIPE_KERNEL void operator()(std::size_t i) const { to[i] = to[i] + from[i]; }
};

/// v <- m v + x, out = rate (x + m v)
struct NesterovElement {
  const float* x;
  float* v;
  float* out;
  float momentum, rate;

  THINPIPE_KERNEL void operator()(std::size_t i) const {
    const float own = x[i];
    const float velocity = momentum * v[i] + own;
    v[i] = velocity;
    out[i] = rate * (own + momentum * velocity);
  }
};

/// to[p] = value; positions are distinct.
struct PutElement {
  float* to;
  const std::uint32_t* positions;
  const float* values;

  THINPIPE_KERNEL void operator()(std::size_t i) const { to[positions[i]] = values[i]; }
};

/// Grid: blocks_for(n).
template <class Element>
struct EachElement {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kElements = 4096;  ///< of a block: 16 a thread
  struct Shared {};

  Element element;
  std::size_t n;

  static constexpr std::size_t blocks_for(std::size_t n) { return (n + kElements - 1) / kElements; }

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    each_of_tile<kElements>(block, block.index(), n, [&](std::size_t i) { element(i); });
  }
};

struct CopyJob {
  std::uint8_t* to = nullptr;
  const std::uint8_t* from = nullptr;
  std::size_t bytes = 0;
  std::uint32_t first_block[1] = {};
};

/// Copies CopyJob::bytes bytes, one aligned destination word of 4 bytes at a time. The source bytes
/// of one destination word lie in one or two aligned words. If all bytes of these words and of the
/// destination word belong to the copy, the kernel reads and writes words. Otherwise it copies the
/// bytes of the destination word one by one. Grid: blocks_for(CopyJob::bytes) blocks per job.
struct CopyBytes {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kWords = 4096;  ///< words of a block: 16 per thread
  static constexpr std::size_t kWord = sizeof(std::uint32_t);
  struct Shared {};

  /// Returns the number of blocks for a copy of `bytes` bytes, which may begin and end within a
  /// destination word.
  static constexpr std::size_t blocks_for(std::size_t bytes) {
    return bytes == 0 ? 0 : (bytes + 2 * (kWord - 1)) / (kWord * kWords) + 1;
  }

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/, const CopyJob& job) const {
    const std::size_t skipped = reinterpret_cast<std::uintptr_t>(job.to) % kWord;
    const std::size_t end = skipped + job.bytes;
    const std::size_t words = (end + kWord - 1) / kWord;
    each_of_tile<kWords>(block, block.index(), words, [&](std::size_t word) {
      const std::size_t from = kWord * word < skipped ? 0 : kWord * word - skipped;
      const std::size_t to = kWord * (word + 1) < end ? kWord * (word + 1) - skipped : job.bytes;
      copy(job, from, to);
    });
  }

 private:
  THINPIPE_KERNEL static void copy(const CopyJob& job, std::size_t begin, std::size_t end) {
    const std::uint8_t* const from = job.from + begin;
    const std::size_t skipped = reinterpret_cast<std::uintptr_t>(from) % kWord;
    const std::size_t read = skipped == 0 ? kWord : 2 * kWord;
    if (end - begin < kWord || begin < skipped || begin - skipped + read > job.bytes) {
      for (std::size_t i = begin; i < end; ++i) job.to[i] = job.from[i];
      return;
    }
    const auto* const words = reinterpret_cast<const std::uint32_t*>(from - skipped);
    const auto shift = static_cast<std::uint32_t>(8 * skipped);
    *reinterpret_cast<std::uint32_t*>(job.to + begin) =
        shift == 0 ? words[0] : words[0] >> shift | words[1] << (32 - shift);
  }
};

template <class Device>
class Arithmetic : public DeviceArithmetic {
 public:
  explicit Arithmetic(std::shared_ptr<Device> device)
      : device_(std::move(device)), copies_(device_) {}

  void add(float* device_to, const float* device_from, std::size_t elements) override {
    launch(AddElement{device_to, device_from}, elements);
  }
  void nesterov(const float* device_x, float* device_v, float* device_out, std::size_t elements,
                float momentum, float rate) override {
    launch(NesterovElement{device_x, device_v, device_out, momentum, rate}, elements);
  }
  void copy(std::span<const DeviceCopy> copies) override {
    if (has_copied_) device_->wait();
    has_copied_ = true;
    copies_.clear(copies.size());
    for (const DeviceCopy& one : copies)
      copies_.add({.to = static_cast<std::uint8_t*>(one.to),
                   .from = static_cast<const std::uint8_t*>(one.from),
                   .bytes = one.bytes},
                  CopyBytes::blocks_for(one.bytes));
    copies_.launch(CopyBytes{});
  }
  void put(float* device_to, const std::uint32_t* device_positions, const float* device_values,
           std::size_t count) override {
    launch(PutElement{device_to, device_positions, device_values}, count);
  }

 private:
  template <class Element>
  void launch(const Element& element, std::size_t n) {
    using Kernel = EachElement<Element>;
    device_->launch(Kernel{element, n}, Kernel::blocks_for(n));
  }

  std::shared_ptr<Device> device_;
  DeviceJobs<Device, CopyJob> copies_;
  bool has_copied_ = false;
};

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
