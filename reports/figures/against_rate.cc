// Step time and speed-up against the link's rate.
#include "reports/figures/build.h"
#include "reports/text/units.h"
#include "reports/verdict/verdict.h"

namespace thinpipe::figures {

Figure step_time(const Group& group, const std::string& id) {
  Figure figure{id + "-step-time", "Step time against link rate", "", {}, {}};
  figure.caption =
      "Median step time of the slowest rank; bars are 95 % intervals. Both axes are logarithmic. "
      "Hollow grey markers are points that did not pass their checks.";
  Chart chart;
  chart.id = figure.id;
  chart.alt = "Step time against link rate for each compressor, " + group.title;
  chart.x = rate_axis(group);
  chart.y = {"step time", true, format_time, {}, {}};
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

namespace {

std::string break_even_tooltip(const Series& series) {
  const BreakEven& even = series.break_even;
  const std::string low = even.low ? format_rate(*even.low) : "open";
  const std::string high = even.high ? format_rate(*even.high) : "open";
  return series.label + " breaks even at " + format_rate(even.rate) + "\ninterval: " + low +
         " to " + high;
}

// Farther out it would squeeze what was measured into a corner.
std::optional<double> drawn_prediction(const Group& group, const Series& series) {
  constexpr double kFarthest = 10;
  const std::optional<double> rate = predicted_rate(series);
  if (!rate || *rate * kFarthest < group.rates.front() || *rate > group.rates.back() * kFarthest)
    return std::nullopt;
  return rate;
}

}  // namespace

Figure speedup(const Group& group, const std::string& id) {
  const std::string baseline = group.baseline_name();
  Figure figure{id + "-speed-up", "Speed-up, and where it ends", "", {}, {}};
  figure.caption =
      "Step time of " + baseline +
      " over that of the compressor, with 95 % bootstrap intervals. Above the "
      "dashed line compression pays. Open diamonds mark the break-even rate, interpolated between "
      "neighbouring measured rates in log-log coordinates; crosses the one that models predicted "
      "before, where it lies no farther than a decade off the measured rates.";
  Chart chart;
  chart.id = figure.id;
  chart.alt =
      "Speed-up over " + baseline + " against link rate for each compressor, " + group.title;
  chart.x = rate_axis(group);
  chart.y = {"times as fast as " + baseline, true, format_number, {1.0}, {}};
  chart.reference_lines = {1.0};
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
    if (kind == BreakEven::Kind::kPaysBelow || kind == BreakEven::Kind::kPaysAbove) {
      chart.marks.push_back(
          {series.break_even.rate, 1.0, series.style, break_even_tooltip(series)});
    }
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

}  // namespace thinpipe::figures
