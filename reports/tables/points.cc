// Every compressor at every rate of every group; and the points that went wrong.
#include <algorithm>
#include <functional>

#include "reports/tables/table.h"
#include "reports/text/again.h"
#include "reports/text/critical_path.h"
#include "reports/text/lists.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace {

using Format = std::string (*)(double);

TableCell figure(const std::optional<double>& value, Format format) {
  if (!value) return {kAbsent};
  return {format(*value), "", *value};
}

TableCell figure(const std::optional<Estimate>& estimate, Format format) {
  if (!estimate) return {kAbsent};
  return {format(estimate->value), format_interval(*estimate, format), estimate->value};
}

std::optional<double> over(const std::optional<double>& top, const std::optional<double>& bottom) {
  if (!top || !bottom || *bottom <= 0) return std::nullopt;
  return *top / *bottom;
}

// Repeats that the figures do not rest on, or why none is to be trusted.
std::string why_doubtful(const Cell& cell) {
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

template <Format format>
Column metric_column(const char* name, const char* metric) {
  return {name, false,
          [metric](const Place& at) { return figure(at.cell.median_of_metric(metric), format); }};
}

// Those of words, to the left of those of figures.
std::vector<Column> word_columns() {
  return {{"compressor", true,
           [](const Place& at) -> TableCell {
             return {at.series.label, "", std::nullopt, at.series.style};
           }},
          {"status", true,
           [](const Place& at) -> TableCell {
             return {status_name(at.cell.status), why_doubtful(at.cell)};
           }},
          {"network", true, [](const Place& at) -> TableCell { return {at.group.setting}; }},
          {"waited", false, [](const Place& at) -> TableCell { return {waited_for(at.cell)}; }}};
}

std::vector<Column> figure_columns() {
  const auto payload = [](const Place& at) { return at.cell.median_of_metric("payload_bytes"); };
  return {
      {"ranks", true,
       [](const Place& at) -> TableCell {
         return {std::to_string(at.group.ranks), "", static_cast<double>(at.group.ranks)};
       }},
      {"link rate", true,
       [](const Place& at) -> TableCell {
         return {format_rate(at.cell.rate), "", at.cell.rate};
       }},
      {"step time", false, [](const Place& at) { return figure(at.cell.step_time, format_time); }},
      {"times bf16", false,
       [](const Place& at) { return figure(at.cell.over_bf16, format_number); }},
      {"times none", false,
       [](const Place& at) { return figure(at.cell.over_fp32, format_number); }},
      {"predicted", false,
       [](const Place& at) { return figure(at.cell.prediction("step_time"), format_time); }},
      {"predicted / step", false,
       [](const Place& at) {
         return figure(over(at.cell.prediction("step_time"), at.cell.median_of_metric("step_time")),
                       format_number);
       }},
      metric_column<format_time>("compute", "compute_time"),
      metric_column<format_time>("compress", "compress_time"),
      metric_column<format_time>("exchange", "exchange_time"),
      metric_column<format_time>("exposed", "exposed_time"),
      metric_column<format_time>("decode", "decode_time"),
      metric_column<format_bytes>("payload", "payload_bytes"),
      {"ratio", false,
       [payload](const Place& at) {
         return figure(over(at.cell.median_of_metric("dense_bytes"), payload(at)), format_number);
       }},
      {"wire", false,
       [](const Place& at) { return figure(at.cell.mean_of_metric("wire_bytes"), format_bytes); }},
      metric_column<format_number>("k\xcc\x82/k", "quality"),
      metric_column<format_number>("relative error", "relative_error"),
      {"ideal / step", false,
       [](const Place& at) {
         return figure(
             over(at.cell.median_of_metric("ideal_time"), at.cell.median_of_metric("step_time")),
             format_percent);
       }},
      {"wire / predicted", false,
       [](const Place& at) { return figure(at.cell.fidelity("wire_ratio"), format_number); }},
      {"idle", false,
       [](const Place& at) { return figure(at.cell.fidelity("idle_cpu"), format_percent); }},
      {"repeats differ", false,
       [](const Place& at) { return figure(at.cell.repeat_spread, format_percent); }},
      {"steps / repeats", false, [](const Place& at) -> TableCell {
         return {counts(at.cell), "", static_cast<double>(at.cell.steps)};
       }}};
}

void for_each_place(const Summary& summary, const std::function<void(const Place&)>& act) {
  for (const Group& group : summary.groups)
    for (const Series& series : group.series)
      for (const Cell& cell : series.cells) act({group, series, cell});
}

// A column of words that is empty in every row tells nothing.
bool tells(const Summary& summary, const Column& column) {
  bool any = false;
  for_each_place(summary, [&](const Place& at) { any = any || !column.cell(at).text.empty(); });
  return any;
}

}  // namespace

Table points_table(const Summary& summary) {
  std::vector<Column> columns;
  for (Column& column : word_columns())
    if (tells(summary, column)) columns.push_back(std::move(column));
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
      row.back().is_doubtful = at.cell.status != Status::kOk;
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

void add_commands(Table& table, const std::vector<std::string>& commands) {
  if (std::all_of(commands.begin(), commands.end(),
                  [](const std::string& command) { return command.empty(); }))
    return;
  table.columns.emplace_back("measure again");
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    table.rows[i].push_back({.text = commands[i].empty() ? kAbsent : "", .command = commands[i]});
}

Table problems_table(const Records& records) {
  Table table;
  table.columns = {"point", "status", "reasons"};
  table.text_columns = 3;
  for (const Point& point : records.points) {
    if (point.status == Status::kOk) continue;
    const std::string reasons = joined(point.reasons, "; ");
    table.rows.push_back({{point.id},
                          {status_name(point.status)},
                          {reasons.empty() ? "no reason was recorded" : reasons}});
  }
  return table;
}

}  // namespace thinpipe
