#include "tests/cuda/simulated/simulated_device.h"

#include "base/error.h"
#include "compressors/cuda/arithmetic.h"
#include "compressors/cuda/grid/serial_device.h"
#include "compressors/cuda/make.h"

namespace thinpipe::cuda {
namespace {

DeviceDescription simulated_description() {
  return {.name = "simulated GPU",
          .architecture = "simulated",
          .bus = "none",
          .driver = "none",
          .runtime = "none",
          .l2_bytes = std::size_t{1} << 20,
          .memory_bytes = std::size_t{1} << 30,
          .multiprocessors = 1};
}

}  // namespace

RankDevice simulated_rank_device(std::uint64_t seed, int busy_polls) {
  const auto device = std::make_shared<SerialDevice>(seed);
  return {.description = simulated_description(),
          .memory = device,
          .copies = std::make_shared<SerialCopies>(device, busy_polls),
          .arithmetic = std::make_shared<Arithmetic<SerialDevice>>(device),
          .make = maker_on(device),
          .beside = [seed, busy_polls] { return simulated_rank_device(seed + 1, busy_polls); }};
}

TimedDevice simulated_timed_device(std::uint64_t seed) {
  const auto device = std::make_shared<SerialDevice>(seed);
  return {.description = simulated_description(),
          .memory = device,
          .clock = device,
          .roofline = std::make_shared<Roofline<SerialDevice>>(device),
          .make = maker_on(device)};
}

std::unique_ptr<DeviceCompressor> make_simulated_compressor(
    const std::shared_ptr<DeviceMemory>& memory, const Spec& spec,
    std::span<const TensorInfo> tensors, const CompressorSettings& settings) {
  auto device = std::dynamic_pointer_cast<SerialDevice>(memory);
  if (!device) throw RunError("the device is not a simulated GPU");
  return make_device_compressor(std::move(device), spec, tensors, settings);
}

}  // namespace thinpipe::cuda
