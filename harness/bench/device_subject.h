// Subject of a bench on a device: gradients in its memory, a GPU compressor, and the CPU compressor
// of the same spec.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/cuda/timed_device.h"
#include "compressors/spec.h"
#include "harness/bench/options.h"
#include "harness/bench/subject.h"

namespace thinpipe {

/// Several copies of one tensor's values in the device's memory. Indices wrap around.
class DeviceInputs {
 public:
  /// @param values  every input has these values, rotated by a different number of elements; must
  /// outlive this object
  /// @throws RunError when the device's memory does not suffice
  DeviceInputs(const TimedDevice& device, TensorInfo tensor, std::span<const float> values,
               Residency residency);

  const TensorInfo& tensor() const { return tensor_; }
  std::size_t elements() const { return tensor_.elements; }
  Residency residency() const { return residency_; }
  /// Returns the number of inputs until the first one is used again: together twice the L2 cache.
  std::size_t rotation() const { return gradients_.size(); }

  const float* gradient(std::size_t step) const { return gradients_[step % rotation()]; }
  float* output(std::size_t step) const { return outputs_[step % rotation()]; }
  /// Copies gradient(step) to the host. @param out  elements() values
  void values(std::size_t step, std::span<float> out) const;

 private:
  TensorInfo tensor_;
  std::span<const float> values_;
  Residency residency_;
  std::vector<float*> gradients_, outputs_;
};

/// One GPU compressor on one tensor. encode() and decode() are timed; all else happens before and
/// after.
class DeviceSubject {
 public:
  /// The inputs must outlive it. @throws InputError, RunError as TimedDevice::make
  DeviceSubject(const TimedDevice& device, const Spec& spec, const CompressorSettings& settings,
                const DeviceInputs& inputs);

  /// Encodes `steps` steps on the device and on the CPU. Checks that both give the same payloads,
  /// byte for byte, and report the same counts. Returns the CPU compressor's quality in the second
  /// half of the steps. decode() then decodes the last payload, which device and CPU decode to the
  /// same bits.
  /// @throws ValidationError
  Quality warm_up(int steps);

  /// Encodes the next step, with the next input; waits for the device.
  void encode();
  /// Adds the last payload of warm_up() to the next output; waits for the device.
  void decode();

  /// Checks the compressor's state: the CPU compressor resumes from it, and both encode a step to
  /// the same bytes. @throws ValidationError
  void validate_last();

 private:
  void make_cpu_compressor();
  void free_cpu_compressor();
  EncodeReport encode_on_device();
  std::vector<std::byte> download_payload(std::size_t bytes) const;
  void encode_on_both();
  void compare_decoded();

  TimedDevice device_;
  Spec spec_;
  CompressorSettings settings_;
  const DeviceInputs* inputs_;
  std::unique_ptr<DeviceCompressor> on_device_;
  std::unique_ptr<Compressor> on_cpu_;   ///< null while not in use: it may take gigabytes
  std::byte* kept_on_device_ = nullptr;  ///< device pointer to the payload that decode() decodes
  std::size_t kept_bytes_ = 0;
  std::size_t step_ = 0, decoded_ = 0;
  std::vector<float> gradient_;     ///< of the last step that both encoded
  std::vector<std::byte> payload_;  ///< buffer of the CPU compressor
  EncodeReport report_;             ///< of the CPU compressor
};

}  // namespace thinpipe
