// Benchmarks on a simulated GPU.
#include "harness/bench/device_measure.h"

#include <benchmark/benchmark.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "compressors/cuda/arithmetic.h"
#include "compressors/cuda/grid/serial_device.h"
#include "compressors/cuda/make.h"
#include "harness/bench/bench.h"
#include "harness/bench/device_tensor_bench.h"
#include "harness/bench/results.h"
#include "harness/bench/subject.h"

namespace thinpipe {
namespace {

/// A simulated GPU on which compressors are timed. Its payloads and its clock can be wrong.
struct SimulatedGpu {
  std::size_t l2_bytes = 1 << 14;
  std::size_t memory_bytes = std::size_t{1} << 40;
  double clock_factor = 1;        ///< seconds of its clock per second
  std::size_t corrupt_from = -1;  ///< downloads of at least this many bytes have a wrong byte
  int honest_downloads = 0;       ///< the first of these downloads are right
  int* opened = nullptr;          ///< counts opened devices
};

class SimulatedDevice : public cuda::SerialDevice {
 public:
  explicit SimulatedDevice(const SimulatedGpu& simulated) : simulated_(simulated) {}

  void* allocate(std::size_t bytes) override {
    if (bytes > free_bytes()) throw RunError("the simulated GPU has no memory left");
    taken_ += bytes;
    return cuda::SerialDevice::allocate(bytes);
  }
  std::size_t free_bytes() override { return simulated_.memory_bytes - taken_; }
  void download(void* to, const void* from, std::size_t bytes) override {
    cuda::SerialDevice::download(to, from, bytes);
    if (bytes < simulated_.corrupt_from || simulated_.honest_downloads-- > 0) return;
    stream().run();
    static_cast<unsigned char*>(to)[bytes / 2] ^= 1;
  }
  double seconds(std::size_t from, std::size_t to) override {
    return simulated_.clock_factor * cuda::SerialDevice::seconds(from, to);
  }

 private:
  SimulatedGpu simulated_;
  std::size_t taken_ = 0;
};

OpenDevice simulated_gpu_device(const SimulatedGpu& simulated = {}) {
  return [simulated] {
    if (simulated.opened != nullptr) ++*simulated.opened;
    const auto device = std::make_shared<SimulatedDevice>(simulated);
    const std::shared_ptr<cuda::SerialDevice> serial = device;
    return TimedDevice{.description = {.name = "simulated GPU",
                                       .architecture = "simulated",
                                       .bus = "nowhere",
                                       .driver = "0.0",
                                       .runtime = "0.0",
                                       .l2_bytes = simulated.l2_bytes,
                                       .memory_bytes = simulated.memory_bytes,
                                       .multiprocessors = 1},
                       .memory = device,
                       .clock = device,
                       .roofline = std::make_shared<cuda::Roofline<cuda::SerialDevice>>(serial),
                       .make = [serial](const Spec& spec, std::span<const TensorInfo> tensors,
                                        const CompressorSettings& settings) {
                         return cuda::make_device_compressor(serial, spec, tensors, settings);
                       }};
  };
}

using Row = benchmark::BenchmarkReporter::Run;

void spend(double seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < until) {
  }
}

TEST(DeviceSlice, QueuedCallsAreTimedTogether) {
  const TimedDevice device = simulated_gpu_device()();
  const DeviceSlice slice =
      take_slice(*device.clock, {.name = "spends", .call = [] { spend(1e-3); }}, 5);
  EXPECT_GE(slice.device, 1e-3);
  EXPECT_GE(slice.wall, slice.device);
}

TEST(DeviceSlice, TheWayBackIsNotTheDevices) {
  // Each call works twice for 0.1 ms, waits after each, and then spends 0.05 ms with the result.
  // Only the last call's 0.05 ms come after the last work of the whole 25 ms. In 25 ms the two
  // clocks may differ by 0.6 ms.
  const TimedDevice device = simulated_gpu_device()();
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
    const TimedDevice device = simulated_gpu_device({.clock_factor = factor})();
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

std::vector<float> ascending(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

TensorInfo tensor_of(std::size_t elements) {
  return {.name = "t", .shape = {static_cast<std::int64_t>(elements)}, .elements = elements};
}

TEST(DeviceInputs, TogetherTheyAreTwiceTheCache) {
  // 4000 bytes each, the cache 16384: eight have less than twice of it, nine have more.
  const TimedDevice device = simulated_gpu_device({.l2_bytes = 16384})();
  const std::vector<float> values = ascending(1000);
  const DeviceInputs inputs(device, tensor_of(1000), values, Residency::kMemory);
  EXPECT_EQ(inputs.rotation(), 9u);
  EXPECT_EQ(inputs.gradient(9), inputs.gradient(0));
  EXPECT_EQ(inputs.output(10), inputs.output(1));
  EXPECT_EQ(DeviceInputs(device, tensor_of(1000), values, Residency::kCache).rotation(), 1u);
}

TEST(DeviceInputs, AllHoldTheValuesEachBeginningWithAnother) {
  const TimedDevice device = simulated_gpu_device({.l2_bytes = 8000})();
  const std::vector<float> values = ascending(1000);
  const DeviceInputs inputs(device, tensor_of(1000), values, Residency::kMemory);
  std::set<float> first;
  for (std::size_t step = 0; step < inputs.rotation(); ++step) {
    std::vector<float> here(1000), there(1000);
    inputs.values(step, here);
    device.memory->download(there.data(), inputs.gradient(step), 4000);
    EXPECT_EQ(here, there);
    first.insert(here[0]);
    std::sort(here.begin(), here.end());
    EXPECT_EQ(here, values);
  }
  EXPECT_EQ(first.size(), inputs.rotation());
}

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
  const BenchResult result = run_bench(options, simulated_gpu_device());
  EXPECT_TRUE(result.failures.empty()) << result.failures.front().reason;
  ASSERT_EQ(result.groups.size(), 2u);
  for (const BenchGroup& group : result.groups) {
    EXPECT_EQ(group.device, "cuda");
    ASSERT_EQ(group.rows.size(), 2u);
    for (const BenchRow& row : group.rows) {
      EXPECT_EQ(row.simd, "simulated");
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
  EXPECT_EQ(result.device->description.architecture, "simulated");
  EXPECT_FALSE(result.device->state.has_value()) << "no such card exists";
}

// The rows of one size and one compressor in one run, as the CPU has them.
TEST(DeviceTensorBench, JsonIsGoogleBenchmarks) {
  const BenchResult result = run_bench(on_device(), simulated_gpu_device());
  const auto json = nlohmann::json::parse(result.json);
  EXPECT_EQ(json.at("context").at("device").at("architecture"), "simulated");
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
  const auto json = nlohmann::json::parse(run_bench(options, simulated_gpu_device()).json);
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
  // Both are measured after the warm-up, at a ratio of 0.1.
  options.compressors = {parse_spec("sidco:ratio=0.1"), parse_spec("3lc"),
                         parse_spec("topk:ratio=0.1,warmup=0.5/0.25")};
  options.residency = Residency::kCache;
  const BenchResult result = run_bench(options, simulated_gpu_device());
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
  const BenchResult result = run_bench(options, simulated_gpu_device());
  for (const Point& point : bench_points(options, result)) {
    EXPECT_EQ(point.bench.value().device, "cuda");
    EXPECT_EQ(point.bench->simd, "simulated");
    EXPECT_EQ(point.bench->threads, 1);
    EXPECT_EQ(point.metrics.at("encode_wall_time").samples.size(), 3u);
    EXPECT_TRUE(point.metrics.contains("copy_time"));
    EXPECT_FALSE(point.metrics.contains("encode_floor"));
    EXPECT_EQ(point.validation->at("checked_steps"), 5);
    EXPECT_TRUE(point.id.ends_with("/laplace:3000/memory/cuda")) << point.id;
  }
  const nlohmann::json device = device_json(*result.device);
  EXPECT_EQ(device.at("l2_bytes"), 1 << 14);
  EXPECT_TRUE(device.at("sm_hz").is_null());
}

TEST(DeviceTensorBench, AWrongPayloadIsNoRow) {
  // Payloads have 8 bytes for each of 300 elements, or one for each of 3000, and a header.
  const BenchResult result = run_bench(on_device(), simulated_gpu_device({.corrupt_from = 2000}));
  EXPECT_EQ(result.failures.size(), 2u);
  for (const BenchFailure& failure : result.failures)
    EXPECT_NE(failure.reason.find("differs from the CPU implementation's"), std::string::npos)
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
  // Four payloads of the warm-up and the last one's decoded values; then the state after timing.
  const BenchResult result =
      run_bench(options, simulated_gpu_device({.corrupt_from = 2000, .honest_downloads = 5}));
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_NE(result.failures[0].reason.find("differs from the CPU implementation's"),
            std::string::npos)
      << result.failures[0].reason;
  EXPECT_TRUE(result.groups[0].rows.empty());
}

TEST(DeviceTensorBench, AClockThatLiesGivesNoFigures) {
  BenchOptions options = on_device();
  options.min_time = 2e-3;  // far above the difference of two clocks
  EXPECT_THROW(run_bench(options, simulated_gpu_device({.clock_factor = 0.5})), RunError);
}

TEST(DeviceTensorBench, WhatDoesNotFitTogetherIsMeasuredInSeveralRuns) {
  BenchOptions options = on_device();
  options.compressors = {parse_spec("topk:ratio=0.1"), parse_spec("topk:ratio=0.01"),
                         parse_spec("threshold:tau=0.1")};
  int opened = 0;
  ASSERT_TRUE(run_bench(options, simulated_gpu_device({.opened = &opened})).failures.empty());
  const int together = opened;
  opened = 0;
  const std::size_t some = 280'000;  // inputs and outputs 72 kB, a compressor 70 to 120 kB
  const BenchResult result =
      run_bench(options, simulated_gpu_device({.memory_bytes = some, .opened = &opened}));
  EXPECT_TRUE(result.failures.empty()) << result.failures.front().reason;
  EXPECT_EQ(result.groups.size(), 1u);
  EXPECT_EQ(result.groups[0].rows.size(), 3u);
  EXPECT_GT(opened, together);
  const BenchResult nothing = run_bench(options, simulated_gpu_device({.memory_bytes = 100'000}));
  EXPECT_EQ(nothing.failures.size(), 3u);
}

TEST(DeviceTensorBench, WhatIsNotThereIsAnErrorWhereItWasNamed) {
  BenchOptions options = on_device();
  options.compressors = {parse_spec("variance:delay=2")};
  EXPECT_THROW(run_bench(options, simulated_gpu_device()), InputError);
  options.compressors.clear();
  options.sizes = {100};
  options.repetitions = 1;
  const BenchResult result = run_bench(options, simulated_gpu_device());
  std::set<std::string> methods;
  for (const BenchRow& row : result.groups[0].rows) methods.insert(row.spec.name);
  EXPECT_EQ(methods.count("topk"), 1u);
  EXPECT_EQ(methods.count("powersgd"), 1u);
}

}  // namespace
}  // namespace thinpipe
