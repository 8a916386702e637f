// The tables of a run.
#include "reports/run/page.h"

#include <functional>
#include <utility>

#include "reports/record/record.h"
#include "reports/statistics/statistics.h"
#include "reports/text/phrases.h"
#include "reports/text/provenance.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

// Returns the detail of a compressor's break-even rate: its interval if it has one, or rates_told()
// if the break-even rate is unclear. Otherwise names the rates without a trusted speed-up, which a
// claim about all rates leaves out.
std::string measured_detail(const Group& group, const Series& series) {
  const BreakEven& even = series.break_even;
  if (even.kind == BreakEven::Kind::kOpen) return rates_told(series);
  if (even.low || even.high) return rate_or_open(even.low) + " to " + rate_or_open(even.high);
  return series.is_baseline() ? "" : untrusted_rates(group, series);
}

std::string break_even_detail(const Group& group, const Series& series) {
  std::vector<std::string> parts = {measured_detail(group, series)};
  if (const std::string over = over_none_text(group, series); !over.empty())
    parts.push_back("vs fp32: " + over);
  const std::string predicted = series.is_baseline() ? "" : predicted_break_even(series);
  if (!predicted.empty()) parts.push_back("predicted " + predicted);
  std::erase(parts, "");
  return joined(parts, "; ");
}

// "1.8x / 3.4x": over bf16, then over none; the first is the sort key.
TableCell times_cell(const std::optional<double>& over_bf16,
                     const std::optional<double>& over_fp32) {
  TableCell cell;
  for (const std::optional<double>& times : {over_bf16, over_fp32})
    if (times)
      cell.text += (cell.text.empty() ? "" : std::string(kSecondFigure)) + format_number(*times) +
                   "\xc3\x97";
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
    result.is_untrusted = true;
    return result;
  }
  if (series.is_baseline() || !cell->speedup) return figure_cell(cell->step_time, format_time);
  result = times_cell(times_of(cell->over_bf16), times_of(cell->over_fp32));
  std::vector<std::string> intervals;
  for (const std::optional<Estimate>& speedup : {cell->over_bf16, cell->over_fp32})
    if (speedup) intervals.push_back(format_interval(*speedup, format_number));
  result.detail = joined(intervals, std::string(kSecondFigure));
  const Outcome outcome = outcome_at(group, rate);
  result.is_best = outcome.best == &series && outcome.kind == Outcome::Kind::kWins;
  return result;
}

// Returns the geometric mean of the speed-ups at all of the group's rates; nothing if one has none.
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

std::optional<double> over(const std::optional<double>& top, const std::optional<double>& bottom) {
  if (!top || !bottom || *bottom <= 0) return std::nullopt;
  return *top / *bottom;
}

// Returns the number of repeats left out, or the reasons why no repeat is trusted.
std::string why_untrusted(const Cell& cell) {
  if (cell.status != Status::kOk) return joined(cell.reasons, "; ");
  std::string text;
  if (cell.invalid > 0) text = std::to_string(cell.invalid) + " invalid left out";
  if (cell.failed > 0) text += (text.empty() ? "" : ", ") + std::to_string(cell.failed) + " failed";
  return text;
}

std::string counts(const Cell& cell) {
  return std::to_string(cell.steps) + " / " + std::to_string(cell.used.size());
}

std::string waited_for(const Cell& cell) {
  for (const Point* point : cell.used)
    if (const std::string phrase = path_phrase(path_finding(point->critical_path)); !phrase.empty())
      return phrase;
  return "";
}

struct Place {
  const Group& group;
  const Series& series;
  const Cell& cell;
};

struct Column {
  const char* name;
  bool is_facet;
  std::function<TableCell(const Place&)> cell;
};

// @param value  a member or a function of Cell
template <class Value>
Column figure_column(const char* name, Value value, std::string (*format)(double)) {
  return {name, false,
          [=](const Place& at) { return figure_cell(std::invoke(value, at.cell), format); }};
}

Column metric_column(const char* name, const MetricType& metric, std::string (*format)(double)) {
  return figure_column(
      name, [&metric](const Cell& cell) { return cell.median_of_metric(metric); }, format);
}

Column ratio_column(const char* name, const MetricType& top, const MetricType& bottom,
                    std::string (*format)(double)) {
  const auto ratio = [&top, &bottom](const Cell& cell) {
    return over(cell.median_of_metric(top), cell.median_of_metric(bottom));
  };
  return figure_column(name, ratio, format);
}

// Columns of text, to the left of the columns of figures.
std::vector<Column> word_columns() {
  return {{"compressor", true,
           [](const Place& at) -> TableCell {
             return {at.series.label, "", std::nullopt, at.series.style};
           }},
          {"status", true,
           [](const Place& at) -> TableCell {
             return {status_name(at.cell.status), why_untrusted(at.cell)};
           }},
          {"network", true, [](const Place& at) -> TableCell { return {at.group.setting}; }},
          {"waited", false, [](const Place& at) -> TableCell { return {waited_for(at.cell)}; }}};
}

std::vector<Column> figure_columns() {
  const auto predicted = [](const Cell& cell) { return cell.prediction("step_time"_metric); };
  return {
      {"ranks", true,
       [](const Place& at) { return count_cell(static_cast<std::size_t>(at.group.ranks)); }},
      {"link rate", true, [](const Place& at) { return figure_cell(at.cell.rate, format_rate); }},
      figure_column("step time", &Cell::step_time, format_time),
      figure_column("vs bf16", &Cell::over_bf16, format_number),
      figure_column("vs fp32", &Cell::over_fp32, format_number),
      figure_column("predicted", predicted, format_time),
      figure_column(
          "predicted / step",
          [predicted](const Cell& cell) {
            return over(predicted(cell), cell.median_of_metric("step_time"_metric));
          },
          format_number),
      metric_column("compute", "compute_time"_metric, format_time),
      metric_column("compress", "compress_time"_metric, format_time),
      metric_column("exchange", "exchange_time"_metric, format_time),
      metric_column("exposed", "exposed_time"_metric, format_time),
      metric_column("decode", "decode_time"_metric, format_time),
      metric_column("payload", "payload_bytes"_metric, format_bytes),
      ratio_column("ratio", "dense_bytes"_metric, "payload_bytes"_metric, format_number),
      figure_column(
          "wire", [](const Cell& cell) { return cell.mean_of_metric("wire_bytes"_metric); },
          format_bytes),
      metric_column("k\xcc\x82/k", "quality"_metric, format_number),
      metric_column("relative error", "relative_error"_metric, format_number),
      ratio_column("ideal / step", "ideal_time"_metric, "step_time"_metric, format_percent),
      figure_column(
          "wire / predicted", [](const Cell& cell) { return cell.fidelity(&Fidelity::wire_ratio); },
          format_number),
      figure_column(
          "idle", [](const Cell& cell) { return cell.fidelity(&Fidelity::idle_cpu); },
          format_percent),
      figure_column("repeats differ", &Cell::repeat_spread, format_percent),
      {"steps / repeats", false, [](const Place& at) -> TableCell {
         return {counts(at.cell), "", static_cast<double>(at.cell.steps)};
       }}};
}

void for_each_place(const Summary& summary, const std::function<void(const Place&)>& act) {
  for (const Group& group : summary.groups)
    for (const Series& series : group.series)
      for (const Cell& cell : series.cells) act({group, series, cell});
}

// Returns whether some row of the column has text.
bool has_text(const Summary& summary, const Column& column) {
  bool any = false;
  for_each_place(summary, [&](const Place& at) { any = any || !column.cell(at).text.empty(); });
  return any;
}

TableCell time_cell(const std::optional<double>& seconds) {
  return figure_cell(seconds, format_time);
}

std::optional<double> sum_of(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

std::vector<TableCell> prediction_row(const Series& series, const Cell& cell, double predicted) {
  const std::optional<double> measured = cell.median_of_metric("step_time"_metric);
  std::vector<TableCell> row = {{series.label, "", std::nullopt, series.style},
                                figure_cell(cell.rate, format_rate),
                                time_cell(measured),
                                time_cell(predicted),
                                figure_cell(over(predicted, measured), format_number),
                                time_cell(cell.median_of_metric("exchange_time"_metric)),
                                time_cell(cell.prediction("exchange_time"_metric)),
                                time_cell(sum_of(cell.median_of_metric("compress_time"_metric),
                                                 cell.median_of_metric("decode_time"_metric))),
                                time_cell(sum_of(cell.prediction("compress_time"_metric),
                                                 cell.prediction("decode_time"_metric)))};
  for (TableCell& entry : row) entry.is_untrusted = cell.status != Status::kOk;
  return row;
}

std::string verdict_text(const CalibratedLinkRecord& link) {
  if (link.verdict == "holds") return "passed";
  if (link.verdict == "off") return "failed";
  if (link.verdict == "unjudged") return "not judged: the network was left as it is";
  if (link.reason.empty()) return link.verdict;
  return (link.verdict == "unmeasured" ? "not measured: " : link.verdict + ": ") + link.reason;
}

std::vector<TableCell> calibration_row(const CalibratedLinkRecord& link, const CalibratedWay* way,
                                       bool several_launches) {
  std::vector<TableCell> row = {{link.link}};
  if (several_launches) row.push_back({std::to_string(link.launch + 1)});
  row.push_back({way != nullptr ? way->where : kAbsent});
  row.push_back({way == nullptr || way->set.empty() ? kAbsent : way->set});
  row.push_back({verdict_text(link)});
  const auto of = [&](double CalibratedWay::*figure) {
    return way != nullptr ? std::optional(way->*figure) : std::nullopt;
  };
  row.push_back(figure_cell(of(&CalibratedWay::goodput), format_rate));
  row.push_back(figure_cell(of(&CalibratedWay::ceiling), format_rate));
  row.push_back(figure_cell(of(&CalibratedWay::ratio), format_percent));
  row.push_back(figure_cell(way != nullptr ? way->round_trip : std::nullopt, format_time));
  for (TableCell& cell : row) cell.is_untrusted = link.verdict == "off" || link.verdict == "broken";
  return row;
}

}  // namespace

Table overview_table(const Group& group) {
  Table table;
  table.columns = {"compressor"};
  if (group.has_baseline(Baseline::kBf16) && group.has_baseline(Baseline::kFp32))
    table.beside = "vs fp32";
  for (const double rate : group.rates) table.columns.push_back(format_rate(rate));
  table.columns.insert(table.columns.end(), {"worth it", "geometric mean"});
  for (const Series& series : group.series) {
    std::vector<TableCell> row = {{series.label, "", std::nullopt, series.style}};
    for (const double rate : group.rates) row.push_back(rate_cell(group, series, rate));
    const std::string rates = break_even_text(series.break_even);
    row.push_back({rates.empty() ? kAbsent : rates, break_even_detail(group, series),
                   series.break_even.rate});
    row.push_back(mean_cell(group, series));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table points_table(const Summary& summary) {
  std::vector<Column> columns;
  for (Column& column : word_columns())
    if (has_text(summary, column)) columns.push_back(std::move(column));
  Table table;
  table.text_columns = columns.size();
  for (Column& column : figure_columns()) columns.push_back(std::move(column));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    table.columns.emplace_back(columns[i].name);
    if (columns[i].is_facet) table.facets.push_back(i);
  }
  for_each_place(summary, [&](const Place& at) {
    std::vector<TableCell> row;
    for (const Column& column : columns) {
      row.push_back(column.cell(at));
      // A reader filters rows by the texts of cells, so every cell needs one.
      if (row.back().text.empty()) row.back().text = kAbsent;
      row.back().is_untrusted = at.cell.status != Status::kOk;
    }
    table.rows.push_back(std::move(row));
  });
  return table;
}

std::vector<std::string> again_commands(const Summary& summary) {
  std::vector<std::string> commands;
  for_each_place(summary, [&](const Place& at) {
    commands.push_back(at.cell.first == nullptr ? ""
                                                : again_command(*summary.records, *at.cell.first));
  });
  return commands;
}

Table predictions_table(const Group& group) {
  Table table{{"compressor", "link rate", "step", "predicted", "predicted / step", "exchange",
               "exchange predicted", "codec", "codec predicted"}};
  for (const Series& series : group.series)
    for (const Cell& cell : series.cells)
      if (const std::optional<double> step = cell.prediction("step_time"_metric))
        table.rows.push_back(prediction_row(series, cell, *step));
  return table;
}

Table calibration_table(const Records& records) {
  const bool several = records.headers.size() > 1;
  Table table;
  table.columns = {"link"};
  if (several) table.columns.emplace_back("launch");
  for (const char* column : {"direction", "set to", "verdict"}) table.columns.emplace_back(column);
  table.text_columns = table.columns.size();
  for (const char* column : {"goodput", "TCP ceiling", "goodput / ceiling", "idle round trip"})
    table.columns.emplace_back(column);
  for (const CalibratedLinkRecord& link : calibrated_links(records)) {
    if (link.ways.empty()) table.rows.push_back(calibration_row(link, nullptr, several));
    for (const CalibratedWay& way : link.ways)
      table.rows.push_back(calibration_row(link, &way, several));
  }
  return table;
}

}  // namespace thinpipe
