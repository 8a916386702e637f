// Quality of compressors on a trace: from records to rows, figures, findings and tables.
#include "reports/kept/kept.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "reports/figures/figure.h"
#include "reports/figures/style.h"
#include "reports/page/html.h"
#include "reports/page/markdown.h"
#include "reports/page/table.h"
#include "reports/statistics/statistics.h"
#include "reports/text/escape.h"
#include "reports/text/phrases.h"
#include "reports/text/provenance.h"

namespace thinpipe {
namespace {

constexpr double kNone = KeptRow::kNone;

double finite_mean(const std::vector<double>& values) {
  double sum = 0, count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? kNone : sum / count;
}

// All samples of a metric, NaN included; as many as there are steps, or none.
std::vector<double> aligned(const Point& point, const MetricType& metric, std::size_t count) {
  const auto found = point.metrics.find(metric);
  if (found == point.metrics.end() || found->second.samples.size() != count) return {};
  return found->second.samples;
}

void set_steps(const Point& point, KeptRow& row) {
  const std::vector<double> steps = point.at ? point.at->step : std::vector<double>();
  const std::vector<double> quality = aligned(point, "quality"_metric, steps.size());
  const std::vector<double> error = aligned(point, "relative_error"_metric, steps.size());
  const std::vector<double> drift = aligned(point, "drift"_metric, steps.size());
  std::map<double, std::vector<std::size_t>> samples;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (std::isfinite(steps[i])) samples[steps[i]].push_back(i);
  const auto of = [](const std::vector<double>& values, const std::vector<std::size_t>& which) {
    std::vector<double> chosen;
    for (const std::size_t i : which)
      if (!values.empty()) chosen.push_back(values[i]);
    return finite_mean(chosen);
  };
  std::vector<double> qualities;
  for (const auto& [step, which] : samples) {
    row.steps.push_back({step, of(quality, which), of(error, which), of(drift, which)});
    qualities.push_back(row.steps.back().quality);
  }
  row.quality = mean_interval(qualities, kSidcoConfidence);
  if (!row.steps.empty()) row.drift = row.steps.back().drift;
}

KeptRow row_of(const Point& point) {
  KeptRow row;
  const std::size_t bar = point.id.find('|');
  row.spec = point.id.substr(0, bar);
  row.tensor = bar == std::string::npos ? "*" : point.id.substr(bar + 1);
  const SpecAmount spec = split_amount(point.axes.compressor);
  row.family = spec.family;
  if (!spec.amount.empty())
    row.ratio = std::strtod(spec.amount.c_str() + spec.amount.find('=') + 1, nullptr);
  set_steps(point, row);
  const std::vector<double> each =
      point.samples(row.tensor == "*" ? "tensor_quality"_metric : "quality"_metric);
  if (!each.empty()) {
    row.p5 = quantile(each, 0.05);
    row.p50 = quantile(each, 0.5);
    row.p95 = quantile(each, 0.95);
    row.most = *std::max_element(each.begin(), each.end());
  }
  const std::vector<double> bytes = point.samples("encoded_bytes"_metric);
  if (!bytes.empty()) row.bytes = finite_mean(bytes) * static_cast<double>(bytes.size());
  row.bits = finite_mean(point.samples("bits_per_element"_metric));
  row.error = finite_mean(point.samples("relative_error"_metric));
  row.cosine = finite_mean(point.samples("cosine"_metric));
  row.overlap = finite_mean(point.samples("top_k_overlap"_metric));
  row.passes = finite_mean(point.samples("passes"_metric));
  return row;
}

constexpr std::size_t kMarkedSteps = 60;  // with more, lines alone

std::string quality_text(const MeanInterval& quality) {
  std::string text = format_number(quality.mean);
  if (quality.interval)
    text += " (90 %: " + format_number(quality.interval->low) + " to " +
            format_number(quality.interval->high) + ")";
  return text + ", " + std::to_string(quality.samples) + " steps";
}

// A curve a family, over its ratios.
Figure quality_by_ratio(const KeptSummary& summary) {
  Figure figure{"estimation", "How well the threshold is estimated", "", {}, {}};
  figure.caption =
      "Elements sent over elements asked for, mean over the steps; bars are the 90 % interval of "
      "that mean by Student's t. Below the dashed line too few are sent, above it too many.";
  std::vector<std::string> families;
  for (const KeptRow& row : summary.totals) {
    if (!row.quality || !(row.ratio > 0)) continue;
    if (std::find(families.begin(), families.end(), row.family) == families.end())
      families.push_back(row.family);
  }
  const std::vector<std::string> labels = short_labels(families);
  Chart chart;
  chart.id = figure.id + "-0";
  chart.alt = "Elements sent over elements asked for against the ratio, for each compressor";
  chart.x = {"ratio asked for", true, format_tick, {}, {}};
  chart.y = {"sent over asked", true, format_number, {1.0}, {}};
  chart.reference_lines = {1.0};
  for (std::size_t i = 0; i < families.size(); ++i) {
    Curve curve{i + 1, true, true, {}};
    for (const KeptRow& row : summary.totals) {
      if (row.family != families[i] || !row.quality || !(row.ratio > 0)) continue;
      curve.points.push_back({row.ratio, row.quality->mean, row.quality->interval, true,
                              row.spec + "\n" + quality_text(*row.quality)});
    }
    std::sort(curve.points.begin(), curve.points.end(),
              [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
    chart.curves.push_back(std::move(curve));
    figure.legend.push_back({marker_svg(i + 1), labels[i]});
  }
  add_panel(figure, "", chart);
  return figure;
}

// A curve a compressor, over the steps: its k-hat / k, its error, its drift.
Figure kept_by_step(const KeptSummary& summary) {
  Figure figure{"kept-steps", "What is kept, by step", "", {}, {}};
  figure.caption =
      "Means over the ranks, all tensors together. Error: distance of what is decoded from what "
      "was to be sent, over the latter's norm. Drift: distance between the sums of all gradients "
      "and of all that was decoded since the first step, over the former's norm.";
  const auto panel = [&](const std::string& title, bool is_log, double (*value)(const KeptStep&)) {
    Chart chart;
    chart.id = figure.id + "-" + std::to_string(figure.panels.size());
    chart.alt = title + " by step, for each compressor";
    chart.x = {"step", false, format_step, {}, {}};
    chart.y = {title, is_log, format_number, {}, {}};
    if (!is_log) chart.y.include = {0.0};
    for (std::size_t i = 0; i < summary.totals.size(); ++i) {
      const KeptRow& row = summary.totals[i];
      Curve curve{i + 1, row.steps.size() <= kMarkedSteps, true, {}};
      for (const KeptStep& step : row.steps) {
        const double y = value(step);
        if (!std::isfinite(y)) continue;
        curve.points.push_back(
            {step.step, y, std::nullopt, true,
             row.spec + ", step " + format_step(step.step) + "\n" + format_number(y)});
      }
      chart.curves.push_back(std::move(curve));
    }
    add_panel(figure, title, chart);
  };
  panel("sent over asked", true, [](const KeptStep& step) { return step.quality; });
  panel("relative error", false, [](const KeptStep& step) { return step.error; });
  panel("drift", false, [](const KeptStep& step) { return step.drift; });
  for (std::size_t i = 0; i < summary.totals.size(); ++i)
    figure.legend.push_back({marker_svg(i + 1), summary.totals[i].spec});
  return figure;
}

// Estimation quality against the ratio, as SIDCo's figure 1(c) has it; then k-hat / k, error and
// drift by step. Those for which there are points. Throws RunError without gnuplot.
std::vector<Figure> kept_figures(const KeptSummary& summary) {
  std::vector<Figure> figures;
  for (Figure& figure : std::vector<Figure>{quality_by_ratio(summary), kept_by_step(summary)})
    if (!figure.panels.empty()) figures.push_back(std::move(figure));
  return figures;
}

constexpr const char* kKeptHeadline = "What compressors keep of these gradients";

Table kept_table(const std::vector<KeptRow>& rows, bool tensors) {
  Table table{{"compressor", "sent over asked", "p5", "p50", "p95", "max", "bytes",
               "bits / element", "error", "cosine", "drift", "of the true top-k", "passes"},
              1,
              {}};
  if (tensors) {
    table.columns.insert(table.columns.begin() + 1, "tensor");
    table.text_columns = 2;
  }
  for (const KeptRow& row : rows) {
    TableCell quality{kAbsent};
    if (row.quality) quality = figure_cell(row.quality->mean);
    if (row.quality && row.quality->interval)
      quality.detail = "\xc2\xb1 " + format_number(row.quality->interval->high - row.quality->mean);
    std::vector<TableCell> cells = {{row.spec}};
    if (tensors) cells.push_back({row.tensor});
    cells.insert(
        cells.end(),
        {quality, figure_cell(row.p5), figure_cell(row.p50), figure_cell(row.p95),
         figure_cell(row.most), figure_cell(row.bytes, format_bytes), figure_cell(row.bits),
         figure_cell(row.error, format_percent), figure_cell(row.cosine), figure_cell(row.drift),
         figure_cell(row.overlap, format_percent), figure_cell(row.passes)});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// By how much k-hat / k misses 1, either way.
double miss(const KeptRow& row) { return std::fabs(std::log(row.quality->mean)); }

// Less is not seen in three digits.
constexpr double kNoMiss = 0.005;

std::vector<std::string> kept_notes() {
  return {
      "Sent over asked: of each step the elements sent over those asked for, all tensors and ranks "
      "together; the mean over the steps, with the 90 % interval of that mean by Student's t, as "
      "SIDCo's figures have it. Steps are taken as independent, which with error feedback they are "
      "not quite.",
      "p5, p50, p95, max: of the same for every tensor, step and rank by itself, each counting "
      "alike.",
      "Error and cosine: of what is decoded and of the gradient plus memory, means over steps and "
      "ranks. Drift: after the last step, mean over ranks."};
}

}  // namespace

KeptSummary summarize_kept(const Records& records) {
  KeptSummary summary;
  for (const Point& point : records.points) {
    if (point.status != Status::kOk) continue;
    KeptRow row = row_of(point);
    (row.tensor == "*" ? summary.totals : summary.tensors).push_back(std::move(row));
  }
  if (summary.totals.empty())
    throw InputError(records.file.string() +
                     ": no compressor in it yet; there is nothing to report");
  return summary;
}

std::vector<std::string> kept_findings(const KeptSummary& summary) {
  std::vector<std::string> sentences;
  std::vector<const KeptRow*> estimated;
  for (const KeptRow& row : summary.totals)
    if (row.quality && row.quality->mean > 0) estimated.push_back(&row);
  const auto told = [](const KeptRow& row) {
    return row.spec + " sends " + format_number(row.quality->mean) +
           " times the elements that it is asked for" +
           (row.quality->interval ? " (90 % interval " + format_number(row.quality->interval->low) +
                                        " to " + format_number(row.quality->interval->high) + ")"
                                  : "");
  };
  const auto nearer = [](const KeptRow* a, const KeptRow* b) { return miss(*a) < miss(*b); };
  if (!estimated.empty()) {
    const auto [best, worst] = std::minmax_element(estimated.begin(), estimated.end(), nearer);
    if (miss(**worst) < kNoMiss) {
      sentences.push_back(estimated.size() > 1
                              ? "All send as many elements as they are asked for."
                              : (*worst)->spec + " sends as many elements as it is asked for.");
    } else {
      sentences.push_back(told(**worst) + (estimated.size() > 1 ? ", the farthest off." : "."));
      if (miss(**best) < miss(**worst)) sentences.push_back(told(**best) + ", the nearest.");
    }
  }
  const auto least_error = std::min_element(
      summary.totals.begin(), summary.totals.end(), [](const KeptRow& a, const KeptRow& b) {
        return (a.bits < 32 ? a.error : INFINITY) < (b.bits < 32 ? b.error : INFINITY);
      });
  if (least_error->bits < 32 && std::isfinite(least_error->error))
    sentences.push_back("Of those that compress, " + least_error->spec +
                        " is nearest to its input: an error of " +
                        format_percent(least_error->error) + " of the input's norm at " +
                        format_number(least_error->bits) + " bits an element.");
  return sentences;
}

std::string render_kept_html(const Records& records) {
  const KeptSummary summary = summarize_kept(records);
  std::string page =
      html::masthead(kKeptHeadline, escape_html(trace_line(records)) + " &middot; " +
                                        escape_html(records.headers.back().created)) +
      html::findings(kept_findings(summary));
  if (const std::vector<Figure> figures = kept_figures(summary); !figures.empty())
    page += html::section("drawn", "Figures", html::figures(figures, reproduce_commands(records)));
  page +=
      html::section("all", "All tensors together",
                    html::table(kept_table(summary.totals, false), "All tensors together", true)) +
      html::section("tensors", "Every tensor",
                    html::table(kept_table(summary.tensors, true), "Every tensor", true)) +
      html::section("method", "How it was computed", html::list(kept_notes())) +
      html::section("origin", "Where it comes from", html::provenance(records));
  return html::document("Quality \xe2\x80\x93 thinpipe report", page);
}

std::string render_kept_markdown(const Records& records) {
  const KeptSummary summary = summarize_kept(records);
  return "# " + std::string(kKeptHeadline) + "\n\n" + escape_markdown(trace_line(records)) +
         "\n\n## What was found\n\n" + markdown::bullets(kept_findings(summary)) +
         "## All tensors together\n\n" + markdown::table(kept_table(summary.totals, false)) +
         "## Every tensor\n\n" + markdown::table(kept_table(summary.tensors, true)) +
         "## How it was computed\n\n" + markdown::bullets(kept_notes()) +
         "## How to reproduce\n\n" + markdown::code_block(reproduce_commands(records)) +
         "## Where it comes from\n\n" + markdown::provenance(records);
}

}  // namespace thinpipe
