// What steps wait for exchanges when compute and codecs are over.
#include "reports/figures/build.h"
#include "reports/text/units.h"

namespace thinpipe::figures {

Figure exposed(const Group& group, const std::string& id) {
  Figure figure{id + "-exposed", "Exposed communication", "", {}, {}};
  figure.caption =
      "The part of a step in which its slowest rank waited for exchanges when compute and codec "
      "work were over, as a share of the step; medians over the steps. What is hidden under "
      "compute does not count.";
  Chart chart;
  chart.id = figure.id;
  chart.alt = "Share of a step that waits for exchanges against link rate, " + group.title;
  chart.x = rate_axis(group);
  chart.y = {"exposed / step", false, format_percent, {0.0}, {}};
  for (const Series& series : group.series) {
    Curve curve{series.style, true, true, {}, series.label};
    for (const Cell& cell : series.cells) {
      const std::optional<double> waited = cell.median_of_metric("exposed_time");
      if (!waited || !cell.step_time) continue;
      const double share = *waited / cell.step_time->value;
      curve.points.push_back({cell.rate, share, std::nullopt, cell.status == Status::kOk,
                              cell_title(series, cell) + "\nexposed: " + format_time(*waited) +
                                  " (" + format_percent(share) + " of the step)"});
    }
    chart.curves.push_back(std::move(curve));
  }
  figure.legend = series_legend(group, chart.curves);
  add_panel(figure, "", chart);
  return figure;
}

}  // namespace thinpipe::figures
