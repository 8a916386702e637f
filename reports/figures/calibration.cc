// What links delivered before ranks used them.
#include <algorithm>

#include "reports/figures/build.h"
#include "reports/record/calibration.h"
#include "reports/text/units.h"

namespace thinpipe {

Figure calibration_figure(const Records& records) {
  Figure figure{"calibration", "What the links delivered before they were used", "", {}, {}};
  figure.caption =
      "Goodput of thinpipe's own traffic over what TCP can deliver on a link of that rate, both "
      "ways; the dashed lines are 100 % and the tolerance on both sides. Hollow grey markers are "
      "links that did not hold.";
  BoxChart chart;
  chart.id = figure.id;
  chart.alt = "Goodput over what TCP can deliver, of every calibrated link";
  chart.axis = {"goodput / ceiling", false, format_percent, {1.0}, {}};
  chart.reference_lines = {1.0};
  double tolerance = 0;
  for (const Header& header : records.headers)
    if (header.calibration.contains("tolerance") && header.calibration["tolerance"].is_number())
      tolerance = std::max(tolerance, header.calibration["tolerance"].get<double>());
  for (const double limit : {1 - tolerance, 1 + tolerance}) {
    if (tolerance == 0) break;
    chart.reference_lines.push_back(limit);
    chart.axis.include.push_back(limit);
  }
  std::vector<std::string> seen;
  for (const CalibratedLinkRecord& link : calibrated_links(records)) {
    const CalibratedWay* farthest = link.farthest();
    if (farthest == nullptr) continue;
    const bool is_first = std::find(seen.begin(), seen.end(), link.link) == seen.end();
    if (is_first) seen.push_back(link.link);
    const auto by_ratio = [](const CalibratedWay& a, const CalibratedWay& b) {
      return a.ratio < b.ratio;
    };
    const auto [least, most] = std::minmax_element(link.ways.begin(), link.ways.end(), by_ratio);
    chart.rows.push_back(
        {.label = link.link + (is_first ? "" : ", launch " + std::to_string(link.launch + 1)),
         .style = 0,
         .middle = farthest->ratio,
         .box = link.ways.size() > 1 ? std::optional<Interval>({least->ratio, most->ratio})
                                     : std::nullopt,
         .is_trusted = link.held(),
         .tooltip = link.link + "\nfarthest off: " + farthest->where + ", " +
                    format_rate(farthest->goodput) + " of " + format_rate(farthest->ceiling) +
                    "\nall ways: " + format_percent(least->ratio) + " to " +
                    format_percent(most->ratio)});
  }
  figures::add_panel(figure, "", chart);
  return figure;
}

}  // namespace thinpipe
