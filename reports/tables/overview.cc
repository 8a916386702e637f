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
  std::vector<std::string> parts = {measured_detail(group, series)};
  if (const std::string over = over_none_text(group, series); !over.empty())
    parts.push_back("over none " + over);
  const std::string predicted = series.is_baseline() ? "" : predicted_break_even(series);
  if (!predicted.empty()) parts.push_back("predicted " + predicted);
  std::erase(parts, "");
  return joined(parts, "; ");
}

// "1.8x / 3.4x": over bf16, and over none beside it; sorted by the first.
TableCell times_cell(const std::optional<double>& over_bf16,
                     const std::optional<double>& over_fp32) {
  TableCell cell;
  for (const std::optional<double>& times : {over_bf16, over_fp32})
    if (times)
      cell.text +=
          (cell.text.empty() ? "" : std::string(kBeside)) + format_number(*times) + "\xc3\x97";
  if (cell.text.empty()) return {kAbsent};
  cell.value = over_bf16 ? over_bf16 : over_fp32;
  return cell;
}

std::optional<double> times_of(const std::optional<Estimate>& estimate) {
  return estimate ? std::optional(estimate->value) : std::nullopt;
}

TableCell rate_cell(const Group& group, const Series& series, double rate) {
  const Cell* cell = series.at(rate);
  if (cell == nullptr) return {kAbsent};
  TableCell result;
  if (cell->status != Status::kOk) {
    result.text = status_name(cell->status);
    result.is_doubtful = true;
    return result;
  }
  if (series.is_baseline() || !cell->speedup) {
    if (!cell->step_time) return {kAbsent};
    result.text = format_time(cell->step_time->value);
    result.detail = format_interval(*cell->step_time, format_time);
    result.value = cell->step_time->value;
    return result;
  }
  result = times_cell(times_of(cell->over_bf16), times_of(cell->over_fp32));
  std::vector<std::string> intervals;
  for (const std::optional<Estimate>& speedup : {cell->over_bf16, cell->over_fp32})
    if (speedup) intervals.push_back(format_interval(*speedup, format_number));
  result.detail = joined(intervals, std::string(kBeside));
  const Outcome outcome = outcome_at(group, rate);
  result.is_best = outcome.best == &series && outcome.kind == Outcome::Kind::kWins;
  return result;
}

// Geometric mean of the speed-ups at all of the group's rates; nothing where one is missing.
std::optional<double> mean_over_rates(const Group& group, const Series& series,
                                      std::optional<Estimate> Cell::*speedup) {
  std::vector<double> values;
  for (const double rate : group.rates) {
    const Cell* cell = series.at(rate);
    if (cell == nullptr || !(cell->*speedup)) return std::nullopt;
    values.push_back((cell->*speedup)->value);
  }
  return geometric_mean(values);
}

TableCell mean_cell(const Group& group, const Series& series) {
  if (series.is_baseline()) return {kAbsent};
  return times_cell(mean_over_rates(group, series, &Cell::over_bf16),
                    mean_over_rates(group, series, &Cell::over_fp32));
}

}  // namespace

Table overview_table(const Group& group) {
  Table table;
  table.columns = {"compressor"};
  if (group.has_baseline(Baseline::kBf16) && group.has_baseline(Baseline::kFp32))
    table.beside = "as none";
  for (const double rate : group.rates) table.columns.push_back(format_rate(rate));
  table.columns.insert(table.columns.end(), {"pays", "geometric mean"});
  for (const Series& series : group.series) {
    std::vector<TableCell> row = {{series.label, "", std::nullopt, series.style}};
    for (const double rate : group.rates) row.push_back(rate_cell(group, series, rate));
    const std::string pays = break_even_text(series.break_even);
    row.push_back(
        {pays.empty() ? kAbsent : pays, break_even_detail(group, series), series.break_even.rate});
    row.push_back(mean_cell(group, series));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace thinpipe
