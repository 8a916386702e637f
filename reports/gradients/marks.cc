// What the figures of gradients share: ticks, lines in legends.
#include "reports/gradients/marks.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "reports/figures/style.h"
#include "reports/gradients/figures.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace figures {

std::string format_tick(double value) {
  const double magnitude = std::abs(value);
  if (magnitude == 0 || (magnitude >= 1e-3 && magnitude < 1e5)) return format_number(value);
  const double exponent = std::floor(std::log10(magnitude) + 1e-9);
  return fmt::format("{:.3g}e{:.0f}", value / std::pow(10.0, exponent), exponent);
}

std::string format_step(double value) { return fmt::format("{:.0f}", value); }

std::string line_svg(std::size_t style) {
  return fmt::format(
      "<svg class='marker' viewBox='-1.6 -1.6 3.2 3.2' width='14' height='14' aria-hidden='true' "
      "style='fill:var({})'><rect x='-1.6' y='-0.25' width='3.2' height='0.5'/></svg>",
      css_variable(series_ink(style)));
}

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

std::vector<LegendEntry> fit_legend() {
  std::vector<LegendEntry> legend = {{marker_svg(0), "data"}};
  for (std::size_t i = 0; i < kFitNames.size(); ++i)
    legend.push_back({line_svg(i + 1), kFitNames[i]});
  return legend;
}

}  // namespace figures

std::vector<Figure> stats_figures(const StatsSummary& summary) {
  using Builder = Figure (*)(const StatsSummary&);
  std::vector<Figure> result;
  for (const Builder build : {figures::densities, figures::tails, figures::power_decay,
                              figures::best_k, figures::fits_by_step, figures::decay_by_step,
                              figures::similarity_by_step, figures::tensor_densities}) {
    Figure figure = build(summary);
    if (!figure.panels.empty()) result.push_back(std::move(figure));
  }
  return result;
}

}  // namespace thinpipe
