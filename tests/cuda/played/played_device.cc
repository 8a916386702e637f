#include "tests/cuda/played/played_device.h"

#include "base/error.h"
#include "compressors/cuda/arithmetic.h"
#include "compressors/cuda/grid/serial_copies.h"
#include "compressors/cuda/grid/serial_device.h"
#include "compressors/cuda/make.h"
#include "compressors/cuda/roofline.h"

namespace thinpipe::cuda {
namespace {

DeviceDescription played_description() {
  return {.name = "a processor that plays a GPU",
          .architecture = "played",
          .bus = "none",
          .driver = "none",
          .runtime = "none",
          .l2_bytes = std::size_t{1} << 20,
          .memory_bytes = std::size_t{1} << 30,
          .multiprocessors = 1};
}

}  // namespace

RankDevice play_rank_device(std::uint64_t seed, int patience) {
  const auto device = std::make_shared<SerialDevice>(seed);
  return {.description = played_description(),
          .memory = device,
          .copies = std::make_shared<SerialCopies>(device, patience),
          .arithmetic = std::make_shared<Arithmetic<SerialDevice>>(device),
          .make =
              [device](const Spec& spec, std::span<const TensorInfo> tensors,
                       const CompressorSettings& settings) {
                return make_device_compressor(device, spec, tensors, settings);
              },
          .beside = [seed, patience] { return play_rank_device(seed + 1, patience); }};
}

TimedDevice play_timed_device(std::uint64_t seed) {
  const auto device = std::make_shared<SerialDevice>(seed);
  return {.description = played_description(),
          .memory = device,
          .clock = device,
          .roofline = std::make_shared<Roofline<SerialDevice>>(device),
          .make = [device](const Spec& spec, std::span<const TensorInfo> tensors,
                           const CompressorSettings& settings) {
            return make_device_compressor(device, spec, tensors, settings);
          }};
}

std::unique_ptr<DeviceCompressor> make_played_compressor(
    const std::shared_ptr<DeviceMemory>& memory, const Spec& spec,
    std::span<const TensorInfo> tensors, const CompressorSettings& settings) {
  auto device = std::dynamic_pointer_cast<SerialDevice>(memory);
  if (!device) throw RunError("the device is none that a processor plays");
  return make_device_compressor(std::move(device), spec, tensors, settings);
}

}  // namespace thinpipe::cuda
