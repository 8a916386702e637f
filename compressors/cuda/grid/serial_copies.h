// Copies of a processor that plays a GPU: made as early or as late as a GPU may make them.
#pragma once

#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "compressors/cuda/device/device_copies.h"
#include "compressors/cuda/grid/serial_device.h"

namespace thinpipe::cuda {

/// Copies have ended when somebody has asked several times whether they have, or waits for them.
/// Chance says when a copy is made. Down: as soon as its stream may, or when all has been done that
/// was asked for until somebody ended it. Up: at once, whatever the device has still to do, and
/// what was copied must not have changed on either side when it has ended; or at the end. So who
/// reads what has not come, or overwrites what has not left, reads or sends something else.
class SerialCopies : public DeviceCopies {
 public:
  /// @param patience  so often a copy has not ended yet
  explicit SerialCopies(std::shared_ptr<SerialDevice> device, int patience = 2)
      : device_(std::move(device)), patience_(patience) {}

  void use_in_this_thread() override {}
  std::size_t begin_downloads(std::span<const DeviceCopy> copies) override {
    const std::lock_guard lock(device_->stream().mutex());
    const std::size_t number = begin({copies.begin(), copies.end()}, false);
    for (const DeviceCopy& copy : copies) spoil(copy);
    return number;
  }
  std::size_t begin_upload(const DeviceCopy& copy) override {
    const std::lock_guard lock(device_->stream().mutex());
    const std::size_t number = begin({copy}, true);
    if (all_[number]->early) {
      make(copy);
    } else {
      spoil(copy);
    }
    return number;
  }
  void join(std::size_t number) override {
    const std::lock_guard lock(device_->stream().mutex());
    std::shared_ptr<UnderWay> one = under_way(number);
    if (!one->joined) one->joined = device_->stream().asked();
    device_->stream().ask([this, one = std::move(one)] { end(*one); });
  }
  bool ended(std::size_t number) override {
    const std::lock_guard lock(device_->stream().mutex());
    UnderWay& one = *under_way(number);
    if (one.patience-- > 0) return false;
    end(one);
    return true;
  }
  double take(std::size_t number) override {
    const std::lock_guard lock(device_->stream().mutex());
    const std::shared_ptr<UnderWay> one = under_way(number);
    end(*one);
    all_[number] = nullptr;
    return one->seconds;
  }

 private:
  struct UnderWay {
    std::vector<DeviceCopy> copies;
    bool up = false, early = false;
    std::uint64_t asked = 0;              ///< of the device's work, before this
    std::optional<std::uint64_t> joined;  ///< of its work, before this must have ended
    int patience = 0;
    double seconds = 0;
  };

  std::size_t begin(std::vector<DeviceCopy> copies, bool up) {
    std::size_t number = 0;
    while (number < all_.size() && all_[number]) ++number;
    if (number == all_.size()) all_.emplace_back();
    all_[number] = std::make_shared<UnderWay>(UnderWay{.copies = std::move(copies),
                                                       .up = up,
                                                       .early = device_->stream().either(),
                                                       .asked = device_->stream().asked(),
                                                       .joined = std::nullopt,
                                                       .patience = patience_});
    return number;
  }
  std::shared_ptr<UnderWay> under_way(std::size_t number) {
    if (number >= all_.size() || !all_[number])
      throw std::logic_error("a copy that is not under way");
    return all_[number];
  }
  void end(UnderWay& one) {
    if (one.copies.empty()) return;
    SerialStream& stream = device_->stream();
    if (!one.up) stream.run_until(one.early ? one.asked : one.joined.value_or(stream.asked()));
    const auto begin = std::chrono::steady_clock::now();
    for (const DeviceCopy& copy : std::exchange(one.copies, {})) {
      if (one.up && one.early) {
        check(copy);
      } else {
        make(copy);
      }
    }
    one.patience = 0;
    one.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  static void make(const DeviceCopy& copy) {
    if (copy.bytes > 0) std::memcpy(copy.to, copy.from, copy.bytes);
  }
  static void spoil(const DeviceCopy& copy) {
    if (copy.bytes > 0) std::memset(copy.to, kGarbage, copy.bytes);
  }
  static void check(const DeviceCopy& copy) {
    if (copy.bytes > 0 && std::memcmp(copy.to, copy.from, copy.bytes) != 0)
      throw std::logic_error("memory that was written to while it was copied");
  }

  std::shared_ptr<SerialDevice> device_;
  int patience_;
  std::vector<std::shared_ptr<UnderWay>> all_;
};

}  // namespace thinpipe::cuda
