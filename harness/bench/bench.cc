#include "harness/bench/bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/statistics.h"
#include "base/text.h"
#include "base/units.h"
#include "compressors/cuda/gpu.h"
#include "compressors/registry.h"
#include "compressors/simd.h"
#include "compressors/spec.h"
#include "harness/bench/device_tensor_bench.h"
#include "harness/bench/inputs.h"
#include "harness/bench/measure.h"
#include "harness/bench/options.h"
#include "harness/bench/results.h"
#include "harness/bench/roofline.h"
#include "harness/bench/subject.h"
#include "harness/bench/timed.h"
#include "harness/files/open_trace.h"
#include "harness/machine/machine.h"
#include "harness/options/terminal.h"
#include "workloads/trace/trace.h"

namespace thinpipe {
namespace {

using Run = benchmark::BenchmarkReporter::Run;

// Fraction of the free memory that the compressors timed in one run may use together. All
// compressors of a run are in memory at the same time.
constexpr double kMemoryShare = 0.4;

// Approximate number of calls of a benchmark in which Google Benchmark finds the number of
// iterations. After these calls, it makes one call for each repetition. Only the progress bar uses
// this constant.
constexpr int kTrialRuns = 4;

/// One row to be measured.
struct BenchPoint {
  Spec spec;
  int threads = 1;
  std::string simd;       ///< of simd_targets()
  std::string name = "";  ///< "topk:ratio=0.01/laplace:26000000/memory/threads:1/simd:avx2"
  std::unique_ptr<Subject> subject = nullptr;
  Quality quality = {};
};

/// Times with which a row of Google Benchmark's JSON is compared, in ns/element.
struct Limits {
  double t_r = 0;
  double floor = std::numeric_limits<double>::quiet_NaN();  ///< of an encode
};

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Returns true for methods that send coefficients of a transform, each of which affects many
// decoded elements.
bool spreads(const std::string& method) {
  static const std::set<std::string> kSpread{"demo", "powersgd", "thc"};
  return kSpread.count(method) > 0;
}

/// Warms up, times and validates all compressors on one tensor, in runs that fit the memory.
class TensorBench {
 public:
  /// Adds one group of results for each number of threads to `result`, and the rows of Google
  /// Benchmark's JSON to `rows`.
  TensorBench(const BenchOptions& options, const Inputs& inputs, Progress& progress,
              BenchResult& result, std::vector<Run>& rows)
      : options_(options),
        inputs_(inputs),
        progress_(progress),
        result_(result),
        rows_(rows),
        first_group_(result.groups.size()),
        roofline_(inputs, options) {
    for (const int threads : options.threads)
      result.groups.push_back(
          {.tensor = inputs.tensor().name, .elements = inputs.elements(), .threads = threads});
  }

  /// Compressor errors go to the result's failures. @throws RunError if interrupted.
  void run(std::vector<BenchPoint> points) {
    std::vector<BenchPoint> batch;
    const double budget = kMemoryShare * static_cast<double>(read_machine(".").memory_available);
    const double before = resident_bytes();
    for (BenchPoint& point : points) {
      if (interrupted()) throw RunError("interrupted");
      if (prepare(point)) batch.push_back(std::move(point));
      if (resident_bytes() - before > budget) time_batch(batch);
    }
    if (!batch.empty() || !roofline_done_) time_batch(batch);
  }

 private:
  // Warms up and validates; returns false if that fails.
  bool prepare(BenchPoint& point) {
    point.name = fmt::format("{}/{}/simd:{}", short_spec(point.spec),
                             place_name(inputs_, point.threads), point.simd);
    progress_.describe("warming up " + short_spec(point.spec));
    return guarded(point, [&] {
      const Spec spec = point.spec;
      point.subject = std::make_unique<Subject>(
          SubjectOptions{.make =
                             [spec](const TensorInfo& tensor, const CompressorSettings& settings) {
                               return make_compressor(spec, tensor, settings);
                             },
                         .settings = {.seed = options_.seed, .rank = 0, .threads = point.threads},
                         .simd = point.simd,
                         .spreads = spreads(spec.name)},
          inputs_);
      point.subject->validate_start();
      point.quality = point.subject->warm_up(options_.warmup);
      point.subject->validate_last();
    });
  }
  void fail(const BenchPoint& point, const std::string& reason) {
    const auto place = std::find(options_.threads.begin(), options_.threads.end(), point.threads);
    const auto offset = static_cast<std::size_t>(place - options_.threads.begin());
    result_.failures.push_back({.name = point.name,
                                .spec = point.spec,
                                .simd = point.simd,
                                .group = first_group_ + offset,
                                .reason = reason});
  }
  // Runs `work`; a compressor's error fails only its own point.
  template <class Work>
  bool guarded(const BenchPoint& point, Work work) {
    try {
      work();
      return true;
    } catch (const std::bad_alloc&) {
      fail(point, "out of memory");
    } catch (const std::exception& error) {
      fail(point, error.what());
    }
    return false;
  }
  Timed timed_point(BenchPoint& point, bool encode) const {
    Subject& subject = *point.subject;
    const auto d = static_cast<double>(inputs_.elements());
    return {.name = (encode ? "encode/" : "decode/") + point.name,
            .elements = d,
            .bytes = d * sizeof(float),
            .prepare = [&subject] { subject.begin(); },
            .call = encode ? std::function<void()>([&subject] { subject.encode(); })
                           : std::function<void()>([&subject] { subject.decode(); }),
            .counters = quality_counters(point.quality)};
  }
  void time_batch(std::vector<BenchPoint>& batch) {
    std::vector<Timed> what = roofline_.timed();
    for (BenchPoint& point : batch) {
      what.push_back(timed_point(point, true));
      what.push_back(timed_point(point, false));
    }
    const auto progress = [&](const std::string& name) {
      progress_.describe(name);
      progress_.advance(1);
    };
    Measurement measured;
    if (options_.turns) {
      Turns turns(STDIN_FILENO);
      measured.timings = measure_in_turns(what, options_, turns, progress);
    } else {
      measured = measure(what, options_, progress);
    }
    if (interrupted()) throw RunError("interrupted");
    std::map<std::string, Limits> limits;  // by name, for valid rows
    for (std::size_t i = 0; i < options_.threads.size(); ++i) {
      BenchGroup& group = result_.groups[first_group_ + i];
      const RooflineFigures figures = roofline_.figures(measured, group.threads);
      if (group.roofline.read.empty()) group.roofline = figures;
      for (const BenchPoint& point : batch) {
        if (point.threads == group.threads) add_row(point, figures, measured, group, limits);
      }
    }
    add_json(measured, limits);
    batch.clear();
  }
  void add_row(const BenchPoint& point, const RooflineFigures& roofline,
               const Measurement& measured, BenchGroup& group,
               std::map<std::string, Limits>& accepted) {
    const Timing& encode = measured.timings.at("encode/" + point.name);
    const Timing& decode = measured.timings.at("decode/" + point.name);
    const bool good = guarded(point, [&] {
      for (const Timing* timing : {&encode, &decode}) {
        if (!timing->error.empty()) throw RunError(timing->error);
      }
      point.subject->validate_last();  // the state in which the timing ended
    });
    if (!good) return;
    const double scale = 1e9 / static_cast<double>(inputs_.elements());
    const double floor =
        encode_floor(traffic_of(point.spec), point.quality.bits_per_element, roofline);
    group.rows.push_back({.name = point.name,
                          .spec = point.spec,
                          .compressor = short_spec(point.spec),
                          .simd = point.simd,
                          .encode = median(encode.seconds) * scale,
                          .decode = median(decode.seconds) * scale,
                          .encode_samples = scaled(encode.seconds, scale),
                          .decode_samples = scaled(decode.seconds, scale),
                          .encode_order = encode.order,
                          .decode_order = decode.order,
                          .t_r = roofline.t_r,
                          .floor = floor,
                          .allocations = encode.allocations,
                          .quality = point.quality});
    accepted["encode/" + point.name] = {.t_r = roofline.t_r, .floor = floor};
    accepted["decode/" + point.name] = {.t_r = roofline.t_r};
  }
  // Adds the rows of valid points, and of the roofline of the first run.
  void add_json(const Measurement& measured, const std::map<std::string, Limits>& limits) {
    for (Run row : measured.rows) {
      const std::string& name = row.run_name.function_name;
      const bool is_point = name.starts_with("encode/") || name.starts_with("decode/");
      const auto found = limits.find(name);
      if (is_point ? found == limits.end() : roofline_done_) continue;
      const auto time = row.counters.find("ns_per_element");
      if (is_point && time != row.counters.end()) {
        const double nanoseconds = time->second.value;
        row.counters["times_t_r"] = nanoseconds / found->second.t_r;
        if (std::isfinite(found->second.floor) && row.aggregate_name != "stddev")
          row.counters["floor_share"] = found->second.floor / nanoseconds;
      }
      rows_.push_back(std::move(row));
    }
    roofline_done_ = true;
  }

  const BenchOptions& options_;
  const Inputs& inputs_;
  Progress& progress_;
  BenchResult& result_;
  std::vector<Run>& rows_;
  std::size_t first_group_;
  TimedRoofline roofline_;
  bool roofline_done_ = false;
};

std::vector<Spec> specs_of(const BenchOptions& options) {
  if (!options.compressors.empty()) return with_ratios(options.compressors, options.ratios);
  std::vector<Spec> specs;
  for (const MethodInfo& method : methods()) specs.push_back({method.name, {}});
  return with_ratios(specs, options.ratios);
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
    if (std::find(names.begin(), names.end(), simd_target()) == names.end())
      names.push_back(simd_target());
  }
  set_simd_target("best");
  if (names.empty()) names.push_back(simd_target());
  return names;
}

std::vector<std::size_t> tensors_of(const Trace& trace, const std::vector<std::string>& names) {
  std::vector<std::string> known;
  std::size_t largest = 0;
  for (std::size_t i = 0; i < trace.tensors().size(); ++i) {
    known.push_back(trace.tensors()[i].name);
    if (trace.tensors()[i].elements > trace.tensors()[largest].elements) largest = i;
  }
  if (known.empty() || trace.steps() == 0 || trace.tensors()[largest].elements == 0)
    throw InputError(trace.folder().string() + ": no gradients in this trace");
  if (names.empty()) return {largest};
  std::vector<std::size_t> chosen;
  for (const std::string& name : names) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end())
      throw InputError(fmt::format("{}: no tensor '{}'{}", trace.folder().string(), name,
                                   did_you_mean(name, known)));
    const auto index = static_cast<std::size_t>(found - known.begin());
    if (trace.tensors()[index].elements == 0)
      throw InputError(
          fmt::format("{}: tensor '{}' has no elements", trace.folder().string(), name));
    add_once(chosen, index);
  }
  return chosen;
}

bool runs_on(const BenchOptions& options, const std::string& device) {
  return std::find(options.devices.begin(), options.devices.end(), device) != options.devices.end();
}

// Returns the specs that have a GPU implementation. A spec without a GPU implementation is an error
// if the user named it. If the user requested all methods, such specs are only reported.
std::vector<Spec> specs_on_device(const BenchOptions& options, const std::vector<Spec>& specs,
                                  const TimedDevice& device) {
  const TensorInfo tensor{.name = "any", .shape = {1}, .elements = 1};
  std::vector<Spec> on_device;
  std::string others;
  for (const Spec& spec : specs) {
    try {
      device.make(spec, {&tensor, 1}, {});
      on_device.push_back(spec);
    } catch (const InputError&) {
      if (!options.compressors.empty()) throw;
      others += (others.empty() ? "" : ", ") + spec.to_string();
    }
  }
  if (!others.empty()) tell_user("no GPU implementation with default parameters: " + others);
  return on_device;
}

}  // namespace

TimedDevice open_benched_gpu() {
  require_gpu();
  return open_timed_gpu();
}

BenchResult run_bench(const BenchOptions& options, const OpenDevice& open,
                      const std::function<void(const BenchResult&)>& measured) {
  const std::vector<Spec> specs = specs_of(options);
  for (const Spec& spec : specs) check_spec(spec);
  const bool on_cpu = runs_on(options, kDeviceCpu), on_device = runs_on(options, kDeviceCuda);
  const std::vector<Spec> device_specs =
      on_device ? specs_on_device(options, specs, open()) : std::vector<Spec>{};
  const std::vector<std::string> simd = simd_of(options);
  const bool squares = on_cpu && squares_needed(specs);
  std::optional<Trace> trace;
  std::vector<std::size_t> tensors;  // sizes, or indices in the trace
  if (options.trace.empty()) {
    tensors = options.sizes;
    for (const std::size_t elements : tensors)
      require_memory(fmt::format("{} elements", elements), "two inputs and two outputs",
                     4 * sizeof(float) * static_cast<double>(elements), "a smaller --size");
  } else {
    trace.emplace(open_trace(options.trace));
    tensors = tensors_of(*trace, options.tensors);
    constexpr double kElementBytes = 20;  // two inputs, two outputs, and what is drawn
    for (const std::size_t tensor : tensors)
      require_memory(*trace, "tensor '" + trace->tensors()[tensor].name + "'",
                     kElementBytes * static_cast<double>(trace->tensors()[tensor].elements));
  }

  watch_for_interrupt();
  BenchResult result;
  std::vector<Run> rows;
  const std::size_t points = on_cpu ? specs.size() * options.threads.size() * simd.size() : 0;
  const std::size_t roofs = on_cpu ? options.threads.size() * kRooflineKernels : 0;
  const auto calls = static_cast<double>(tensors.size() * (2 * points + roofs)) *
                     (options.repetitions + kTrialRuns);
  const auto device_calls =
      on_device ? static_cast<double>(tensors.size() *
                                      (2 * device_specs.size() + std::size(kStreamCounts) + 1)) *
                      (options.repetitions + 1)
                : 0;
  Progress progress(calls + device_calls);
  for (const std::size_t tensor : tensors) {
    progress.note(trace ? "copying " + trace->tensors()[tensor].name
                        : fmt::format("drawing {} elements", tensor));
    if (interrupted()) throw RunError("interrupted");
    BenchOptions inputs_like = options;
    if (!on_cpu) inputs_like.residency = Residency::kCache;  // a device has its own copies
    const Inputs inputs =
        trace ? Inputs(inputs_like, *trace, tensor, squares) : Inputs(inputs_like, tensor, squares);
    if (inputs.drawn_rate() > 0)
      progress.note(fmt::format("drawn at {:.2f} GB/s by one thread", inputs.drawn_rate() * 1e-9));
    if (on_device) {
      progress.note(
          fmt::format("{} elements on the GPU: {} points", inputs.elements(), device_specs.size()));
      bench_on_device(device_specs, options, open, inputs.tensor(), inputs.gradient(0), progress,
                      result, rows);
    }
    if (on_cpu) {
      progress.note(fmt::format("{} elements: {} points, {} inputs in turn", inputs.elements(),
                                points, inputs.rotation()));
      std::vector<BenchPoint> planned;
      for (const Spec& spec : specs)
        for (const int threads : options.threads)
          for (const std::string& target : simd) planned.push_back({spec, threads, target, ""});
      TensorBench(options, inputs, progress, result, rows).run(std::move(planned));
    }
    if (measured) measured(result);
  }
  set_simd_target("best");
  if (!options.turns)
    result.json = google_benchmark_json(rows, options, result.device ? &*result.device : nullptr);
  return result;
}

std::string bench_heading(const BenchOptions& options, const BenchDevice* device) {
  const MachineState machine = read_machine(".");
  const auto cache = static_cast<double>(last_level_cache());
  std::string text = fmt::format("{}; {:g} cores, last-level cache {}, load {:.2f}\n",
                                 machine.cpu.empty() ? "unknown CPU" : machine.cpu, machine.cores,
                                 format_bytes(cache), machine.load);
  text += options.trace.empty()
              ? fmt::format("{} values, seed {}; ", options.distribution, options.seed)
              : fmt::format("trace {}, seed {}; ", options.trace.string(), options.seed);
  const bool on_cpu = runs_on(options, kDeviceCpu);
  if (options.residency == Residency::kCache) {
    text += "one input and one output, reused in every step\n";
  } else {
    text += "inputs and outputs rotate through ";
    if (on_cpu) text += format_bytes(2 * cache) + " each";
    if (device != nullptr)
      text += fmt::format("{}{} each on the GPU", on_cpu ? ", " : "",
                          format_bytes(2 * static_cast<double>(device->description.l2_bytes)));
    text += "\n";
  }
  text += fmt::format(
      "medians of {} repetitions in random order, at least {:g} s each{}; {} warm-up steps\n",
      options.repetitions, options.min_time, on_cpu ? " (a quarter for the roofline)" : "",
      options.warmup);
  if (device != nullptr) text += device_heading(*device);
  return fitted_lines(text) + "\n";
}

}  // namespace thinpipe
