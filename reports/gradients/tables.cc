// Tables of statistics of gradients, a row a tensor.
#include "reports/gradients/tables.h"

#include <cmath>
#include <utility>

#include "reports/text/units.h"

namespace thinpipe {
namespace {

TableCell figure_cell(double value, std::string (*format)(double) = format_number) {
  if (!std::isfinite(value)) return {kAbsent};
  return {format(value), "", value};
}

std::string whole(double value) { return std::to_string(std::llround(value)); }

}  // namespace

Table stats_moments_table(const StatsSummary& summary) {
  Table table{{"tensor", "elements", "zeros", "mean |g|", "deviation", "excess kurtosis"}, 1, {}};
  for (const StatsUnit& unit : summary.units) {
    const StatsMeans& all = unit.plain.all;
    table.rows.push_back({{unit.title},
                          figure_cell(unit.elements, whole),
                          figure_cell(all.zero_share, format_percent),
                          figure_cell(all.mean_magnitude),
                          figure_cell(all.deviation),
                          figure_cell(all.kurtosis)});
  }
  return table;
}

Table stats_fits_table(const StatsSummary& summary, bool feedback) {
  Table table{{"tensor", "p", "R\xc2\xb2"}, 1, {}};
  for (const double ratio : summary.records->ratios)
    table.columns.push_back("error at " + format_percent(ratio));
  for (const char* name : kFitNames) table.columns.emplace_back(name);
  for (const StatsUnit& unit : summary.units) {
    const StatsSeries& series = feedback ? unit.feedback : unit.plain;
    if (series.empty()) continue;
    std::vector<TableCell> row = {
        {unit.title}, figure_cell(series.all.p), figure_cell(series.all.r_squared)};
    for (const double error : series.all.best_k_errors) row.push_back(figure_cell(error));
    for (const double distance : series.all.distances) row.push_back(figure_cell(distance));
    const std::size_t best = series.all.best_fit();
    if (best < kFitNames.size()) row[row.size() - kFitNames.size() + best].is_best = true;
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table stats_alike_table(const StatsSummary& summary) {
  const std::string top = "top " + format_percent(summary.records->overlap_ratio) + " shared";
  Table table{{"tensor", "workers: cosine", top, "steps: cosine", top}, 1, {}};
  for (const StatsUnit& unit : summary.units) {
    if (unit.workers.steps.empty() && unit.steps.steps.empty()) continue;
    const auto of = [](const StatsAlike& alike, double value) {
      return alike.steps.empty() ? TableCell{kAbsent} : figure_cell(value);
    };
    table.rows.push_back({{unit.title},
                          of(unit.workers, unit.workers.all.cosine),
                          of(unit.workers, unit.workers.all.overlap),
                          of(unit.steps, unit.steps.all.cosine),
                          of(unit.steps, unit.steps.all.overlap)});
  }
  return table;
}

}  // namespace thinpipe
