// Copies of a processor that plays a GPU: made as late as a GPU may make them.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "compressors/cuda/device_copies.h"
#include "compressors/cuda/grid/serial_device.h"

namespace thinpipe::cuda {

/// A copy is made when somebody has asked several times whether it has ended, or waits for it: who
/// reads what has not come, or overwrites what has not left, reads or sends something else.
class SerialCopies : public DeviceCopies {
 public:
  /// @param patience  so often a copy has not ended yet
  explicit SerialCopies(std::shared_ptr<SerialDevice> device, int patience = 2)
      : device_(std::move(device)), patience_(patience) {}

  void use_in_this_thread() override {}
  std::size_t begin_downloads(std::span<const DeviceCopy> copies) override {
    return begin({copies.begin(), copies.end()});
  }
  std::size_t begin_upload(const DeviceCopy& copy) override { return begin({copy}); }
  void join(std::size_t number) override {
    const std::lock_guard lock(mutex_);
    end(under_way(number));
  }
  bool ended(std::size_t number) override {
    const std::lock_guard lock(mutex_);
    UnderWay& one = under_way(number);
    if (one.patience-- > 0) return false;
    end(one);
    return true;
  }
  double take(std::size_t number) override {
    const std::lock_guard lock(mutex_);
    UnderWay& one = under_way(number);
    end(one);
    one.used = false;
    return one.seconds;
  }

 private:
  struct UnderWay {
    std::vector<DeviceCopy> copies;
    int patience = 0;
    double seconds = 0;
    bool used = false;
  };

  std::size_t begin(std::vector<DeviceCopy> copies) {
    const std::lock_guard lock(mutex_);
    std::size_t number = 0;
    while (number < all_.size() && all_[number].used) ++number;
    if (number == all_.size()) all_.emplace_back();
    all_[number] = {.copies = std::move(copies), .patience = patience_, .used = true};
    return number;
  }
  UnderWay& under_way(std::size_t number) {
    if (number >= all_.size() || !all_[number].used)
      throw std::logic_error("a copy that is not under way");
    return all_[number];
  }
  void end(UnderWay& one) {
    const auto begin = std::chrono::steady_clock::now();
    for (const DeviceCopy& copy : one.copies)
      if (copy.bytes > 0) std::memcpy(copy.to, copy.from, copy.bytes);
    if (one.copies.empty()) return;
    one.copies.clear();
    one.patience = 0;
    one.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  std::shared_ptr<SerialDevice> device_;
  int patience_;
  std::mutex mutex_;
  std::vector<UnderWay> all_;
};

}  // namespace thinpipe::cuda
