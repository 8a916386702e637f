// The bus between a device and the host: copies (which a time scale can slow down), buffers at both
// ends, and uploads of payloads to the device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "compressors/cuda/device/device_memory.h"
#include "compressors/cuda/rank_device.h"

namespace thinpipe {

/// Copies that were begun together.
struct BusCopy {
  std::size_t number = 0;  ///< from DeviceCopies
  double begun = 0;        ///< when, by the host's clock
  bool taken = false;      ///< whether DeviceCopies has returned their duration
  double seconds = 0;      ///< their duration, once `taken`
  double due = 0;          ///< when they end under the time scale, once `taken`
};

/// One direction of the bus between a device and the host. A factor above 1 emulates a bus that is
/// slower by that factor. Copies then run one after the other, and count as ended when they would
/// have ended on the slower bus (docs/time-scaling.md).
class DeviceBus {
 public:
  DeviceBus(std::shared_ptr<DeviceCopies> copies, double factor)
      : copies_(std::move(copies)), factor_(factor) {}

  bool slow() const { return factor_ > 1; }
  /// Begins a step: no copies are under way.
  void begin() { free_ = 0; }
  /// Returns the record of copies that have just been begun, by their number in DeviceCopies.
  static BusCopy begun(std::size_t number) { return {.number = number, .begun = now_seconds()}; }

  /// Returns whether the copies have ended. Called for copies in the order in which they were
  /// begun. @throws RunError as DeviceCopies
  bool ended(BusCopy& copy);
  /// Waits until the copies have ended; likewise in order. @returns as take()
  double pass(BusCopy& copy) {
    const double seconds = take(copy);
    if (slow()) wait_until(copy.due);
    return seconds;
  }
  /// Makes later work on the memory wait until the copies have ended.
  void join(const BusCopy& copy) {
    if (!copy.taken) copies_->join(copy.number);
  }
  /// Waits until the copies have ended. @returns their duration by the device's clock, in seconds
  double take(BusCopy& copy) {
    if (!copy.taken) end(copy);
    return copy.seconds;
  }

 private:
  void end(BusCopy& copy);

  std::shared_ptr<DeviceCopies> copies_;
  double factor_;
  double free_ = 0;  ///< when all copies have ended under the time scale
};

/// A buffer in a device's memory, or pinned on the host. When it grows, its content is lost, and
/// the old memory stays allocated until the device is closed. To grow rarely, it allocates 1.5
/// times the requested size.
class DeviceBuffer {
 public:
  enum class Where { kDevice, kPinned };
  DeviceBuffer(std::shared_ptr<DeviceMemory> memory, Where where)
      : memory_(std::move(memory)), where_(where) {}

  std::size_t size() const { return size_; }
  std::byte* data() const { return data_; }
  /// Grows the buffer if it is too small, and then waits for the device. The device must not be
  /// using the buffer.
  /// @returns the buffer's memory @throws RunError
  std::byte* grow(std::size_t bytes) {
    if (bytes <= size_) return data_;
    size_ = bytes + bytes / 2;
    data_ = static_cast<std::byte*>(where_ == Where::kDevice ? memory_->allocate(size_)
                                                             : memory_->allocate_host(size_));
    memory_->wait();  // the allocator clears memory; copies in another stream do not wait for it
    return data_;
  }

 private:
  std::shared_ptr<DeviceMemory> memory_;
  Where where_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A payload on a device.
struct DevicePayload {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};

/// Returns the bytes that a payload takes in the device buffer from which payloads are decoded. The
/// payload's size is rounded up to a multiple of 4, and 4 more readable bytes follow before the
/// next payload (DeviceCompressor::begin_decode).
inline std::size_t decode_bytes(std::size_t payload) { return (payload + 3) / 4 * 4 + 4; }

/// Payloads that have arrived on the host and are copied to a device.
/// A step: clear(), add() of each, begin(), payloads(), finish().
class DeviceUpload {
 public:
  explicit DeviceUpload(const RankDevice& device);

  void clear();
  /// Adds one more payload, which stays untouched until begin().
  void add(std::span<const std::byte> payload);
  /// Appends bytes to the last payload.
  void append(std::span<const std::byte> more);

  /// Returns whether the payloads fit the buffers. If not, only the device's thread may begin().
  bool fits() const { return bytes_ <= std::min(pinned_.size(), on_device_.size()); }
  /// Starts the copies, through pinned memory.
  void begin();
  bool under_way() const { return under_way_; }
  BusCopy& copy() { return copy_; }

  /// Returns the payloads on the device, for work that is queued from now on
  /// (DeviceCompressor::decode_add).
  std::span<const DevicePayload> payloads(DeviceBus& bus);
  /// Ends the step: the device has used the payloads. @returns the copies' duration, in seconds
  double finish(DeviceBus& bus) {
    const double seconds = under_way_ ? bus.take(copy_) : 0;
    under_way_ = false;
    return seconds;
  }

 private:
  struct Part {
    std::span<const std::byte> bytes;
    std::size_t at;  ///< in the buffer
  };

  RankDevice device_;
  std::vector<Part> parts_;
  std::vector<DevicePayload> payloads_;
  std::vector<std::size_t> places_;  ///< offsets of payloads in the buffer
  std::size_t bytes_ = 0;            ///< of the buffer that payloads need
  DeviceBuffer pinned_, on_device_;
  BusCopy copy_;
  bool under_way_ = false;
};

}  // namespace thinpipe
