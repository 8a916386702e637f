// How much faster more workers are.
#include <algorithm>
#include <map>
#include <set>

#include "reports/figures/build.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace {

struct Family {
  std::vector<const Group*> groups;  // ascending in ranks
  std::set<double> rates;
};

std::string format_ranks(double ranks) { return format_number(ranks); }

// Workers times what a step takes without communication over what it takes.
std::optional<Curve> scaling_curve(const Family& family, const Series& series, double rate) {
  Curve curve{series.style, true, true, {}, series.label};
  for (const Group* group : family.groups)
    for (const Series& candidate : group->series) {
      if (candidate.style != series.style) continue;
      const Cell* cell = candidate.at(rate);
      if (cell == nullptr || !cell->step_time) continue;
      const std::optional<double> ideal = cell->median_of_metric("ideal_time");
      if (!ideal || !(*ideal > 0)) continue;
      const double work = group->ranks * *ideal;
      std::optional<Interval> interval;
      if (cell->step_time->interval)
        interval =
            Interval{work / cell->step_time->interval->high, work / cell->step_time->interval->low};
      const double value = work / cell->step_time->value;
      curve.points.push_back({static_cast<double>(group->ranks), value, interval,
                              cell->status == Status::kOk,
                              figures::cell_title(candidate, *cell) + ", " + group->title + "\n" +
                                  format_number(value) + " times one worker's pace (" +
                                  format_percent(value / group->ranks) + " of the ideal)"});
    }
  return curve.points.size() > 1 ? std::optional<Curve>(curve) : std::nullopt;
}

Figure scaling_figure(const Family& family, const std::string& id) {
  Figure figure{id, "Scaling with workers", "", {}, {}};
  const std::string& setting = family.groups.front()->setting;
  if (!setting.empty()) figure.title += ", " + setting;
  figure.caption =
      "Workers times the step without communication, over the step: how many times as much work is "
      "done as by one worker alone, which exchanges nothing. The dashed line is the ideal; with 95 "
      "% intervals of the step time (DGC's figure 6 has the same of images a second).";
  // The largest group names the series; styles are the same in every group.
  const Group& named = **std::max_element(
      family.groups.begin(), family.groups.end(),
      [](const Group* a, const Group* b) { return a->series.size() < b->series.size(); });
  std::vector<Curve> drawn;
  for (const double rate : figures::panel_rates({family.rates.begin(), family.rates.end()})) {
    Chart chart;
    chart.id = id + "-" + std::to_string(figure.panels.size());
    chart.alt = "Speed-up over one worker against workers at " + format_rate(rate);
    chart.width = figures::kPanelWidth;
    chart.x = {"workers", true, format_ranks, {}, {}};
    chart.y = {"times one worker", true, format_number, {}, {}};
    for (const Group* group : family.groups) {
      const double ranks = group->ranks;
      chart.x.ticks.push_back(ranks);
      chart.y.include.push_back(ranks);
      if (chart.guides.empty()) chart.guides.push_back({});
      chart.guides[0].emplace_back(ranks, ranks);
    }
    for (const Series& series : named.series)
      if (std::optional<Curve> curve = scaling_curve(family, series, rate))
        chart.curves.push_back(std::move(*curve));
    figures::add_panel(figure, format_rate(rate), chart);
    drawn.insert(drawn.end(), chart.curves.begin(), chart.curves.end());
  }
  figure.legend = figures::series_legend(named, drawn);
  return figure;
}

}  // namespace

std::vector<Figure> scaling_figures(const Summary& summary, const std::string& id) {
  std::map<std::string, Family> families;
  for (const Group& group : summary.groups) {
    Family& family = families[group.setting];
    family.groups.push_back(&group);
    family.rates.insert(group.rates.begin(), group.rates.end());
  }
  std::vector<Figure> figures;
  for (const auto& [setting, family] : families) {
    if (family.groups.size() < 2) continue;
    Figure figure = scaling_figure(family, id + "-" + std::to_string(figures.size()));
    if (!figure.panels.empty()) figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace thinpipe
