// A reproduction's figure as a file of its own.
#include <fmt/format.h>

#include "reports/figures/style.h"
#include "reports/html/standalone.h"
#include "reports/reproduction/reproduction.h"
#include "reports/text/escape.h"

namespace thinpipe {
namespace {

constexpr int kChartHeight = 296, kLine = 22, kSide = 24, kAcross = 2;

// Markers are 28 px wide and 14 high; words stand on the same line.
std::string picture_legend(const ReproductionPicture& picture, int width) {
  std::string text;
  int place = 0;
  for (std::size_t i = 0; i < picture.names.size() && i < picture.chart.curves.size(); ++i) {
    if (picture.names[i].empty()) continue;
    const int x = kSide + (place % kAcross) * (width / kAcross);
    const int y = kChartHeight + 8 + (place / kAcross) * kLine;
    text += fmt::format(
        "<g transform='translate({},{})'>{}<text x='36' y='12' font-size='14'>{}</text></g>", x, y,
        line_marker_svg(picture.chart.curves[i].style), escape_html(picture.names[i]));
    ++place;
  }
  return text;
}

}  // namespace

std::string reproduction_picture(const Reproduction& reproduction) {
  if (!reproduction.plan.picture) return "";
  const ReproductionPicture picture = reproduction.plan.picture(reproduction.arms);
  std::string chart = draw_chart(picture.chart);
  if (chart.empty()) return "";
  // At the top of the room it has: below it is the legend.
  chart.insert(chart.find("<svg") + 4, " preserveAspectRatio='xMidYMin'");
  const int width = picture.chart.width;
  const int lines = (static_cast<int>(picture.names.size()) + kAcross - 1) / kAcross;
  const int height = kChartHeight + 16 + lines * kLine;
  return html::standalone_document(width, height, picture.chart.alt,
                                   chart + "\n" + picture_legend(picture, width));
}

}  // namespace thinpipe
