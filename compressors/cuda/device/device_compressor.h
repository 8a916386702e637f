// Compressors of tensors in GPU memory: the same methods, names and payloads as on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/spec.h"

namespace thinpipe {

/// Step settings that all tensors share.
struct DeviceStep {
  std::uint64_t step = 0;  ///< counts from 0
  double epoch = 0;        ///< for warm-up schedules
  /// For each tensor, the greatest scale that prepare() returned on any worker, for methods whose
  /// workers share a scale. Empty: each worker uses its own scale.
  std::span<const float> shared_scales = {};
  /// By tensor, the device pointer to its second moments, for methods that need them (variance,
  /// hybrid). The moments must not change until finish().
  std::span<const float* const> device_squares = {};
};

/// Elements of a tensor that a sparse all-reduce dropped and that give_back() restores to the
/// tensor's residual. The arrays must not change until the device has done so.
struct DeviceReturn {
  std::size_t tensor = 0;
  const std::uint32_t* device_positions = nullptr;  ///< distinct, less than the tensor's elements
  const float* device_values = nullptr;
  std::size_t count = 0;  ///< of positions and of values
};

/// The compressors of all tensors of one worker, with their state between steps. The same few
/// kernels work on all tensors of a model, which may have hundreds of layers. Parameters and
/// members named `device_...` are device pointers. Not thread-safe. Compressors that can do more
/// also derive from DeviceSharedScale, DeviceMultiRound or DeviceSparsePayload; callers ask with
/// dynamic_cast.
class DeviceCompressor {
 public:
  virtual ~DeviceCompressor() = default;

  virtual std::size_t tensors() const = 0;
  /// Returns an upper bound of a tensor's payload in bytes for any input.
  virtual std::size_t max_encoded_size(std::size_t tensor) const = 0;

  /// Adds the gradients to the memories, compresses the sums, and stores the residuals.
  /// Asynchronous; finish() must be called before the next call.
  /// @param device_gradients  by tensor; the elements must not change until finish()
  virtual void encode(std::span<const float* const> device_gradients, const DeviceStep& step) = 0;
  /// Waits for the last encode(). @returns a report by tensor
  virtual std::span<const EncodeReport> finish() = 0;
  /// Accumulates the gradients of a step without exchange, for methods that exchange once in
  /// several steps (delay). Replaces encode() and finish() in that step. Waits.
  virtual void hold(std::span<const float* const> device_gradients) = 0;

  /// Returns the device pointer to a tensor's payload, whose size finish() reported. Valid until
  /// the next encode().
  virtual const std::byte* device_payload(std::size_t tensor) const = 0;

  /// Queues out += factor * decoded. Payloads of different tensors are decoded by the same kernels;
  /// payloads of one tensor are decoded in the order of their calls. finish_decodes() waits for all
  /// queued payloads. If as many payloads are queued as there are tensors, this call waits first.
  /// @param device_payload  aligned to 4 bytes, followed by 4 readable bytes after `bytes`; must
  ///                        not change until finish_decodes()
  /// @param device_out  must not overlap the outputs of other tensors
  /// @throws PayloadError if this payload or one queued before is malformed. The outputs are then
  /// unspecified, and nothing is pending.
  virtual void begin_decode(std::size_t tensor, const std::byte* device_payload, std::size_t bytes,
                            float factor, float* device_out) = 0;
  /// Launches the kernels of all queued payloads. Optional: finish_decodes() launches them, too.
  virtual void start_decodes() = 0;
  /// Decodes all queued payloads and waits. @throws PayloadError that names the tensor
  virtual void finish_decodes() = 0;
  /// Decodes one payload and waits.
  void decode_add(std::size_t tensor, const std::byte* device_payload, std::size_t bytes,
                  float factor, float* device_out) {
    begin_decode(tensor, device_payload, bytes, factor, device_out);
    finish_decodes();
  }

  /// Clears all state between steps.
  virtual void reset() = 0;
  /// Saves or loads a tensor's checkpoint. Checkpoints are interchangeable with those of the CPU
  /// implementation of the same spec and tensor. load_state() throws InputError as on the CPU.
  virtual void save_state(std::size_t tensor, std::vector<std::byte>& state) = 0;
  virtual void load_state(std::size_t tensor, std::span<const std::byte> state) = 0;
};

/// Makes the compressors of some tensors on a device.
/// @throws InputError for an unknown spec or one without a GPU implementation; RunError if the
/// device's memory does not suffice
using MakeDeviceCompressor = std::function<std::unique_ptr<DeviceCompressor>(
    const Spec& spec, std::span<const TensorInfo> tensors, const CompressorSettings& settings)>;

/// Compressors whose scales all workers may share, as SharedScale.
class DeviceSharedScale {
 public:
  /// Adds the gradients to the memories, waits, and returns this worker's scale for each tensor.
  /// The next encode() must get the same gradients and does not add them again. Optional: encode()
  /// alone uses this worker's scales.
  virtual std::span<const float> prepare(std::span<const float* const> device_gradients) = 0;

 protected:
  ~DeviceSharedScale() = default;
};

/// Compressors that need several all-reduces in one step of several workers, as MultiRound.
class DeviceMultiRound {
 public:
  /// Returns the number of all-reduces, at least 2; the maximum over all tensors.
  virtual int rounds() const = 0;
  /// Replaces encode(): device_payload() becomes the input of the first all-reduce. Tensors that
  /// take one round are encoded as by encode(). Asynchronous like encode(), with the same
  /// requirements.
  virtual void first_round(std::span<const float* const> device_gradients,
                           const DeviceStep& step) = 0;
  /// Reads the means over workers of the last payloads and writes the input of the next all-reduce;
  /// the last of rounds() calls writes the aggregate's payload, for decode_add(). Skips tensors
  /// that take one round. Asynchronous; finish() waits and returns the sizes.
  /// @param device_means  by tensor, used for those with several rounds; must not change until
  ///                      finish()
  virtual void next_round(std::span<const float* const> device_means) = 0;
  /// Writes the payload of this worker's contribution to host memory, as MultiRound::own_payload()
  /// does: the aggregate is the mean of all workers' contributions. Call it after the last round.
  /// Waits.
  virtual void own_payload(std::size_t tensor, std::span<std::byte> payload) = 0;

 protected:
  ~DeviceMultiRound() = default;
};

/// Compressors whose payloads are pairs of positions and values, as SparsePayload.
class DeviceSparsePayload {
 public:
  /// Restores elements to the memories of several tensors, each at most once, as
  /// SparsePayload::give_back(). Asynchronous; must have finished before the next call. Has no
  /// effect on tensors without such a memory.
  virtual void give_back(std::span<const DeviceReturn> returns) = 0;

 protected:
  ~DeviceSparsePayload() = default;
};

}  // namespace thinpipe
