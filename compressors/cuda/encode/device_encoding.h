// Encodes values and positions to a payload on the GPU, and decodes them.
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

}  // namespace thinpipe::cuda
