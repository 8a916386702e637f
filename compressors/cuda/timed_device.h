// A device on which compressors are timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "compressors/cuda/device/device_compressor.h"
#include "compressors/cuda/device/device_memory.h"

namespace thinpipe {

/// Memory roofline of a device: its fastest reads and copies. Asynchronous, in the order of the
/// device's stream.
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
  MakeDeviceCompressor make;
};

}  // namespace thinpipe
