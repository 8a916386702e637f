// The parts of a device compressor that differ by method, and the type of the tables (make.h) of
// functions that make them, by the method's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "compressors/compressor.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/kernels/random.h"
#include "compressors/registry.h"
#include "compressors/wire/bytes.h"

namespace thinpipe::cuda {

[[noreturn]] inline void refuse(const Parameters& parameters, const std::string& what) {
  throw InputError("compressor '" + parameters.text() + "' with device=cuda: " + what);
}

/// A spec, and the tensors for which its parts are made.
struct MakerInput {
  const std::string& name;  ///< of the method
  const Parameters& parameters;
  std::span<const TensorInfo> tensors;
  const CompressorSettings& settings;

  /// Returns of(tensor) for every tensor.
  template <class Of>
  auto by_tensor(const Of& of) const {
    std::vector<std::invoke_result_t<Of, const TensorInfo&>> all;
    for (const TensorInfo& tensor : tensors) all.push_back(of(tensor));
    return all;
  }
  /// Returns by tensor the seed that all workers share.
  std::vector<std::uint64_t> seeds() const {
    return by_tensor([&](const TensorInfo& one) { return settings.seed ^ hash_name(one.name); });
  }
  /// Returns by tensor the random stream of this worker.
  std::vector<std::uint64_t> streams() const {
    return by_tensor([&](const TensorInfo& one) {
      return random_stream(settings.seed, settings.rank, one.name);
    });
  }
  /// Returns the elements of a bucket; 0: the method has no buckets, or the tensor is one bucket.
  std::uint32_t bucket() const {
    if (!parameters.has("bucket")) return 0;
    return static_cast<std::uint32_t>(parameters.integer("bucket"));
  }
  /// Refuses a tensor with more elements, bytes or coefficients than 31 bits can count
  /// (kernels/prefix.h). @throws InputError
  void check_count(const TensorInfo& tensor, std::size_t count, const char* what) const {
    constexpr std::size_t kMax = 0x7fffffff;
    if (count <= kMax) return;
    refuse(parameters, "tensor '" + tensor.name + "' has " + std::to_string(count) + " " + what +
                           "; at most " + std::to_string(kMax) + " fit");
  }
};

/// The common part of selectors and quantisers: their state between steps, besides the memory. Most
/// have none.
template <class Device>
class DevicePart {
 public:
  virtual ~DevicePart() = default;

  /// Returns the findings before the first step.
  virtual Findings initial() const { return {}; }
  virtual void reset(Device& /*device*/) {}
  virtual std::size_t state_size(std::size_t /*tensor*/) const { return 0; }
  virtual void save(Device& /*device*/, std::size_t /*tensor*/, ByteWriter& /*out*/) const {}
  virtual void load(Device& /*device*/, std::size_t /*tensor*/, ByteReader& /*in*/) {}
};

/// Saves floats of the device. Waits.
void save_device_floats(auto& device, const float* device_floats, std::size_t count,
                        ByteWriter& out) {
  std::vector<float> floats(count);
  device.download(floats.data(), device_floats, count * sizeof(float));
  device.wait();
  save_floats(out, floats);
}
/// Loads floats to the device. Waits.
void load_device_floats(auto& device, float* device_floats, std::size_t count, ByteReader& in,
                        const char* what) {
  std::vector<float> floats(count);
  load_floats(in, floats, what);
  device.upload(device_floats, floats.data(), count * sizeof(float));
  device.wait();
}

/// By a method's name, the function that makes its part. A method of the GPU is an entry of such a
/// table (make.h).
template <class Part>
using Makers = std::map<std::string, std::function<std::unique_ptr<Part>(const MakerInput&)>>;

/// Makes a part that needs nothing but the input.
template <class Part, class Made>
std::unique_ptr<Part> make_from(const MakerInput& input) {
  return std::make_unique<Made>(input);
}
/// Makes the part of a method. Returns null for a method that is not in the table.
template <class Part>
std::unique_ptr<Part> make_part(const Makers<Part>& makers, const MakerInput& input) {
  const auto found = makers.find(input.name);
  return found == makers.end() ? nullptr : found->second(input);
}

}  // namespace thinpipe::cuda
