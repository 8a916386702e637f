#include "harness/bench/device/rows.h"

#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "harness/bench/timed.h"

namespace thinpipe {
namespace {

using Run = benchmark::BenchmarkReporter::Run;
using Samples = std::vector<double>;

double mean_of(const Samples& samples) {
  double sum = 0;
  for (const double sample : samples) sum += sample;
  return sum / static_cast<double>(samples.size());
}

double median_of(const Samples& samples) {
  return Timing{.seconds = samples, .order = {}, .error = ""}.median();
}

// Of the sample, as Google Benchmark's.
double deviation_of(const Samples& samples) {
  const double mean = mean_of(samples);
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return std::sqrt(squares / static_cast<double>(samples.size() - 1));
}

double variation_of(const Samples& samples) {
  const double mean = mean_of(samples);
  return mean > 0 ? deviation_of(samples) / mean : 0;
}

struct Aggregate {
  const char* name;
  double (*of)(const Samples&);
  bool times;   // its values are seconds, not a share
  bool levels;  // a deviation is no time that bytes over it would make a rate of
};
constexpr Aggregate kAggregates[] = {{"mean", mean_of, true, true},
                                     {"median", median_of, true, true},
                                     {"stddev", deviation_of, true, false},
                                     {"cv", variation_of, false, false}};

// What all rows of one thing have. The constructor leaves some of it unset.
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

// A call's seconds, and what comes of them. The reporter divides by the number of iterations.
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
    } else {  // of a share the reporter takes the sum itself
      run.real_accumulated_time = device;
      run.cpu_accumulated_time = cpu;
    }
    rows.push_back(std::move(run));
  }
  return rows;
}

}  // namespace thinpipe
