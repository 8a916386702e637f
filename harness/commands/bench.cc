// `thinpipe bench`: times compressors and compares them with the memory roofline.

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/output_file.h"
#include "base/text.h"
#include "harness/bench/bench.h"
#include "harness/bench/inputs.h"
#include "harness/bench/results.h"
#include "harness/bench/timed.h"
#include "harness/commands/shared_options.h"
#include "harness/commands/verbs.h"
#include "harness/files/open_trace.h"
#include "harness/machine/fingerprint.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "reports/bench/bench.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

std::vector<std::string> devices_of(const Arguments& arguments) {
  const std::vector<std::string> devices = alternatives(arguments.texts("device"));
  for (const std::string& device : devices) check_device(device);
  const bool on_cpu = std::find(devices.begin(), devices.end(), kDeviceCpu) != devices.end();
  for (const char* other : {"threads", "simd"})
    if (!on_cpu && arguments.given(other))
      throw InputError(
          fmt::format("--{} applies to the CPU and needs --device cpu or cpu|cuda", other));
  if (arguments.flag("turns") && devices != std::vector<std::string>{kDeviceCpu})
    throw InputError("--turns applies to the CPU and cannot be used with --device cuda");
  return devices;
}

BenchOptions options_of(const Arguments& arguments) {
  BenchOptions options;
  options.compressors = all_compressors(arguments);
  if (arguments.given("trace")) {
    for (const char* other : {"size", "distribution"})
      if (arguments.given(other))
        throw InputError(fmt::format(
            "--{} applies to synthetic gradients and cannot be used with --trace", other));
    options.trace = arguments.text("trace");
  } else if (arguments.given("tensor")) {
    throw InputError("--tensor names a tensor of a trace and needs --trace");
  }
  options.tensors = arguments.texts("tensor");
  for (const std::string& text : alternatives(arguments.texts("size")))
    add_once(options.sizes, parse_elements(text));
  options.ratios = alternatives(arguments.texts("ratio"));
  options.devices = devices_of(arguments);
  options.distribution = arguments.text("distribution");
  options.threads =
      count_alternatives(arguments.texts("threads"), "threads", "threads", kMaxThreads);
  options.simd = alternatives(arguments.texts("simd"));
  options.residency =
      arguments.text("residency") == "cache" ? Residency::kCache : Residency::kMemory;
  options.warmup = static_cast<int>(arguments.integer("warmup"));
  options.repetitions = static_cast<int>(arguments.integer("repetitions"));
  options.min_time = arguments.real("min-time");
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed"));
  options.turns = arguments.flag("turns");
  if (options.turns && arguments.given("json"))
    throw InputError("--json cannot be used with --turns, which does not run Google Benchmark");
  return options;
}

// Opens the file before the measurement, so that a wrong name does not waste minutes.
std::optional<OutputFile> open_json(const std::string& file) {
  if (file.empty() || is_stdout(file)) return std::nullopt;
  return OutputFile(file);
}

std::string tables(const BenchOptions& options, const BenchResult& result) {
  std::string text = bench_heading(options, result.device ? &*result.device : nullptr);
  for (const BenchGroup& group : result.groups) {
    if (group.rows.empty()) continue;
    text += (group.device == kDeviceCpu ? bench_table(group) : device_table(group)) + "\n";
  }
  return text;
}

Header header_of(const Arguments& arguments, const BenchOptions& options) {
  // Opened again for the header only, without reading gradients.
  const std::optional<Trace> trace =
      options.trace.empty() ? std::nullopt : std::optional<Trace>(open_trace(options.trace));
  return launch_header(
      {.kind = kBenchKind,
       .command = arguments.command_line(),
       .seed = options.seed,
       .threads = *std::max_element(options.threads.begin(), options.threads.end())},
      trace ? &*trace : nullptr);
}

std::string bench_sentences(const Header& header, const std::vector<Point>& points) {
  if (points.empty()) return "";
  Records records;
  records.headers = {header};
  records.points = points;
  return wrap(joined(bench_findings(summarize_bench(records)), " "), 0) + "\n";
}

int bench(const Arguments& arguments, const BenchOptions& options) {
  const std::string& file = arguments.text("json");
  std::optional<OutputFile> output = open_json(file);
  const std::unique_ptr<RecordWriter> writer = open_records(arguments, kBenchKind);
  Header header = header_of(arguments, options);
  std::vector<Point> points;
  std::set<std::string> written;
  const auto record = [&](const BenchResult& measured) {
    if (measured.device) header.device = Document(device_json(*measured.device));
    points = bench_points(options, measured);
    if (!writer || points.empty()) return;
    if (written.empty()) writer->append(header);
    for (const Point& point : points)
      if (written.insert(point.id).second) writer->append(point);
  };
  BenchResult result;
  try {
    result = run_bench(options, open_benched_gpu, record);
  } catch (const RunError& error) {
    if (!interrupted()) throw;
    std::fprintf(stderr, "thinpipe bench: %s\n", error.what());
    return 128 + SIGINT;
  }
  if (output) {
    output->write(result.json);
    output->commit();
  }
  is_stdout(file) ? write_stdout(result.json)
                  : write_text(tables(options, result) + bench_sentences(header, points));
  if (result.failures.empty()) return kExitGood;
  std::string message = counted(result.failures.size(), "point") + " failed";
  for (const BenchFailure& failure : result.failures)
    message += fmt::format("\n  {}: {}", failure.name, failure.reason);
  throw RunError(message);
}

Action prepare_bench(const Arguments& arguments) {
  load_plugins(arguments);
  return [&arguments, options = options_of(arguments)] { return bench(arguments, options); };
}

OptionInfo benched_option() {
  OptionInfo option = compressor_option(true);
  option.help =
      "name:key=value,...; key=a|b measures both values; by default all compressors with "
      "their default parameters";
  return option;
}

std::vector<OptionInfo> bench_options() {
  return {
      benched_option(),
      plugin_option(),
      repeatable(text_option("size", "N", "26m",
                             "elements of the synthetic gradient, with decimal suffixes; 260k|2.6m "
                             "measures both")),
      repeatable(text_option("ratio", "R", "",
                             "fraction of the elements to send, for compressors whose spec does "
                             "not set it; 0.1|0.01 measures both")),
      choice_option("distribution", "NAME", "laplace", distribution_names(),
                    "distribution of the synthetic values"),
      folder_option("trace", "DIR", "",
                    "use the gradients of a trace: a captured one, or synthetic:model=NAME,... "
                    "(docs/synthetic.md)"),
      repeatable(text_option("tensor", "NAME", "", "tensor of the trace; by default the largest")),
      repeatable(text_option("threads,t", "N", "1", "threads for one encode; 1|2 measures both")),
      repeatable(text_option("simd", "NAME", "best",
                             "instruction set of the kernels: best (the CPU's best), avx3, avx2, "
                             "sse4, neon, emu128 or another one that the CPU has; `all` measures "
                             "each",
                             {"best", "all"})),
      repeatable(text_option("device", "NAME", "cpu",
                             "device of the compressors: cpu, or cuda (an NVIDIA GPU; "
                             "docs/gpu.md); cpu|cuda measures both",
                             {"cpu", "cuda"})),
      choice_option("residency", "WHERE", "memory", {"memory", "cache"},
                    "inputs and outputs rotate through twice the size of the last-level cache "
                    "(memory), or stay cached (cache)"),
      integer_option("warmup", "N", "20", {1, 1e6},
                     "untimed steps before the timed ones; quality is the mean over their second "
                     "half"),
      integer_option("repetitions", "N", "7", {1, 1000},
                     "repetitions of each timing; the table shows medians"),
      real_option("min-time", "SECONDS", "0.05", {1e-6, 1000},
                  "minimum duration of a repetition, in seconds; a quarter of it for the roofline"),
      integer_option("seed", "N", "1", {0, 9e15},
                     "random seed of the values and of compressors that sample"),
      file_option("json", "FILE", "",
                  "write Google Benchmark's JSON for its compare.py; - prints it instead of the "
                  "table"),
      {.name = "turns",
       .help = "interleave the timings with those of another process, by a socket on standard "
               "input; `thinpipe gate` starts both processes"},
      records_option()};
}

}  // namespace

Verb bench_verb() {
  return {
      .name = "bench",
      .summary = "Time compressors and compare them with the memory roofline",
      .description =
          "Times encode and decode of every compressor separately, on one tensor. The repetitions "
          "of all compressors are interleaved in random order. The run also times reads of the "
          "tensor in 1, 2, 4 and 8 streams; the shortest of these times is the roofline t_R. The "
          "fourth column is the encode time as a multiple of t_R. "
          "Before a time is reported, a second "
          "compressor instance decodes the payload, and the result is compared with that of the "
          "reference kernels. A wrong result is an error (exit code 4) and has no row.\n\n"
          "Encode includes the update of the error-feedback memory. `memory=none` in the spec "
          "measures the selection alone.",
      .options = bench_options(),
      .examples = {{"Exact top-k without error feedback",
                    "thinpipe bench -c 'topk:memory=none,ratio=0.1|0.01|0.001'"},
                   {"Sparse methods at three ratios with every instruction set",
                    "thinpipe bench -c topk -c dgc -c sidco --ratio '0.1|0.01|0.001' --simd all"},
                   {"All compressors with one and with two threads",
                    "thinpipe bench --threads '1|2' --json bench.json"},
                   {"GPU implementations, each compared with the CPU implementation",
                    "thinpipe bench --device cuda --size '260k|2.6m|26m'"},
                   {"Small tensors that stay in the cache",
                    "thinpipe bench --size '27k|270k' --residency cache"}},
      .groups = {{"Main options",
                  {"compressor", "plugin", "size", "ratio", "distribution", "trace", "tensor"}},
                 {"Machine", {"threads", "simd", "device", "residency"}},
                 {"Measurement", {"warmup", "repetitions", "min-time", "turns", "seed"}},
                 {"Output", {"json", "out"}}},
      .prepare = prepare_bench};
}

}  // namespace thinpipe
