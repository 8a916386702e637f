// Encodes values and positions to a payload on the GPU, and decodes them.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>

#include "compressors/cuda/device/makers.h"
#include "compressors/cuda/encode/device_positions.h"
#include "compressors/cuda/encode/device_values.h"
#include "compressors/encode/position_codec.h"
#include "compressors/encode/value_codec.h"
#include "compressors/methods/selectors.h"

namespace thinpipe::cuda {

template <class Device>
struct DeviceEncoding {
  std::unique_ptr<DeviceValues<Device>> values;
  std::unique_ptr<DevicePositions<Device>> positions;
  /// The CPU implementations, for upper bounds of payload sizes.
  std::unique_ptr<ValueCodec> value_codec;
  std::unique_ptr<PositionCodec> position_codec;

  std::size_t max_size(std::size_t most, std::size_t elements) const {
    return varint_size(most) + value_codec->size(most) + position_codec->max_size(most, elements);
  }
  /// Launches the kernels that write the payloads of the chosen elements.
  void write(Device& device, const Batch& batch) const {
    values->measure(device, batch);
    positions->write(device, batch);
    values->write(device, batch);
  }
  /// Plans the kernels that read a payload.
  void plan_read(const Job& own, DecodeJob& job, DecodePlan& plan) const {
    const PayloadView& payload = job.payload;
    const std::size_t bits = values->size().bits;
    const std::size_t of_values = bits == 0 ? payload.n : 8 * std::size_t{payload.bytes} / bits;
    // Upper bound of the payload's elements.
    const std::size_t most =
        std::min({of_values, positions->most(payload.bytes), std::size_t{payload.n}});
    plan[DecodeGrid::kElements] = tiles_of(static_cast<std::uint32_t>(most), kTile);
    positions->plan_read(own, job, plan);
  }
  /// Launches the kernels that read positions and add the values at them.
  void read(Device& device, const DecodeBatch& batch) const {
    positions->read(device, batch);
    values->add(device, batch);
  }
};

/// @throws InputError for codecs without a GPU implementation, and for tensors too large for the
/// codec
template <class Device>
DeviceEncoding<Device> make_encoding(const Parameters& parameters,
                                     std::span<const TensorInfo> tensors) {
  const std::string& values = parameters.choice("values");
  const std::string& positions = parameters.choice("positions");
  const bool steps = values == "tau";
  const float tau = steps ? static_cast<float>(parameters.real("tau")) : 0;
  const bool chunked = positions == "chunked";
  const Chunks chunks = chunked ? chunks_of(parameters) : Chunks{};
  DeviceEncoding<Device> encoding{.values = make_values<Device>(values, tau),
                                  .positions = make_positions<Device>(positions, chunks),
                                  .value_codec = {},
                                  .position_codec = {}};
  if (!encoding.values) refuse(parameters, "values=" + values + " has no GPU implementation");
  if (!encoding.positions)
    refuse(parameters, "positions=" + positions + " has no GPU implementation");
  encoding.value_codec = steps ? make_tau_codec(tau) : make_value_codec(values);
  // Only the size of seeded positions is used, which is the same for all tensors.
  encoding.position_codec = positions == "seeded"
                                ? make_seeded_codec(std::make_shared<SeededPositions>(0, 0))
                            : chunked ? make_chunked_codec(chunks)
                                      : make_position_codec(positions);
  for (const TensorInfo& tensor : tensors) {
    // The bits of all positions, like elements, are counted in 31 bits (kernels/prefix.h).
    const bool chained = positions == "run16" || positions == "golomb" || positions == "packed" ||
                         positions == "elias_gamma" || positions == "elias_delta";
    constexpr std::size_t kMaxBits = 0x7fffffff;
    const std::size_t most = encoding.position_codec->max_size(tensor.elements, tensor.elements);
    if (chained && most > kMaxBits / 8) {
      refuse(parameters, "tensor '" + tensor.name + "' has " + std::to_string(tensor.elements) +
                             " elements, too many for positions=" + positions);
    }
  }
  return encoding;
}

}  // namespace thinpipe::cuda
