#include "harness/commands/trace_stats_output.h"

#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/plain_table.h"
#include "harness/commands/file_tables.h"
#include "harness/options/layout.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;

Json numbers_json(const std::vector<double>& values) {
  Json array = Json::array();
  for (const double value : values) array.push_back(number_or_null(value));
  return array;
}

Json curves_json(const StatsCurves& curves) {
  Json fitted = Json::object();
  for (std::size_t i = 0; i < kFittedNames.size(); ++i) {
    fitted[kFittedNames[i]] = numbers_json(curves.fitted[i]);
  }
  return {{"places", curves.places},
          {"magnitudes", numbers_json(curves.magnitudes)},
          {"errors", numbers_json(curves.errors)},
          {"x", numbers_json(curves.x)},
          {"empirical", numbers_json(curves.empirical)},
          {"fitted", fitted}};
}

/// A column of a table: its name, and what it shows of a row's records.
template <class Record>
struct StatsColumn {
  std::string name;
  std::function<std::optional<double>(const Record&)> value;
};

/// The mean of the finite values; none where there are none.
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

/// A line a tensor, in the order in which they come first.
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

using G = GradientStats;

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

// Values that the tables leave out; "" where all values are finite.
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
                          "rank {}. The distributions leave them out; similarities and error "
                          "feedback take 0 for them.",
                          bad, all, first->tensor, first->training_step, first->rank),
              0) +
         "\n\n";
}

std::vector<StatsColumn<G>> fit_columns(const StatsOptions& options) {
  std::vector<StatsColumn<G>> columns = {{"p", [](const G& g) { return g.decay.p; }},
                                         {"R\xc2\xb2", [](const G& g) { return g.decay.fit; }}};
  constexpr std::size_t kMostRatios = 3;
  for (std::size_t i = 0; i < std::min(options.ratios.size(), kMostRatios); ++i) {
    columns.push_back({"e " + digits(100 * options.ratios[i]) + "%",
                       [i](const G& g) { return g.decay.best_k_error[i]; }});
  }
  const char* names[] = {"expon.", "gamma", "gpareto", "normal"};
  for (std::size_t i = 0; i < kFittedNames.size(); ++i) {
    columns.push_back({names[i], [i](const G& g) { return g.fits[i].distance; }});
  }
  return columns;
}

}  // namespace

Json stats_json(const GradientStats& stats, const StatsOptions& options) {
  const GradientDistribution& d = stats.distribution;
  Json quantiles = Json::array();
  for (std::size_t i = 0; i < kMagnitudeLevels.size(); ++i) {
    quantiles.push_back({kMagnitudeLevels[i], number_or_null(d.quantiles[i])});
  }
  Json errors = Json::array();
  for (std::size_t i = 0; i < options.ratios.size(); ++i) {
    errors.push_back({options.ratios[i], number_or_null(stats.decay.best_k_error[i])});
  }
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
  text += stats_table<G>(fmt::format("The same with error feedback of top-k at {} %",
                                     digits(100 * options.feedback_ratio)),
                         gradients, fit_columns(options), [](const G& g) { return g.feedback; });
  using S = SimilarityStats;
  const auto of = [](bool workers, double S::*member) {
    return
        [=](const S& s) { return s.workers == workers ? std::optional(s.*member) : std::nullopt; };
  };
  text += stats_table<S>(fmt::format("Similarity: cosine, and share of the top {} % in common",
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

}  // namespace thinpipe
