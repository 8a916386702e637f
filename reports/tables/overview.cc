// Compressors by link rates.
#include "reports/statistics/quantile.h"
#include "reports/tables/table.h"
#include "reports/text/lists.h"
#include "reports/text/units.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

// The interval of a break-even rate; or what a claim about all rates leaves out.
std::string measured_detail(const Group& group, const Series& series) {
  const BreakEven& even = series.break_even;
  if (even.kind == BreakEven::Kind::kOpen) return rates_told(series);
  if (even.low || even.high) {
    return (even.low ? format_rate(*even.low) : "open") + " to " +
           (even.high ? format_rate(*even.high) : "open");
  }
  std::vector<std::string> missing;
  for (const double rate : group.rates) {
    const Cell* cell = series.at(rate);
    if (cell == nullptr || !cell->speedup) missing.push_back(format_rate(rate));
  }
  if (series.is_baseline() || missing.empty()) return "";
  return "not told at " + listed(missing);
}

std::string break_even_detail(const Group& group, const Series& series) {
  const std::string measured = measured_detail(group, series);
  const std::string predicted = series.is_baseline() ? "" : predicted_break_even(series);
  if (predicted.empty()) return measured;
  return measured + (measured.empty() ? "" : "; ") + "predicted " + predicted;
}

TableCell rate_cell(const Group& group, const Series& series, double rate) {
  const Cell* cell = series.at(rate);
  if (cell == nullptr) return {kAbsent};
  TableCell result;
  result.is_doubtful = cell->status != Status::kOk;
  if (cell->status != Status::kOk) {
    result.text = status_name(cell->status);
    return result;
  }
  if (series.is_baseline() || !cell->speedup) {
    if (!cell->step_time) return {kAbsent};
    result.text = format_time(cell->step_time->value);
    result.detail = format_interval(*cell->step_time, format_time);
    result.value = cell->step_time->value;
    return result;
  }
  result.text = format_number(cell->speedup->value) + "\xc3\x97";
  result.detail = format_interval(*cell->speedup, format_number);
  result.value = cell->speedup->value;
  const Outcome outcome = outcome_at(group, rate);
  result.is_best = outcome.best == &series && outcome.kind == Outcome::Kind::kWins;
  return result;
}

TableCell mean_cell(const Group& group, const Series& series) {
  std::vector<double> speedups;
  for (const double rate : group.rates) {
    const Cell* cell = series.at(rate);
    if (cell != nullptr && cell->speedup) speedups.push_back(cell->speedup->value);
  }
  if (series.is_baseline() || speedups.size() < group.rates.size()) return {kAbsent};
  const double value = geometric_mean(speedups);
  return {format_number(value) + "\xc3\x97", "", value};
}

}  // namespace

std::string break_even_text(const Series& series) {
  switch (series.break_even.kind) {
    case BreakEven::Kind::kNothingMeasured:
      return kAbsent;
    case BreakEven::Kind::kPaysEverywhere:
      return "at every rate";
    case BreakEven::Kind::kPaysNowhere:
      return "at no rate";
    case BreakEven::Kind::kOpen:
      return "cannot be told";
    case BreakEven::Kind::kPaysBelow:
      return "up to " + format_rate(series.break_even.rate);
    case BreakEven::Kind::kPaysAbove:
      return "above " + format_rate(series.break_even.rate);
  }
  return "";
}

Table overview_table(const Group& group) {
  Table table;
  table.columns = {"compressor"};
  for (const double rate : group.rates) table.columns.push_back(format_rate(rate));
  table.columns.insert(table.columns.end(), {"pays", "geometric mean"});
  for (const Series& series : group.series) {
    std::vector<TableCell> row = {{series.label, "", std::nullopt, series.style}};
    for (const double rate : group.rates) row.push_back(rate_cell(group, series, rate));
    row.push_back(
        {break_even_text(series), break_even_detail(group, series), series.break_even.rate});
    row.push_back(mean_cell(group, series));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace thinpipe
