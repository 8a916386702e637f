// Memory roofline of a device: its fastest reads and copies.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thinpipe {

/// Asynchronous, in the order of the device's stream.
class DeviceRoofline {
 public:
  virtual ~DeviceRoofline() = default;

  /// Numbers of sequential streams into which read() can divide the array. A thread has one
  /// independent 16-byte read in flight per stream. The fastest of these numbers gives the time of
  /// a read.
  static constexpr int kStreamCounts[] = {1, 2, 4, 8};

  /// Reads each of `elements` elements once and adds up their bits.
  /// @param device_x  aligned to 16 bytes
  /// @param streams   one of kStreamCounts
  virtual void read(const float* device_x, std::size_t elements, int streams) = 0;
  /// Returns the sum, modulo 2^32, of all words read since the last call. Waits.
  virtual std::uint32_t take_sum() = 0;
  /// Copies within device memory, by the device's own copy function.
  virtual void copy(const float* device_from, std::size_t elements, float* device_to) = 0;
};

}  // namespace thinpipe
