// Operations on device arrays other than compression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/cuda/device/device_copies.h"

namespace thinpipe {

/// All operations are asynchronous and run in the order of the DeviceMemory's stream. All pointers
/// are device pointers to arrays that do not overlap. Results are bit for bit those of a CPU loop
/// over the same floats, without fused multiply-add.
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

}  // namespace thinpipe
