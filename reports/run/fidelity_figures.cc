// Figures of the fidelity of links and models, and of scaling with workers.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "reports/run/figures.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

struct Compared {
  const char* title;
  std::vector<MetricType> metrics;  // summed
};

using Read = std::optional<double> (Cell::*)(const MetricType&) const;

std::optional<double> total(const Cell& cell, const Compared& compared, Read read) {
  double sum = 0;
  for (const MetricType& metric : compared.metrics) {
    const std::optional<double> value = (cell.*read)(metric);
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum > 0 ? std::optional(sum) : std::nullopt;
}

struct Check {
  const char* id;
  const char* title;
  Axis axis;
  std::vector<double> reference_lines;
  std::function<std::optional<double>(const Cell&)> value;
};

std::optional<double> burst_share(const Cell& cell) {
  const std::optional<double> burst = cell.fidelity(&Fidelity::burst_seconds);
  return burst && cell.step_time ? std::optional(*burst / cell.step_time->value) : std::nullopt;
}

std::optional<double> wire_excess(const Cell& cell) {
  const std::optional<double> ratio = cell.fidelity(&Fidelity::wire_ratio);
  return ratio ? std::optional(*ratio - 1) : std::nullopt;
}

std::vector<Check> checks() {
  return {{"wire",
           "Bytes on the wire",
           {"measured over predicted, less 1", false, format_percent, {0.0}},
           {0.0},
           wire_excess},
          {"burst",
           "Resolution of the shaper",
           {"time of one burst / step time", true, format_percent},
           {},
           burst_share},
          {"idle",
           "CPU idle time",
           {"idle fraction of the CPU time", false, format_percent, {0.0}},
           {},
           [](const Cell& cell) { return cell.fidelity(&Fidelity::idle_cpu); }}};
}

// Returns the factor that shifts a compressor a little along the axis of rates, so that those at
// one rate do not overlap. All of them stay nearer to this rate than to the next one.
double shift_of(std::size_t index, const Group& group) {
  const double count = static_cast<double>(group.series.size());
  double step = 0.045;  // of the natural logarithm
  constexpr double kOfGap = 0.6;
  for (std::size_t i = 1; i < group.rates.size(); ++i)
    step = std::min(step, kOfGap * std::log(group.rates[i] / group.rates[i - 1]) / count);
  return std::exp(step * (static_cast<double>(index) - 0.5 * (count - 1)));
}

struct Family {
  std::vector<const Group*> groups;  // ascending in ranks
  std::set<double> rates;
};

// Returns the workers times the ideal step over the measured step, against the number of ranks.
std::optional<Curve> scaling_curve(const Family& family, const Series& series, double rate) {
  Curve curve{series.style, true, true, {}, series.label};
  for (const Group* group : family.groups)
    for (const Series& candidate : group->series) {
      if (candidate.style != series.style) continue;
      const Cell* cell = candidate.at(rate);
      if (cell == nullptr || !cell->step_time) continue;
      const std::optional<double> ideal = cell->median_of_metric("ideal_time"_metric);
      if (!ideal || !(*ideal > 0)) continue;
      const double work = group->ranks * *ideal;
      std::optional<Interval> interval;
      if (cell->step_time->interval)
        interval =
            Interval{work / cell->step_time->interval->high, work / cell->step_time->interval->low};
      const double value = work / cell->step_time->value;
      curve.points.push_back({static_cast<double>(group->ranks), value, interval,
                              cell->status == Status::kOk,
                              cell_title(candidate, *cell) + ", " + group->title + "\n" +
                                  format_number(value) + "\xc3\x97 over one worker (" +
                                  format_percent(value / group->ranks) + " of the ideal)"});
    }
  return curve.points.size() > 1 ? std::optional(curve) : std::nullopt;
}

// Returns the names and styles of all series. A style is the same in every group.
Group named_series(const Family& family) {
  Group all;
  for (const Group* group : family.groups)
    for (const Series& series : group->series) {
      if (std::ranges::count(all.series, series.style, &Series::style) > 0) continue;
      Series& named = all.series.emplace_back();
      named.label = series.label;
      named.style = series.style;
    }
  std::ranges::sort(all.series, {}, &Series::style);
  return all;
}

Figure scaling_figure(const Family& family, const std::string& id) {
  Figure figure{id, "Scaling with workers"};
  const std::string& setting = family.groups.front()->setting;
  if (!setting.empty()) figure.title += ", " + setting;
  figure.caption =
      "Speed-up over one worker, which exchanges nothing: the number of workers times the step "
      "without communication, over the measured step. The dashed line is ideal scaling; bars are "
      "95 % intervals of the step time (DGC's figure 6 shows the same for images per second).";
  const Group named = named_series(family);
  std::vector<Curve> drawn;
  for (const double rate : panel_rates({family.rates.begin(), family.rates.end()})) {
    Chart chart{.id = panel_id(figure),
                .alt = "Speed-up over one worker against workers at " + format_rate(rate),
                .width = kPanelWidth};
    chart.guides.emplace_back();
    chart.x = {"workers", true, format_number};
    chart.y = {"speed-up over one worker", true, format_number};
    for (const Group* group : family.groups) {
      const double ranks = group->ranks;
      chart.x.ticks.push_back(ranks);
      chart.y.include.push_back(ranks);
      chart.guides[0].emplace_back(ranks, ranks);
    }
    for (const Series& series : named.series)
      if (std::optional<Curve> curve = scaling_curve(family, series, rate))
        chart.curves.push_back(std::move(*curve));
    add_panel(figure, format_rate(rate), chart);
    drawn.insert(drawn.end(), chart.curves.begin(), chart.curves.end());
  }
  figure.legend = series_legend(named, drawn);
  return figure;
}

}  // namespace

Figure predicted_figure(const Group& group, const std::string& id) {
  Figure figure{id + "-predicted", "Predicted against measured"};
  figure.caption =
      "Times predicted by models before the measurement, against the measured medians; one marker "
      "per compressor and link rate. Prediction and measurement agree on the dashed line; above it "
      "the prediction is too long. Hollow grey markers are points that failed their checks.";
  std::vector<Curve> drawn;
  const std::vector<Compared> times = {
      {"the step", {"step_time"_metric}},
      {"the exchange", {"exchange_time"_metric}},
      {"the codec", {"compress_time"_metric, "decode_time"_metric}}};
  for (const Compared& compared : times) {
    DotChart dots;
    dots.id = panel_id(figure);
    dots.alt =
        std::string("Predicted against measured time of ") + compared.title + ", " + group.title;
    dots.width = kPanelWidth;
    dots.x = {"measured", true, format_time};
    dots.y = {"predicted", true, format_time};
    dots.has_diagonal = true;
    for (const Series& series : group.series)
      for (const Cell& cell : series.cells) {
        const auto measured = total(cell, compared, &Cell::median_of_metric);
        const auto said = total(cell, compared, &Cell::prediction);
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

Figure fidelity_figure(const Group& group, const std::string& id) {
  Figure figure{id + "-fidelity", "Fidelity of the links"};
  figure.caption =
      "Bytes on the wire: bytes counted by the queueing disciplines over the bytes predicted from "
      "the messages. Resolution of the shaper: the duration of its largest burst at the link's "
      "rate, as a fraction of the step; shorter events are not shaped. CPU idle time: near zero, "
      "the host rather than the link sets the pace. Compressors are shifted apart at each rate.";
  std::vector<Curve> drawn;
  for (const Check& check : checks()) {
    Chart chart{.id = figure.id + "-" + check.id,
                .alt = std::string(check.title) + " against link rate, " + group.title,
                .width = kPanelWidth,
                .x = rate_axis(group),
                .y = check.axis,
                .reference_lines = check.reference_lines};
    for (std::size_t i = 0; i < group.series.size(); ++i) {
      const Series& series = group.series[i];
      Curve curve{series.style, true, false, {}, series.label, shift_of(i, group)};
      for (const Cell& cell : series.cells) {
        const std::optional<double> value = check.value(cell);
        if (!value) continue;
        curve.points.push_back({cell.rate, *value, std::nullopt, cell.status == Status::kOk,
                                cell_title(series, cell) + "\n" + check.axis.label + ": " +
                                    check.axis.format(*value)});
      }
      chart.curves.push_back(std::move(curve));
    }
    add_panel(figure, check.title, chart);
    drawn.insert(drawn.end(), chart.curves.begin(), chart.curves.end());
  }
  figure.legend = series_legend(group, drawn);
  return figure;
}

Figure calibration_figure(const Records& records) {
  Figure figure{"calibration", "Calibration of the links"};
  figure.caption =
      "Goodput of thinpipe's own traffic over the TCP ceiling of a link of that rate, in both "
      "directions. The dashed lines are 100 % and the tolerance. Hollow grey markers are links "
      "that failed calibration.";
  BoxChart chart{.id = figure.id,
                 .alt = "Goodput over the TCP ceiling of every calibrated link",
                 .axis = {"goodput / ceiling", false, format_percent, {1.0}},
                 .reference_lines = {1.0}};
  double tolerance = 0;
  for (const Header& header : records.headers)
    tolerance = std::max(tolerance, header.calibration.number("tolerance").value_or(0));
  for (const double limit : {1 - tolerance, 1 + tolerance}) {
    if (tolerance == 0) break;
    chart.reference_lines.push_back(limit);
    chart.axis.include.push_back(limit);
  }
  std::set<std::string> seen;
  for (const CalibratedLinkRecord& link : calibrated_links(records)) {
    const CalibratedWay* farthest = link.farthest();
    if (farthest == nullptr) continue;
    const bool is_first = seen.insert(link.link).second;
    const auto [least, most] = std::ranges::minmax_element(link.ways, {}, &CalibratedWay::ratio);
    chart.rows.push_back(
        {.label = link.link + (is_first ? "" : ", launch " + std::to_string(link.launch + 1)),
         .style = 0,
         .middle = farthest->ratio,
         .box = link.ways.size() > 1 ? std::optional<Interval>({least->ratio, most->ratio})
                                     : std::nullopt,
         .is_trusted = link.held() || link.verdict == "unjudged",
         .tooltip = link.link + "\nfarthest from the ceiling: " + farthest->where + ", " +
                    format_rate(farthest->goodput) + " of " + format_rate(farthest->ceiling) +
                    "\nall directions: " + format_percent(least->ratio) + " to " +
                    format_percent(most->ratio)});
  }
  add_panel(figure, "", chart);
  return figure;
}

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
