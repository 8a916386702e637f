// A device that holds a rank's gradients.
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

/// Device memory is freed when all of these members and the compressors have been destroyed.
struct RankDevice {
  DeviceDescription description;
  std::shared_ptr<DeviceMemory> memory;
  std::shared_ptr<DeviceCopies> copies;
  std::shared_ptr<DeviceArithmetic> arithmetic;
  /// As make_gpu_compressor(). @throws InputError, RunError
  std::function<std::unique_ptr<DeviceCompressor>(
      const Spec& spec, std::span<const TensorInfo> tensors, const CompressorSettings& settings)>
      make;
  /// Opens the same device with further streams for kernels and copies, so that another thread can
  /// use it at the same time. Streams are not ordered with each other: the caller must wait for
  /// work on which another stream depends. @throws RunError
  std::function<RankDevice()> beside;
};

}  // namespace thinpipe
