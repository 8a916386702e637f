// A GPU compressor compared with the CPU implementation of the same spec, step by step.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compressors/cuda/device/device_compressor.h"
#include "compressors/cuda/device/device_memory.h"
#include "compressors/registry.h"

namespace thinpipe::cuda {

using Shapes = std::vector<std::vector<std::int64_t>>;
/// Returns tensors of these shapes, named tensor0, tensor1, ...
std::vector<TensorInfo> tensors_of(const Shapes& shapes);

/// Copies values from the device, and waits. (kernels/batch.h has uploaded().)
template <class T>
std::vector<T> fetched(DeviceMemory& device, const T* device_values, std::size_t count) {
  std::vector<T> values(count);
  device.download(values.data(), device_values, count * sizeof(T));
  device.wait();
  return values;
}

/// A device for one test.
struct TestDevice {
  std::shared_ptr<DeviceMemory> device;
  MakeDeviceCompressor make;
};
using OpenDevice = std::function<TestDevice(std::uint64_t seed)>;

/// The compressors of some tensors on a GPU, real or simulated, and on the CPU.
class SideBySide {
 public:
  SideBySide(const TestDevice& device, const std::string& spec,
             const std::vector<std::size_t>& sizes);
  SideBySide(const TestDevice& device, const std::string& spec, const Shapes& shapes);

  /// Runs a step on both implementations (CPU and GPU), with an exchange or, under a delay, without
  /// one. Expects payloads, reports, memories, states and decoded payloads to be bit for bit the
  /// same.
  void step(const std::vector<std::vector<float>>& gradients);

  /// Decodes a payload of the first tensor on both. Returns whether decoding throws; expects both
  /// to agree.
  bool refuses(const std::vector<std::byte>& payload);

  std::size_t sent(std::size_t tensor) const { return reports_[tensor].selected_elements; }
  const std::vector<std::byte>& payload(std::size_t tensor) const { return payloads_[tensor]; }
  DeviceCompressor& gpu() { return *gpu_; }
  Compressor& cpu(std::size_t tensor) { return *cpu_[tensor]; }

 protected:
  struct DeviceArrays {
    float* gradient;
    float* out;
    float* squares;
    std::byte* payload;
  };

  /// Uploads the gradients of a step. @returns their addresses
  std::vector<const float*> upload(const std::vector<std::vector<float>>& gradients);
  /// Returns whether a step ends with an exchange.
  bool exchanges() const { return (step_ + 1) % cpu_[0]->period() == 0; }
  void hold(const std::vector<std::vector<float>>& gradients,
            const std::vector<const float*>& addresses);
  void compare_states(std::size_t tensor);

  std::shared_ptr<DeviceMemory> device_;
  std::vector<TensorInfo> infos_;
  std::vector<std::unique_ptr<Compressor>> cpu_;
  std::unique_ptr<DeviceCompressor> gpu_;
  std::vector<DeviceArrays> arrays_;
  std::vector<std::vector<std::byte>> payloads_;
  std::uint64_t step_ = 0;

 private:
  /// Returns shared scales in every other step, for methods that share them; otherwise none.
  std::vector<float> shared_scales(const std::vector<std::vector<float>>& gradients,
                                   const std::vector<const float*>& addresses);
  void compare(std::size_t tensor, const EncodeReport& cpu);

  std::vector<EncodeReport> reports_;
};

void expect_same_bytes(const OpenDevice& open, const std::string& spec);
void expect_same_bytes_of_special_values(const OpenDevice& open, const std::string& spec);
void expect_same_states(const OpenDevice& open, const std::string& spec);
/// For methods that depend on shapes.
void expect_same_bytes_of_matrices(const OpenDevice& open, std::uint64_t steps = 4);
/// For methods whose step takes several all-reduces.
void expect_same_bytes_in_rounds(const OpenDevice& open);
void expect_malformed_payloads_refused(const OpenDevice& open);

/// Returns specs of every method with a GPU implementation, with its memories and parameters.
std::vector<std::string> gpu_specs();
/// Returns products of three uniform draws, which have a heavier tail than single draws.
std::vector<float> drawn(std::size_t n, std::uint64_t seed);
std::vector<std::vector<float>> drawn(const std::vector<std::size_t>& sizes, std::uint64_t seed);
/// Returns drawn gradients of a step, with an infinity in the larger ones if `spoilt`.
std::vector<std::vector<float>> drawn(const Shapes& shapes, std::uint64_t step, bool spoilt);

}  // namespace thinpipe::cuda
