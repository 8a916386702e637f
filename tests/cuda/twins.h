// A compressor for a device beside the processor's of the same spec, step by step.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compressors/cuda/device/device_compressor.h"
#include "compressors/cuda/device/device_memory.h"
#include "compressors/registry.h"

namespace thinpipe::cuda {

/// Some tensors' compressors on a device, and on the processor.
class Twins {
 public:
  using Make = std::function<std::unique_ptr<DeviceCompressor>(
      const Spec& spec, std::span<const TensorInfo> tensors)>;

  Twins(std::shared_ptr<DeviceMemory> device, const Make& make, const std::string& spec,
        const std::vector<std::size_t>& sizes);
  Twins(std::shared_ptr<DeviceMemory> device, const Make& make, const std::string& spec,
        const std::vector<std::vector<std::int64_t>>& shapes);

  /// A step on both, with an exchange or between two of them (delay). Payloads, reports, memories
  /// and states must be the same, bit by bit, and what one decodes of the other's payload.
  void step(const std::vector<std::vector<float>>& gradients);

  /// Whether decoding the payload of the first tensor throws, which must be so on both or on none.
  bool refuses(const std::vector<std::byte>& payload);

  std::size_t sent(std::size_t tensor) const { return reports_[tensor].selected_elements; }
  const std::vector<std::byte>& payload(std::size_t tensor) const { return payloads_[tensor]; }
  DeviceCompressor& there() { return *there_; }
  Compressor& here(std::size_t tensor) { return *here_[tensor]; }

 private:
  struct Room {  ///< on the device
    float* gradient;
    float* out;
    float* squares;
    std::byte* payload;
  };

  /// Scales in every other step of methods that share them; else none.
  std::vector<float> shared_scales(const std::vector<std::vector<float>>& gradients,
                                   const std::vector<const float*>& addresses);
  void hold(const std::vector<std::vector<float>>& gradients,
            const std::vector<const float*>& addresses);
  void compare(std::size_t tensor, const EncodeReport& here);
  void compare_states(std::size_t tensor);
  template <class T>
  std::vector<T> fetched(const T* device_values, std::size_t count);

  std::shared_ptr<DeviceMemory> device_;
  std::vector<TensorInfo> infos_;
  std::vector<std::unique_ptr<Compressor>> here_;
  std::unique_ptr<DeviceCompressor> there_;
  std::vector<Room> rooms_;
  std::vector<EncodeReport> reports_;
  std::vector<std::vector<std::byte>> payloads_;
  std::uint64_t step_ = 0;
};

/// Runs what every device must pass, on a device of its own each.
struct TwinDevice {
  std::shared_ptr<DeviceMemory> device;
  Twins::Make make;
};
using OpenDevice = std::function<TwinDevice(std::uint64_t seed)>;
/// Twins on a device of their own.
Twins opened(const OpenDevice& open, const std::string& spec, const std::vector<std::size_t>& sizes,
             std::uint64_t seed = 1);

void expect_same_bytes(const OpenDevice& open, const std::string& spec);
void expect_same_bytes_of_special_values(const OpenDevice& open, const std::string& spec);
void expect_same_states(const OpenDevice& open, const std::string& spec);
/// For methods that look at shapes.
void expect_same_bytes_of_matrices(const OpenDevice& open);
/// For methods whose step is several all-reduces.
void expect_same_bytes_in_rounds(const OpenDevice& open);
void expect_malformed_payloads_refused(const OpenDevice& open);

/// Every method with its memories and parameters that there is on devices.
std::vector<std::string> twin_specs();
/// Products of three draws, which have a heavier tail than one.
std::vector<float> drawn(std::size_t n, std::uint64_t seed);

}  // namespace thinpipe::cuda
