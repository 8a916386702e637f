// The quality of compressors on a trace: from records to rows, figures, findings and tables.
#include "reports/quality/quality.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "reports/figures/figure.h"
#include "reports/figures/style.h"
#include "reports/page/page.h"
#include "reports/page/table.h"
#include "reports/statistics/statistics.h"
#include "reports/text/phrases.h"
#include "reports/text/provenance.h"

namespace thinpipe {
namespace {

// Returns all samples of a metric, NaN included; empty unless there are `count` of them.
std::vector<double> aligned(const Point& point, const MetricType& metric, std::size_t count) {
  const auto found = point.metrics.find(metric);
  if (found == point.metrics.end() || found->second.samples.size() != count) return {};
  return found->second.samples;
}

void set_steps(const Point& point, QualityRow& row) {
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

QualityRow row_of(const Point& point) {
  QualityRow row;
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

constexpr std::size_t kMarkedSteps = 60;  // with more steps, curves have no markers

// Returns " (90 % CI 1.01 to 1.33)"; "" without an interval.
std::string quality_interval(const MeanInterval& quality) {
  if (!quality.interval) return "";
  return " (90 % CI " + format_interval({quality.mean, quality.interval}, format_number) + ")";
}

// Draws a curve per family, over its ratios.
Figure quality_by_ratio(const QualityPageData& summary) {
  Figure figure{"estimation", "Estimation quality"};
  figure.caption =
      "Sent elements over requested elements (k\xcc\x82/k), mean over the steps; bars are the 90 % "
      "interval of that mean by Student's t. Below the dashed line a compressor sends too few "
      "elements, above it too many.";
  std::vector<std::string> families;
  for (const QualityRow& row : summary.totals)
    if (row.quality && row.ratio > 0) add_once(families, row.family);
  const std::vector<std::string> labels = short_labels(families);
  Chart chart{
      .id = panel_id(figure),
      .alt = "Sent over requested elements against the requested ratio, for each compressor",
      .x = {"requested ratio", true, format_tick},
      .y = {"k\xcc\x82/k", true, format_number, {1.0}},
      .reference_lines = {1.0}};
  for (std::size_t i = 0; i < families.size(); ++i) {
    Curve curve{i + 1, true, true};
    for (const QualityRow& row : summary.totals) {
      if (row.family != families[i] || !row.quality || !(row.ratio > 0)) continue;
      curve.points.push_back({row.ratio, row.quality->mean, row.quality->interval, true,
                              row.spec + "\n" + format_number(row.quality->mean) +
                                  quality_interval(*row.quality) + ", " +
                                  std::to_string(row.quality->samples) + " steps"});
    }
    std::ranges::sort(curve.points, {}, &ChartPoint::x);
    chart.curves.push_back(std::move(curve));
    figure.legend.push_back({line_marker_svg(i + 1), labels[i]});
  }
  add_panel(figure, "", chart);
  return figure;
}

// Draws a curve per compressor, over the steps: k-hat / k, error and drift.
Figure quality_by_step(const QualityPageData& summary) {
  Figure figure{"kept-steps", "Quality by step"};
  figure.caption =
      "Means over the ranks, all tensors together. Error: norm of decoded minus input over the "
      "norm of the input. Drift: norm of the difference between the sum of all gradients and the "
      "sum of all decoded ones since the first step, over the norm of the former.";
  const auto panel = [&](const std::string& title, bool is_log, double QualityStep::*value) {
    Chart chart{.id = panel_id(figure),
                .alt = title + " by step, for each compressor",
                .x = {"step", false, format_step},
                .y = {title, is_log, format_number}};
    if (!is_log) chart.y.include = {0.0};
    for (std::size_t i = 0; i < summary.totals.size(); ++i) {
      const QualityRow& row = summary.totals[i];
      Curve curve{i + 1, row.steps.size() <= kMarkedSteps, true};
      for (const QualityStep& step : row.steps) {
        const double y = step.*value;
        if (!std::isfinite(y)) continue;
        curve.points.push_back(
            {step.step, y, std::nullopt, true,
             row.spec + ", step " + format_step(step.step) + "\n" + format_number(y)});
      }
      chart.curves.push_back(std::move(curve));
    }
    add_panel(figure, title, chart);
  };
  panel("k\xcc\x82/k", true, &QualityStep::quality);
  panel("relative error", false, &QualityStep::error);
  panel("drift", false, &QualityStep::drift);
  for (std::size_t i = 0; i < summary.totals.size(); ++i)
    figure.legend.push_back({line_marker_svg(i + 1), summary.totals[i].spec});
  return figure;
}

// Returns the figures for which the summary has data. The first shows estimation quality against
// the ratio (SIDCo's figure 1(c)), the second k-hat / k, error and drift by step. Throws RunError
// without gnuplot.
std::vector<Figure> quality_figures(const QualityPageData& summary) {
  return with_panels({quality_by_ratio(summary), quality_by_step(summary)});
}

constexpr const char* kQualityHeadline = "Quality of compressors on these gradients";

Table quality_table(const std::vector<QualityRow>& rows, bool tensors) {
  Table table{{"compressor", "k\xcc\x82/k", "p5", "p50", "p95", "max", "bytes", "bits / element",
               "error", "cosine", "drift", "top-k overlap", "passes"}};
  if (tensors) {
    table.columns.insert(table.columns.begin() + 1, "tensor");
    table.text_columns = 2;
  }
  for (const QualityRow& row : rows) {
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

// Returns |ln(k-hat / k)|: how far the quality is from 1 in either direction. Infinite if the
// compressor sent nothing.
double miss(const QualityRow& row) { return std::fabs(std::log(row.quality->mean)); }

// A smaller miss is invisible in three digits.
constexpr double kNoMiss = 0.005;

std::vector<std::string> quality_notes() {
  return {
      "k\xcc\x82/k: sent elements over requested elements of a step, all tensors and ranks "
      "together; the mean over the steps, with the 90 % interval of that mean by Student's t, as "
      "in SIDCo's figures. Steps are treated as independent, which with error feedback they are "
      "not quite.",
      "p5, p50, p95, max: quantiles of the same ratio over single tensors, steps and ranks, each "
      "with equal weight.",
      "Error and cosine compare the decoded values with the gradient plus memory; means over steps "
      "and ranks. Drift is that after the last step, mean over ranks."};
}

}  // namespace

QualityPageData summarize_quality(const Records& records) {
  QualityPageData summary;
  for (const Point& point : records.points) {
    if (point.status != Status::kOk) {
      summary.failures.push_back(point.id.substr(0, point.id.find('|')) +
                                 " failed: " + joined(point.reasons, "; "));
      continue;
    }
    QualityRow row = row_of(point);
    (row.tensor == "*" ? summary.totals : summary.tensors).push_back(std::move(row));
  }
  if (summary.totals.empty())
    throw InputError(records.file.string() +
                     ": no finished compressor yet, so there is nothing to report");
  return summary;
}

std::vector<std::string> quality_findings(const QualityPageData& summary) {
  std::vector<std::string> sentences;
  std::vector<const QualityRow*> estimated;
  for (const QualityRow& row : summary.totals)
    if (row.quality && row.quality->mean >= 0) estimated.push_back(&row);
  const auto told = [](const QualityRow& row) {
    return row.spec + " sends " + format_number(row.quality->mean) +
           "\xc3\x97 the requested number of elements" + quality_interval(*row.quality);
  };
  if (!estimated.empty()) {
    const auto [best, worst] = std::ranges::minmax_element(
        estimated, {}, [](const QualityRow* row) { return miss(*row); });
    if (miss(**worst) < kNoMiss) {
      sentences.push_back(
          (estimated.size() > 1 ? "All compressors send" : (*worst)->spec + " sends") +
          " the requested number of elements.");
    } else {
      sentences.push_back(told(**worst) +
                          (estimated.size() > 1 ? ", the worst k\xcc\x82/k." : "."));
      if (miss(**best) < miss(**worst))
        sentences.push_back(told(**best) + ", the best k\xcc\x82/k.");
    }
  }
  const auto least_error = std::ranges::min_element(summary.totals, {}, [](const QualityRow& row) {
    return row.bits < 32 && std::isfinite(row.error) ? row.error : INFINITY;
  });
  if (least_error->bits < 32 && std::isfinite(least_error->error))
    sentences.push_back(least_error->spec +
                        " has the lowest relative error among the compressors: " +
                        format_percent(least_error->error) + " at " +
                        format_number(least_error->bits) + " bits per element.");
  for (const std::string& failure : summary.failures) sentences.push_back(failure + ".");
  return sentences;
}

std::string render_quality(const Records& records, ReportFormat format) {
  const QualityPageData summary = summarize_quality(records);
  ReportWriter report(format, {.headline = kQualityHeadline,
                               .facts = trace_line(records),
                               .created = records.headers.back().created,
                               .findings = quality_findings(summary),
                               .commands = reproduce_commands(records)});
  if (report.is_page()) report.figures(quality_figures(summary));
  report.table("all", "All tensors together", quality_table(summary.totals, false));
  report.table("tensors", "Every tensor", quality_table(summary.tensors, true));
  return report.finish("Quality", quality_notes(), &records);
}

}  // namespace thinpipe
