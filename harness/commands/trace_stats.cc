// `thinpipe trace stats`: how a trace's gradients are distributed, and how alike they are.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/numbers.h"
#include "base/output_file.h"
#include "base/text.h"
#include "harness/commands/output.h"
#include "harness/commands/trace_parts.h"
#include "harness/commands/trace_stats_output.h"
#include "harness/commands/verbs.h"
#include "harness/files/open_trace.h"
#include "harness/records/launch_header.h"
#include "harness/sweep/progress.h"
#include "reports/gradients/records.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;
using Type = OptionInfo::Type;

std::vector<double> parse_ratios(const std::string& text) {
  std::vector<double> ratios;
  for (const std::string& part : split(text, ',')) {
    const auto ratio = parse_number<double>(part, 0, 1);
    if (!ratio || *ratio == 0) {
      throw InputError("--ratios: expected shares above 0 and up to 1, as 0.1,0.01, found " +
                       in_quotes(part));
    }
    ratios.push_back(*ratio);
  }
  return ratios;
}

Json stats_header(const Trace& trace, const StatsOptions& options, const Arguments& arguments) {
  Json ranks = Json::array(), steps = Json::array();
  for (const std::size_t rank : options.parts.ranks) ranks.push_back(rank);
  for (const std::size_t step : options.parts.steps) steps.push_back(trace.training_step(step));
  Json header =
      launch_header({.kind = kStatsKind, .command = arguments.command_line(), .seed = 0}, &trace);
  header["trace"]["origin"] = trace.metadata()["origin"];
  header["statistics"] = {
      {"ranks", ranks},
      {"training_steps", steps},
      {"ratios", options.ratios},
      {"feedback_ratio", options.feedback ? Json(options.feedback_ratio) : Json(nullptr)},
      {"overlap_ratio", options.overlap_ratio}};
  return header;
}

std::string stats_line(const char* record, const Json& fields) {
  Json json{{"record", record}};
  json.update(fields);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// The file that --out means: a name with an ending is a file's, any other a folder's.
std::filesystem::path records_file(const std::string& out) {
  std::filesystem::path file = out;
  std::error_code failure;
  if (file.has_extension() && !std::filesystem::is_directory(file, failure)) return file;
  std::filesystem::create_directories(file, failure);
  if (failure) throw SystemError("create folder " + file.string(), failure.value());
  return file / kStatsFileName;
}

int tell_stats(const Trace& trace, const StatsOptions& options, const Arguments& arguments) {
  std::optional<OutputFile> records;
  const Json head = stats_header(trace, options, arguments);
  if (options.curves) {
    records.emplace(records_file(arguments.text("out")));
    records->write(head.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  }

  std::vector<GradientStats> gradients;
  std::vector<SimilarityStats> similarities;
  {
    std::size_t elements = 0;
    for (const std::size_t i : options.parts.tensors) elements += trace.tensors()[i].elements;
    const auto work =
        static_cast<double>(elements * options.parts.ranks.size() * options.parts.steps.size());
    Progress progress(work * (options.parts.tensors.size() > 1 ? 2 : 1));
    progress.describe("statistics");
    compute_stats(trace, options,
                  {[&](const GradientStats& stats) {
                     if (records)
                       records->write(stats_line("gradient", stats_json(stats, options)));
                     gradients.push_back(stats);
                     gradients.back().curves = {};  // in the file, and too large to keep
                   },
                   [&](const SimilarityStats& stats) {
                     if (records) records->write(stats_line("similarity", stats_json(stats)));
                     similarities.push_back(stats);
                   },
                   [&](std::size_t more) { progress.advance(static_cast<double>(more)); }});
  }
  if (records) records->commit();
  if (!arguments.flag("json")) {
    write_text(stats_tables(gradients, similarities, options));
    return kExitGood;
  }
  Json json{{"trace", head["trace"]}, {"statistics", head["statistics"]}};
  json["gradients"] = Json::array();
  for (const GradientStats& stats : gradients) {
    json["gradients"].push_back(stats_json(stats, options));
  }
  json["similarities"] = Json::array();
  for (const SimilarityStats& stats : similarities) {
    json["similarities"].push_back(stats_json(stats));
  }
  write_stdout(json.dump(2) + "\n");
  return kExitGood;
}

Action prepare_trace_stats(const Arguments& arguments) {
  const auto trace = std::make_shared<const Trace>(open_trace(arguments.positional("DIR")));
  StatsOptions options;
  options.parts = parts_of(*trace, arguments);
  options.ratios = parse_ratios(arguments.text("ratios"));
  options.feedback = !arguments.flag("no-feedback");
  options.feedback_ratio = arguments.real("feedback-ratio");
  options.overlap_ratio = arguments.real("overlap-ratio");
  options.curves = arguments.given("out");
  return [&arguments, trace, options] { return tell_stats(*trace, options, arguments); };
}

}  // namespace

Verb trace_stats_verb() {
  return {.name = "trace stats",
          .summary = "How a trace's gradients are distributed",
          .description =
              "For every tensor, and all together: moments, quantiles and zeros; the exponent p "
              "with which sorted magnitudes decay (SIDCo, definition 1: compressible where p > "
              "1/2) and the error of keeping only the k largest, over the norm; fits of the "
              "exponential, gamma, generalised Pareto and normal distribution by the estimators "
              "that SIDCo's thresholds come from, with their Kolmogorov-Smirnov distances over "
              "magnitudes; all of it again with the error of a top-k fed back from step to step; "
              "and how alike neighbouring ranks and successive steps are.\n\n"
              "Tables have means over steps and ranks. --json has every gradient; --out writes "
              "them as records, with the points of SIDCo's figures 2, 7 and 8 (docs/records.md), "
              "which thinpipe report draws.",
          .options = {steps_option("training steps, as 0,10-20; else all"),
                      ranks_option("ranks whose distributions to look at, as 0,2-3", "0"),
                      tensors_option("tensors of such names; else all"),
                      {.name = "ratios",
                       .value_name = "LIST",
                       .type = Type::kText,
                       .default_value = "0.1,0.01,0.001",
                       .help = "shares k/d of the best-k errors"},
                      {.name = "feedback-ratio",
                       .value_name = "R",
                       .type = Type::kReal,
                       .default_value = "0.001",
                       .help = "share that the top-k sends whose error is fed back",
                       .minimum = 1e-9,
                       .maximum = 1},
                      {.name = "no-feedback", .help = "leave error feedback out"},
                      {.name = "overlap-ratio",
                       .value_name = "R",
                       .type = Type::kReal,
                       .default_value = "0.01",
                       .help = "share of the largest that ranks or steps may have in common",
                       .minimum = 1e-9,
                       .maximum = 1},
                      {.name = "out",
                       .letter = 'o',
                       .value_name = "PATH",
                       .type = Type::kFile,
                       .help = "write records, a JSON object a line: to a file with an ending, or "
                               "as trace-stats.jsonl into a folder"},
                      {.name = "json", .help = "print JSON for programs"}},
          .positionals = {{.name = "DIR", .type = Type::kFolder, .help = "the trace's folder"}},
          .examples = {{"Which distribution fits which tensor", "thinpipe trace stats trace"},
                       {"Records for a page of figures (thinpipe report stats)",
                        "thinpipe trace stats trace --out stats"}},
          .prepare = prepare_trace_stats};
}

}  // namespace thinpipe
