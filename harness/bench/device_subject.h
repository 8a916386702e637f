// Subject of a bench on a device: gradients in its memory, and a compressor of its own beside the
// processor's of the same spec.
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

/// One tensor's values in several places of the device's memory. Indices wrap around.
class DeviceInputs {
 public:
  /// @param values  of every input, each beginning with another of them; must outlive this
  /// @throws RunError when the device's memory does not suffice
  DeviceInputs(const TimedDevice& device, TensorInfo tensor, std::span<const float> values,
               Residency residency);

  const TensorInfo& tensor() const { return tensor_; }
  std::size_t elements() const { return tensor_.elements; }
  Residency residency() const { return residency_; }
  /// How many inputs there are before the first one comes again: together twice the L2 cache.
  std::size_t rotation() const { return gradients_.size(); }

  const float* gradient(std::size_t step) const { return gradients_[step % rotation()]; }
  float* output(std::size_t step) const { return outputs_[step % rotation()]; }
  /// Copies gradient(step) to the host. @param out  as many elements
  void values(std::size_t step, std::span<float> out) const;

 private:
  TensorInfo tensor_;
  std::span<const float> values_;
  Residency residency_;
  std::vector<float*> gradients_, outputs_;
};

/// One compressor of a device on one tensor. encode() and decode() are what is timed; the rest
/// happens before and after.
class DeviceSubject {
 public:
  /// The inputs must outlive it. @throws InputError, RunError as TimedDevice::make
  DeviceSubject(const TimedDevice& device, const Spec& spec, const CompressorSettings& settings,
                const DeviceInputs& inputs);

  /// Encodes `steps` steps here and on the processor: same payloads, byte for byte, and same
  /// counts. The quality is that of the second half, from the processor's. From then on decode()
  /// decodes the payload of the last, which both decode to the same bits.
  /// @throws ValidationError
  Quality warm_up(int steps);

  /// The next step, with the next input; waits for the device.
  void encode();
  /// Adds the payload that warm_up() left to the next output; waits for the device.
  void decode();

  /// Checks the compressor's state: the processor's goes on from it, and both encode a step to the
  /// same bytes. @throws ValidationError
  void validate_last();

 private:
  void open_here();
  void close_here();
  EncodeReport encode_there();
  std::vector<std::byte> payload_there(std::size_t bytes) const;
  void encode_on_both();
  void compare_decoded();

  TimedDevice device_;
  Spec spec_;
  CompressorSettings settings_;
  const DeviceInputs* inputs_;
  std::unique_ptr<DeviceCompressor> there_;
  std::unique_ptr<Compressor> here_;  ///< only while it is needed: it may take gigabytes
  std::byte* kept_there_ = nullptr;   ///< on the device: what decode() decodes
  std::size_t kept_bytes_ = 0;
  std::size_t step_ = 0, decoded_ = 0;
  std::vector<float> gradient_;     ///< of the step that both have done last
  std::vector<std::byte> payload_;  ///< the processor's room, and how much of it
  EncodeReport report_;             ///< the processor's
};

}  // namespace thinpipe
