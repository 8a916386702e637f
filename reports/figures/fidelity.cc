// Whether the emulated links did what was asked of them.
#include <cmath>
#include <functional>

#include "reports/figures/build.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace {

using Value = std::function<std::optional<double>(const Cell&)>;

struct Check {
  const char* id;
  const char* title;
  Axis axis;
  std::vector<double> reference_lines;
  Value value;
};

std::optional<double> burst_share(const Cell& cell) {
  const std::optional<double> burst = cell.fidelity("burst_seconds");
  if (!burst || !cell.step_time) return std::nullopt;
  return *burst / cell.step_time->value;
}

std::optional<double> wire_excess(const Cell& cell) {
  const std::optional<double> ratio = cell.fidelity("wire_ratio");
  return ratio ? std::optional<double>(*ratio - 1) : std::nullopt;
}

std::vector<Check> checks() {
  return {{"wire",
           "Bytes on the wire",
           {"measured over predicted, less 1", false, format_percent, {0.0}, {}},
           {0.0},
           wire_excess},
          {"burst",
           "Resolution of the shaper",
           {"time of one burst / step time", true, format_percent, {}, {}},
           {},
           burst_share},
          {"idle",
           "Idle processor",
           {"idle share of the machine", false, format_percent, {0.0}, {}},
           {},
           [](const Cell& cell) { return cell.fidelity("idle_cpu"); }}};
}

// Compressors at one rate would cover each other: each is moved a little along the axis.
double dodged(double rate, std::size_t index, std::size_t count) {
  constexpr double kStep = 0.045;  // of the natural logarithm
  return rate *
         std::exp(kStep * (static_cast<double>(index) - 0.5 * static_cast<double>(count - 1)));
}

}  // namespace
Figure fidelity_figure(const Group& group, const std::string& id) {
  Figure figure{id + "-fidelity", "Fidelity of the links", "", {}, {}};
  figure.caption =
      "Bytes on the wire: what the queueing disciplines counted against what the messages should "
      "take. Resolution of the shaper: how long its largest burst lasts at the link's rate, as a "
      "share of the step; shorter events are not shaped. Idle processor: where it nears zero, the "
      "machine and not the link sets the pace. Compressors stand side by side at each rate.";
  std::vector<Curve> drawn;
  for (const Check& check : checks()) {
    Chart chart;
    chart.id = figure.id + "-" + check.id;
    chart.alt = std::string(check.title) + " against link rate, " + group.title;
    chart.width = figures::kPanelWidth;
    chart.x = figures::rate_axis(group);
    chart.y = check.axis;
    chart.reference_lines = check.reference_lines;
    for (std::size_t i = 0; i < group.series.size(); ++i) {
      const Series& series = group.series[i];
      Curve curve{series.style, true, false, {}, series.label};
      for (const Cell& cell : series.cells) {
        const std::optional<double> value = check.value(cell);
        if (!value) continue;
        curve.points.push_back({dodged(cell.rate, i, group.series.size()), *value, std::nullopt,
                                cell.status == Status::kOk,
                                figures::cell_title(series, cell) + "\n" + check.axis.label + ": " +
                                    check.axis.format(*value)});
      }
      chart.curves.push_back(std::move(curve));
    }
    figures::add_panel(figure, check.title, chart);
    drawn.insert(drawn.end(), chart.curves.begin(), chart.curves.end());
  }
  figure.legend = figures::series_legend(group, drawn);
  return figure;
}

}  // namespace thinpipe
