#include "harness/bench/device/slice.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "harness/bench/validate.h"
#include "tests/harness/bench/device/played_gpu.h"

namespace thinpipe {
namespace {

void spend(double seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < until) {
  }
}

TEST(DeviceSlice, QueuedCallsAreTimedTogether) {
  const TimedDevice device = play_gpu()();
  const DeviceSlice slice =
      take_slice(*device.clock, {.name = "spends", .call = [] { spend(1e-3); }}, 5);
  EXPECT_GE(slice.device, 1e-3);
  EXPECT_GE(slice.wall, slice.device);
}

TEST(DeviceSlice, TheWayBackIsNotTheDevices) {
  // Each call works twice for 0.1 ms, waits, and spends 0.05 ms with what it was told. Only that of
  // the last call is behind the last work: 0.05 of 25 ms, in which the two clocks may differ by
  // 0.6.
  const TimedDevice device = play_gpu()();
  int calls = 0;
  const auto call = [&] {
    spend(1e-4);
    device.memory->wait();
    spend(1e-4);
    device.memory->wait();  // where the last work was done
    ++calls;
    spend(5e-5);
  };
  const DeviceSlice slice =
      take_slice(*device.clock, {.name = "waits", .call = call, .waits = true}, 100);
  EXPECT_GE(slice.device, 2e-4);
  EXPECT_LE(slice.device, slice.wall - 4e-5);
  EXPECT_EQ(calls % 100, 0);
  device.memory->wait();  // sets no mark any more
}

TEST(DeviceSlice, AClockThatDisagreesIsFoundOut) {
  for (const double factor : {0.5, 2.0, -1.0}) {
    const TimedDevice device = play_gpu({.clock_factor = factor})();
    EXPECT_THROW(take_slice(*device.clock, {.name = "spends", .call = [] { spend(2e-3); }}, 3),
                 ValidationError)
        << factor;
  }
}

}  // namespace
}  // namespace thinpipe
