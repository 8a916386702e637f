// Groups the points, pools their repeats and sets every compressor against the baselines.
#include "reports/summary/summary.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "reports/scale/scale.h"
#include "reports/statistics/quantile.h"
#include "reports/summary/label.h"

namespace thinpipe {
namespace {

using SeriesKey = std::pair<std::string, std::string>;  // compressor, way

std::string link_without_rate(const std::string& link) {
  std::string rest;
  for (const std::string& part : split(link, ',')) {
    if (part.empty() || part.compare(0, 5, "rate=") == 0) continue;
    rest += (rest.empty() ? "" : ",") + part;
  }
  return rest;
}

bool is_positive(const Estimate& estimate) {
  return estimate.value > 0 && (!estimate.interval || estimate.interval->low > 0);
}

void add_spread(Cell& cell, const Repeats& repeats) {
  if (repeats.size() < 2) return;
  double spread = 0;
  for (const std::vector<double>& repeat : repeats) {
    spread = std::max(spread, std::abs(median(repeat) / cell.step_time->value - 1));
  }
  cell.repeat_spread = spread;
}

Cell make_cell(double rate, std::size_t style, const std::vector<const Point*>& points) {
  Cell cell;
  cell.rate = rate;
  cell.first = points.front();
  for (const Point* point : points) {
    for (const std::string& reason : point->reasons)
      if (std::find(cell.reasons.begin(), cell.reasons.end(), reason) == cell.reasons.end())
        cell.reasons.push_back(reason);
    cell.ok += point->status == Status::kOk ? 1 : 0;
    cell.invalid += point->status == Status::kInvalid ? 1 : 0;
    cell.failed += point->status == Status::kFailed ? 1 : 0;
  }
  cell.status = cell.ok > 0 ? Status::kOk : cell.invalid > 0 ? Status::kInvalid : Status::kFailed;
  if (cell.status == Status::kFailed) return cell;
  for (const Point* point : points) {
    if (point->status == cell.status) cell.used.push_back(point);
  }
  const Repeats repeats = cell.repeats("step_time");
  if (repeats.empty()) return cell;
  for (const std::vector<double>& repeat : repeats) cell.steps += repeat.size();
  cell.bootstrapped = bootstrap_median(repeats, style);
  const Estimate step_time = median_of(repeats, cell.bootstrapped);
  // A step that took no time was not measured; ratios and logarithms need better.
  if (!is_positive(step_time)) return cell;
  cell.step_time = step_time;
  add_spread(cell, repeats);
  return cell;
}

// How many times as fast as the baseline; nothing for the baseline itself.
std::optional<Estimate> speedup_over(const Series* baseline, const Cell& cell) {
  if (baseline == nullptr || cell.status != Status::kOk || !cell.step_time) return std::nullopt;
  const Cell* other = baseline->at(cell.rate);
  if (other == &cell) return std::nullopt;
  return ratio_of_medians(other->bootstrapped, cell.bootstrapped);
}

BreakEven break_even_of(const Series& series, std::optional<Estimate> Cell::*speedup) {
  std::vector<SpeedupAtRate> curve;
  for (const Cell& cell : series.cells)
    if (cell.*speedup) curve.push_back({cell.rate, *(cell.*speedup)});
  return break_even(curve);
}

void compare_with_baselines(Group& group) {
  for (Series& series : group.series) {
    for (Cell& cell : series.cells) {
      const Series* fastest = group.baseline(cell.rate);
      cell.speedup = speedup_over(fastest, cell);
      if (cell.speedup) cell.over = fastest->label;
      cell.over_bf16 = speedup_over(group.baseline(cell.rate, Baseline::kBf16), cell);
      cell.over_fp32 = speedup_over(group.baseline(cell.rate, Baseline::kFp32), cell);
    }
    if (series.is_baseline()) continue;
    series.break_even = break_even_of(series, &Cell::speedup);
    series.break_even_fp32 = break_even_of(series, &Cell::over_fp32);
  }
}

// Colours and markers must mean the same in every group, so they are dealt out over all records.
std::map<SeriesKey, Series> make_styles(const Records& records) {
  std::set<std::string> compressors;
  std::map<SeriesKey, Series> styles;
  for (const Point& point : records.points) {
    compressors.insert(point.axes.compressor);
    Series& series = styles[{point.axes.compressor, point.axes.way()}];
    series.compressor = point.axes.compressor;
    series.method = point.axes.method;
    series.pattern = point.axes.pattern;
    series.feed = point.axes.feed;
    series.device = point.axes.device;
    series.baseline = point.axes.baseline();
  }
  const std::vector<std::string> specs(compressors.begin(), compressors.end());
  const std::vector<std::string> labels = short_labels(specs);
  std::map<std::string, std::string> label_of;
  for (std::size_t i = 0; i < specs.size(); ++i) label_of[specs[i]] = labels[i];
  std::map<std::string, std::vector<Series*>> likes;  // of one compressor
  std::vector<Series*> order;
  for (auto& [key, series] : styles) {
    likes[series.compressor].push_back(&series);
    order.push_back(&series);
  }
  for (const auto& [compressor, list] : likes) {
    std::vector<Way> ways;
    for (const Series* series : list) {
      const std::string device = series->device == "cpu" ? "" : "device=" + series->device;
      const bool both = !series->feed.empty() && !device.empty();
      ways.push_back({series->pattern, series->feed + (both ? ";" : "") + device});
    }
    const std::vector<std::string> different = way_labels(ways);
    for (std::size_t i = 0; i < list.size(); ++i) {
      list[i]->label = label_of[compressor];
      if (!different[i].empty()) list[i]->label += " (" + different[i] + ")";
    }
  }
  const auto place = [](const Series* series) {
    return std::make_tuple(!series->is_baseline(), series->baseline, series->label);
  };
  std::sort(order.begin(), order.end(),
            [&](const Series* a, const Series* b) { return place(a) < place(b); });
  const bool has_none = !order.empty() && order.front()->baseline == Baseline::kFp32;
  for (std::size_t i = 0; i < order.size(); ++i) order[i]->style = i + (has_none ? 0 : 1);
  return styles;
}

Group make_group(const std::vector<const Point*>& points,
                 const std::map<SeriesKey, Series>& styles) {
  Group group;
  group.ranks = points.front()->axes.ranks;
  group.link = link_without_rate(points.front()->axes.link);
  const std::string& topology = points.front()->axes.topology;
  const std::string& stragglers = points.front()->axes.stragglers;
  for (const std::string& part :
       {topology == "star" ? "" : topology, stragglers == "none" ? "" : stragglers, group.link})
    if (!part.empty()) group.setting += (group.setting.empty() ? "" : ", ") + part;
  group.title = std::to_string(group.ranks) + (group.ranks == 1 ? " rank" : " ranks") +
                (group.setting.empty() ? "" : ", " + group.setting);
  std::map<SeriesKey, std::map<double, std::vector<const Point*>>> cells;
  std::set<double> rates;
  for (const Point* point : points) {
    cells[{point->axes.compressor, point->axes.way()}][point->axes.rate].push_back(point);
    rates.insert(point->axes.rate);
  }
  group.rates.assign(rates.begin(), rates.end());
  for (const auto& [key, by_rate] : cells) {
    Series series = styles.at(key);
    for (const auto& [rate, repeats] : by_rate)
      series.cells.push_back(make_cell(rate, series.style, repeats));
    group.series.push_back(std::move(series));
  }
  std::sort(group.series.begin(), group.series.end(),
            [](const Series& a, const Series& b) { return a.style < b.style; });
  compare_with_baselines(group);
  return group;
}

}  // namespace

Summary summarize(const Records& records) {
  require_one_time_scale(records);
  Summary summary;
  summary.records = &records;
  const std::map<SeriesKey, Series> styles = make_styles(records);
  std::map<std::tuple<int, std::string, std::string, double, std::string>,
           std::vector<const Point*>>
      groups;
  for (const Point& point : records.points) {
    const Axes& axes = point.axes;
    groups[{axes.ranks, axes.topology, axes.stragglers, axes.delay, link_without_rate(axes.link)}]
        .push_back(&point);
  }
  for (const auto& [key, points] : groups) summary.groups.push_back(make_group(points, styles));
  return summary;
}

}  // namespace thinpipe
