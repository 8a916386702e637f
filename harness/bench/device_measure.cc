#include "harness/bench/device_measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/splitmix64.h"
#include "base/statistics.h"
#include "harness/bench/subject.h"
#include "harness/bench/timed.h"

namespace thinpipe {
namespace {

using Run = benchmark::BenchmarkReporter::Run;
using Samples = std::vector<double>;

constexpr int kAttempts = 3;
constexpr double kTolerance = 0.02;       // fraction of the time by which two clocks may differ
constexpr double kAllowedSeconds = 1e-4;  // in addition: to start, to wait, resolution of marks
// Each call has one mark or two in memory, and takes several microseconds on a GPU.
constexpr int kMaxCalls = 20000;

// Times of several calls by both clocks, in s.
struct Span {
  double sum = 0;    // of the device's times of single calls
  double whole = 0;  // from the first call's begin to the last one's end, by the device
  double wall = 0;   // by the host
  double cpu = 0;    // CPU time of the calling thread

  double allowed() const { return kTolerance * wall + kAllowedSeconds; }
  bool agrees() const {
    return std::fabs(wall - whole) <= allowed() && sum <= whole + allowed() && sum >= 0;
  }
};

// Times calls by marks of the device's clock. Each call that waits for the device has two marks of
// its own. Calls that only queue work have two marks all together, because marks between kernels
// would be timed with the kernels.
Span time_calls(DeviceClock& clock, const DeviceTimed& timed, int calls) {
  clock.wait_for_all();
  const double cpu = now_seconds(CLOCK_THREAD_CPUTIME_ID);
  const auto begin = std::chrono::steady_clock::now();
  std::size_t last = 1;
  for (int i = 0; i < calls; ++i) {
    if (timed.waits) {
      last = 2 * static_cast<std::size_t>(i) + 1;
      clock.mark_waits(last);
    }
    if (timed.waits || i == 0) clock.mark(last - 1);
    timed.call();
  }
  clock.mark_waits(std::nullopt);
  if (!timed.waits) clock.mark(last);
  clock.wait_for_all();
  const double wall = seconds_since(begin);
  Span span{.sum = 0,
            .whole = clock.seconds(0, last),
            .wall = wall,
            .cpu = now_seconds(CLOCK_THREAD_CPUTIME_ID) - cpu};
  for (std::size_t mark = 0; mark < last; mark += 2) span.sum += clock.seconds(mark, mark + 1);
  return span;
}

// Returns the number of calls that fill the time, by trying more and more of them.
int calls_needed(DeviceClock& clock, const DeviceTimed& timed, double min_time) {
  for (int calls = 1;;) {
    const double seconds = take_slice(clock, timed, calls).wall * calls;
    if (seconds >= min_time || calls >= kMaxCalls) return calls;
    // A tenth more than estimated, and at most ten times more, because the first calls are slower.
    const double wanted = 1.1 * calls * min_time / std::max(seconds, 1e-9);
    calls = static_cast<int>(
        std::clamp(std::ceil(wanted), calls + 1.0, std::min(10.0 * calls, double{kMaxCalls})));
  }
}

// Returns the indices up to `count`, each `repetitions` times, in random order.
std::vector<std::size_t> shuffled(std::size_t count, int repetitions, std::uint64_t seed) {
  std::vector<std::size_t> turns;
  for (int repetition = 0; repetition < repetitions; ++repetition)
    for (std::size_t i = 0; i < count; ++i) turns.push_back(i);
  SplitMix64 random(seed);
  for (std::size_t i = turns.size(); i > 1; --i) std::swap(turns[i - 1], turns[random.below(i)]);
  return turns;
}

// Returns the standard deviation of the sample, as Google Benchmark does.
double deviation_of(std::span<const double> samples) {
  const double middle = mean(samples);
  double squares = 0;
  for (const double sample : samples) squares += (sample - middle) * (sample - middle);
  return std::sqrt(squares / static_cast<double>(samples.size() - 1));
}

double variation_of(std::span<const double> samples) {
  const double middle = mean(samples);
  return middle > 0 ? deviation_of(samples) / middle : 0;
}

struct Aggregate {
  const char* name;
  double (*of)(std::span<const double>);
  bool times;   // its values are seconds, not a fraction
  bool levels;  // its values are times of a call, from which a rate in bytes/s follows
};
constexpr Aggregate kAggregates[] = {{"mean", mean, true, true},
                                     {"median", median, true, true},
                                     {"stddev", deviation_of, true, false},
                                     {"cv", variation_of, false, false}};

// Returns a row of Google Benchmark in which the fields that all rows of one subject share are set.
// The constructor of Run leaves some of these fields unset.
Run blank_row(const DeviceRowInfo& info, std::size_t repetitions) {
  Run run;
  run.run_name.function_name = info.name;
  run.run_name.time_type = "manual_time";
  run.family_index = static_cast<std::int64_t>(info.family);
  run.per_family_instance_index = 0;
  run.repetitions = static_cast<std::int64_t>(repetitions);
  run.repetition_index = Run::no_repetition_index;
  run.time_unit = benchmark::kNanosecond;
  run.statistics = nullptr;
  return run;
}

// Sets the times of a row and the counters that follow from them. Each time of a call is stored
// multiplied by the number of iterations, because Google Benchmark's reporter divides by that
// number.
void set_times(Run& run, const DeviceRowInfo& info, double device, double wall, double cpu,
               bool levels) {
  const auto calls = static_cast<double>(run.iterations);
  const auto elements = static_cast<double>(info.elements);
  run.real_accumulated_time = device * calls;
  run.cpu_accumulated_time = cpu * calls;
  run.counters["ns_per_element"] = 1e9 * device / elements;
  run.counters["wall_ns_per_element"] = 1e9 * wall / elements;
  if (info.t_r > 0) run.counters["times_t_r"] = 1e9 * device / elements / info.t_r;
  if (!levels) return;
  run.counters["GB_per_s"] = sizeof(float) * elements / device / 1e9;
  for (const auto& [name, value] : info.counters) run.counters[name] = value;
}

}  // namespace

DeviceSlice take_slice(DeviceClock& clock, const DeviceTimed& timed, int calls) {
  Span span;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    span = time_calls(clock, timed, calls);
    if (span.agrees())
      return {.device = span.sum / calls, .wall = span.wall / calls, .cpu = span.cpu / calls};
  }
  throw ValidationError(fmt::format(
      "{} calls took {:.4g} ms by the host's clock, but {:.4g} ms by the device's ({:.4g} ms as a "
      "sum of calls): the device's marks do not enclose the work, or another program uses the "
      "machine",
      calls, 1e3 * span.wall, 1e3 * span.whole, 1e3 * span.sum));
}

DeviceTimings measure_on_device(DeviceClock& clock, const std::vector<DeviceTimed>& what,
                                const BenchOptions& options,
                                const std::function<void(const std::string&)>& progress) {
  DeviceTimings timings;
  const auto turn = [&](std::size_t i) -> DeviceTiming& {
    if (interrupted()) throw RunError("interrupted");
    progress(what[i].name);
    return timings[what[i].name];
  };
  for (std::size_t i = 0; i < what.size(); ++i) {
    DeviceTiming& timing = turn(i);
    guard_timing(timing, [&] { timing.calls = calls_needed(clock, what[i], options.min_time); });
  }
  std::size_t place = 0;
  for (const std::size_t i : shuffled(what.size(), options.repetitions, options.seed)) {
    DeviceTiming& timing = turn(i);
    guard_timing(timing, [&] {
      what[i].call();
      const DeviceSlice slice = take_slice(clock, what[i], timing.calls);
      timing.device.push_back(slice.device);
      timing.wall.push_back(slice.wall);
      timing.cpu.push_back(slice.cpu);
      timing.order.push_back(place);
    });
    ++place;
  }
  return timings;
}

std::vector<Run> device_rows(const DeviceRowInfo& info, const DeviceTiming& timing) {
  std::vector<Run> rows;
  const std::size_t repetitions = timing.device.size();
  if (!timing.error.empty()) return rows;
  for (std::size_t i = 0; i < repetitions; ++i) {
    Run run = blank_row(info, repetitions);
    run.run_type = Run::RT_Iteration;
    run.repetition_index = static_cast<std::int64_t>(i);
    run.iterations = timing.calls;
    set_times(run, info, timing.device[i], timing.wall[i], timing.cpu[i], true);
    run.counters["order"] = static_cast<double>(timing.order[i]);
    rows.push_back(std::move(run));
  }
  if (repetitions < 2) return rows;
  for (const Aggregate& aggregate : kAggregates) {
    Run run = blank_row(info, repetitions);
    run.run_type = Run::RT_Aggregate;
    run.aggregate_name = aggregate.name;
    run.aggregate_unit = aggregate.times ? benchmark::kTime : benchmark::kPercentage;
    run.iterations = static_cast<std::int64_t>(repetitions);
    const double device = aggregate.of(timing.device), cpu = aggregate.of(timing.cpu);
    if (aggregate.times) {
      set_times(run, info, device, aggregate.of(timing.wall), cpu, aggregate.levels);
    } else {  // the reporter takes a fraction as it is
      run.real_accumulated_time = device;
      run.cpu_accumulated_time = cpu;
    }
    rows.push_back(std::move(run));
  }
  return rows;
}

}  // namespace thinpipe
