// A device on which compressors are timed.
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

/// Device properties on which times depend.
struct DeviceDescription {
  std::string name = {};          ///< "NVIDIA H100 80GB HBM3"
  std::string architecture = {};  ///< "sm_90"
  std::string bus = {};           ///< address on the PCI bus
  std::string driver = {};        ///< CUDA version that the driver supports, "13.0"
  std::string runtime = {};       ///< version of the CUDA runtime
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
  int multiprocessors = 0;
};

/// A GPU for benchmarks. The objects behind the pointers below all enqueue their work on one CUDA
/// stream. They and the compressors made with `memory` share the GPU's memory, which is freed when
/// the last of these objects is destroyed.
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
