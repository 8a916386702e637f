// `thinpipe quality`: quality of compressors on the gradients of a trace, without a network.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "compressors/simd.h"
#include "harness/commands/shared_options.h"
#include "harness/commands/verbs.h"
#include "harness/files/open_trace.h"
#include "harness/machine/fingerprint.h"
#include "harness/options/terminal.h"
#include "harness/quality/offline.h"
#include "harness/quality/output.h"
#include "reports/quality/quality.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;

QualityRows rows_of(const Arguments& arguments) {
  const std::string& by = arguments.text("by");
  return by == "tensor"        ? QualityRows::kTensors
         : by == "step"        ? QualityRows::kSteps
         : by == "tensor-step" ? QualityRows::kTensorSteps
                               : QualityRows::kTotal;
}

/// Returns DIR for one compressor; with several, a folder in DIR named by the spec.
std::filesystem::path dump_folder(const Arguments& arguments, const Spec& spec, bool single) {
  std::filesystem::path folder = arguments.text("dump-decoded");
  if (folder.empty() || single) return folder;
  std::string name = spec.to_string();
  std::replace(name.begin(), name.end(), '/', '+');
  return folder / name;
}

// Returns findings over all tensors, after an empty line; "" if there are none.
std::string quality_sentences(const Header& header, const std::vector<Point>& totals) {
  Records records;
  records.headers = {header};
  records.points = totals;
  const std::vector<std::string> found = quality_findings(summarize_quality(records));
  return found.empty() ? "" : "\n" + wrap(joined(found, " "), 0) + "\n";
}

int quality(const Trace& trace, const std::vector<Spec>& specs, OfflineOptions options,
            const Arguments& arguments) {
  const QualityRows rows = rows_of(arguments);
  constexpr double kElementBytes = 24;  // input, decoded values, and the sums of both
  const double rank_bytes = kElementBytes * static_cast<double>(trace.elements()) +
                            static_cast<double>(trace.generated_bytes_per_rank());
  require_memory(trace, "one rank", rank_bytes);
  // All specs are checked before the first is measured.
  std::size_t at_once = 1;
  for (const Spec& spec : specs) try {
      at_once = std::max(at_once, ranks_at_once(trace, spec, options));
    } catch (const RunError&) {
      // A plug-in's. replay_offline() reports it in this compressor's turn.
    }
  if (at_once > 1)
    require_memory(trace, fmt::format("{} ranks", at_once),
                   static_cast<double>(at_once) * rank_bytes);
  if (arguments.given("dump-decoded")) make_dump_folder(arguments.text("dump-decoded"));
  const std::unique_ptr<RecordWriter> writer = open_records(arguments, kQualityKind);
  const Header header = launch_header({.kind = kQualityKind,
                                       .command = arguments.command_line(),
                                       .seed = options.seed,
                                       .threads = options.threads},
                                      &trace);

  Json json{{"trace", trace.folder().string()}, {"identity", trace.identity()},
            {"model", trace.model()},           {"ranks", options.ranks},
            {"steps", options.steps},           {"seed", options.seed},
            {"threads", options.threads},       {"simd", simd_target()},
            {"compressors", Json::array()}};
  QualityTable table;
  std::vector<Point> totals;
  std::vector<std::string> failures;
  auto record = [&, begun = false](const std::vector<Point>& points) mutable {
    if (!writer) return;
    if (!begun) writer->append(header);
    begun = true;
    for (const Point& point : points) writer->append(point);
  };
  {
    const auto work = static_cast<double>(trace.elements()) * static_cast<double>(options.ranks) *
                      static_cast<double>(options.steps);
    Progress progress(work * static_cast<double>(specs.size()));
    for (const Spec& spec : specs) {
      options.dump = dump_folder(arguments, spec, specs.size() == 1);
      progress.describe(spec.to_string());
      try {
        const CompressorQuality quality = replay_offline(
            trace, spec, options,
            [&](std::size_t elements) { progress.advance(static_cast<double>(elements)); });
        json["compressors"].push_back(quality_json(quality, rows));
        const std::vector<Point> points = quality_points(quality);
        record(points);
        totals.push_back(points.front());
        table.add(quality, rows);
      } catch (const SystemError&) {
        throw;  // of the machine, such as a full disk
      } catch (const RunError& error) {
        record({failed_quality_point(spec, trace.elements(), error.what())});
        failures.push_back(fmt::format("\n  {}: {}", spec.to_string(), error.what()));
      }
    }
  }
  if (arguments.flag("json"))
    write_json(json);
  else if (!totals.empty())
    write_text(table.text() + quality_sentences(header, totals));
  if (failures.empty()) return kExitGood;
  throw RunError(counted(failures.size(), "compressor") + " failed" + joined(failures, ""));
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
  return {
      .name = "quality",
      .summary = "Measure compressor quality on a trace, without a network",
      .description =
          "Replays every step of a trace through each compressor, rank by rank, and decodes "
          "every payload. The columns are over all tensors, steps and ranks:\n\n"
          "bytes: payload bytes. bits: bits per element. error: L2 distance between decoded "
          "values and input over the L2 norm of the input, in percent; the input is gradient "
          "plus error-feedback memory. cosine: cosine similarity of decoded values and "
          "input. drift: distance between the sum of all gradients and the sum of all decoded "
          "values, over the norm of the former. top-k: fraction of the sent elements that are "
          "among the true top-k, in percent. passes: passes of an encode over the data.\n\n"
          "A second table has k-hat/k, the elements sent over the elements requested: the mean "
          "over steps with its 90 % confidence interval, and percentiles and maximum over "
          "tensors, steps and ranks.\n\n"
          "--by adds rows for each tensor, step or both. JSON has every tensor, the encode "
          "time, and the rows of --by. --dump-decoded writes the decoded values and the "
          "residual to one safetensors file per rank and step.",
      .options = {required(folder_option("trace", "DIR", "",
                                         "trace of gradients, or synthetic:... "
                                         "(docs/synthetic.md)")),
                  required(compressor_option(true)),
                  choice_option("by", "WHAT", "total", {"total", "tensor", "step", "tensor-step"},
                                "additional rows below each compressor"),
                  integer_option("steps", "N", "", {1, 1e6},
                                 "steps to replay, wrapping around after the last recorded "
                                 "step; by default the recorded steps"),
                  integer_option("ranks,n", "N", "", {1, 1e6},
                                 "number of ranks to replay, from the first on; by default "
                                 "all"),
                  integer_option("steps-per-epoch", "N", "0", {0, 1e9},
                                 "steps per epoch, for compressors with a warm-up; 0 puts all "
                                 "steps in epoch 0"),
                  integer_option("seed", "N", "1", {0, 9e15},
                                 "random seed of compressors that sample or round"),
                  threads_option("one encode or decode"),
                  simd_option(),
                  folder_option("dump-decoded", "DIR", "",
                                "new folder for decoded/NAME and residual/NAME of every rank "
                                "and step; with several compressors, a subfolder for each"),
                  non_finite_option(),
                  plugin_option(),
                  {.name = "json", .help = "print JSON for programs"},
                  records_option()},
      .examples = {{"Compare three compressors",
                    "thinpipe quality --trace trace -c 'topk:ratio=0.01' -c sidco -c 3lc"},
                   {"Estimation quality per tensor",
                    "thinpipe quality --trace trace -c sidco --by tensor"},
                   {"Save the decoded gradients",
                    "thinpipe quality --trace trace -c sbc --dump-decoded decoded"}},
      .prepare = prepare_quality};
}

}  // namespace thinpipe
