// A device on which compressors can be timed.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "compressors/compressor.h"
#include "compressors/cuda/device/device_clock.h"
#include "compressors/cuda/device/device_compressor.h"
#include "compressors/cuda/device/device_memory.h"
#include "compressors/cuda/device/device_roofline.h"
#include "compressors/spec.h"

namespace thinpipe {

/// Device properties that times depend on.
struct DeviceDescription {
  std::string name = {};          ///< "NVIDIA H100 80GB HBM3"
  std::string architecture = {};  ///< "sm_90"
  std::string bus = {};           ///< address on the PCI bus
  std::string driver = {};        ///< the version of CUDA that the driver speaks, "13.0"
  std::string runtime = {};       ///< the version of CUDA's runtime
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
  int multiprocessors = 0;
};

/// Everything of one stream. Memory that compressors and others have taken is given back when all
/// of these and the compressors are gone.
struct TimedDevice {
  DeviceDescription description;
  std::shared_ptr<DeviceMemory> memory;
  std::shared_ptr<DeviceClock> clock;
  std::shared_ptr<DeviceRoofline> roofline;
  /// As make_gpu_compressor(). @throws InputError, RunError
  std::function<std::unique_ptr<DeviceCompressor>(
      const Spec& spec, std::span<const TensorInfo> tensors, const CompressorSettings& settings)>
      make;
};

}  // namespace thinpipe
