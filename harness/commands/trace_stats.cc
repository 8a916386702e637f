// `thinpipe trace stats`: distributions and similarity of the gradients of a trace.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/output_file.h"
#include "base/plain_table.h"
#include "base/text.h"
#include "harness/commands/shared_options.h"
#include "harness/commands/trace.h"
#include "harness/commands/verbs.h"
#include "harness/files/open_trace.h"
#include "harness/machine/fingerprint.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "reports/gradients/records.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;
using Type = OptionInfo::Type;
using G = GradientStats;

Json numbers_json(const std::vector<double>& values) {
  Json array = Json::array();
  for (const double value : values) array.push_back(number_or_null(value));
  return array;
}

Json curves_json(const StatsCurves& curves) {
  Json fitted = Json::object();
  for (std::size_t i = 0; i < kFittedNames.size(); ++i)
    fitted[kFittedNames[i]] = numbers_json(curves.fitted[i]);
  return {{"places", curves.places},
          {"magnitudes", numbers_json(curves.magnitudes)},
          {"errors", numbers_json(curves.errors)},
          {"x", numbers_json(curves.x)},
          {"empirical", numbers_json(curves.empirical)},
          {"fitted", fitted}};
}

// The objects of docs/records.md, "Trace statistics", without their member `record`.
Json stats_json(const GradientStats& stats, const StatsOptions& options) {
  const GradientDistribution& d = stats.distribution;
  Json quantiles = Json::array();
  for (std::size_t i = 0; i < kMagnitudeLevels.size(); ++i)
    quantiles.push_back({kMagnitudeLevels[i], number_or_null(d.quantiles[i])});
  Json errors = Json::array();
  for (std::size_t i = 0; i < options.ratios.size(); ++i)
    errors.push_back({options.ratios[i], number_or_null(stats.decay.best_k_error[i])});
  Json fits = Json::object();
  for (std::size_t i = 0; i < kFittedNames.size(); ++i) {
    const FittedDistribution& fit = stats.fits[i];
    fits[kFittedNames[i]] = {{"location", number_or_null(fit.location)},
                             {"shape", number_or_null(fit.shape)},
                             {"scale", number_or_null(fit.scale)},
                             {"distance", number_or_null(fit.distance)}};
  }
  Json json{{"tensor", stats.tensor},
            {"training_step", stats.training_step},
            {"rank", stats.rank},
            {"feedback", stats.feedback},
            {"elements", d.elements},
            {"zeros", d.zeros},
            {"non_finite", d.non_finite},
            {"mean", number_or_null(d.mean)},
            {"deviation", number_or_null(d.deviation)},
            {"skewness", number_or_null(d.skewness)},
            {"excess_kurtosis", number_or_null(d.excess_kurtosis)},
            {"l2", number_or_null(d.l2)},
            {"mean_magnitude", number_or_null(d.mean_magnitude)},
            {"magnitude_quantiles", quantiles},
            {"decay",
             {{"p", number_or_null(stats.decay.p)},
              {"constant", number_or_null(stats.decay.constant)},
              {"r_squared", number_or_null(stats.decay.fit)},
              {"last_place", stats.decay.last},
              {"p_of_error", number_or_null(stats.decay.error_p)}}},
            {"best_k_error", errors},
            {"fits", fits}};
  if (!stats.curves.places.empty()) json["curves"] = curves_json(stats.curves);
  return json;
}

Json stats_json(const SimilarityStats& stats) {
  return {{"tensor", stats.tensor},
          {"between", stats.workers ? "workers" : "steps"},
          {"training_step", stats.training_step},
          {"earlier_step", stats.earlier_step},
          {"rank", stats.rank},
          {"other_rank", stats.other_rank},
          {"cosine", number_or_null(stats.cosine)},
          {"top_k_overlap", number_or_null(stats.overlap)}};
}

/// A column of a table: its name, and its value for a record.
template <class Record>
struct StatsColumn {
  std::string name;
  std::function<std::optional<double>(const Record&)> value;
};

/// Returns the mean of the finite values; nothing if there are none.
template <class Record>
std::optional<double> mean_of_rows(const std::vector<const Record*>& records,
                                   const StatsColumn<Record>& column) {
  double sum = 0;
  std::size_t count = 0;
  for (const Record* record : records) {
    const auto value = column.value(*record);
    if (!value || !std::isfinite(*value)) continue;
    sum += *value;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

/// Returns a table with a line for each tensor, in the order of their first records.
template <class Record>
std::string stats_table(const std::string& title, const std::vector<Record>& records,
                        const std::vector<StatsColumn<Record>>& columns,
                        const std::function<bool(const Record&)>& belongs) {
  std::vector<std::pair<std::string, std::vector<const Record*>>> rows;
  for (const Record& record : records) {
    if (!belongs(record)) continue;
    auto row = rows.begin();
    while (row != rows.end() && row->first != record.tensor) ++row;
    if (row == rows.end()) row = rows.insert(row, {record.tensor, {}});
    row->second.push_back(&record);
  }
  if (rows.empty()) return "";
  std::vector<std::string> heads = {"tensor"};
  for (const auto& column : columns) heads.push_back(column.name);
  PlainTable table(heads);
  for (const auto& [name, of_tensor] : rows) {
    std::vector<std::string> cells = {name == kWholeModel ? "whole model" : name};
    for (const auto& column : columns) cells.push_back(digits(mean_of_rows(of_tensor, column)));
    table.add(std::move(cells));
  }
  return title + "\n" + table.text() + "\n";
}

std::vector<StatsColumn<G>> distribution_columns() {
  const auto quantile = [](std::size_t i) {
    return [i](const G& g) { return std::optional(g.distribution.quantiles[i]); };
  };
  const auto in_percent = [](std::size_t part, std::size_t whole) {
    return std::optional(100 * ratio_of(static_cast<double>(part), static_cast<double>(whole)));
  };
  return {{"elements", [](const G& g) { return static_cast<double>(g.distribution.elements); }},
          {"zero\n%",
           [=](const G& g) { return in_percent(g.distribution.zeros, g.distribution.elements); }},
          {"mean\n|g|", [](const G& g) { return g.distribution.mean_magnitude; }},
          {"deviation", [](const G& g) { return g.distribution.deviation; }},
          {"kurtosis", [](const G& g) { return g.distribution.excess_kurtosis; }},
          {"median\n|g|", quantile(2)},
          {"99 %", quantile(4)}};
}

// Returns a sentence on the non-finite values, which the tables omit; "" if all values are finite.
std::string non_finite_sentence(const std::vector<G>& gradients) {
  std::size_t bad = 0, all = 0;
  const G* first = nullptr;
  for (const G& g : gradients) {
    if (g.feedback || g.tensor == kWholeModel) continue;
    bad += g.distribution.non_finite;
    all += g.distribution.elements + g.distribution.non_finite;
    if (first == nullptr && g.distribution.non_finite > 0) first = &g;
  }
  if (bad == 0) return "";
  return wrap(fmt::format("{} of {} values are NaN or infinite, first in {} at training step {} of "
                          "rank {}. The distributions omit them; similarities and error "
                          "feedback replace them by 0.",
                          bad, all, first->tensor, first->training_step, first->rank),
              0) +
         "\n\n";
}

std::vector<StatsColumn<G>> fit_columns(const StatsOptions& options) {
  std::vector<StatsColumn<G>> columns = {{"p", [](const G& g) { return g.decay.p; }},
                                         {"R\xc2\xb2", [](const G& g) { return g.decay.fit; }}};
  constexpr std::size_t kMaxRatios = 3;
  for (std::size_t i = 0; i < std::min(options.ratios.size(), kMaxRatios); ++i)
    columns.push_back({"e " + digits(100 * options.ratios[i]) + "%",
                       [i](const G& g) { return g.decay.best_k_error[i]; }});
  const char* names[] = {"expon.", "gamma", "gpareto", "normal"};
  for (std::size_t i = 0; i < kFittedNames.size(); ++i)
    columns.push_back({names[i], [i](const G& g) { return g.fits[i].distance; }});
  return columns;
}

std::vector<double> parse_ratios(const std::string& text) {
  std::vector<double> ratios;
  for (const std::string& part : split(text, ',')) {
    const auto ratio = parse_number<double>(part, 0, 1);
    if (!ratio || *ratio == 0)
      throw InputError(
          "--ratios: expected fractions above 0 and up to 1, such as 0.1,0.01, found " +
          in_quotes(part));
    ratios.push_back(*ratio);
  }
  return ratios;
}

Json stats_header(const Trace& trace, const StatsOptions& options, const Arguments& arguments) {
  Json steps = Json::array();
  for (const std::size_t step : options.parts.steps) steps.push_back(trace.training_step(step));
  Json header = header_json(
      launch_header({.kind = kStatsKind, .command = arguments.command_line(), .seed = 0}, &trace));
  header["trace"]["origin"] = trace.metadata()["origin"];
  header["statistics"] = {
      {"ranks", options.parts.ranks},
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

/// Returns the file that --out names. A name with an extension is the file itself, unless it is an
/// existing folder. Any other name is a folder, which is created for the file.
std::filesystem::path records_file(const std::string& out) {
  std::filesystem::path file = out;
  std::error_code failure;
  if (file.has_extension() && !std::filesystem::is_directory(file, failure)) return file;
  std::filesystem::create_directories(file, failure);
  if (failure) throw SystemError("create folder " + file.string(), failure.value());
  return file / kStatsFileName;
}

int print_stats(const Trace& trace, const StatsOptions& options, const Arguments& arguments) {
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
                     gradients.back().curves = {};  // written to the file, and too large for memory
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
  for (const GradientStats& stats : gradients)
    json["gradients"].push_back(stats_json(stats, options));
  json["similarities"] = Json::array();
  for (const SimilarityStats& stats : similarities)
    json["similarities"].push_back(stats_json(stats));
  write_json(json);
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
  return [&arguments, trace, options] { return print_stats(*trace, options, arguments); };
}

}  // namespace

std::string stats_tables(const std::vector<GradientStats>& gradients,
                         const std::vector<SimilarityStats>& similarities,
                         const StatsOptions& options) {
  const auto plain = [](const G& g) { return !g.feedback; };
  std::string text =
      non_finite_sentence(gradients) +
      stats_table<G>("Distribution of the gradients", gradients, distribution_columns(), plain);
  text += stats_table<G>(
      "Decay exponent p, best-k error e over the norm, and Kolmogorov-Smirnov distances", gradients,
      fit_columns(options), plain);
  text += stats_table<G>(fmt::format("The same with error feedback, top-k at {} %",
                                     digits(100 * options.feedback_ratio)),
                         gradients, fit_columns(options), [](const G& g) { return g.feedback; });
  using S = SimilarityStats;
  const auto of = [](bool workers, double S::*member) {
    return
        [=](const S& s) { return s.workers == workers ? std::optional(s.*member) : std::nullopt; };
  };
  text += stats_table<S>(fmt::format("Similarity: cosine, and common fraction of the top {} %",
                                     digits(100 * options.overlap_ratio)),
                         similarities,
                         {{"workers:\ncosine", of(true, &S::cosine)},
                          {"\ntop-k", of(true, &S::overlap)},
                          {"steps:\ncosine", of(false, &S::cosine)},
                          {"\ntop-k", of(false, &S::overlap)}},
                         [](const S&) { return true; });
  if (!text.empty()) text.pop_back();  // the last table's blank line
  return text;
}

Verb trace_stats_verb() {
  return {.name = "trace stats",
          .summary = "Show the distribution of a trace's gradients",
          .description =
              "Prints statistics for every tensor and for the whole model. Distribution: moments, "
              "quantiles and zeros. Decay: the exponent p of the sorted magnitudes (SIDCo, "
              "definition 1: compressible if p > 1/2), and the error of the best k-term "
              "approximation over the norm. Fits: exponential, gamma, generalised Pareto and "
              "normal distribution, by the estimators of SIDCo's thresholds, with "
              "Kolmogorov-Smirnov distances over magnitudes. All of these are repeated with top-k "
              "error feedback. Similarity: of neighbouring ranks and of successive steps.\n\n"
              "The tables show means over steps and ranks. --json has every gradient. --out writes "
              "them as records, with the points of SIDCo's figures 2, 7 and 8 (docs/records.md), "
              "which `thinpipe report` draws.",
          .options = {steps_option("training steps, such as 0,10-20; by default all"),
                      ranks_option("ranks to analyse, such as 0,2-3", "0"),
                      tensors_option("tensors whose name matches; by default all"),
                      text_option("ratios", "LIST", "0.1,0.01,0.001",
                                  "ratios k/d of the best-k errors"),
                      real_option("feedback-ratio", "R", "0.001", {1e-9, 1},
                                  "ratio k/d of the top-k with error feedback"),
                      {.name = "no-feedback", .help = "omit the statistics with error feedback"},
                      real_option("overlap-ratio", "R", "0.01", {1e-9, 1},
                                  "ratio k/d of the top-k sets compared between ranks or steps"),
                      file_option("out,o", "PATH", "",
                                  "write records as JSON lines: to a file if the name has an "
                                  "extension, else to trace-stats.jsonl in a folder"),
                      {.name = "json", .help = "print JSON for programs"}},
          .positionals = {{.name = "DIR", .type = Type::kFolder, .help = "folder of the trace"}},
          .examples = {{"Best-fitting distribution of each tensor", "thinpipe trace stats trace"},
                       {"Records for a page of figures (thinpipe report stats)",
                        "thinpipe trace stats trace --out stats"}},
          .prepare = prepare_trace_stats};
}

}  // namespace thinpipe
