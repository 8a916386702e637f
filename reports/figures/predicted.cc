// What models said against what was measured.
#include "reports/figures/build.h"
#include "reports/figures/dots.h"
#include "reports/text/units.h"

namespace thinpipe::figures {
namespace {

struct Compared {
  const char* title;
  std::vector<const char*> metrics;  // added up
};

const std::vector<Compared>& compared_times() {
  static const std::vector<Compared> kAll = {{"the step", {"step_time"}},
                                             {"the exchange", {"exchange_time"}},
                                             {"the codec", {"compress_time", "decode_time"}}};
  return kAll;
}

using Read = std::optional<double> (*)(const Cell&, const std::string&);

std::optional<double> total(const Cell& cell, const Compared& compared, Read read) {
  double sum = 0;
  for (const char* metric : compared.metrics) {
    const std::optional<double> value = read(cell, metric);
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum > 0 ? std::optional<double>(sum) : std::nullopt;
}

}  // namespace

Figure predicted(const Group& group, const std::string& id) {
  Figure figure{id + "-predicted", "Predicted against measured", "", {}, {}};
  figure.caption =
      "Times that models gave before the point was measured, against the measured medians; a "
      "marker a compressor and link rate. On the dashed line they agree, above it too long a time "
      "was predicted. Hollow grey markers did not pass their checks.";
  std::vector<Curve> drawn;
  for (const Compared& compared : compared_times()) {
    DotChart dots;
    dots.id = figure.id + "-" + std::to_string(figure.panels.size());
    dots.alt =
        std::string("Predicted against measured time of ") + compared.title + ", " + group.title;
    dots.width = kPanelWidth;
    dots.x = {"measured", true, format_time, {}, {}};
    dots.y = {"predicted", true, format_time, {}, {}};
    dots.has_diagonal = true;
    for (const Series& series : group.series)
      for (const Cell& cell : series.cells) {
        const auto measured = total(cell, compared, [](const Cell& of, const std::string& metric) {
          return of.median_of_metric(metric);
        });
        const auto said = total(cell, compared, [](const Cell& of, const std::string& metric) {
          return of.prediction(metric);
        });
        if (!measured || !said) continue;
        dots.dots.push_back({.name = series.label,
                             .style = series.style,
                             .x = *measured,
                             .y = *said,
                             .is_trusted = cell.status == Status::kOk,
                             .tooltip = cell_title(series, cell) + "\nmeasured " +
                                        format_time(*measured) + "\npredicted " +
                                        format_time(*said)});
      }
    const Chart chart = dots_chart(dots);
    add_panel(figure, compared.title, chart);
    drawn.insert(drawn.end(), chart.curves.begin(), chart.curves.end());
  }
  figure.legend = series_legend(group, drawn);
  return figure;
}

}  // namespace thinpipe::figures
