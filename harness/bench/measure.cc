#include "harness/bench/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "harness/bench/inputs.h"
#include "harness/machine/machine.h"

namespace thinpipe {
namespace {

using Run = benchmark::BenchmarkReporter::Run;

class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    rows_.insert(rows_.end(), runs.begin(), runs.end());
  }
  std::vector<Run>& rows() { return rows_; }

 private:
  std::vector<Run> rows_;
};

void set_flags(const BenchOptions& options) {
  static char program[] = "thinpipe";  // Google Benchmark keeps the pointer
  std::vector<std::string> words = {"--benchmark_enable_random_interleaving=true",
                                    fmt::format("--benchmark_repetitions={}", options.repetitions),
                                    fmt::format("--benchmark_min_time={}", options.min_time)};
  std::vector<char*> pointers{program};
  for (std::string& word : words) pointers.push_back(word.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  benchmark::Initialize(&count, pointers.data());
}

// For every benchmark, the positions of its body's calls among all calls.
using Calls = std::map<std::string, std::vector<std::size_t>>;

// Sets the position of each repetition among all repetitions. The last calls of a benchmark's body
// are its repetitions. In the calls before these, Google Benchmark found the number of iterations.
void set_order(const Calls& calls, std::map<std::string, Timing>& timings) {
  std::vector<std::size_t> all;
  const auto repetitions = [&](const std::string& name) {
    const std::vector<std::size_t>& of = calls.at(name);
    const std::size_t count = std::min(of.size(), timings.at(name).seconds.size());
    return std::span(of).last(count);
  };
  for (const auto& [name, of] : calls)
    for (const std::size_t call : repetitions(name)) all.push_back(call);
  std::sort(all.begin(), all.end());
  for (const auto& [name, of] : calls) {
    for (const std::size_t call : repetitions(name)) {
      const auto place = std::lower_bound(all.begin(), all.end(), call);
      timings.at(name).order.push_back(static_cast<std::size_t>(place - all.begin()));
    }
  }
}

// The body of a benchmark. Google Benchmark first calls it a few times, to find the number of
// iterations that fill the requested time, and then once for every repetition.
void time_one(const Timed& timed, const BenchOptions& options, benchmark::State& state,
              Timing& timing) {
  try {
    timed.prepare();
    // Brings the arrays back into the cache, from which earlier benchmarks have evicted them. After
    // a cold first call Google Benchmark would choose too few iterations.
    if (options.residency == Residency::kCache) timed.call();
    const std::optional<std::uint64_t> before = allocations();
    for ([[maybe_unused]] auto _ : state) {
      timed.call();
      if (interrupted()) {
        state.SkipWithError("interrupted");
        break;
      }
    }
    if (const auto each = timing.count_allocations(before, state.iterations()))
      state.counters["allocations"] = *each;
    for (const auto& [name, value] : timed.counters) state.counters[name] = value;
  } catch (const std::exception& error) {
    timing.error = error.what();
    state.SkipWithError(error.what());
  }
}

bool is_time(const Run& run) { return run.aggregate_unit != benchmark::kPercentage; }

void finish_row(Run& run, const Timed& timed, Timing& timing) {
  run.run_name.min_time.clear();  // names must be the same in builds that are compared
  if (run.error_occurred) {
    if (timing.error.empty()) timing.error = run.error_message;
    return;
  }
  // The variation of a counter that is always 0 is 0 / 0, for which JSON has no value.
  std::erase_if(run.counters, [](const auto& c) { return !std::isfinite(c.second.value); });
  if (!is_time(run)) return;
  // Google Benchmark reports in the unit of the row.
  const double seconds =
      run.GetAdjustedRealTime() / benchmark::GetTimeUnitMultiplier(run.time_unit);
  if (run.run_type == Run::RT_Iteration) timing.seconds.push_back(seconds);
  run.counters["ns_per_element"] = seconds * 1e9 / timed.elements;
  if (timed.bytes > 0 && run.aggregate_name != "stddev")
    run.counters["GB_per_s"] = timed.bytes / seconds / 1e9;
}

}  // namespace

Measurement measure(const std::vector<Timed>& what, const BenchOptions& options,
                    const std::function<void(const std::string&)>& progress) {
  Measurement result;
  std::map<std::string, const Timed*> by_name;
  Calls calls;
  std::size_t called = 0;
  set_flags(options);
  benchmark::ClearRegisteredBenchmarks();
  for (const Timed& timed : what) {
    by_name[timed.name] = &timed;
    Timing& timing = result.timings[timed.name];
    const auto body = [&](benchmark::State& state) {
      progress(timed.name);
      calls[timed.name].push_back(called++);
      time_one(timed, options, state, timing);
    };
#ifndef __clang_analyzer__  // takes the entries of Google Benchmark's list for leaks
    benchmark::RegisterBenchmark(timed.name.c_str(), body)
        ->UseRealTime()
        ->MinTime(timed.min_time > 0 ? timed.min_time : options.min_time);
#endif
  }
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector, ".");
  benchmark::ClearRegisteredBenchmarks();
  result.rows = std::move(collector.rows());
  for (Run& run : result.rows) {
    const std::string& name = run.run_name.function_name;
    finish_row(run, *by_name.at(name), result.timings.at(name));
    run.statistics = nullptr;  // belonged to the benchmark, which no longer exists
  }
  set_order(calls, result.timings);
  for (Run& run : result.rows) {
    const Timing& timing = result.timings.at(run.run_name.function_name);
    const auto repetition = static_cast<std::size_t>(run.repetition_index);
    if (run.run_type == Run::RT_Iteration && repetition < timing.order.size())
      run.counters["order"] = static_cast<double>(timing.order[repetition]);
  }
  return result;
}

std::string google_benchmark_json(const std::vector<benchmark::BenchmarkReporter::Run>& rows,
                                  const BenchOptions& options, const BenchDevice* device) {
  std::ostringstream stream;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&stream);
  reporter.SetErrorStream(&stream);
  reporter.ReportContext(benchmark::BenchmarkReporter::Context());
  if (!rows.empty()) reporter.ReportRuns(rows);
  reporter.Finalize();
  // Without rows the reporter leaves its list open.
  auto json = nlohmann::ordered_json::parse(rows.empty() ? stream.str() + "]}" : stream.str());
  auto& context = json["context"];
  context.erase("host_name");
  context["cpu"] = read_machine(".").cpu;
  context["last_level_cache_bytes"] = last_level_cache();
  context["thinpipe"] = THINPIPE_VERSION;
  context["residency"] = to_string(options.residency);
  context["input"] = options.trace.empty() ? options.distribution : options.trace.string();
  context["seed"] = options.seed;
  context["warmup_steps"] = options.warmup;
  context["random_interleaving"] = true;  // each row's `order` has its position
  context["repetitions"] = options.repetitions;
  context["min_time_seconds"] = options.min_time;
  if (device != nullptr) context["device"] = device_json(*device);
  return json.dump(2) + "\n";
}

}  // namespace thinpipe
