// What is sent, step by step.
#include <cmath>

#include "reports/figures/build.h"
#include "reports/text/units.h"

namespace thinpipe::figures {

Figure sizes(const Group& group, const std::string& id) {
  Figure figure{id + "-sizes", "Compressed size over the steps", "", {}, {}};
  figure.caption =
      "Bits that a rank encodes for an element of the gradient in each step, mean over the ranks; "
      "uncompressed ones have 32. First trusted repeat at the lowest link rate that was measured "
      "(3LC's figure 9 has the same over a training).";
  Chart chart;
  chart.id = figure.id;
  chart.alt = "Bits an element by step for each compressor, " + group.title;
  chart.x = {"step", false, format_number, {}, {}};
  chart.y = {"bits / element", true, format_number, {}, {}};
  for (const Series& series : group.series) {
    const Point* point = first_point_with(series, "payload_bytes");
    if (point == nullptr) continue;
    const std::vector<double> payload = point->samples("payload_bytes");
    const std::vector<double> dense = point->samples("dense_bytes");
    if (dense.empty() || !(dense.front() > 0)) continue;
    std::vector<double> bits;
    for (const double bytes : payload) bits.push_back(32 * bytes / dense.front());
    chart.curves.push_back(step_curve(series, *point, bits,
                                      [](double value) { return format_number(value) + " bits"; }));
  }
  figure.legend = series_legend(group, chart.curves);
  add_panel(figure, "", chart);
  return figure;
}

}  // namespace thinpipe::figures
