// Code that a run's figures share, and the figures against the link's rate.
#include "reports/run/figures.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "reports/figures/style.h"
#include "reports/text/phrases.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

std::string break_even_tooltip(const Series& series) {
  const BreakEven& even = series.break_even;
  return series.label + " breaks even at " + format_rate(even.rate) +
         "\ninterval: " + rate_or_open(even.low) + " to " + rate_or_open(even.high);
}

// Returns the predicted rate unless it lies so far out that the measured rates would be squeezed.
std::optional<double> drawn_prediction(const Group& group, const Series& series) {
  constexpr double kFarthest = 10;
  const std::optional<double> rate = predicted_rate(series);
  if (!rate || *rate * kFarthest < group.rates.front() || *rate > group.rates.back() * kFarthest)
    return std::nullopt;
  return rate;
}

// Returns the trusted repeats at all rates: encoding does not depend on the link.
Repeats encode_times(const Series& series) {
  Repeats all;
  for (const Cell& cell : series.cells) {
    if (cell.status != Status::kOk) continue;
    for (std::vector<double>& repeat : cell.repeats("compress_time"_metric))
      if (std::ranges::all_of(repeat, [](double time) { return time > 0; }))
        all.push_back(std::move(repeat));
  }
  return all;
}

// Returns Top-k with the same ratio, else any Top-k.
const Series* top_k_for(const Group& group, const Series& series) {
  const Series* found = nullptr;
  for (const Series& candidate : group.series) {
    if (candidate.method != "topk" || encode_times(candidate).empty()) continue;
    if (split_amount(candidate.compressor).amount == split_amount(series.compressor).amount)
      return &candidate;
    if (found == nullptr) found = &candidate;
  }
  return found;
}

// "60 steps in 3 repeats".
std::string cell_basis(const Cell& cell) {
  return counted(cell.steps, "step") + " in " + counted(cell.used.size(), "repeat");
}

}  // namespace

std::string cell_title(const Series& series, const Cell& cell) {
  std::string title = series.label + " at " + format_rate(cell.rate);
  if (cell.status == Status::kInvalid) {
    title += "\ninvalid";
    if (!cell.used.empty() && !cell.used[0]->reasons.empty())
      title += ": " + cell.used[0]->reasons[0];
  }
  return title;
}

Axis rate_axis(const Group& group) {
  Axis axis{"link rate", true, format_rate};
  // Measured rates are better ticks than round ones, where they fit.
  constexpr std::size_t kMaxRateTicks = 7;
  if (group.rates.size() <= kMaxRateTicks) axis.ticks = group.rates;
  return axis;
}

std::vector<double> panel_rates(const std::vector<double>& rates) {
  constexpr std::size_t kMaxPanels = 6;
  if (rates.size() <= kMaxPanels) return rates;
  std::vector<double> spread;
  for (std::size_t i = 0; i < kMaxPanels; ++i)
    spread.push_back(rates[i * (rates.size() - 1) / (kMaxPanels - 1)]);
  return spread;
}

std::vector<LegendEntry> series_legend(const Group& group, const std::vector<Curve>& curves) {
  std::vector<LegendEntry> legend;
  const bool is_line = std::ranges::any_of(curves, &Curve::has_line);
  for (const Series& series : group.series) {
    const bool is_drawn = std::ranges::any_of(curves, [&](const Curve& curve) {
      return curve.style == series.style && !curve.points.empty();
    });
    if (is_drawn)
      legend.push_back(
          {is_line ? line_marker_svg(series.style) : marker_svg(series.style), series.label});
  }
  return legend;
}

std::vector<Figure> group_figures(const Group& group, const std::string& id) {
  using Builder = Figure (*)(const Group&, const std::string&);
  std::vector<Figure> result;
  for (const Builder build :
       {step_time_figure, speedup_figure, pareto_figure, error_and_bytes_figure, exposed_figure,
        parts_figure, waits_figure, predicted_figure, quality_figure, sizes_figure, latency_figure,
        timeline_figure})
    result.push_back(build(group, id));
  return with_panels(std::move(result));
}

Figure step_time_figure(const Group& group, const std::string& id) {
  Figure figure{id + "-step-time", "Step time against link rate"};
  figure.caption =
      "Median step time of the slowest rank; bars are 95 % intervals. Both axes are logarithmic. "
      "Hollow grey markers are points that failed their checks.";
  Chart chart{.id = figure.id,
              .alt = "Step time against link rate for each compressor, " + group.title,
              .x = rate_axis(group),
              .y = {"step time", true, format_time}};
  for (const Series& series : group.series) {
    Curve curve{series.style, true, true, {}, series.label};
    for (const Cell& cell : series.cells) {
      if (!cell.step_time) continue;
      curve.points.push_back(
          {cell.rate, cell.step_time->value, cell.step_time->interval, cell.status == Status::kOk,
           cell_title(series, cell) + "\n" + format_time(cell.step_time->value) + " (" +
               format_interval(*cell.step_time, format_time) + ")\n" + cell_basis(cell)});
    }
    chart.curves.push_back(std::move(curve));
  }
  figure.legend = series_legend(group, chart.curves);
  add_panel(figure, "", chart);
  return figure;
}

Figure speedup_figure(const Group& group, const std::string& id) {
  const std::string baseline = group.baseline_name();
  Figure figure{id + "-speed-up", "Speed-up and break-even rate"};
  figure.caption =
      "Step time of " + baseline +
      " over that of the compressor, with 95 % bootstrap intervals. Above the dashed line the "
      "compressor is faster than the baseline. Open diamonds mark the break-even rate, "
      "interpolated between neighbouring measured rates in log-log coordinates. Crosses mark the "
      "predicted break-even rate, where it lies within a decade of the measured rates.";
  Chart chart{
      .id = figure.id,
      .alt = "Speed-up over " + baseline + " against link rate for each compressor, " + group.title,
      .x = rate_axis(group),
      .y = {"speed-up over " + baseline, true, format_number, {1.0}},
      .reference_lines = {1.0}};
  for (const Series& series : group.series) {
    if (series.is_baseline()) continue;
    Curve curve{series.style, true, true, {}, series.label};
    for (const Cell& cell : series.cells) {
      if (!cell.speedup) continue;
      curve.points.push_back(
          {cell.rate, cell.speedup->value, cell.speedup->interval, true,
           cell_title(series, cell) + "\n" + times_told(cell) + "\n" + cell_basis(cell)});
    }
    const BreakEven::Kind kind = series.break_even.kind;
    if (kind == BreakEven::Kind::kPaysBelow || kind == BreakEven::Kind::kPaysAbove)
      chart.marks.push_back(
          {series.break_even.rate, 1.0, series.style, break_even_tooltip(series)});
    if (const std::optional<double> rate = drawn_prediction(group, series)) {
      chart.marks.push_back({*rate, 1.0, series.style,
                             series.label + " was predicted to break even at " + format_rate(*rate),
                             /*is_predicted=*/true});
      chart.x.include.push_back(*rate);
    }
    chart.curves.push_back(std::move(curve));
  }
  figure.legend = series_legend(group, chart.curves);
  add_panel(figure, "", chart);
  return figure;
}

Figure exposed_figure(const Group& group, const std::string& id) {
  Figure figure{id + "-exposed", "Exposed communication"};
  figure.caption =
      "Time in which the slowest rank waited for exchanges after its compute and codec work, as a "
      "fraction of the step; medians over the steps. Communication hidden by compute does not "
      "count.";
  Chart chart{
      .id = figure.id,
      .alt = "Exposed communication as a fraction of the step against link rate, " + group.title,
      .x = rate_axis(group),
      .y = {"exposed / step", false, format_percent, {0.0}}};
  for (const Series& series : group.series) {
    Curve curve{series.style, true, true, {}, series.label};
    for (const Cell& cell : series.cells) {
      const std::optional<double> waited = cell.median_of_metric("exposed_time"_metric);
      if (!waited || !cell.step_time) continue;
      const double fraction = *waited / cell.step_time->value;
      curve.points.push_back({cell.rate, fraction, std::nullopt, cell.status == Status::kOk,
                              cell_title(series, cell) + "\nexposed: " + format_time(*waited) +
                                  " (" + format_percent(fraction) + " of the step)"});
    }
    chart.curves.push_back(std::move(curve));
  }
  figure.legend = series_legend(group, chart.curves);
  add_panel(figure, "", chart);
  return figure;
}

Figure latency_figure(const Group& group, const std::string& id) {
  Figure figure{id + "-latency", "Encoding against Top-k"};
  figure.caption =
      "Median time in which Top-k encodes a step's gradients over that of the compressor, with "
      "95 % bootstrap intervals, over all link rates (SIDCo's figure 1). Right of the dashed line "
      "the compressor is faster than Top-k; Top-k has the same ratio where it was measured. Ranks "
      "share the machine's cores, so these times are longer than those of thinpipe bench.";
  BoxChart chart{.id = figure.id,
                 .alt = "Encoding speed-up of each compressor over Top-k, " + group.title,
                 .axis = {"speed-up over Top-k", true, format_number, {1.0}},
                 .reference_lines = {1.0}};
  for (const Series& series : group.series) {
    const Repeats own = encode_times(series);
    const Series* top_k = top_k_for(group, series);
    if (series.is_baseline() || own.empty() || top_k == nullptr || top_k == &series) continue;
    const Estimate ratio = ratio_of_medians(bootstrap_median(encode_times(*top_k), top_k->style),
                                            bootstrap_median(own, series.style));
    chart.rows.push_back(
        {.label = series.label,
         .style = series.style,
         .middle = ratio.value,
         .box = ratio.interval,
         .tooltip =
             series.label + "\n" + format_number(ratio.value) + "\xc3\x97 over " + top_k->label +
             (ratio.interval ? " (95 % CI " + format_interval(ratio, format_number) + ")" : "")});
  }
  add_panel(figure, "", chart);
  return figure;
}

}  // namespace thinpipe
