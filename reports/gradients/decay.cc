// How sorted magnitudes fall, and what the largest k leave out.
#include <cmath>
#include <utility>

#include "reports/figures/build.h"
#include "reports/figures/style.h"
#include "reports/gradients/figures.h"
#include "reports/gradients/marks.h"
#include "reports/text/units.h"

namespace thinpipe::figures {
namespace {

using Values = std::vector<double> StatsPoints::*;

void add_decay_curves(const StatsUnit& unit, Values values, Figure& figure, Chart& chart) {
  std::size_t style = 0;
  for (const auto& [label, gradient] : drawn_gradients(unit)) {
    const StatsPoints& points = *gradient->points;
    Curve curve{++style, false, true, {}};
    constexpr std::size_t kTooltipEvery = 10;
    for (std::size_t i = 0; i < points.places.size(); ++i) {
      const double value = (points.*values)[i];
      const std::string tooltip =
          i % kTooltipEvery != 0
              ? ""
              : label + "\nplace " + format_number(points.places[i]) + "\n" + format_number(value);
      curve.points.push_back({points.places[i], value, std::nullopt, true, tooltip});
    }
    chart.curves.push_back(std::move(curve));
    figure.legend.push_back({line_svg(style), label});
  }
}

Chart place_chart(const Figure& figure, const std::string& alt) {
  Chart chart;
  chart.id = figure.id + "-0";
  chart.alt = alt;
  chart.x = {"place j of the sorted magnitudes", true, format_tick, {}, {}};
  chart.y = {"", true, format_tick, {}, {}};
  return chart;
}

}  // namespace

Figure power_decay(const StatsSummary& summary) {
  const StatsUnit& unit = summary.main();
  Figure figure{"decay", "How fast sorted magnitudes fall", "", {}, {}};
  figure.caption =
      "Magnitudes over the gradient's norm, the largest first, " + unit.title +
      ". A straight line of slope -p is a power law; above p = \xc2\xbd (the dark line's slope) a "
      "gradient counts as compressible. SIDCo, figure 7a.";
  Chart chart = place_chart(figure, "Sorted magnitudes against their place");
  chart.y.label = "magnitude over norm";
  add_decay_curves(unit, &StatsPoints::magnitudes, figure, chart);
  // The border case through the middle of the first curve.
  if (!chart.curves.empty() && chart.curves[0].points.size() > 1) {
    const std::vector<ChartPoint>& points = chart.curves[0].points;
    const ChartPoint middle = points[points.size() / 2];
    Curve law{kReferenceStyle, false, true, {}};
    for (const ChartPoint& point : {points.front(), points.back()}) {
      law.points.push_back(
          {point.x, middle.y * std::sqrt(middle.x / point.x), std::nullopt, true, ""});
    }
    chart.curves.insert(chart.curves.begin(), std::move(law));
    figure.legend.push_back({line_svg(kReferenceStyle), "slope -\xc2\xbd"});
  }
  add_panel(figure, "", chart);
  return figure;
}

Figure best_k(const StatsSummary& summary) {
  const StatsUnit& unit = summary.main();
  Figure figure{"best-k", "What the k largest elements leave out", "", {}, {}};
  figure.caption = "Norm of all but the k largest elements over the gradient's norm, " +
                   unit.title + ". SIDCo, figure 7b.";
  Chart chart = place_chart(figure, "Best-k error against k");
  chart.x.label = "k";
  chart.y = {"best-k error", false, format_tick, {0.0, 1.0}, {}};
  add_decay_curves(unit, &StatsPoints::errors, figure, chart);
  add_panel(figure, "", chart);
  return figure;
}

}  // namespace thinpipe::figures
