// Memory roofline of a device: the fastest reads and copies.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thinpipe {

/// Requests run in order with all other work on the device's stream.
class DeviceRoofline {
 public:
  virtual ~DeviceRoofline() = default;

  /// Streams in which a read goes through memory at a time: as many independent reads of 16 bytes
  /// does a thread have under way. The time of a read is the best of these.
  static constexpr int kStreamCounts[] = {1, 2, 4, 8};

  /// Reads so many elements, each once, and adds up their bits. @param streams  of kStreamCounts
  /// @param device_x  aligned to 16 bytes
  virtual void read(const float* device_x, std::size_t elements, int streams) = 0;
  /// All that was read since the last time, added up modulo 2^32, as words. Waits.
  virtual std::uint32_t take_sum() = 0;
  /// to = from, by the device's own copy.
  virtual void copy(const float* device_from, std::size_t elements, float* device_to) = 0;
};

}  // namespace thinpipe
