// One way of the bus between a device and the host, which a time scale slows down.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "compressors/cuda/device_copies.h"

namespace thinpipe {

/// Copies that were begun together.
struct BusCopy {
  std::size_t number = 0;  ///< that DeviceCopies gave them
  double begun = 0;        ///< when, by the host's clock
  bool taken = false;      ///< from DeviceCopies
  double seconds = 0;      ///< that they took, then
  double due = 0;          ///< when they end in slow motion
};

/// With a factor above 1 copies count as ended when they would have on a machine whose bus is so
/// many times slower, one after the other (docs/time-scaling.md).
class DeviceBus {
 public:
  DeviceBus(std::shared_ptr<DeviceCopies> copies, double factor)
      : copies_(std::move(copies)), factor_(factor) {}

  bool slow() const { return factor_ > 1; }
  /// Of a step: nothing is under way.
  void begin() { free_ = 0; }
  /// @param number  of copies that have just been begun
  static BusCopy begun(std::size_t number);

  /// Whether they have ended. Asked of copies in the order in which they were begun.
  /// @throws RunError as DeviceCopies
  bool ended(BusCopy& copy);
  /// Waits until they have; likewise in order.
  void pass(BusCopy& copy);
  /// What the memory is asked for from now on is done when they have ended.
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

}  // namespace thinpipe
