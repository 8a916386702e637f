// What the cost models said of each point, beside what was measured.
#include <utility>

#include "reports/tables/table.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace {

TableCell time_cell(const std::optional<double>& seconds) {
  if (!seconds) return {kAbsent};
  return {format_time(*seconds), "", *seconds};
}

std::optional<double> sum_of(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

std::vector<TableCell> prediction_row(const Series& series, const Cell& cell, double predicted) {
  const std::optional<double> measured = cell.median_of_metric("step_time");
  std::vector<TableCell> row = {
      {series.label, "", std::nullopt, series.style},
      {format_rate(cell.rate), "", cell.rate},
      time_cell(measured),
      time_cell(predicted),
      measured && *measured > 0
          ? TableCell{format_number(predicted / *measured), "", predicted / *measured}
          : TableCell{kAbsent},
      time_cell(cell.median_of_metric("exchange_time")),
      time_cell(cell.prediction("exchange_time")),
      time_cell(
          sum_of(cell.median_of_metric("compress_time"), cell.median_of_metric("decode_time"))),
      time_cell(sum_of(cell.prediction("compress_time"), cell.prediction("decode_time")))};
  for (TableCell& entry : row) entry.is_doubtful = cell.status != Status::kOk;
  return row;
}

}  // namespace

Table predictions_table(const Group& group) {
  Table table;
  table.columns = {
      "compressor", "link rate",          "step",  "predicted",      "predicted / step",
      "exchange",   "exchange predicted", "codec", "codec predicted"};
  table.text_columns = 1;
  for (const Series& series : group.series)
    for (const Cell& cell : series.cells)
      if (const std::optional<double> step = cell.prediction("step_time"))
        table.rows.push_back(prediction_row(series, cell, *step));
  return table;
}

}  // namespace thinpipe
