// From values and positions to a payload on a device, and back.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "compressors/cuda/encode/device_positions.h"
#include "compressors/cuda/encode/device_values.h"
#include "compressors/encode/position_codec.h"
#include "compressors/encode/value_codec.h"

namespace thinpipe::cuda {

template <class Device>
struct DeviceEncoding {
  std::unique_ptr<DeviceValues<Device>> values;
  std::unique_ptr<DevicePositions<Device>> positions;
  /// The processor's, for the room that its payloads need.
  std::unique_ptr<ValueCodec> value_codec;
  std::unique_ptr<PositionCodec> position_codec;

  std::size_t max_size(std::size_t most, std::size_t elements) const {
    return varint_size(most) + value_codec->size(most) + position_codec->max_size(most, elements);
  }
  /// Writes the payloads of what was chosen.
  void write(Device& device, const Batch& batch) const {
    values->measure(device, batch);
    positions->write(device, batch);
    values->write(device, batch);
  }
  /// Elements that a payload of so many bytes may have.
  std::uint32_t most(std::size_t bytes, std::uint32_t elements) const {
    const std::size_t bits = values->size().bits;
    const std::size_t of_values = bits == 0 ? elements : 8 * bytes / bits;
    return static_cast<std::uint32_t>(
        std::min({of_values, positions->most(bytes), std::size_t{elements}}));
  }
};

}  // namespace thinpipe::cuda
