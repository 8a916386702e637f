#include "harness/bench/device_measure.h"

#include <benchmark/benchmark.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "harness/bench/subject.h"
#include "tests/harness/bench/played_gpu.h"

namespace thinpipe {
namespace {

using Row = benchmark::BenchmarkReporter::Run;

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

// Three repetitions of 10 calls; 1, 2 and 6 us of a call by the device.
DeviceTiming some_timing() {
  return {.device = {1e-6, 2e-6, 6e-6},
          .wall = {2e-6, 3e-6, 10e-6},
          .cpu = {2e-6, 2e-6, 2e-6},
          .order = {4, 0, 2},
          .calls = 10,
          .error = ""};
}

std::map<std::string, Row> by_aggregate(const std::vector<Row>& rows) {
  std::map<std::string, Row> found;
  for (const Row& row : rows)
    if (row.run_type == Row::RT_Aggregate) found[row.aggregate_name] = row;
  return found;
}

double counter(const Row& row, const std::string& name) { return row.counters.at(name).value; }

TEST(DeviceRows, ARepetitionHasItsOwn) {
  const std::vector<Row> rows =
      device_rows({.name = "encode/topk", .elements = 100}, some_timing());
  ASSERT_EQ(rows.size(), 7u);
  const Row& third = rows[2];
  EXPECT_EQ(third.benchmark_name(), "encode/topk/manual_time");
  EXPECT_EQ(third.iterations, 10);
  EXPECT_EQ(third.repetition_index, 2);
  EXPECT_EQ(third.repetitions, 3);
  EXPECT_DOUBLE_EQ(third.GetAdjustedRealTime(), 6000);  // ns of a call
  EXPECT_DOUBLE_EQ(third.GetAdjustedCPUTime(), 2000);
  EXPECT_DOUBLE_EQ(counter(third, "ns_per_element"), 60);
  EXPECT_DOUBLE_EQ(counter(third, "wall_ns_per_element"), 100);
  EXPECT_NEAR(counter(third, "GB_per_s"), 400 / 6000.0, 1e-12);  // bytes a ns
  EXPECT_EQ(counter(third, "order"), 2);
  EXPECT_EQ(third.counters.count("times_t_r"), 0u);
}

TEST(DeviceRows, AggregatesAreOfTheRepetitions) {
  const auto found = by_aggregate(device_rows(
      {.name = "x", .elements = 100, .t_r = 2, .counters = {{"passes", 3}}}, some_timing()));
  ASSERT_EQ(found.size(), 4u);
  EXPECT_DOUBLE_EQ(found.at("mean").GetAdjustedRealTime(), 3000);
  EXPECT_DOUBLE_EQ(found.at("median").GetAdjustedRealTime(), 2000);
  // Deviations of 1, 2, 6 from 3 are -2, -1, 3: squares 14, over 2 is 7.
  EXPECT_NEAR(found.at("stddev").GetAdjustedRealTime(), 2645.7513, 1e-3);
  EXPECT_NEAR(found.at("cv").real_accumulated_time, 0.88191710, 1e-7);
  EXPECT_NEAR(found.at("cv").cpu_accumulated_time, 0, 1e-12);
  EXPECT_EQ(found.at("cv").aggregate_unit, benchmark::kPercentage);
  EXPECT_DOUBLE_EQ(counter(found.at("median"), "wall_ns_per_element"), 30);
  EXPECT_DOUBLE_EQ(counter(found.at("median"), "times_t_r"), 10);
  EXPECT_EQ(counter(found.at("mean"), "passes"), 3);
  EXPECT_EQ(found.at("stddev").counters.count("GB_per_s"), 0u);
  EXPECT_EQ(found.at("median").counters.count("order"), 0u);
}

TEST(DeviceRows, NoneOfWhatFailedAndNoAggregateOfOne) {
  DeviceTiming failed = some_timing();
  failed.error = "failed";
  EXPECT_TRUE(device_rows({.name = "x"}, failed).empty());
  const DeviceTiming one{.device = {1e-6}, .wall = {2e-6}, .cpu = {0}, .order = {0}, .error = ""};
  EXPECT_EQ(device_rows({.name = "x"}, one).size(), 1u);
}

}  // namespace
}  // namespace thinpipe
