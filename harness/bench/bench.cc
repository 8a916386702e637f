#include "harness/bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "base/visible.h"
#include "compressors/cuda/gpu.h"
#include "compressors/registry.h"
#include "compressors/simd.h"
#include "harness/bench/device/table.h"
#include "harness/bench/device/tensor_bench.h"
#include "harness/bench/json.h"
#include "harness/bench/measure.h"
#include "harness/bench/ratios.h"
#include "harness/bench/roofline.h"
#include "harness/bench/tensor_bench.h"
#include "harness/doctor/machine.h"
#include "harness/files/open_trace.h"
#include "harness/sweep/progress.h"
#include "workloads/trace/trace.h"

namespace thinpipe {
namespace {

using Run = benchmark::BenchmarkReporter::Run;

// Calls of a body by Google Benchmark: one a repetition and about so many to find the number of
// iterations. Only the progress bar depends on it.
constexpr int kTrialRuns = 4;

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

bool runs_on(const BenchOptions& options, const std::string& device) {
  return std::find(options.devices.begin(), options.devices.end(), device) != options.devices.end();
}

// Those that there are on the device. Which are not is told where all methods were asked for, and
// an error where they were named.
std::vector<Spec> specs_on_device(const BenchOptions& options, const std::vector<Spec>& specs,
                                  const TimedDevice& device) {
  const TensorInfo tensor{.name = "any", .shape = {1}, .elements = 1};
  std::vector<Spec> there;
  std::string others;
  for (const Spec& spec : specs) {
    try {
      device.make(spec, {&tensor, 1}, {});
      there.push_back(spec);
    } catch (const InputError&) {
      if (!options.compressors.empty()) throw;
      others += (others.empty() ? "" : ", ") + spec.to_string();
    }
  }
  if (!others.empty())
    print_message("not on GPUs yet, as they are by default: " + others);
  return there;
}

}  // namespace

TimedDevice open_benched_gpu() {
  require_gpu();
  return open_timed_gpu();
}

BenchResult run_bench(const BenchOptions& options, const OpenDevice& open) {
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
  const std::size_t roofs = on_cpu ? options.threads.size() * (std::size(kStreamCounts) + 2) : 0;
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
      DeviceTensorBench(options, open, inputs.tensor(), inputs.gradient(0), progress, result, rows)
          .run(device_specs);
    }
    if (!on_cpu) continue;
    progress.note(fmt::format("{} elements: {} points, {} inputs in turn", inputs.elements(),
                              points, inputs.rotation()));
    std::vector<BenchPoint> planned;
    for (const Spec& spec : specs) {
      for (const int threads : options.threads) {
        for (const std::string& target : simd) planned.push_back({spec, threads, target, ""});
      }
    }
    TensorBench(options, inputs, progress, result, rows).run(std::move(planned));
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
    text += "one input and output, again and again\n";
  } else {
    text += "inputs and outputs rotate through ";
    if (on_cpu) text += format_bytes(2 * cache) + " each";
    if (device != nullptr) {
      text += fmt::format("{}{} each on the GPU", on_cpu ? ", " : "",
                          format_bytes(2 * static_cast<double>(device->description.l2_bytes)));
    }
    text += "\n";
  }
  text += fmt::format(
      "medians of {} repetitions in random order, {:g} s each at least{}; {} steps before\n",
      options.repetitions, options.min_time, on_cpu ? " (a quarter for reads, copy and triad)" : "",
      options.warmup);
  if (device != nullptr) text += device_heading(*device);
  return fitted_lines(text) + "\n";
}

}  // namespace thinpipe
