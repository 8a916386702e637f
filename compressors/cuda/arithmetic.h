// DeviceArithmetic by thinpipe's own kernels: passes over arrays other than compression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "compressors/cuda/kernels/batch.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/rank_device.h"

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

}  // namespace thinpipe::cuda
