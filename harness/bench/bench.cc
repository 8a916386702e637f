#include "harness/bench/bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "compressors/registry.h"
#include "compressors/simd.h"
#include "harness/bench/json.h"
#include "harness/bench/measure.h"
#include "harness/bench/roofline.h"
#include "harness/doctor/machine.h"
#include "harness/sweep/progress.h"
#include "workloads/trace/trace.h"

namespace thinpipe {
namespace {

using Run = benchmark::BenchmarkReporter::Run;

// Compressors that are timed in one run are all in memory; this share of what is free is theirs.
constexpr double kMemoryShare = 0.4;

// Calls of a body by Google Benchmark: one a repetition and about so many to find the number of
// iterations. Only the progress bar depends on it.
constexpr int kTrialRuns = 4;

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Methods that send coefficients of a transform, each of which touches many decoded elements.
bool spreads(const std::string& method) {
  static const std::set<std::string> kSpread{"demo", "powersgd", "thc"};
  return kSpread.count(method) > 0;
}

struct Point {
  Spec spec;
  int threads = 1;
  std::string simd;
  std::string name;  ///< "topk:ratio=0.01/laplace:26000000/threads:1/simd:avx2"
  std::unique_ptr<Subject> subject = nullptr;
  Quality quality = {};
};

std::vector<Spec> specs_of(const BenchOptions& options) {
  if (!options.compressors.empty()) return options.compressors;
  std::vector<Spec> specs;
  for (const MethodInfo& method : methods()) specs.push_back({method.name, {}});
  return specs;
}

bool squares_needed(const std::vector<Spec>& specs) {
  return std::any_of(specs.begin(), specs.end(),
                     [](const Spec& spec) { return find_method(spec.name).needs_squares; });
}

std::vector<std::string> simd_of(const BenchOptions& options) {
  std::vector<std::string> names;
  for (const std::string& name : options.simd) {
    if (name == "all") return simd_targets();
    set_simd_target(name);  // throws for unknown ones; the name of "best"
    names.push_back(simd_target());
  }
  set_simd_target("best");
  if (names.empty()) names.push_back(simd_target());
  return names;
}

// Everything that is measured on one tensor.
class TensorBench {
 public:
  TensorBench(const BenchOptions& options, const Inputs& inputs, Progress& progress,
              BenchResult& result, std::vector<Run>& rows)
      : options_(options),
        inputs_(inputs),
        progress_(progress),
        result_(result),
        rows_(rows),
        first_group_(result.groups.size()) {
    for (const int threads : options.threads) {
      teams_.push_back(std::make_unique<Team>(threads));
      result.groups.push_back(
          {.tensor = inputs.tensor().name, .elements = inputs.elements(), .threads = threads});
    }
  }

  void run(std::vector<Point> points) {
    std::vector<Point> batch;
    const double budget = kMemoryShare * static_cast<double>(read_machine(".").memory_available);
    const double before = resident_bytes();
    for (Point& point : points) {
      if (prepare(point)) batch.push_back(std::move(point));
      if (resident_bytes() - before > budget) time_batch(batch);
    }
    time_batch(batch);
  }

 private:
  std::string place(int threads) const {
    return fmt::format("{}:{}/threads:{}", inputs_.tensor().name, inputs_.elements(), threads);
  }

  // Warms up; false when it failed.
  bool prepare(Point& point) {
    if (interrupted()) throw RunError("interrupted");
    point.name =
        fmt::format("{}/{}/simd:{}", short_spec(point.spec), place(point.threads), point.simd);
    progress_.describe("warming up " + short_spec(point.spec));
    const Spec spec = point.spec;
    return guarded(point, [&] {
      point.subject = std::make_unique<Subject>(
          SubjectOptions{.make =
                             [spec](const TensorInfo& tensor, const CompressorSettings& settings) {
                               return make_compressor(spec, tensor, settings);
                             },
                         .settings = {.seed = options_.seed, .rank = 0, .threads = point.threads},
                         .simd = point.simd,
                         .spreads = spreads(spec.name)},
          inputs_);
      point.quality = point.subject->warm_up(options_.warmup);
      point.subject->validate();
    });
  }

  // What a compressor does wrong fails its point alone.
  template <class Work>
  bool guarded(const Point& point, Work work) {
    try {
      work();
      return true;
    } catch (const std::bad_alloc&) {
      result_.failures.push_back(point.name + ": out of memory");
    } catch (const std::exception& error) {
      result_.failures.push_back(point.name + ": " + error.what());
    }
    return false;
  }

  Timed timed_roof(const std::string& what, int threads, std::function<void()> call) const {
    const auto d = static_cast<double>(inputs_.elements());
    return {.name = fmt::format("{}/{}", what, place(threads)),
            .elements = d,
            .bytes = d * sizeof(float),
            .prepare = [] { set_simd_target("best"); },
            .call = std::move(call)};
  }

  void add_roofline(std::vector<Timed>& what) {
    for (const std::unique_ptr<Team>& team : teams_) {
      Team& threads = *team;
      for (const int streams : kStreamCounts) {
        what.push_back(timed_roof(
            fmt::format("read/streams:{}", streams), threads.size(), [this, streams, &threads] {
              benchmark::DoNotOptimize(
                  read_streams(inputs_.gradient(roof_step_++), streams, threads));
            }));
      }
      what.push_back(timed_roof("copy", threads.size(), [this, &threads] {
        copy_array(inputs_.gradient(roof_step_), inputs_.output(roof_step_), threads);
        ++roof_step_;
      }));
      what.push_back(timed_roof("triad", threads.size(), [this, &threads] {
        triad(inputs_.gradient(roof_step_), inputs_.neighbour(roof_step_), 0.5F,
              inputs_.output(roof_step_), threads);
        ++roof_step_;
      }));
    }
  }

  Timed timed_point(Point& point, bool encode) const {
    Subject& subject = *point.subject;
    const auto d = static_cast<double>(inputs_.elements());
    std::map<std::string, double> counters{{"bits_per_element", point.quality.bits_per_element},
                                           {"relative_error", point.quality.relative_error},
                                           {"passes", point.quality.passes}};
    if (std::isfinite(point.quality.selected_share)) {
      counters["selected_share"] = point.quality.selected_share;
    }
    return {.name = (encode ? "encode/" : "decode/") + point.name,
            .elements = d,
            .bytes = d * sizeof(float),
            .prepare = [&subject] { subject.begin(); },
            .call = encode ? std::function<void()>([&subject] { subject.encode(); })
                           : std::function<void()>([&subject] { subject.decode(); }),
            .counters = std::move(counters)};
  }

  RooflineFigures roofline_of(const Measurement& measured, int threads) const {
    const auto time = [&](const std::string& what) {
      return 1e9 * measured.timings.at(what + "/" + place(threads)).median() /
             static_cast<double>(inputs_.elements());
    };
    RooflineFigures figures;
    for (const int streams : kStreamCounts) {
      figures.read[streams] = time(fmt::format("read/streams:{}", streams));
    }
    figures.copy = time("copy");
    figures.triad = time("triad");
    return figures;
  }

  void time_batch(std::vector<Point>& batch) {
    std::vector<Timed> what;
    add_roofline(what);
    for (Point& point : batch) {
      what.push_back(timed_point(point, true));
      what.push_back(timed_point(point, false));
    }
    const Measurement measured = measure(what, options_, [&](const std::string& name) {
      progress_.describe(name);
      progress_.advance(1);
    });
    if (interrupted()) throw RunError("interrupted");
    std::map<std::string, double> t_r;  // by name, for the rows
    for (std::size_t i = 0; i < teams_.size(); ++i) {
      BenchGroup& group = result_.groups[first_group_ + i];
      const RooflineFigures figures = roofline_of(measured, group.threads);
      if (group.roofline.read.empty()) group.roofline = figures;
      for (const Point& point : batch) {
        if (point.threads == group.threads) add_row(point, figures.t_r(), measured, group, t_r);
      }
    }
    add_json(measured, t_r);
    batch.clear();
  }

  void add_row(const Point& point, double t_r, const Measurement& measured, BenchGroup& group,
               std::map<std::string, double>& accepted) {
    const Timing& encode = measured.timings.at("encode/" + point.name);
    const Timing& decode = measured.timings.at("decode/" + point.name);
    const bool good = guarded(point, [&] {
      for (const Timing* timing : {&encode, &decode}) {
        if (!timing->error.empty()) throw RunError(timing->error);
      }
      point.subject->validate();  // the state in which the timing ended
    });
    if (!good) return;
    const double scale = 1e9 / static_cast<double>(inputs_.elements());
    group.rows.push_back({.compressor = short_spec(point.spec),
                          .simd = point.simd,
                          .encode = encode.median() * scale,
                          .decode = decode.median() * scale,
                          .t_r = t_r,
                          .allocations = encode.allocations,
                          .quality = point.quality});
    accepted["encode/" + point.name] = accepted["decode/" + point.name] = t_r;
  }

  // Rows of points that hold, and of the roofline of the first run.
  void add_json(const Measurement& measured, const std::map<std::string, double>& t_r) {
    for (Run row : measured.rows) {
      const std::string& name = row.run_name.function_name;
      const bool is_point = name.starts_with("encode/") || name.starts_with("decode/");
      const auto found = t_r.find(name);
      if (is_point ? found == t_r.end() : roofline_told_) continue;
      const auto time = row.counters.find("ns_per_element");
      if (is_point && time != row.counters.end()) {
        row.counters["times_t_r"] = time->second.value / found->second;
      }
      rows_.push_back(std::move(row));
    }
    roofline_told_ = true;
  }

  const BenchOptions& options_;
  const Inputs& inputs_;
  Progress& progress_;
  BenchResult& result_;
  std::vector<Run>& rows_;
  std::size_t first_group_;
  std::vector<std::unique_ptr<Team>> teams_;
  std::size_t roof_step_ = 0;
  bool roofline_told_ = false;
};

std::vector<std::size_t> tensors_of(const Trace& trace, const std::vector<std::string>& names) {
  std::vector<std::string> known;
  std::size_t largest = 0;
  for (std::size_t i = 0; i < trace.tensors().size(); ++i) {
    known.push_back(trace.tensors()[i].name);
    if (trace.tensors()[i].elements > trace.tensors()[largest].elements) largest = i;
  }
  if (known.empty() || trace.steps() == 0 || trace.tensors()[largest].elements == 0) {
    throw InputError(trace.folder().string() + ": no gradients in this trace");
  }
  if (names.empty()) return {largest};
  std::vector<std::size_t> chosen;
  for (const std::string& name : names) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) {
      throw InputError(fmt::format("{}: no tensor '{}'{}", trace.folder().string(), name,
                                   did_you_mean(name, known)));
    }
    chosen.push_back(static_cast<std::size_t>(found - known.begin()));
    if (trace.tensors()[chosen.back()].elements == 0) {
      throw InputError(
          fmt::format("{}: tensor '{}' has no elements", trace.folder().string(), name));
    }
  }
  return chosen;
}

}  // namespace

BenchResult run_bench(const BenchOptions& options) {
  const std::vector<Spec> specs = specs_of(options);
  for (const Spec& spec : specs) check_spec(spec);
  const std::vector<std::string> simd = simd_of(options);
  const bool squares = squares_needed(specs);
  std::optional<Trace> trace;
  std::vector<std::size_t> tensors;  // sizes, or indices in the trace
  if (options.trace.empty()) {
    tensors = options.sizes;
  } else {
    trace.emplace(options.trace);
    tensors = tensors_of(*trace, options.tensors);
  }

  watch_for_interrupt();
  BenchResult result;
  std::vector<Run> rows;
  const std::size_t points = specs.size() * options.threads.size() * simd.size();
  const std::size_t roofs = options.threads.size() * (std::size(kStreamCounts) + 2);
  Progress progress(static_cast<double>(tensors.size() * (2 * points + roofs)) *
                    (options.repetitions + kTrialRuns));
  for (const std::size_t tensor : tensors) {
    progress.note(trace ? "copying " + trace->tensors()[tensor].name
                        : fmt::format("drawing {} elements", tensor));
    const Inputs inputs =
        trace ? Inputs(options, *trace, tensor, squares) : Inputs(options, tensor, squares);
    progress.note(fmt::format("{} elements: {} points, {} inputs in turn", inputs.elements(),
                              points, inputs.rotation()));
    std::vector<Point> planned;
    for (const Spec& spec : specs) {
      for (const int threads : options.threads) {
        for (const std::string& target : simd) planned.push_back({spec, threads, target, ""});
      }
    }
    TensorBench(options, inputs, progress, result, rows).run(std::move(planned));
  }
  set_simd_target("best");
  result.json = google_benchmark_json(rows, options);
  return result;
}

std::string bench_heading(const BenchOptions& options) {
  const MachineState machine = read_machine(".");
  const auto cache = static_cast<double>(last_level_cache());
  std::string text = fmt::format("{}; {:g} cores, last-level cache {}, load {:.2f}\n",
                                 machine.cpu.empty() ? "unknown CPU" : machine.cpu, machine.cores,
                                 format_bytes(cache), machine.load);
  text += options.trace.empty()
              ? fmt::format("{} values, seed {}; ", options.distribution, options.seed)
              : fmt::format("trace {}, seed {}; ", options.trace.string(), options.seed);
  text += options.residency == Residency::kMemory
              ? fmt::format("inputs and outputs rotate through {} each\n", format_bytes(2 * cache))
              : std::string("one input and output, again and again\n");
  return text + fmt::format(
                    "medians of {} repetitions in random order, {:g} s each at least; {} steps "
                    "before\n\n",
                    options.repetitions, options.min_time, options.warmup);
}

}  // namespace thinpipe
