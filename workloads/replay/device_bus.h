// The bus between a device and the host: copies, which a time scale slows down, room for them at
// both ends, and payloads on their way up.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "compressors/cuda/device/device_copies.h"
#include "compressors/cuda/device/device_memory.h"
#include "compressors/cuda/rank_device.h"

namespace thinpipe {

/// Copies that were begun together.
struct BusCopy {
  std::size_t number = 0;  ///< that DeviceCopies gave them
  double begun = 0;        ///< when, by the host's clock
  bool taken = false;      ///< from DeviceCopies
  double seconds = 0;      ///< that they took, then
  double due = 0;          ///< when they end in slow motion
};

/// One way of the bus. With a factor above 1 copies count as ended when they would have on a
/// machine whose bus is so many times slower, one after the other (docs/time-scaling.md).
class DeviceBus {
 public:
  DeviceBus(std::shared_ptr<DeviceCopies> copies, double factor)
      : copies_(std::move(copies)), factor_(factor) {}

  bool slow() const { return factor_ > 1; }
  /// Begins a step: nothing is under way.
  void begin() { free_ = 0; }
  /// @param number  of copies that have just been begun
  static BusCopy begun(std::size_t number);

  /// Whether they have ended. Asked of copies in the order in which they were begun.
  /// @throws RunError as DeviceCopies
  bool ended(BusCopy& copy);
  /// Waits until they have; likewise in order.
  void pass(BusCopy& copy);
  /// Makes later work on the memory wait until they have ended.
  void join(const BusCopy& copy) {
    if (!copy.taken) copies_->join(copy.number);
  }
  /// The end of them. @returns s that they took by the device's clock
  double take(BusCopy& copy);

 private:
  void end(BusCopy& copy);

  std::shared_ptr<DeviceCopies> copies_;
  double factor_;
  double free_ = 0;  ///< when it has ended what it was given, in slow motion
};

/// Room in a device's memory, or pinned on the host, that grows with what it must hold. Growing
/// loses the content, and the old place stays taken until the device is closed: a room grows by
/// half at least.
class DeviceRoom {
 public:
  enum class Where { kDevice, kPinned };
  DeviceRoom(std::shared_ptr<DeviceMemory> memory, Where where)
      : memory_(std::move(memory)), where_(where) {}

  std::size_t size() const { return size_; }
  std::byte* data() const { return data_; }
  /// Waits for the device where it grows, which must not be at work on it. @throws RunError
  std::byte* grow(std::size_t bytes) {
    if (bytes <= size_) return data_;
    size_ = bytes + bytes / 2;
    data_ = static_cast<std::byte*>(where_ == Where::kDevice ? memory_->allocate(size_)
                                                             : memory_->allocate_host(size_));
    memory_->wait();  // it clears what it gives; copies beside it would not wait for that
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

/// Bytes that a payload takes where it is decoded: the next one begins at a multiple of 4, behind 4
/// readable bytes more (DeviceCompressor::begin_decode).
inline std::size_t decode_room(std::size_t payload) { return (payload + 3) / 4 * 4 + 4; }

/// Payloads that have come to the host, on their way up to a device.
/// A step: clear(), add() of each, begin(), payloads(), finish().
class DeviceUpload {
 public:
  explicit DeviceUpload(const RankDevice& device);

  void clear();
  /// One more payload, which stays as it is until begin().
  void add(std::span<const std::byte> payload);
  /// More of the last one.
  void append(std::span<const std::byte> more);

  /// Where there is none, only the thread that has the device may begin().
  bool has_room() const;
  /// Through pinned memory.
  void begin();
  bool under_way() const { return under_way_; }
  BusCopy& copy() { return copy_; }

  /// On the device, for what it is asked for from now on, where a compressor takes them
  /// (DeviceCompressor::decode_add).
  std::span<const DevicePayload> payloads(DeviceBus& bus);
  /// The device is done with them. @returns s that copies took
  double finish(DeviceBus& bus);

 private:
  struct Part {
    std::span<const std::byte> bytes;
    std::size_t at;  ///< in the room
  };

  RankDevice device_;
  std::vector<Part> parts_;
  std::vector<DevicePayload> payloads_;
  std::vector<std::size_t> places_;  ///< of these in the room
  std::size_t bytes_ = 0;            ///< of room that they need
  DeviceRoom pinned_, there_;
  BusCopy copy_;
  bool under_way_ = false;
};

}  // namespace thinpipe
