#include "harness/bench/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <optional>

#include "harness/bench/allocations.h"

namespace thinpipe {
namespace {

volatile std::sig_atomic_t interrupt_seen = 0;

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

// The body that Google Benchmark calls for every repetition, and a few times before to find out
// how many iterations fill the time.
void time_one(const Timed& timed, benchmark::State& state, Timing& timing) {
  try {
    timed.prepare();
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
  if (run.error_occurred) {
    if (timing.error.empty()) timing.error = run.error_message;
    return;
  }
  // The variation of a counter that is always 0 is 0 / 0, which JSON cannot say.
  std::erase_if(run.counters, [](const auto& c) { return !std::isfinite(c.second.value); });
  if (!is_time(run)) return;
  // Google Benchmark reports in the unit of the row.
  const double seconds =
      run.GetAdjustedRealTime() / benchmark::GetTimeUnitMultiplier(run.time_unit);
  if (run.run_type == Run::RT_Iteration) timing.seconds.push_back(seconds);
  run.counters["ns_per_element"] = seconds * 1e9 / timed.elements;
  if (run.aggregate_name != "stddev") run.counters["GB_per_s"] = timed.bytes / seconds / 1e9;
}

}  // namespace

Measurement measure(const std::vector<Timed>& what, const BenchOptions& options,
                    const std::function<void(const std::string&)>& progress) {
  Measurement result;
  std::map<std::string, const Timed*> by_name;
  set_flags(options);
  benchmark::ClearRegisteredBenchmarks();
  for (const Timed& timed : what) {
    by_name[timed.name] = &timed;
    Timing& timing = result.timings[timed.name];
#ifndef __clang_analyzer__  // which takes what Google Benchmark's list keeps for a leak
    benchmark::RegisterBenchmark(timed.name.c_str(), [&](benchmark::State& state) {
      progress(timed.name);
      time_one(timed, state, timing);
    })->UseRealTime();
#endif
  }
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector, ".");
  benchmark::ClearRegisteredBenchmarks();
  result.rows = std::move(collector.rows());
  for (Run& run : result.rows) {
    const std::string& name = run.run_name.function_name;
    finish_row(run, *by_name.at(name), result.timings.at(name));
    run.statistics = nullptr;  // belonged to the benchmark, which is no more
  }
  return result;
}

bool interrupted() { return interrupt_seen != 0; }

void watch_for_interrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupt_seen = 1; };
  action.sa_flags = SA_RESETHAND;
  ::sigaction(SIGINT, &action, nullptr);
}

}  // namespace thinpipe
