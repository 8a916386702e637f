// What a step takes against what is lost of the gradient.
#include <algorithm>

#include "reports/figures/build.h"
#include "reports/figures/dots.h"
#include "reports/text/units.h"

namespace thinpipe::figures {

Figure pareto(const Group& group, const std::string& id) {
  Figure figure{id + "-pareto", "Step time against error", "", {}, {}};
  figure.caption =
      "Norm of decoded minus input over norm of input, median over the steps, against the median "
      "step time with its 95 % interval; lower left is better. What lies above and right of the "
      "dashed line is both slower and farther off than some other compressor. Hollow grey markers "
      "did not pass their checks. Speed and error of single steps do not say how training ends.";
  std::vector<Curve> drawn;
  for (const double rate : panel_rates(group)) {
    DotChart dots;
    dots.id = figure.id + "-" + std::to_string(figure.panels.size());
    dots.alt = "Relative error against step time at " + format_rate(rate) + ", " + group.title;
    dots.width = kPanelWidth;
    dots.x = {"step time", true, format_time, {}, {}};
    dots.y = {"relative error", false, format_number, {0.0}, {}};
    dots.has_front = true;
    for (const Series& series : group.series) {
      const Cell* cell = series.at(rate);
      if (cell == nullptr || !cell->step_time) continue;
      const std::optional<double> error = cell->median_of_metric("relative_error");
      if (!error) continue;
      dots.dots.push_back({.name = series.label,
                           .style = series.style,
                           .x = cell->step_time->value,
                           .y = *error,
                           .x_interval = cell->step_time->interval,
                           .is_trusted = cell->status == Status::kOk,
                           .tooltip = cell_title(series, *cell) + "\n" +
                                      format_time(cell->step_time->value) + " a step\nerror " +
                                      format_number(*error)});
    }
    const Chart chart = dots_chart(dots);
    add_panel(figure, format_rate(rate), chart);
    drawn.insert(drawn.end(), chart.curves.begin(), chart.curves.end());
  }
  figure.legend = series_legend(group, drawn);
  return figure;
}

}  // namespace thinpipe::figures
