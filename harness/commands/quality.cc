// `thinpipe quality`: what compressors keep of a trace's gradients, without a network.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compressors/simd.h"
#include "harness/commands/compressor_options.h"
#include "harness/commands/verbs.h"
#include "harness/files/open_trace.h"
#include "harness/machine/fingerprint.h"
#include "harness/options/terminal.h"
#include "harness/quality/offline.h"
#include "harness/quality/output.h"
#include "reports/kept/kept.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;
using Type = OptionInfo::Type;

QualityRows rows_of(const Arguments& arguments) {
  const std::string& by = arguments.text("by");
  return by == "tensor"        ? QualityRows::kTensors
         : by == "step"        ? QualityRows::kSteps
         : by == "tensor-step" ? QualityRows::kTensorSteps
                               : QualityRows::kTotal;
}

/// DIR itself for one compressor; for several a folder each, named by the spec.
std::filesystem::path dump_folder(const Arguments& arguments, const Spec& spec, bool single) {
  std::filesystem::path folder = arguments.text("dump-decoded");
  if (folder.empty() || single) return folder;
  std::string name = spec.to_string();
  std::replace(name.begin(), name.end(), '/', '+');
  return folder / name;
}

// Findings on all tensors together, after an empty line; "" where there are none.
std::string quality_sentences(const Header& header, const std::vector<Point>& totals) {
  Records records;
  records.headers = {header};
  records.points = totals;
  const std::vector<std::string> found = kept_findings(summarize_kept(records));
  return found.empty() ? "" : "\n" + wrap(joined(found, " "), 0) + "\n";
}

int quality(const Trace& trace, const std::vector<Spec>& specs, OfflineOptions options,
            const Arguments& arguments) {
  const QualityRows rows = rows_of(arguments);
  constexpr double kElementBytes = 24;  // of what came, what was decoded, and their sums
  require_memory(trace, "one rank",
                 kElementBytes * static_cast<double>(trace.elements()) +
                     static_cast<double>(trace.generated_bytes_per_rank()));
  if (arguments.given("dump-decoded")) make_dump_folder(arguments.text("dump-decoded"));
  const std::unique_ptr<RecordWriter> writer = open_records(arguments);
  const Header header = launch_header({.kind = kQualityKind,
                                       .command = arguments.command_line(),
                                       .seed = options.seed,
                                       .threads = options.threads},
                                      &trace);
  if (writer) writer->append(header);

  Json json{{"trace", trace.folder().string()}, {"identity", trace.identity()},
            {"model", trace.model()},           {"ranks", options.ranks},
            {"steps", options.steps},           {"seed", options.seed},
            {"threads", options.threads},       {"simd", simd_target()},
            {"compressors", Json::array()}};
  QualityTable table;
  std::vector<Point> totals;
  {
    const auto work = static_cast<double>(trace.elements()) * static_cast<double>(options.ranks) *
                      static_cast<double>(options.steps);
    Progress progress(work * static_cast<double>(specs.size()));
    for (const Spec& spec : specs) {
      options.dump = dump_folder(arguments, spec, specs.size() == 1);
      progress.describe(spec.to_string());
      const CompressorQuality quality = replay_offline(
          trace, spec, options,
          [&](std::size_t elements) { progress.advance(static_cast<double>(elements)); });
      json["compressors"].push_back(quality_json(quality, rows));
      const std::vector<Point> points = quality_points(quality);
      if (writer)
        for (const Point& point : points) writer->append(point);
      totals.push_back(points.front());
      table.add(quality, rows);
    }
  }
  arguments.flag("json") ? write_stdout(json.dump(2) + "\n")
                         : write_text(table.text() + quality_sentences(header, totals));
  return kExitGood;
}

Action prepare_quality(const Arguments& arguments) {
  load_plugins(arguments);
  const std::vector<Spec> specs = all_compressors(arguments);
  const auto trace = std::make_shared<const Trace>(open_trace(arguments.text("trace")));
  OfflineOptions options;
  options.ranks = arguments.given("ranks") ? static_cast<std::size_t>(arguments.integer("ranks"))
                                           : trace->ranks();
  options.steps = arguments.given("steps") ? static_cast<std::size_t>(arguments.integer("steps"))
                                           : trace->steps();
  options.steps_per_epoch = static_cast<std::size_t>(arguments.integer("steps-per-epoch"));
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed"));
  options.threads = threads_of(arguments);
  options.bad_values = bad_values_of(arguments);
  use_simd(arguments);
  return [=, &arguments] { return quality(*trace, specs, options, arguments); };
}

}  // namespace

Verb quality_verb() {
  return {.name = "quality",
          .summary = "What compressors keep of a trace, without a network",
          .description =
              "Replays every step of a trace through each compressor, rank by rank, and decodes "
              "every payload. The table has, over all tensors, steps and ranks: bytes of the "
              "payloads; bits an element; a step's elements sent over those asked for, as a mean "
              "over steps with its 90 % interval; the same of each tensor, step and rank, as "
              "percentiles and largest; the error, which is the distance between decoded and input "
              "over the input's norm in percent (L2; the input being gradient and memory); their "
              "cosine; the drift, which is the distance between the sums of all gradients and of "
              "all that was decoded over the former's norm; the share in percent of what was sent "
              "that is among the true top-k; and passes over the data.\n\n"
              "--by gives each tensor, step or step of a tensor rows of its own. JSON has every "
              "tensor, the time of an encode, and what --by asks for. --dump-decoded writes what "
              "receivers decode, and what stays behind, to one safetensors file a rank and step.",
          .options = {{.name = "trace",
                       .value_name = "DIR",
                       .type = Type::kFolder,
                       .help = "the captured gradients, or synthetic:... (docs/synthetic.md)",
                       .required = true},
                      compressor_option(true),
                      {.name = "by",
                       .value_name = "WHAT",
                       .type = Type::kChoice,
                       .default_value = "total",
                       .help = "what has rows beside the compressor's own",
                       .choices = {"total", "tensor", "step", "tensor-step"}},
                      {.name = "steps",
                       .value_name = "N",
                       .type = Type::kInteger,
                       .help = "steps to replay, after the last recorded comes the first again; "
                               "else as many as were recorded",
                       .minimum = 1,
                       .maximum = 1e6},
                      {.name = "ranks",
                       .letter = 'n',
                       .value_name = "N",
                       .type = Type::kInteger,
                       .help = "the first so many ranks of the trace; else all",
                       .minimum = 1,
                       .maximum = 1e6},
                      {.name = "steps-per-epoch",
                       .value_name = "N",
                       .type = Type::kInteger,
                       .default_value = "0",
                       .help = "for compressors with a warm-up; 0 leaves all steps in epoch 0",
                       .minimum = 0,
                       .maximum = 1e9},
                      {.name = "seed",
                       .value_name = "N",
                       .type = Type::kInteger,
                       .default_value = "1",
                       .help = "of compressors that sample or round at random",
                       .minimum = 0,
                       .maximum = 9e15},
                      threads_option("one encode or decode"),
                      simd_option(),
                      {.name = "dump-decoded",
                       .value_name = "DIR",
                       .type = Type::kFolder,
                       .help = "new folder for decoded/NAME and residual/NAME of every rank and "
                               "step; with several compressors, a folder in it for each"},
                      non_finite_option(),
                      plugin_option(),
                      {.name = "json", .help = "print JSON for programs"},
                      records_option()},
          .examples = {{"Three compressors side by side",
                        "thinpipe quality --trace trace -c 'topk:ratio=0.01' -c sidco -c 3lc"},
                       {"Where the estimate is off",
                        "thinpipe quality --trace trace -c sidco --by tensor"},
                       {"Keep what was decoded",
                        "thinpipe quality --trace trace -c sbc --dump-decoded decoded"}},
          .prepare = prepare_quality};
}

}  // namespace thinpipe
