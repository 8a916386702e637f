// A device that holds a rank's gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "compressors/cuda/device/device_compressor.h"
#include "compressors/cuda/device/device_memory.h"
#include "compressors/cuda/timed_device.h"

namespace thinpipe {

/// Operations on device arrays other than compression. They are asynchronous and run in the order
/// of the DeviceMemory's stream. All pointers are device pointers to arrays that do not overlap.
/// Results are bit for bit those of a CPU loop over the same floats, without fused multiply-add.
class DeviceArithmetic {
 public:
  virtual ~DeviceArithmetic() = default;

  /// to += from
  virtual void add(float* device_to, const float* device_from, std::size_t elements) = 0;
  /// Nesterov's momentum: v <- momentum v + x, out = rate (x + momentum v).
  virtual void nesterov(const float* device_x, float* device_v, float* device_out,
                        std::size_t elements, float momentum, float rate) = 0;
  /// Copies between device pointers, all by one kernel. Waits first for the copies of the previous
  /// call.
  virtual void copy(std::span<const DeviceCopy> copies) = 0;
  /// to[p] = value, for `count` distinct positions.
  virtual void put(float* device_to, const std::uint32_t* device_positions,
                   const float* device_values, std::size_t count) = 0;
};

/// Device memory is freed when all of these members and the compressors have been destroyed.
struct RankDevice {
  DeviceDescription description;
  std::shared_ptr<DeviceMemory> memory;
  std::shared_ptr<DeviceCopies> copies;
  std::shared_ptr<DeviceArithmetic> arithmetic;
  MakeDeviceCompressor make;
  /// Opens the same device with further streams for kernels and copies, so that another thread can
  /// use it at the same time. Streams are not ordered with each other: the caller must wait for
  /// work on which another stream depends. @throws RunError
  std::function<RankDevice()> beside;
};

}  // namespace thinpipe
