#include "harness/bench/timed_roofline.h"

#include <fmt/format.h>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <utility>

#include "base/statistics.h"
#include "compressors/simd.h"
#include "harness/bench/roofline.h"

namespace thinpipe {
namespace {

constexpr int kSpins = 20000;  // tens of microseconds; a thread that waits longer yields the core

// The roofline consists of six loops of a few instructions each. Their times scatter less than a
// compressor's, so a quarter of a compressor's time is enough. A run with few compressors then does
// not spend most of its time on the roofline.
constexpr double kTimeShare = 0.25;
constexpr double kMinSeconds = 5e-3;

std::string read_name(int streams) { return fmt::format("read/streams:{}", streams); }

}  // namespace

Team::Team(int size) {
  for (int index = 1; index < size; ++index) {
    others_.emplace_back([this, index] { serve(index); });
  }
}

Team::~Team() {
  over_ = true;
  ++round_;
  round_.notify_all();
  for (std::thread& thread : others_) thread.join();
}

void Team::run(const std::function<void(int)>& work) {
  work_ = &work;
  running_ = static_cast<int>(others_.size());
  ++round_;
  round_.notify_all();
  work(0);
  for (int spin = 0; running_ != 0; ++spin) {
    if (spin >= kSpins) std::this_thread::yield();
  }
}

void Team::serve(int index) {
  for (unsigned seen = 0;;) {
    for (int spin = 0; round_ == seen && spin < kSpins; ++spin) {
    }
    round_.wait(seen);
    ++seen;
    if (over_) return;
    (*work_)(index);
    --running_;
  }
}

std::string place_name(const Inputs& inputs, int threads) {
  return fmt::format("{}:{}/{}/threads:{}", inputs.tensor().name, inputs.elements(),
                     to_string(inputs.residency()), threads);
}

TimedRoofline::TimedRoofline(const Inputs& inputs, const BenchOptions& options)
    : inputs_(inputs),
      min_time_(std::min(options.min_time, std::max(kTimeShare * options.min_time, kMinSeconds))) {
  for (const int count : options.threads) teams_.push_back(std::make_unique<Team>(count));
}

Timed TimedRoofline::timed_one(const std::string& what, int threads,
                               std::function<void()> call) const {
  const auto d = static_cast<double>(inputs_.elements());
  return {.name = what + "/" + place_name(inputs_, threads),
          .elements = d,
          .bytes = d * sizeof(float),
          .prepare = [] { set_simd_target("best"); },
          .call = std::move(call),
          .min_time = min_time_,
          .every = 4};
}

std::vector<Timed> TimedRoofline::timed() {
  std::vector<Timed> what;
  for (const std::unique_ptr<Team>& each : teams_) {
    Team& team = *each;
    for (const int streams : kStreamCounts) {
      what.push_back(timed_one(read_name(streams), team.size(), [this, streams, &team] {
        benchmark::DoNotOptimize(read_streams(inputs_.gradient(step_++), streams, team));
      }));
    }
    what.push_back(timed_one("copy", team.size(), [this, &team] {
      copy_array(inputs_.gradient(step_), inputs_.output(step_), team);
      ++step_;
    }));
    what.push_back(timed_one("triad", team.size(), [this, &team] {
      triad(inputs_.gradient(step_), inputs_.neighbour(step_), 0.5F, inputs_.output(step_), team);
      ++step_;
    }));
  }
  return what;
}

double TimedRoofline::nanoseconds(const Measurement& measured, const std::string& what,
                                  int threads) const {
  return 1e9 * median(measured.timings.at(what + "/" + place_name(inputs_, threads)).seconds) /
         static_cast<double>(inputs_.elements());
}

RooflineFigures TimedRoofline::figures(const Measurement& measured, int threads) const {
  RooflineFigures figures;
  for (const int streams : kStreamCounts) {
    figures.read[streams] = nanoseconds(measured, read_name(streams), threads);
    for (const std::unique_ptr<Team>& team : teams_) {
      if (team->size() > threads) continue;
      figures.t_r = std::min(figures.t_r, nanoseconds(measured, read_name(streams), team->size()));
    }
  }
  figures.copy = nanoseconds(measured, "copy", threads);
  figures.triad = nanoseconds(measured, "triad", threads);
  return figures;
}

}  // namespace thinpipe
