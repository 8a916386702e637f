#include "workloads/replay/device_bus.h"

#include <algorithm>

#include "base/clock.h"

namespace thinpipe {

BusCopy DeviceBus::begun(std::size_t number) { return {.number = number, .begun = now_seconds()}; }

bool DeviceBus::ended(BusCopy& copy) {
  if (!copy.taken) {
    if (!copies_->ended(copy.number)) return false;
    if (!slow()) return true;
    end(copy);
  }
  return now_seconds() >= copy.due;
}

void DeviceBus::pass(BusCopy& copy) {
  if (!copy.taken) end(copy);
  if (slow()) wait_until(copy.due);
}

double DeviceBus::take(BusCopy& copy) {
  if (!copy.taken) end(copy);
  return copy.seconds;
}

void DeviceBus::end(BusCopy& copy) {
  copy.taken = true;
  copy.seconds = copies_->take(copy.number);
  free_ = copy.due = std::max(copy.begun, free_) + factor_ * copy.seconds;
}

}  // namespace thinpipe
