// Makes a device encoding from a spec.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "compressors/cuda/device/refuse.h"
#include "compressors/cuda/encode/device_encoding.h"
#include "compressors/encode/value_codec.h"
#include "compressors/kernels/random.h"
#include "compressors/methods/selectors.h"

namespace thinpipe::cuda {

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
