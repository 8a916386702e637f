// own_cost [KEY=VALUE]...: what a step of thinpipe costs beyond a plain MPI program that does the
// same ring (bare_ring), on the same emulated hosts, whose links are not throttled, without a
// compressor and without a compute phase. Launches of the two take turns, in an order that changes
// from pair to pair, so that a drift of the machine meets both. docs/measuring.md has figures.
//
//   ranks=4 elements=262144 pairs=8 warmup=5 steps=30 wait=sleep
//
// Both sums are checked. `step` is the slowest rank's time, the median of a launch's steps;
// `period` is the time from one step's end to the next one's, with what lies between (the barrier
// there; here the control messages and what the harness computes about a step).
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "harness/launch/emulated_machines.h"
#include "harness/launch/launch.h"
#include "harness/sweep/measure.h"
#include "netem/sandbox.h"
#include "reports/statistics/interval.h"
#include "reports/statistics/quantile.h"
#include "tests/trace/sample_trace.h"

namespace thinpipe {
namespace {

/// Of one program: the steps of every launch, and the seconds from step to step of each.
struct Times {
  Repeats steps;
  Repeats periods;
};

/// What a step of thinpipe is made of (docs/records.md).
constexpr const char* kParts[] = {"compute_time", "compress_time", "exchange_time", "decode_time"};

double median_of_medians(const Repeats& repeats) {
  std::vector<double> medians;
  for (const std::vector<double>& one : repeats) medians.push_back(median(one));
  return median(medians);
}

using Settings = std::map<std::string, std::string>;

std::uint64_t number_of(const Settings& settings, const char* key) {
  const std::string& text = settings.at(key);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0 ||
      value > 1'000'000'000)
    throw InputError(
        fmt::format("own_cost: found {}={}; expected a whole number from 1 to 10^9", key, text));
  return value;
}

class OwnCost {
 public:
  OwnCost(const Settings& settings, const std::filesystem::path& bare_ring, const Sandbox& sandbox)
      : settings_(settings),
        bare_ring_(bare_ring),
        scratch_(sandbox.scratch),
        machines_(static_cast<int>(number("ranks")), {}, sandbox) {
    machines_.set_links(LinkSpec{}, 1);
    SampleTrace what;
    what.ranks = 1;
    what.steps = 2;
    what.shapes = {{static_cast<std::int64_t>(number("elements"))}};
    what.compute_seconds = 0;
    write_sample_trace(scratch_ + "/trace", what);
    trace_.emplace(scratch_ + "/trace");
    options_.trace = scratch_ + "/trace";
    options_.ranks = {static_cast<int>(number("ranks"))};
    options_.warmup = number("warmup");
    options_.steps = number("steps");
    options_.check_every = options_.steps;  // once, in the first
    options_.compute_scale = 0;
  }

  void run() {
    const std::uint64_t pairs = number("pairs");
    for (std::uint64_t pair = 0; pair < pairs; ++pair) {
      if (pair % 2 == 0) run_bare();
      run_thinpipe();
      if (pair % 2 != 0) run_bare();
      std::fprintf(stderr, "\rpair %d of %d", int(pair + 1), int(pairs));
    }
    std::fprintf(stderr, "\n");
    std::printf("%s ranks, %s of floats, %s pairs of launches with %s steps each\n",
                settings_.at("ranks").c_str(),
                format_bytes(4.0 * static_cast<double>(number("elements"))).c_str(),
                settings_.at("pairs").c_str(), settings_.at("steps").c_str());
    std::printf("          %-12s%-12s%s\n", "bare MPI", "thinpipe", "ratio of a pair (95 %)");
    print("step", bare_.steps, thinpipe_.steps);
    print("period", bare_.periods, thinpipe_.periods);
    for (const auto& [part, times] : parts_)
      std::printf("  %-20s%s\n", part.c_str(), format_time(median_of_medians(times)).c_str());
  }

 private:
  std::uint64_t number(const char* key) const { return number_of(settings_, key); }

  void run_thinpipe() {
    Launch launch(machines_, scratch_, options_.ranks[0]);
    Calibrator none;
    Meter meter(machines_, *trace_, options_, none);
    SweepPoint point;
    point.compressor = parse_spec("none");
    point.ranks = options_.ranks[0];
    std::vector<double> ends;
    const auto record = meter.measure(point, launch, [&] { ends.push_back(now_seconds()); });
    launch.quit();
    if (record.at("status") == "failed") throw RunError(record.at("reasons").dump());
    thinpipe_.steps.push_back(record.at("metrics").at("step_time").at("samples"));
    for (const char* part : kParts)
      parts_[part].push_back(record.at("metrics").at(part).at("samples"));
    std::vector<double> periods;
    for (std::size_t i = options_.warmup + 1; i < ends.size(); ++i)
      periods.push_back(ends[i] - ends[i - 1]);
    thinpipe_.periods.push_back(std::move(periods));
  }

  void run_bare() {
    const std::string out = scratch_ + "/bare_ring.out";
    // What Launch starts thinpipe-worker with.
    std::vector<std::string> command = {
        "mpirun", "-np", settings_.at("ranks"), "--allow-run-as-root", "--bind-to", "none"};
    for (const std::string& word : machines_.board(options_.ranks[0]).mpirun)
      command.push_back(word);
    for (const char* word :
         {"--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "mpi_yield_when_idle", "1"})
      command.push_back(word);
    for (const std::string& word :
         {bare_ring_.string(), settings_.at("elements"), settings_.at("warmup"),
          settings_.at("steps"), settings_.at("wait"), std::string("cubic")})
      command.push_back(word);
    const pid_t child = fork();
    if (child < 0) throw SystemError("fork");
    if (child == 0) {
      if (std::freopen(out.c_str(), "w", stdout) == nullptr) _exit(126);
      std::vector<char*> words;
      for (std::string& word : command) words.push_back(word.data());
      words.push_back(nullptr);
      execvp(words[0], words.data());
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) throw RunError("bare_ring failed, or its sum was wrong");
    std::ifstream file(out);
    std::string word;
    double value = 0;
    std::vector<double> steps;
    while (file >> word) {
      if (word == "sum") file >> word;
      if (word == "step" && file >> value) steps.push_back(value);
      if (word == "loop" && file >> value)
        bare_.periods.push_back({value / static_cast<double>(options_.steps)});
    }
    bare_.steps.push_back(std::move(steps));
  }

  // Of the medians of every launch: what changes from launch to launch (which rank meets which
  // core, what else the machine does) is not seen in the steps of one.
  static void print(const char* what, const Repeats& bare, const Repeats& ours) {
    std::vector<double> a, b, ratios;
    for (std::size_t pair = 0; pair < bare.size(); ++pair) {
      a.push_back(median(bare[pair]));
      b.push_back(median(ours[pair]));
      ratios.push_back(b.back() / a.back());
    }
    std::printf("%-10s%-12s%-12s%.3f", what, format_time(median(a)).c_str(),
                format_time(median(b)).c_str(), median(ratios));
    if (const auto interval = exact_median_interval(ratios))
      std::printf(" (%.3f to %.3f)", interval->low, interval->high);
    std::printf("\n");
  }

  Settings settings_;
  std::filesystem::path bare_ring_;
  std::string scratch_;
  EmulatedMachines machines_;
  std::optional<Trace> trace_;
  SweepOptions options_;
  Times bare_, thinpipe_;
  std::map<std::string, Repeats> parts_;
};

Settings settings_of(int argc, char** argv) {
  Settings settings = {{"ranks", "4"},  {"elements", "262144"}, {"pairs", "8"},
                       {"warmup", "5"}, {"steps", "30"},        {"wait", "sleep"}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    const auto found = settings.find(word.substr(0, equals));
    if (equals == std::string::npos || found == settings.end())
      throw InputError("own_cost: found '" + word +
                       "'; expected ranks=, elements=, pairs=, warmup=, steps= or wait=");
    found->second = word.substr(equals + 1);
  }
  for (const char* key : {"elements", "pairs", "warmup", "steps"}) number_of(settings, key);
  if (number_of(settings, "ranks") > 250 || number_of(settings, "ranks") < 2)
    throw InputError("own_cost: expected 2 to 250 ranks, found " + settings.at("ranks"));
  if (settings.at("wait") != "sleep" && settings.at("wait") != "spin")
    throw InputError("own_cost: expected wait=sleep or wait=spin, found " + settings.at("wait"));
  return settings;
}

}  // namespace
}  // namespace thinpipe

int main(int argc, char** argv) {
  using namespace thinpipe;
  try {
    const Settings settings = settings_of(argc, argv);
    const auto bare_ring =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "bare_ring";
    return run_in_sandbox([&](const Sandbox& sandbox) {
      OwnCost(settings, bare_ring, sandbox).run();
      std::fflush(stdout);
      return kExitGood;
    });
  } catch (const InputError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return kExitUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return kExitFailed;
  }
}
