#include "tests/cuda/played/played_device.h"

#include "compressors/cuda/arithmetic.h"
#include "compressors/cuda/grid/serial_copies.h"
#include "compressors/cuda/grid/serial_device.h"
#include "compressors/cuda/make.h"

namespace thinpipe::cuda {

RankDevice play_rank_device(std::uint64_t seed, int patience) {
  const auto device = std::make_shared<SerialDevice>(seed);
  return {.description = {.name = "a processor that plays a GPU",
                          .architecture = "played",
                          .bus = "none",
                          .driver = "none",
                          .runtime = "none",
                          .l2_bytes = std::size_t{1} << 20,
                          .memory_bytes = std::size_t{1} << 30,
                          .multiprocessors = 1},
          .memory = device,
          .copies = std::make_shared<SerialCopies>(device, patience),
          .arithmetic = std::make_shared<Arithmetic<SerialDevice>>(device),
          .make = [device](const Spec& spec, std::span<const TensorInfo> tensors,
                           const CompressorSettings& settings) {
            return make_device_compressor(device, spec, tensors, settings);
          }};
}

}  // namespace thinpipe::cuda
