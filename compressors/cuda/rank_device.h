// A device on which a rank's gradients lie.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "compressors/compressor.h"
#include "compressors/cuda/device/device_compressor.h"
#include "compressors/cuda/device/device_copies.h"
#include "compressors/cuda/device/device_memory.h"
#include "compressors/cuda/device_arithmetic.h"
#include "compressors/cuda/timed_device.h"
#include "compressors/spec.h"

namespace thinpipe {

/// Memory that compressors and others have taken is given back when all of these and the
/// compressors are gone.
struct RankDevice {
  DeviceDescription description;
  std::shared_ptr<DeviceMemory> memory;
  std::shared_ptr<DeviceCopies> copies;
  std::shared_ptr<DeviceArithmetic> arithmetic;
  /// As make_gpu_compressor(). @throws InputError, RunError
  std::function<std::unique_ptr<DeviceCompressor>(
      const Spec& spec, std::span<const TensorInfo> tensors, const CompressorSettings& settings)>
      make;
  /// The same device with work and copies on streams of their own: for another thread, at the same
  /// time. The caller must wait for work of one that the other needs.
  /// @throws RunError
  std::function<RankDevice()> beside;
};

}  // namespace thinpipe
