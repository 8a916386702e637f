// Every compressor at every rate; and the points that went wrong.
#include <functional>

#include "reports/tables/table.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace {

using Format = std::string (*)(double);

TableCell figure(const std::optional<double>& value, Format format) {
  if (!value) return {"\xe2\x80\x93"};
  return {format(*value), "", *value};
}

TableCell figure(const std::optional<Estimate>& estimate, Format format) {
  if (!estimate) return {"\xe2\x80\x93"};
  return {format(estimate->value), format_interval(*estimate, format), estimate->value};
}

std::optional<double> over(const std::optional<double>& top, const std::optional<double>& bottom) {
  if (!top || !bottom || *bottom <= 0) return std::nullopt;
  return *top / *bottom;
}

// Repeats that the figures do not rest on.
std::string left_out(const Cell& cell) {
  if (cell.status == Status::kFailed) return "";
  std::string text;
  if (cell.status == Status::kOk && cell.invalid > 0) {
    text = std::to_string(cell.invalid) + " invalid left out";
  }
  if (cell.failed > 0) text += (text.empty() ? "" : ", ") + std::to_string(cell.failed) + " failed";
  return text;
}

std::string counts(const Cell& cell) {
  return std::to_string(cell.steps) + " / " + std::to_string(cell.used.size());
}

std::vector<TableCell> row_of(const Series& series, const Cell& cell) {
  const std::optional<double> payload = cell.median_of_metric("payload_bytes");
  const std::optional<double> dense = cell.median_of_metric("dense_bytes");
  std::vector<TableCell> row = {
      {series.label, "", std::nullopt, series.style},
      {status_name(cell.status), left_out(cell)},
      {format_rate(cell.rate), "", cell.rate},
      figure(cell.step_time, format_time),
      figure(cell.speedup, format_number),
      figure(cell.median_of_metric("compute_time"), format_time),
      figure(cell.median_of_metric("compress_time"), format_time),
      figure(cell.median_of_metric("exchange_time"), format_time),
      figure(cell.median_of_metric("exposed_time"), format_time),
      figure(cell.median_of_metric("decode_time"), format_time),
      figure(payload, format_bytes),
      figure(over(dense, payload), format_number),
      figure(cell.mean_of_metric("wire_bytes"), format_bytes),
      figure(cell.median_of_metric("quality"), format_number),
      figure(cell.median_of_metric("relative_error"), format_number),
      figure(over(cell.median_of_metric("ideal_time"), cell.median_of_metric("step_time")),
             format_percent),
      figure(cell.fidelity("wire_ratio"), format_number),
      figure(cell.fidelity("idle_cpu"), format_percent),
      figure(cell.repeat_spread, format_percent),
      {counts(cell), "", static_cast<double>(cell.steps)}};
  for (TableCell& entry : row) entry.is_doubtful = cell.status != Status::kOk;
  return row;
}

}  // namespace

Table points_table(const Group& group) {
  Table table;
  table.columns = {"compressor",     "status",           "link rate",
                   "step time",      "speed-up",         "compute",
                   "compress",       "exchange",         "exposed",
                   "decode",         "payload",          "ratio",
                   "wire",           "k\xcc\x82/k",      "relative error",
                   "ideal / step",   "wire / predicted", "idle",
                   "repeats differ", "steps / repeats"};
  table.text_columns = 2;
  for (const Series& series : group.series) {
    for (const Cell& cell : series.cells) table.rows.push_back(row_of(series, cell));
  }
  return table;
}

Table problems_table(const Records& records) {
  Table table;
  table.columns = {"point", "status", "reasons"};
  table.text_columns = 3;
  for (const Point& point : records.points) {
    if (point.status == Status::kOk) continue;
    std::string reasons;
    for (const std::string& reason : point.reasons)
      reasons += (reasons.empty() ? "" : "; ") + reason;
    table.rows.push_back({{point.id},
                          {status_name(point.status)},
                          {reasons.empty() ? "no reason was recorded" : reasons}});
  }
  return table;
}

}  // namespace thinpipe
