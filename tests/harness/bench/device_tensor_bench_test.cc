#include "harness/bench/device_tensor_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/bench/results.h"
#include "tests/harness/bench/played_gpu.h"

namespace thinpipe {
namespace {

BenchOptions on_device() {
  BenchOptions options;
  options.devices = {kDeviceCuda};
  options.sizes = {3000};
  options.warmup = 4;
  options.repetitions = 3;
  options.min_time = 1e-5;
  options.compressors = {parse_spec("topk:ratio=0.1"), parse_spec("int8")};
  return options;
}

TEST(DeviceTensorBench, RowsAreThereForEveryPoint) {
  BenchOptions options = on_device();
  options.sizes = {3000, 70};
  const BenchResult result = run_bench(options, play_gpu());
  EXPECT_TRUE(result.failures.empty()) << result.failures.front().reason;
  ASSERT_EQ(result.groups.size(), 2u);
  for (const BenchGroup& group : result.groups) {
    EXPECT_EQ(group.device, "cuda");
    ASSERT_EQ(group.rows.size(), 2u);
    for (const BenchRow& row : group.rows) {
      EXPECT_EQ(row.simd, "played");
      EXPECT_GT(row.encode, 0) << row.compressor;
      EXPECT_GE(row.encode_wall, row.encode) << row.compressor;
      EXPECT_GT(row.decode, 0) << row.compressor;
      EXPECT_EQ(row.encode_samples.size(), 3u);
      EXPECT_EQ(row.t_r, group.roofline.t_r);
    }
    EXPECT_EQ(group.roofline.read.size(), 4u);
    EXPECT_GT(group.roofline.copy, 0);
    for (const auto& [streams, time] : group.roofline.read) EXPECT_GE(time, group.roofline.t_r);
  }
  ASSERT_TRUE(result.device.has_value());
  EXPECT_EQ(result.device->description.architecture, "played");
  EXPECT_FALSE(result.device->state.has_value()) << "there is no such card";
}

// What there is of one size and one compressor in one run, as the CPU's rows have it.
TEST(DeviceTensorBench, JsonIsGoogleBenchmarks) {
  const BenchResult result = run_bench(on_device(), play_gpu());
  const auto json = nlohmann::json::parse(result.json);
  EXPECT_EQ(json.at("context").at("device").at("architecture"), "played");
  const BenchRow& topk = result.groups[0].rows[0];
  std::map<std::string, int> rows;
  std::set<double> order;
  for (const auto& row : json.at("benchmarks")) {
    const std::string name = row.at("run_name");
    ++rows[name];
    if (row.at("run_type") != "iteration") continue;
    EXPECT_GE(row.at("iterations"), 1);
    EXPECT_NEAR(row.at("ns_per_element").get<double>(), row.at("real_time").get<double>() / 3000,
                1e-6 * row.at("real_time").get<double>());
    EXPECT_GE(row.at("wall_ns_per_element"), row.at("ns_per_element")) << name;
    order.insert(row.at("order").get<double>());
    if (name.find("code/") == std::string::npos) continue;
    for (const char* counter : {"times_t_r", "bits_per_element", "relative_error", "passes"})
      EXPECT_TRUE(row.contains(counter)) << name << " " << counter;
    EXPECT_EQ(row.contains("selected_share"), name.find("topk") != std::string::npos) << name;
    if (name.starts_with("encode/topk")) {
      const auto repetition = row.at("repetition_index").get<std::size_t>();
      EXPECT_NEAR(row.at("ns_per_element").get<double>(), topk.encode_samples.at(repetition),
                  1e-6 * topk.encode_samples.at(repetition));
      EXPECT_EQ(row.at("order"), topk.encode_order.at(repetition));
    }
  }
  // Four reads, a copy, two encodes and two decodes: three repetitions and four aggregates each.
  EXPECT_EQ(rows.size(), 9u);
  for (const auto& [name, count] : rows) EXPECT_EQ(count, 7) << name;
  EXPECT_EQ(order.size(), 9u * 3);
  for (const char* name : {"encode/topk:ratio=0.1/laplace:3000/memory/cuda/manual_time",
                           "read/streams:8/laplace:3000/memory/cuda/manual_time",
                           "copy/laplace:3000/memory/cuda/manual_time"})
    EXPECT_EQ(rows.count(name), 1u) << name;
}

TEST(DeviceTensorBench, JsonHasBothDevices) {
  BenchOptions options = on_device();
  options.devices = {kDeviceCpu, kDeviceCuda};
  options.compressors = {parse_spec("none")};
  options.residency = Residency::kCache;
  const auto json = nlohmann::json::parse(run_bench(options, play_gpu()).json);
  std::map<bool, int> encodes;
  for (const auto& row : json.at("benchmarks")) {
    const std::string name = row.at("run_name");
    if (name.starts_with("encode/")) ++encodes[name.find("/cuda/") != std::string::npos];
  }
  EXPECT_EQ(encodes[true], encodes[false]);
  EXPECT_EQ(encodes[true], 7);
}

TEST(DeviceTensorBench, QualityIsTheProcessors) {
  BenchOptions options = on_device();
  options.devices = {kDeviceCpu, kDeviceCuda};
  options.compressors = {parse_spec("sidco:ratio=0.1"), parse_spec("3lc")};
  options.residency = Residency::kCache;
  const BenchResult result = run_bench(options, play_gpu());
  EXPECT_TRUE(result.failures.empty()) << result.failures.front().reason;
  ASSERT_EQ(result.groups.size(), 2u);
  for (const BenchRow& there : result.groups[0].rows) {
    const auto here =
        std::find_if(result.groups[1].rows.begin(), result.groups[1].rows.end(),
                     [&](const BenchRow& row) { return row.compressor == there.compressor; });
    ASSERT_NE(here, result.groups[1].rows.end());
    EXPECT_EQ(here->quality.bits_per_element, there.quality.bits_per_element);
    EXPECT_EQ(here->quality.relative_error, there.quality.relative_error);
  }
}

TEST(DeviceTensorBench, RecordsHaveWhatADeviceHas) {
  const BenchOptions options = on_device();
  const BenchResult result = run_bench(options, play_gpu());
  for (const nlohmann::json& point : bench_points(options, result)) {
    EXPECT_EQ(point.at("axes").at("device"), "cuda");
    EXPECT_EQ(point.at("axes").at("simd"), "played");
    EXPECT_EQ(point.at("axes").at("threads"), 1);
    EXPECT_EQ(point.at("metrics").at("encode_wall_time").at("samples").size(), 3u);
    EXPECT_TRUE(point.at("metrics").contains("copy_time"));
    EXPECT_EQ(point.at("validation").at("checked_steps"), 5);
    const std::string id = point.at("id");
    EXPECT_TRUE(id.ends_with("/laplace:3000/memory/cuda")) << id;
  }
  const nlohmann::json device = device_json(*result.device);
  EXPECT_EQ(device.at("l2_bytes"), 1 << 14);
  EXPECT_TRUE(device.at("sm_hz").is_null());
}

TEST(DeviceTensorBench, AWrongPayloadIsNoRow) {
  // Payloads have 8 bytes for each of 300 elements, or one for each of 3000, and a header.
  const BenchResult result = run_bench(on_device(), play_gpu({.corrupt_from = 2000}));
  EXPECT_EQ(result.failures.size(), 2u);
  for (const BenchFailure& failure : result.failures)
    EXPECT_NE(failure.reason.find("differs from the processor's"), std::string::npos)
        << failure.reason;
  EXPECT_TRUE(result.groups[0].rows.empty());
  EXPECT_EQ(result.groups[0].roofline.read.size(), 4u);
  const auto json = nlohmann::json::parse(result.json);
  for (const auto& row : json.at("benchmarks"))
    EXPECT_EQ(row.at("run_name").get<std::string>().find("code/"), std::string::npos);
}

TEST(DeviceTensorBench, FailureAfterTheWarmUpIsFoundToo) {
  BenchOptions options = on_device();
  options.compressors = {parse_spec("topk:ratio=0.1")};
  // Four payloads of the warm-up and what the last one decodes to; then the state after timing.
  const BenchResult result =
      run_bench(options, play_gpu({.corrupt_from = 2000, .honest_downloads = 5}));
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_NE(result.failures[0].reason.find("differs from the processor's"), std::string::npos)
      << result.failures[0].reason;
  EXPECT_TRUE(result.groups[0].rows.empty());
}

TEST(DeviceTensorBench, AClockThatLiesGivesNoFigures) {
  BenchOptions options = on_device();
  options.min_time = 2e-3;  // far above what two clocks may differ by
  EXPECT_THROW(run_bench(options, play_gpu({.clock_factor = 0.5})), RunError);
}

TEST(DeviceTensorBench, WhatDoesNotFitTogetherIsMeasuredInSeveralRuns) {
  BenchOptions options = on_device();
  options.compressors = {parse_spec("topk:ratio=0.1"), parse_spec("topk:ratio=0.01"),
                         parse_spec("threshold:tau=0.1")};
  int opened = 0;
  ASSERT_TRUE(run_bench(options, play_gpu({.opened = &opened})).failures.empty());
  const int together = opened;
  opened = 0;
  const std::size_t some = 280'000;  // inputs and outputs 72 kB, a compressor 70 to 120 kB
  const BenchResult result =
      run_bench(options, play_gpu({.memory_bytes = some, .opened = &opened}));
  EXPECT_TRUE(result.failures.empty()) << result.failures.front().reason;
  EXPECT_EQ(result.groups.size(), 1u);
  EXPECT_EQ(result.groups[0].rows.size(), 3u);
  EXPECT_GT(opened, together);
  const BenchResult nothing = run_bench(options, play_gpu({.memory_bytes = 100'000}));
  EXPECT_EQ(nothing.failures.size(), 3u);
}

TEST(DeviceTensorBench, WhatIsNotThereIsAnErrorWhereItWasNamed) {
  BenchOptions options = on_device();
  options.compressors = {parse_spec("variance:delay=2")};
  EXPECT_THROW(run_bench(options, play_gpu()), InputError);
  options.compressors.clear();
  options.sizes = {100};
  options.repetitions = 1;
  const BenchResult result = run_bench(options, play_gpu());
  std::set<std::string> methods;
  for (const BenchRow& row : result.groups[0].rows) methods.insert(row.spec.name);
  EXPECT_EQ(methods.count("topk"), 1u);
  EXPECT_EQ(methods.count("powersgd"), 1u);
}

}  // namespace
}  // namespace thinpipe
