// `thinpipe bench`: how fast the compressors are, against what the memory allows.

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/output_file.h"
#include "harness/bench/bench.h"
#include "harness/bench/inputs.h"
#include "harness/bench/results.h"
#include "harness/bench/timed.h"
#include "harness/commands/compressor_options.h"
#include "harness/commands/verbs.h"
#include "harness/files/open_trace.h"
#include "harness/machine/fingerprint.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "reports/bench/bench.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

std::vector<std::string> devices_of(const Arguments& arguments) {
  std::vector<std::string> devices;
  for (const std::string& device : alternatives(arguments.texts("device"))) {
    check_device(device);
    if (std::find(devices.begin(), devices.end(), device) == devices.end())
      devices.push_back(device);
  }
  const bool on_cpu = std::find(devices.begin(), devices.end(), kDeviceCpu) != devices.end();
  for (const char* other : {"threads", "simd"}) {
    if (!on_cpu && arguments.given(other))
      throw InputError(
          fmt::format("--{} is of the CPU; it does not go with --device cuda alone", other));
  }
  if (arguments.flag("turns") && devices != std::vector<std::string>{kDeviceCpu})
    throw InputError("--turns is of the CPU; it does not go with --device cuda");
  return devices;
}

BenchOptions options_of(const Arguments& arguments) {
  BenchOptions options;
  options.compressors = all_compressors(arguments);
  if (arguments.given("trace")) {
    for (const char* other : {"size", "distribution"}) {
      if (arguments.given(other)) {
        throw InputError(fmt::format(
            "--{} is of gradients without a trace; it does not go with --trace", other));
      }
    }
    options.trace = arguments.text("trace");
  } else if (arguments.given("tensor")) {
    throw InputError("--tensor names a tensor of a trace; it needs --trace");
  }
  options.tensors = arguments.texts("tensor");
  for (const std::string& text : alternatives(arguments.texts("size"))) {
    options.sizes.push_back(parse_elements(text));
  }
  options.ratios = alternatives(arguments.texts("ratio"));
  options.devices = devices_of(arguments);
  options.distribution = arguments.text("distribution");
  options.threads =
      count_alternatives(arguments.texts("threads"), "threads", "threads", kMostThreads);
  options.simd = alternatives(arguments.texts("simd"));
  options.residency =
      arguments.text("residency") == "cache" ? Residency::kCache : Residency::kMemory;
  options.warmup = static_cast<int>(arguments.integer("warmup"));
  options.repetitions = static_cast<int>(arguments.integer("repetitions"));
  options.min_time = arguments.real("min-time");
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed"));
  options.turns = arguments.flag("turns");
  if (options.turns && arguments.given("json"))
    throw InputError("--json: with --turns there are no rows of Google Benchmark's");
  return options;
}

// Opened before anything is measured: a wrong name must not cost minutes.
std::optional<OutputFile> open_json(const std::string& file) {
  if (file.empty() || file == "-") return std::nullopt;
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
  // Read again for the header only: its gradients are not looked at.
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
  const std::unique_ptr<RecordWriter> writer = open_records(arguments);
  BenchResult result;
  try {
    result = run_bench(options);
  } catch (const RunError& error) {
    if (!interrupted()) throw;
    std::fprintf(stderr, "thinpipe bench: %s\n", error.what());
    return 128 + SIGINT;
  }
  Header header = header_of(arguments, options);
  if (result.device) header.device = Document(device_json(*result.device));
  const std::vector<Point> points = bench_points(options, result);
  if (writer) {
    writer->append(header);
    for (const Point& point : points) writer->append(point);
  }
  if (output) {
    output->write(result.json);
    output->commit();
  }
  file == "-" ? write_stdout(result.json)
              : write_text(tables(options, result) + bench_sentences(header, points));
  if (result.failures.empty()) return kExitGood;
  std::string message = fmt::format("{} point{} failed", result.failures.size(),
                                    result.failures.size() == 1 ? "" : "s");
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
  option.required = false;
  option.help =
      "name:key=value,...; `|` between values gives alternatives; all methods with their defaults "
      "when not given";
  return option;
}

std::vector<OptionInfo> bench_options() {
  return {benched_option(),
          plugin_option(),
          {.name = "size",
           .value_name = "N",
           .type = Type::kText,
           .default_value = "26m",
           .help = "elements of a synthetic gradient: 26m, 260k|2.6m (decimal)",
           .repeatable = true},
          {.name = "ratio",
           .value_name = "R",
           .type = Type::kText,
           .help = "share of the elements to send, of every compressor that takes one and does not "
                   "say it: 0.1|0.01",
           .repeatable = true},
          {.name = "distribution",
           .value_name = "NAME",
           .type = Type::kChoice,
           .default_value = "laplace",
           .help = "of the synthetic values",
           .choices = distribution_names()},
          {.name = "trace",
           .value_name = "DIR",
           .type = Type::kFolder,
           .help = "gradients of a trace instead: captured ones, or synthetic:model=NAME,... "
                   "(docs/synthetic.md)"},
          {.name = "tensor",
           .value_name = "NAME",
           .type = Type::kText,
           .help = "of the trace; its largest when not given",
           .repeatable = true},
          {.name = "threads",
           .letter = 't',
           .value_name = "N",
           .type = Type::kText,
           .default_value = "1",
           .help = "threads one encode may use; 1|2 measures both",
           .repeatable = true},
          {.name = "simd",
           .value_name = "NAME",
           .type = Type::kText,
           .default_value = "best",
           .help = "instruction set of the kernels: avx3, avx2, sse4, neon, emu128 ... where the "
                   "CPU has it; all for each of them",
           .suggestions = {"best", "all"},
           .repeatable = true},
          {.name = "device",
           .value_name = "NAME",
           .type = Type::kText,
           .default_value = "cpu",
           .help = "where compressors run: cpu, or cuda (an NVIDIA GPU; docs/gpu.md); cpu|cuda "
                   "measures both",
           .suggestions = {"cpu", "cuda"},
           .repeatable = true},
          {.name = "residency",
           .value_name = "PLACE",
           .type = Type::kChoice,
           .default_value = "memory",
           .help = "inputs and outputs rotate through twice the last-level cache, or stay in cache",
           .choices = {"memory", "cache"}},
          {.name = "warmup",
           .value_name = "N",
           .type = Type::kInteger,
           .default_value = "20",
           .help = "steps before the timed ones; quality is the mean over their second half",
           .minimum = 1,
           .maximum = 1e6},
          {.name = "repetitions",
           .value_name = "N",
           .type = Type::kInteger,
           .default_value = "7",
           .help = "of every time; medians are printed",
           .minimum = 1,
           .maximum = 1000},
          {.name = "min-time",
           .value_name = "SECONDS",
           .type = Type::kReal,
           .default_value = "0.05",
           .help = "of one repetition, at least; a quarter of it for the roofline",
           .minimum = 1e-6,
           .maximum = 1000},
          {.name = "seed",
           .value_name = "N",
           .type = Type::kInteger,
           .default_value = "1",
           .help = "of the values and of compressors that sample",
           .minimum = 0,
           .maximum = 9e15},
          {.name = "json",
           .value_name = "FILE",
           .type = Type::kFile,
           .help = "write Google Benchmark's JSON, which its compare.py reads; - for standard "
                   "output, instead of the table"},
          {.name = "turns",
           .help = "measure slice by slice in turn with another process, through standard input, a "
                   "socket; `thinpipe gate` starts both"},
          records_option()};
}

}  // namespace

Verb bench_verb() {
  return {
      .name = "bench",
      .summary = "Time the compressors against what the memory allows",
      .description =
          "Times encode and decode of every compressor apart, on one tensor, repetitions of all of "
          "them in random order. In the same run it times reading the tensor in 1, 2, 4 and 8 "
          "streams; t_R is the best of these, and the fourth column is the encode's multiple of "
          "it. Every result is decoded by a second compressor and held against the plainest "
          "kernels before its time is told; one that is wrong is an error (exit 4) and no row.\n\n"
          "Encode carries its memory along: with error feedback, that is part of the time. "
          "`memory=none` in the spec measures the selection alone.",
      .options = bench_options(),
      .examples = {{"Exact top-k alone, without memory",
                    "thinpipe bench -c 'topk:memory=none,ratio=0.1|0.01|0.001'"},
                   {"Sparse methods at three ratios, each kind of instructions",
                    "thinpipe bench -c topk -c dgc -c sidco --ratio '0.1|0.01|0.001' --simd all"},
                   {"Everything, on two numbers of threads",
                    "thinpipe bench --threads '1|2' --json bench.json"},
                   {"Compressors on a GPU, each held against the processor's",
                    "thinpipe bench --device cuda --size '260k|2.6m|26m'"},
                   {"Small tensors that stay in the cache",
                    "thinpipe bench --size '27k|270k' --residency cache"}},
      .prepare = prepare_bench};
}

}  // namespace thinpipe
