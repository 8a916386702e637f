// Statistics of gradients: figures (SIDCo's figures 2, 7 and 8, and curves over the steps), tables,
// and the report.
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/text.h"
#include "reports/figures/style.h"
#include "reports/gradients/summary.h"
#include "reports/page/page.h"
#include "reports/page/table.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

// Returns the gradients of a tensor, or of the whole model, that are drawn, each with a title.
// These are the first and the last step without error feedback, and the last step with error
// feedback. The first step is the same with and without error feedback, so it is drawn once.
std::vector<std::pair<std::string, const StatsGradient*>> drawn_gradients(const StatsUnit& unit) {
  std::vector<std::pair<std::string, const StatsGradient*>> drawn;
  const auto add = [&](const StatsGradient* gradient, const std::string& how) {
    if (gradient != nullptr)
      drawn.emplace_back("step " + std::to_string(gradient->step) + how, gradient);
  };
  add(unit.plain.first, "");
  if (unit.plain.last != unit.plain.first) add(unit.plain.last, "");
  if (unit.feedback.last != unit.feedback.first) add(unit.feedback.last, ", error feedback");
  return drawn;
}

// Returns the data's marker, then the fits' lines.
std::vector<LegendEntry> fit_legend() {
  std::vector<LegendEntry> legend = {{marker_svg(0), "data"}};
  for (std::size_t i = 0; i < kFitNames.size(); ++i)
    legend.push_back({line_svg(i + 1), kFitNames[i]});
  return legend;
}

// Densities and tails of magnitudes, with their fits.

constexpr std::size_t kMaxTensors = 6;

/// Drops points whose markers would cover the marker before them.
void thin_out(Curve& curve, bool is_log_x) {
  if (curve.points.size() < 3) return;
  const auto x_of = [&](const ChartPoint& p) { return is_log_x ? std::log(p.x) : p.x; };
  const auto y_of = [](const ChartPoint& p) { return std::log(p.y); };  // all y axes are log
  double low = INFINITY, high = -INFINITY;
  for (const ChartPoint& point : curve.points) {
    low = std::min(low, y_of(point));
    high = std::max(high, y_of(point));
  }
  const double width = x_of(curve.points.back()) - x_of(curve.points.front());
  constexpr double kNearest = 1.0 / 45;  // of an axis; a marker is half as wide
  std::vector<ChartPoint> kept = {curve.points.front()};
  for (const ChartPoint& point : curve.points) {
    const double across = (x_of(point) - x_of(kept.back())) / width;
    const double along = (y_of(point) - y_of(kept.back())) / std::max(high - low, 1e-9);
    if (std::hypot(across, along) >= kNearest) kept.push_back(point);
  }
  curve.points = std::move(kept);
}

/// Returns the data's curve in style 0, then the curve of every fit in its own style.
template <class Add>
std::vector<Curve> curves_of(const StatsGradient& gradient, bool is_log_x, Add add) {
  std::vector<Curve> curves = {{0, true, false}};
  add(curves[0], gradient.points->empirical, "data");
  thin_out(curves[0], is_log_x);
  for (std::size_t i = 0; i < kFitNames.size(); ++i) {
    if (!std::isfinite(gradient.distances[i])) continue;
    curves.push_back({i + 1, false, true});
    add(curves.back(), gradient.points->fitted[i], kFitNames[i]);
  }
  return curves;
}

std::string at_magnitude(const std::string& name, double x, double y) {
  return name + "\nmagnitude over norm " + format_number(x) + "\n" + format_number(y);
}

/// Returns densities: the fraction of elements between neighbouring points over their distance.
std::vector<Curve> density_curves(const StatsGradient& gradient) {
  const std::vector<double>& x = gradient.points->x;
  double least = INFINITY;
  for (std::size_t i = 1; i < x.size(); ++i) {
    const double fraction = gradient.points->empirical[i] - gradient.points->empirical[i - 1];
    if (fraction > 0 && x[i] > x[i - 1]) least = std::min(least, fraction / (x[i] - x[i - 1]));
  }
  return curves_of(
      gradient, /*is_log_x=*/false,
      [&](Curve& curve, const std::vector<double>& below, const std::string& who) {
        for (std::size_t i = 1; i < x.size(); ++i) {
          const double density = (below[i] - below[i - 1]) / (x[i] - x[i - 1]);
          const double middle = (x[i] + x[i - 1]) / 2;
          // A fit without a tail would extend the axis far below the data.
          constexpr double kMinOfData = 0.1;
          if (!(density >= kMinOfData * least)) continue;
          const bool has_tooltip = curve.has_markers;
          curve.points.push_back({middle, density, std::nullopt, true,
                                  has_tooltip ? at_magnitude(who, middle, density) : ""});
        }
      });
}

std::vector<Curve> tail_curves(const StatsGradient& gradient) {
  const StatsPoints& points = *gradient.points;
  const double least = gradient.elements > 0 ? 0.1 / gradient.elements : 0;
  return curves_of(
      gradient, /*is_log_x=*/true,
      [&](Curve& curve, const std::vector<double>& below, const std::string& who) {
        for (std::size_t i = 0; i < points.x.size(); ++i) {
          const double beyond = 1 - below[i];
          // Thresholds lie in the larger half of the magnitudes. If half of the elements are 0, the
          // first point of this half is 0, which has no logarithm.
          if (!(beyond >= least && points.empirical[i] >= 0.5 && points.x[i] > 0)) continue;
          const bool has_tooltip = curve.has_markers;
          curve.points.push_back({points.x[i], beyond, std::nullopt, true,
                                  has_tooltip ? at_magnitude(who, points.x[i], beyond) : ""});
        }
      });
}

void add_densities(const StatsGradient& gradient, const std::string& title, Figure& figure) {
  const Chart chart{.id = panel_id(figure),
                    .alt = "Density of magnitudes with four fits, " + title,
                    .x = {"magnitude over the gradient's norm", false, format_tick},
                    .y = {"density", true, format_tick},
                    .curves = density_curves(gradient)};
  add_panel(figure, title, chart);
}

// SIDCo, figs. 2a, 2c, 8a, 8c.
Figure densities(const StatsSummary& summary) {
  Figure figure{"density", "Distribution of magnitudes, with fits"};
  figure.caption =
      "Fraction of the elements in an interval over the interval's length (data: points; fits: "
      "lines), " +
      summary.main().title + ", first analysed rank. SIDCo, figures 2 and 8.";
  for (const auto& [title, gradient] : drawn_gradients(summary.main()))
    add_densities(*gradient, title, figure);
  figure.legend = fit_legend();
  return figure;
}

// SIDCo, figs. 2b, 2d, 8b, 8d, as complementary distribution functions.
Figure tails(const StatsSummary& summary) {
  Figure figure{"tail", "Tail of the magnitudes"};
  figure.caption =
      "Fraction of the elements that are larger than a magnitude, both axes logarithmic, " +
      summary.main().title +
      ", first analysed rank. A compressor that sends 0.1 % sets its threshold where the curve is "
      "at 0.001. A fit above the data at that point sets the threshold too high.";
  for (const auto& [title, gradient] : drawn_gradients(summary.main())) {
    const Chart chart{.id = panel_id(figure),
                      .alt = "Fraction of elements beyond a magnitude, with fits, " + title,
                      .x = {"magnitude over the gradient's norm", true, format_tick},
                      .y = {"fraction beyond", true, format_tick},
                      .curves = tail_curves(*gradient)};
    add_panel(figure, title, chart);
  }
  figure.legend = fit_legend();
  return figure;
}

Figure tensor_densities(const StatsSummary& summary) {
  Figure figure{"tensors", "The largest tensors"};
  std::vector<const StatsUnit*> units;
  for (const StatsUnit& unit : summary.units)
    if (&unit != &summary.main() && unit.plain.last != nullptr) units.push_back(&unit);
  std::ranges::stable_sort(units, std::greater(), &StatsUnit::elements);
  if (units.size() > kMaxTensors) units.resize(kMaxTensors);
  figure.caption =
      "Densities of the tensors with the most elements, in the last step without error feedback.";
  for (const StatsUnit* unit : units) add_densities(*unit->plain.last, unit->title, figure);
  figure.legend = fit_legend();
  return figure;
}

// The decay of sorted magnitudes, and best-k errors.

using Values = std::vector<double> StatsPoints::*;

void add_decay_curves(const StatsUnit& unit, Values values, Figure& figure, Chart& chart) {
  std::size_t style = 0;
  for (const auto& [label, gradient] : drawn_gradients(unit)) {
    const StatsPoints& points = *gradient->points;
    Curve curve{++style, false, true};
    constexpr std::size_t kTooltipEvery = 10;
    for (std::size_t i = 0; i < points.places.size(); ++i) {
      const double value = (points.*values)[i];
      const std::string tooltip =
          i % kTooltipEvery != 0
              ? ""
              : label + "\nindex " + format_number(points.places[i]) + "\n" + format_number(value);
      curve.points.push_back({points.places[i], value, std::nullopt, true, tooltip});
    }
    chart.curves.push_back(std::move(curve));
    figure.legend.push_back({line_svg(style), label});
  }
}

// SIDCo, fig. 7a.
Figure power_decay(const StatsSummary& summary) {
  const StatsUnit& unit = summary.main();
  Figure figure{"decay", "Decay of sorted magnitudes"};
  figure.caption =
      "Magnitudes over the gradient's norm, the largest first, " + unit.title +
      ". A straight line of slope -p is a power law; above p = \xc2\xbd (the dark line's slope) a "
      "gradient counts as compressible. SIDCo, figure 7a.";
  Chart chart{.id = panel_id(figure),
              .alt = "Sorted magnitudes against their index",
              .x = {"index j of the sorted magnitudes", true, format_tick},
              .y = {"magnitude over norm", true, format_tick}};
  add_decay_curves(unit, &StatsPoints::magnitudes, figure, chart);
  // The border case p = 1/2, through the middle of the first curve.
  if (!chart.curves.empty() && chart.curves[0].points.size() > 1) {
    const std::vector<ChartPoint>& points = chart.curves[0].points;
    const ChartPoint middle = points[points.size() / 2];
    Curve law{kReferenceStyle, false, true};
    for (const ChartPoint& point : {points.front(), points.back()})
      law.points.push_back(
          {point.x, middle.y * std::sqrt(middle.x / point.x), std::nullopt, true, ""});
    chart.curves.insert(chart.curves.begin(), std::move(law));
    figure.legend.push_back({line_svg(kReferenceStyle), "slope -\xc2\xbd"});
  }
  add_panel(figure, "", chart);
  return figure;
}

// SIDCo, fig. 7b.
Figure best_k(const StatsSummary& summary) {
  const StatsUnit& unit = summary.main();
  Figure figure{"best-k", "Best-k error"};
  figure.caption = "Norm of all but the k largest elements over the gradient's norm, " +
                   unit.title + ". SIDCo, figure 7b.";
  Chart chart{.id = panel_id(figure),
              .alt = "Best-k error against k",
              .x = {"k", true, format_tick},
              .y = {"best-k error", false, format_tick, {0.0, 1.0}}};
  add_decay_curves(unit, &StatsPoints::errors, figure, chart);
  add_panel(figure, "", chart);
  return figure;
}

// Distances, decay and similarity over the steps.

constexpr std::size_t kMaxMarkers = 60;

Chart step_chart(const Figure& figure, const std::string& label, const std::string& alt) {
  return {.id = panel_id(figure),
          .alt = alt,
          .x = {"training step", false, format_step},
          .y = {label, false, format_number}};
}

/// Returns a curve over steps; values that are not finite are not drawn.
template <class Step, class Value>
Curve step_curve(std::size_t style, const std::string& name, const std::vector<Step>& steps,
                 Value value) {
  Curve curve{style, steps.size() <= kMaxMarkers, true};
  for (const Step& step : steps) {
    const double y = std::invoke(value, step);
    curve.points.push_back(
        {static_cast<double>(step.step), y, std::nullopt, true,
         name + ", step " + std::to_string(step.step) + "\n" + format_number(y)});
  }
  return curve;
}

std::string feedback_title(bool feedback) {
  return feedback ? "with error feedback" : "without error feedback";
}

// Returns a curve of the gradients without, then one of those with error feedback.
template <class Value>
std::vector<Curve> feedback_curves(const StatsUnit& unit, Value value) {
  return {step_curve(1, feedback_title(false), unit.plain.steps, value),
          step_curve(2, feedback_title(true), unit.feedback.steps, value)};
}

Figure fits_by_step(const StatsSummary& summary) {
  const StatsUnit& unit = summary.main();
  Figure figure{"fits", "Distances of the fits, by step"};
  figure.caption =
      "Kolmogorov-Smirnov distance of each fit, " + unit.title + "; a perfect fit has 0.";
  for (const bool feedback : {false, true}) {
    Chart chart = step_chart(figure, "distance",
                             "Distances of the fits by step, " + feedback_title(feedback));
    chart.y.include = {0.0};
    for (std::size_t i = 0; i < kFitNames.size(); ++i)
      chart.curves.push_back(step_curve(i + 1, kFitNames[i],
                                        (feedback ? unit.feedback : unit.plain).steps,
                                        [i](const StatsMeans& step) { return step.distances[i]; }));
    add_panel(figure, feedback_title(feedback), chart);
  }
  for (std::size_t i = 0; i < kFitNames.size(); ++i)
    figure.legend.push_back({line_marker_svg(i + 1), kFitNames[i]});
  return figure;
}

Figure decay_by_step(const StatsSummary& summary) {
  const StatsUnit& unit = summary.main();
  Figure figure{"decay-steps", "Decay and best-k error, by step"};
  figure.caption = "Left: the power law's exponent p, " + unit.title +
                   "; above the dashed line a gradient counts as compressible. Other panels: norm "
                   "of all but the k largest elements over the norm.";
  Chart exponent = step_chart(figure, "p", "Decay exponent by step");
  exponent.y.include = {0.5};
  exponent.reference_lines = {0.5};
  exponent.curves = feedback_curves(unit, &StatsMeans::p);
  figure.legend.push_back({line_marker_svg(1), feedback_title(false)});
  if (!unit.feedback.empty()) figure.legend.push_back({line_marker_svg(2), feedback_title(true)});
  add_panel(figure, "decay exponent", exponent);
  for (std::size_t i = 0; i < summary.records->ratios.size(); ++i) {
    const std::string largest = "largest " + format_percent(summary.records->ratios[i]);
    Chart chart = step_chart(figure, "best-k error", "Best-k error by step, " + largest);
    chart.y.include = {0.0, 1.0};
    chart.curves =
        feedback_curves(unit, [i](const StatsMeans& step) { return step.best_k_errors[i]; });
    add_panel(figure, largest, chart);
  }
  return figure;
}

Figure similarity_by_step(const StatsSummary& summary) {
  const StatsUnit& unit = summary.main();
  Figure figure{"alike", "Similarity of workers and steps"};
  const std::string top = format_percent(summary.records->overlap_ratio);
  figure.caption = "Cosine, and fraction of the positions of the largest " + top +
                   " in common, means over the ranks, " + unit.title +
                   ". A step is compared with the analysed step before it.";
  const auto panel = [&](const StatsAlike& alike, const std::string& title) {
    Chart chart = step_chart(figure, "cosine, fraction in common", "Similarity of " + title);
    chart.y.include = {0.0};
    chart.curves = {step_curve(1, "cosine", alike.steps, &StatsAlikeMeans::cosine),
                    step_curve(2, "in common", alike.steps, &StatsAlikeMeans::overlap)};
    add_panel(figure, title, chart);
  };
  panel(unit.workers, "neighbouring workers");
  panel(unit.steps, "successive steps");
  figure.legend = {{line_marker_svg(1), "cosine"},
                   {line_marker_svg(2), "largest " + top + " in common"}};
  return figure;
}

// Tables.

std::string whole(double value) { return std::to_string(std::llround(value)); }

// Lists elements, zeros and moments of each tensor.
Table stats_moments_table(const StatsSummary& summary) {
  Table table{{"tensor", "elements", "zeros", "mean |g|", "deviation", "excess kurtosis"}};
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

// Returns a table with a row for each tensor: decay, best-k errors and the distances of the fitted
// distributions. The best fit is highlighted. `feedback` selects the gradients with or without
// error feedback; the table has no rows if these were not analysed.
Table stats_fits_table(const StatsSummary& summary, bool feedback) {
  Table table{{"tensor", "p", "R\xc2\xb2"}};
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

// Lists cosines and common positions; without rows where nothing was compared.
Table stats_alike_table(const StatsSummary& summary) {
  const std::string top = "top " + format_percent(summary.records->overlap_ratio) + " in common";
  Table table{{"tensor", "workers: cosine", top, "steps: cosine", top}};
  for (const StatsUnit& unit : summary.units) {
    if (unit.workers.steps.empty() && unit.steps.steps.empty()) continue;
    table.rows.push_back({{unit.title},
                          figure_cell(unit.workers.all.cosine),
                          figure_cell(unit.workers.all.overlap),
                          figure_cell(unit.steps.all.cosine),
                          figure_cell(unit.steps.all.overlap)});
  }
  return table;
}

constexpr const char* kGradientsHeadline = "Distribution of these gradients";

/// Returns the tables that have rows, with their titles.
std::vector<std::pair<std::string, Table>> tables_of(const StatsSummary& summary) {
  std::vector<std::pair<std::string, Table>> tables;
  const auto add = [&](const std::string& title, Table table) {
    if (!table.rows.empty()) tables.emplace_back(title, std::move(table));
  };
  add("Decay, best-k error and distances of the fits", stats_fits_table(summary, false));
  add("The same with error feedback", stats_fits_table(summary, true));
  add("Similarity of workers and of steps", stats_alike_table(summary));
  add("Moments", stats_moments_table(summary));
  return tables;
}

/// Returns the command that made the records, then the command that makes the page.
std::vector<std::string> commands_of(const StatsRecords& records) {
  return {shell_quoted(records.origin.headers.back().command),
          shell_quoted({"thinpipe", "report", records.origin.file.string()})};
}

}  // namespace

std::vector<Figure> stats_figures(const StatsSummary& summary) {
  using Builder = Figure (*)(const StatsSummary&);
  std::vector<Figure> result;
  for (const Builder build : {densities, tails, power_decay, best_k, fits_by_step, decay_by_step,
                              similarity_by_step, tensor_densities})
    result.push_back(build(summary));
  return with_panels(std::move(result));
}

std::string render_stats(const StatsRecords& records, ReportFormat format) {
  const StatsSummary summary = summarize(records);
  ReportWriter report(format, {.headline = kGradientsHeadline,
                               .facts = stats_subject(summary),
                               .created = records.origin.headers.back().created,
                               .findings = stats_findings(summary),
                               .commands = commands_of(records)});
  if (report.is_page()) report.figures(stats_figures(summary));
  report.tables("tables", "Every tensor", tables_of(summary));
  return report.finish("Gradients", stats_method_notes(summary), &records.origin);
}

}  // namespace thinpipe
