// own_cost [KEY=VALUE]...: measures how much longer a step of thinpipe takes than a step of a plain
// MPI program with the same ring all-reduce (bare_ring). Both run on the same emulated hosts, whose
// links are not throttled, without a compressor and without a compute phase. Launches of both
// programs exist at the same time and take turns: each runs a block of steps while the other's
// ranks sleep. So other load on the machine affects both. docs/measuring.md has figures, and lists
// the settings that both programs have in common.
//
//   ranks=2 elements=262144 launches=10 blocks=8 steps=12 settle=2 wait=spin
//
// The sums of both programs are checked. The first `settle` steps of a block do not count; after
// these steps a rank has its core and its caches back. `step` is the slowest rank's time. `period`
// is the time from the end of one step to the end of the next, including the work in between
// (bare_ring's barrier; thinpipe's control messages and its figures of a step). Printed figures are
// medians over launches of the medians of a launch's steps.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "harness/launch/emulated_machines.h"
#include "harness/launch/launch.h"
#include "harness/launch/machines.h"
#include "harness/sweep/measure.h"
#include "netem/sandbox.h"
#include "reports/statistics/statistics.h"
#include "tests/trace/sample_trace.h"

namespace thinpipe {
namespace {

/// One step of bare_ring, in seconds.
struct BareStep {
  double took = 0;       ///< on its slowest rank
  double since_end = 0;  ///< of the step before: took, and what lies between
};

constexpr int kTimeout = 60'000;  // ms

// Open at both ends, so that neither waits for the other to open it.
int make_fifo(const std::string& path) {
  unlink(path.c_str());
  if (mkfifo(path.c_str(), 0600) != 0) throw SystemError("mkfifo " + path);
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) throw SystemError("open " + path);
  return descriptor;
}

/// One launch of bare_ring. Its ranks sleep until a block is requested.
class BareProgram {
 public:
  /// @param program  path of bare_ring
  /// @param scratch  a folder for the FIFOs and the output of bare_ring
  /// @param arguments  of bare_ring: elements, blocks, steps of a block, how ranks wait for
  ///     messages (`wait` above), TCP congestion control
  BareProgram(Machines& machines, const std::string& program, const std::string& scratch, int ranks,
              const std::vector<std::string>& arguments)
      : output_(scratch + "/bare_ring.out") {
    const std::string gate = scratch + "/bare_ring.gate";
    for (int rank = 0; rank < ranks; ++rank)
      gates_.push_back(make_fifo(gate + "." + std::to_string(rank)));
    done_ = make_fifo(gate + ".done");
    // As Launch starts thinpipe-worker.
    std::vector<std::string> command = {
        "mpirun", "-np", std::to_string(ranks), "--allow-run-as-root", "--bind-to", "none"};
    for (const std::string& word : machines.board(ranks).mpirun) command.push_back(word);
    for (const char* word :
         {"--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "mpi_yield_when_idle", "1"})
      command.push_back(word);
    command.push_back(program);
    command.insert(command.end(), arguments.begin(), arguments.end());
    command.push_back(gate);
    start(std::move(command));
    await_done();
  }
  ~BareProgram() {
    if (child_ > 0) {
      kill(child_, SIGTERM);
      waitpid(child_, nullptr, 0);
    }
    for (const int gate : gates_) close(gate);
    close(done_);
  }
  BareProgram(const BareProgram&) = delete;
  BareProgram& operator=(const BareProgram&) = delete;

  /// Runs the next block. @throws RunError when the program ends, or prints nothing for a minute.
  void run_block() {
    for (const int gate : gates_)
      if (write(gate, "", 1) != 1) throw SystemError("write to bare_ring");
    await_done();
  }

  /// Waits for its end. @returns all steps @throws RunError when its sum was wrong.
  std::vector<BareStep> finish() {
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = -1;
    if (status != 0) throw RunError("bare_ring failed, or its sum was wrong");
    std::ifstream file(output_);
    std::string word;
    std::getline(file, word);
    if (word != "sum ok") throw RunError("bare_ring did not say that its sum was right: " + word);
    std::vector<BareStep> steps;
    for (BareStep step; file >> step.took >> step.since_end;) steps.push_back(step);
    return steps;
  }

 private:
  void start(std::vector<std::string> command) {
    child_ = fork();
    if (child_ < 0) throw SystemError("fork");
    if (child_ > 0) return;
    if (std::freopen(output_.c_str(), "w", stdout) == nullptr ||
        std::freopen("/dev/null", "r", stdin) == nullptr)
      _exit(126);
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    execvp(words[0], words.data());
    _exit(127);
  }

  void await_done() {
    pollfd done = {done_, POLLIN, 0};
    char byte = 0;
    for (int waited = 0; waited < kTimeout; waited += 100) {
      if (poll(&done, 1, 100) > 0 && read(done_, &byte, 1) == 1) return;
      if (waitpid(child_, nullptr, WNOHANG) == child_) {
        child_ = -1;
        throw RunError("bare_ring ended before its time");
      }
    }
    throw RunError("bare_ring says nothing");
  }

  std::string output_;
  std::vector<int> gates_;
  int done_ = -1;
  pid_t child_ = -1;
};

/// One program's times: the steps of every launch, and the seconds from step to step of each.
struct Times {
  Repeats steps;
  Repeats periods;
};

/// Phases of a thinpipe step (docs/records.md).
constexpr MetricType kParts[] = {"compute_time"_metric, "compress_time"_metric,
                                 "exchange_time"_metric, "decode_time"_metric};

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
    write_sample_trace(scratch_ + "/trace",
                       {.shapes = {{static_cast<std::int64_t>(number("elements"))}},
                        .ranks = 1,
                        .steps = 1,  // one gradient, as the plain program has
                        .compute_seconds = 0});
    trace_.emplace(scratch_ + "/trace");
    options_.trace = scratch_ + "/trace";
    options_.ranks = {static_cast<int>(number("ranks"))};
    options_.warmup = number("steps");  // a block
    options_.steps = number("blocks") * number("steps");
    options_.check_every = options_.steps;  // once, in the first
    options_.compute_scale = 0;
  }

  void run() {
    const std::uint64_t launches = number("launches");
    for (std::uint64_t launch = 0; launch < launches; ++launch) {
      run_both();
      std::fprintf(stderr, "\rlaunch %d of %d", int(launch + 1), int(launches));
    }
    std::fprintf(stderr, "\n");
    std::printf("%s ranks, %s of floats, %s launches of both with %s blocks of %s steps each\n",
                settings_.at("ranks").c_str(),
                format_bytes(4.0 * static_cast<double>(number("elements"))).c_str(),
                settings_.at("launches").c_str(), settings_.at("blocks").c_str(),
                settings_.at("steps").c_str());
    std::printf("          %-12s%-12s%s\n", "bare MPI", "thinpipe", "ratio in a launch (95 %)");
    print("step", bare_.steps, thinpipe_.steps);
    print("period", bare_.periods, thinpipe_.periods);
    for (const auto& [part, times] : parts_)
      std::printf("  %-20s%s\n", part.c_str(), format_time(median_of_medians(times)).c_str());
  }

 private:
  std::uint64_t number(const char* key) const { return number_of(settings_, key); }

  void run_both() {
    Launch launch(machines_, scratch_, options_.ranks[0]);
    BareProgram bare(machines_, bare_ring_.string(), scratch_, options_.ranks[0],
                     {settings_.at("elements"), std::to_string(number("blocks") + 1),
                      settings_.at("steps"), settings_.at("wait"), "cubic"});
    Calibrator none;
    Meter meter(machines_, *trace_, options_, none);
    SweepPoint point;
    point.compressor = parse_spec("none");
    point.ranks = options_.ranks[0];
    std::vector<double> ends;
    const Point measured = meter.measure(point, launch, [&] {
      ends.push_back(now_seconds());
      if (ends.size() % number("steps") == 0) bare.run_block();
    });
    if (measured.status == Status::kFailed) throw RunError(measured.reasons.at(0));
    const std::vector<BareStep> bare_steps = bare.finish();
    launch.quit();
    if (bare_steps.size() != ends.size())
      throw RunError(
          fmt::format("bare_ring took {} steps; expected {}", bare_steps.size(), ends.size()));
    const auto counted = [&](const std::function<double(std::size_t)>& value) {
      std::vector<double> values;
      for (std::size_t i = options_.warmup; i < ends.size(); ++i)
        if (i % number("steps") >= number("settle")) values.push_back(value(i));
      return values;
    };
    const auto samples = [&](const MetricType& metric) {
      const std::vector<double> all = measured.samples(metric);
      return counted([&](std::size_t i) { return all.at(i - options_.warmup); });
    };
    bare_.steps.push_back(counted([&](std::size_t i) { return bare_steps[i].took; }));
    bare_.periods.push_back(counted([&](std::size_t i) { return bare_steps[i].since_end; }));
    thinpipe_.steps.push_back(samples("step_time"_metric));
    thinpipe_.periods.push_back(counted([&](std::size_t i) { return ends[i] - ends[i - 1]; }));
    for (const MetricType& part : kParts) parts_[part].push_back(samples(part));
  }

  // Compares the medians of all launches, because the steps of a single launch do not show changes
  // between launches (placement of ranks on cores, other load on the machine).
  static void print(const char* what, const Repeats& bare, const Repeats& ours) {
    std::vector<double> a, b, ratios;
    for (std::size_t launch = 0; launch < bare.size(); ++launch) {
      a.push_back(median(bare[launch]));
      b.push_back(median(ours[launch]));
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
  Settings settings = {{"ranks", "2"},  {"elements", "262144"}, {"launches", "10"}, {"blocks", "8"},
                       {"steps", "12"}, {"settle", "2"},        {"wait", "spin"}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    const auto found = settings.find(word.substr(0, equals));
    if (equals == std::string::npos || found == settings.end())
      throw InputError(
          "own_cost: found '" + word +
          "'; expected ranks=, elements=, launches=, blocks=, steps=, settle= or wait=");
    found->second = word.substr(equals + 1);
  }
  for (const char* key : {"elements", "launches", "blocks"}) number_of(settings, key);
  if (number_of(settings, "settle") >= number_of(settings, "steps"))
    throw InputError("own_cost: expected more steps than those that settle, found steps=" +
                     settings.at("steps") + " settle=" + settings.at("settle"));
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
