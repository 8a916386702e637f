// Compressors whose tensors lie in a GPU's memory: the same methods, names and payloads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/spec.h"

namespace thinpipe {

/// One step, the same for all tensors.
struct DeviceStep {
  std::uint64_t step = 0;  ///< counts from 0
  double epoch = 0;        ///< for warm-up schedules
  /// Each tensor's greatest prepare() over all workers, where a method shares its scale; empty:
  /// this worker's own.
  std::span<const float> shared_scales = {};
  /// Device pointers to each tensor's second moments, for methods that need them (variance,
  /// hybrid); the moments must not change until finish().
  std::span<const float* const> device_squares = {};
};

/// Elements that a sparse all-reduce hands back to a tensor's memory, as they are until that is
/// done.
struct DeviceReturn {
  std::size_t tensor = 0;
  const std::uint32_t* device_positions = nullptr;  ///< distinct, less than the tensor's elements
  const float* device_values = nullptr;
  std::size_t count = 0;  ///< of each
};

/// The compressors of all tensors of one worker, with the state they carry between steps: a model's
/// hundreds of layers are worked on by the same few kernels. Pointers named `device` are addresses
/// in the GPU's memory. Not thread-safe.
class DeviceCompressor {
 public:
  virtual ~DeviceCompressor() = default;

  virtual std::size_t tensors() const = 0;
  /// Upper bound of a tensor's payload in bytes, whatever the input.
  virtual std::size_t max_encoded_size(std::size_t tensor) const = 0;

  /// Adds the gradients to the memories, compresses, and keeps what was not sent. Returns at once,
  /// with all of it under way; finish() before the next call.
  /// @param gradients  for each tensor the address of its elements on the device, which must stay
  ///                   as they are until finish()
  virtual void encode(std::span<const float* const> device_gradients, const DeviceStep& step) = 0;
  /// Waits for the last encode(). @returns for each tensor what it did
  virtual std::span<const EncodeReport> finish() = 0;
  /// Where workers share a scale: takes the gradients into the memories and returns this worker's
  /// scale of each tensor, when that is known. The next encode(), of the same gradients, does not
  /// add them again. Optional: encode() alone uses the own scales.
  virtual std::span<const float> prepare(std::span<const float* const> device_gradients) = 0;
  virtual bool shares_scale() const { return false; }

  /// Whether a step of several workers takes several all-reduces (Compressor::rounds): the most of
  /// any tensor. 1: encode() is all there is.
  virtual int rounds() const { return 1; }
  /// Instead of encode(): device_payload() then holds what the first all-reduce takes; of tensors
  /// that take one it is encode(). As there, finish() waits for it and the gradients stay.
  virtual void first_round(std::span<const float* const> device_gradients,
                           const DeviceStep& step) = 0;
  /// Takes the means over workers of the last payloads, and leaves what the next all-reduce takes;
  /// in the last of rounds() calls the aggregate's payload, for decode_add. Tensors that take one
  /// round are left alone. Returns at once; finish() waits for it and tells sizes.
  /// @param device_means  of each tensor that takes several rounds; they stay until finish()
  virtual void next_round(std::span<const float* const> device_means) = 0;
  /// After the last round: the payload of this worker's part of the aggregate, as
  /// Compressor::own_payload(), in the host's memory. Returns when that is done.
  virtual void own_payload(std::size_t tensor, std::span<std::byte> payload) = 0;

  /// Takes in the gradients of a step without exchange, of methods that exchange every so many
  /// steps (delay), in place of encode() and finish(). Returns when that is done.
  virtual void hold(std::span<const float* const> device_gradients) = 0;

  /// Where a tensor's payload lies on the device, of the size that finish() told, until the next
  /// encode().
  virtual const std::byte* device_payload(std::size_t tensor) const = 0;

  /// out += factor * decoded, with what else is begun: payloads of several tensors are decoded by
  /// the same kernels, and a tensor's after those of it that were begun before. A rank's payloads
  /// are waited for together. Where as many are begun as there are tensors, it waits for these
  /// first.
  /// @param device_payload  aligned to 4 bytes, with 4 readable bytes more than `bytes`; it stays
  ///                        as it is until finish_decodes()
  /// @param device_out  apart from those of other tensors
  /// @throws PayloadError for one that is malformed, be it begun before or not even begun; what was
  /// to be added to is then unspecified, and nothing is under way
  virtual void begin_decode(std::size_t tensor, const std::byte* device_payload, std::size_t bytes,
                            float factor, float* device_out) = 0;
  /// Has the device begin with all that was begun, and returns. Optional: finish_decodes() does.
  virtual void start_decodes() = 0;
  /// Waits for all that was begun. @throws PayloadError naming the tensor, likewise
  virtual void finish_decodes() = 0;
  /// Both, of one payload.
  void decode_add(std::size_t tensor, const std::byte* device_payload, std::size_t bytes,
                  float factor, float* device_out) {
    begin_decode(tensor, device_payload, bytes, factor, device_out);
    finish_decodes();
  }

  /// As Compressor::give_back(), of several tensors, each at most once; under way when it returns,
  /// and to be done before it is called again. Memories that take nothing back are left as they
  /// are.
  virtual void give_back(std::span<const DeviceReturn> returns) = 0;

  /// A tensor's unsent residual, on the device; null without such a memory.
  virtual const float* device_residual(std::size_t tensor) const = 0;

  /// Forgets everything carried between steps.
  virtual void reset() = 0;
  /// A tensor's checkpoint, which the processor's compressor of the same spec and tensor loads as
  /// well, and the other way round. load_state @throws InputError as there.
  virtual void save_state(std::size_t tensor, std::vector<std::byte>& state) = 0;
  virtual void load_state(std::size_t tensor, std::span<const std::byte> state) = 0;
};

}  // namespace thinpipe
