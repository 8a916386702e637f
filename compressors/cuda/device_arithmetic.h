// Operations on device arrays other than compression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/cuda/device/device_copies.h"

namespace thinpipe {

/// In order with all else that the DeviceMemory is asked for; returns at once. All are addresses in
/// the device's memory, arrays apart from each other. Bits are those of a processor's loop over the
/// same floats, without fused multiply-add.
class DeviceArithmetic {
 public:
  virtual ~DeviceArithmetic() = default;

  /// to += from
  virtual void add(float* device_to, const float* device_from, std::size_t elements) = 0;
  /// Nesterov's momentum: v <- momentum v + x, out = rate (x + momentum v).
  virtual void nesterov(const float* device_x, float* device_v, float* device_out,
                        std::size_t elements, float momentum, float rate) = 0;
  /// Copies from one place on the device to another, all at once; waits for those that it was asked
  /// for before.
  virtual void copy(std::span<const DeviceCopy> copies) = 0;
  /// to[p] = value, for `count` distinct positions.
  virtual void put(float* device_to, const std::uint32_t* device_positions,
                   const float* device_values, std::size_t count) = 0;
};

}  // namespace thinpipe
