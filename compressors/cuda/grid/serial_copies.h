// Copies of a simulated GPU, made as early or as late as a GPU may make them.
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

/// A copy ends after several calls of ended(), or when the host waits for it. The random seed
/// decides when its bytes move. A download moves its bytes as early as its stream allows, or after
/// all work that was enqueued before the copy ended. An upload moves its bytes at the end, or at
/// once, regardless of pending device work; in the second case neither side may change before the
/// copy ends. A caller that reads bytes before they arrive therefore gets wrong bytes. A caller
/// that overwrites bytes too early sends wrong bytes.
class SerialCopies : public DeviceCopies {
 public:
  /// @param busy_polls  how often ended() returns false for a copy
  explicit SerialCopies(std::shared_ptr<SerialDevice> device, int busy_polls = 2)
      : device_(std::move(device)), busy_polls_(busy_polls) {}

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
    if (!one->joined) one->joined = device_->stream().enqueued();
    device_->stream().enqueue([this, one = std::move(one)] { end(*one); });
  }
  bool ended(std::size_t number) override {
    const std::lock_guard lock(device_->stream().mutex());
    UnderWay& one = *under_way(number);
    if (one.busy_polls-- > 0) return false;
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
    std::uint64_t enqueued = 0;           ///< device work before this copy
    std::optional<std::uint64_t> joined;  ///< device work before the join()
    int busy_polls = 0;
    double seconds = 0;
  };

  std::size_t begin(std::vector<DeviceCopy> copies, bool up) {
    std::size_t number = 0;
    while (number < all_.size() && all_[number]) ++number;
    if (number == all_.size()) all_.emplace_back();
    all_[number] = std::make_shared<UnderWay>(UnderWay{.copies = std::move(copies),
                                                       .up = up,
                                                       .early = device_->stream().either(),
                                                       .enqueued = device_->stream().enqueued(),
                                                       .joined = std::nullopt,
                                                       .busy_polls = busy_polls_});
    return number;
  }
  std::shared_ptr<UnderWay> under_way(std::size_t number) {
    if (number >= all_.size() || !all_[number]) throw std::logic_error("the copy is not pending");
    return all_[number];
  }
  void end(UnderWay& one) {
    if (one.copies.empty()) return;
    SerialStream& stream = device_->stream();
    if (!one.up)
      stream.run_until(one.early ? one.enqueued : one.joined.value_or(stream.enqueued()));
    const auto begin = std::chrono::steady_clock::now();
    for (const DeviceCopy& copy : std::exchange(one.copies, {})) {
      if (one.up && one.early) {
        check(copy);
      } else {
        make(copy);
      }
    }
    one.busy_polls = 0;
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
      throw std::logic_error("memory changed while it was being copied");
  }

  std::shared_ptr<SerialDevice> device_;
  int busy_polls_;
  std::vector<std::shared_ptr<UnderWay>> all_;
};

}  // namespace thinpipe::cuda
