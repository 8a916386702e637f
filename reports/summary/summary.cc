// Groups the points, pools their repeats, compares every compressor with the baselines, and
// interpolates the break-even rate between neighbouring measured rates.
#include "reports/summary/summary.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "reports/summary/time_scale.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

struct RateAndRatio {
  double rate;
  double ratio;
};

bool is_above(const RateAndRatio& point) { return point.ratio > 1; }

// Returns the rate at which the line through two points in log-log coordinates meets ratio 1.
double crossing(const RateAndRatio& left, const RateAndRatio& right) {
  const double y0 = std::log(left.ratio), y1 = std::log(right.ratio);
  const double x0 = std::log(left.rate), x1 = std::log(right.rate);
  return std::exp(x0 + (x1 - x0) * (y0 / (y0 - y1)));
}

// Returns the index of the point after the crossing at the highest rate: with increasing rate from
// faster to slower, or back. 0 without a crossing.
std::size_t last_crossing(const std::vector<RateAndRatio>& curve, bool from_faster) {
  for (std::size_t i = curve.size(); i-- > 1;)
    if (is_above(curve[i - 1]) == from_faster && is_above(curve[i]) != from_faster) return i;
  return 0;
}

std::optional<double> crossing_of_ends(std::span<const SpeedupAtRate> points, bool from_faster,
                                       double Interval::*end) {
  std::vector<RateAndRatio> curve;
  for (const SpeedupAtRate& point : points) {
    if (!point.speedup.interval) return std::nullopt;
    curve.push_back({point.rate, (*point.speedup.interval).*end});
  }
  const std::size_t at = last_crossing(curve, from_faster);
  return at == 0 ? std::nullopt : std::optional(crossing(curve[at - 1], curve[at]));
}

bool any_is(std::span<const SpeedupAtRate> points, Pays wanted) {
  return std::ranges::count(points, wanted,
                            [](const SpeedupAtRate& point) { return pays(point.speedup); }) > 0;
}

// Returns the mean of the points' values; nothing without any.
template <class Value>
std::optional<double> mean_over(const std::vector<const Point*>& points, Value value) {
  std::vector<double> values;
  for (const Point* point : points)
    if (const std::optional<double> one = value(*point)) values.push_back(*one);
  return values.empty() ? std::nullopt : std::optional(mean(values));
}

using SeriesKey = std::pair<std::string, std::string>;  // compressor, way

std::string link_without_rate(const std::string& link) {
  std::vector<std::string> parts = split(link, ',');
  std::erase_if(parts,
                [](const std::string& part) { return part.empty() || part.starts_with("rate="); });
  return joined(parts, ",");
}

bool is_positive(const Estimate& estimate) {
  return estimate.value > 0 && (!estimate.interval || estimate.interval->low > 0);
}

void add_spread(Cell& cell, const Repeats& repeats) {
  if (repeats.size() < 2) return;
  double spread = 0;
  for (const std::vector<double>& repeat : repeats)
    spread = std::max(spread, std::abs(median(repeat) / cell.step_time->value - 1));
  cell.repeat_spread = spread;
}

Cell make_cell(double rate, std::size_t style, const std::vector<const Point*>& points) {
  Cell cell;
  cell.rate = rate;
  cell.first = points.front();
  for (const Point* point : points) {
    for (const std::string& reason : point->reasons) add_once(cell.reasons, reason);
    cell.ok += point->status == Status::kOk ? 1 : 0;
    cell.invalid += point->status == Status::kInvalid ? 1 : 0;
    cell.failed += point->status == Status::kFailed ? 1 : 0;
  }
  cell.status = cell.ok > 0 ? Status::kOk : cell.invalid > 0 ? Status::kInvalid : Status::kFailed;
  if (cell.status == Status::kFailed) return cell;
  for (const Point* point : points)
    if (point->status == cell.status) cell.used.push_back(point);
  const Repeats repeats = cell.repeats("step_time"_metric);
  if (repeats.empty()) return cell;
  for (const std::vector<double>& repeat : repeats) cell.steps += repeat.size();
  cell.bootstrapped = bootstrap_median(repeats, style);
  const Estimate step_time = median_of(repeats, cell.bootstrapped);
  // A step that took no time was not measured; ratios and logarithms need positive times.
  if (!is_positive(step_time)) return cell;
  cell.step_time = step_time;
  add_spread(cell, repeats);
  return cell;
}

// Returns the speed-up over the baseline; nothing for the baseline itself.
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
      // If one of two measured baselines has no trusted time at this rate, nobody knows which is
      // the faster. It may also lack a point, as in a shard or an interrupted run.
      const bool unknown = std::ranges::any_of(group.series, [&](const Series& one) {
        return one.is_baseline() && group.baseline(cell.rate, one.baseline) == nullptr;
      });
      const Series* fastest = unknown ? nullptr : group.baseline(cell.rate);
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

// Assigns colours and markers over all records, so that they mean the same in every group.
std::map<SeriesKey, Series> make_styles(const Records& records) {
  std::set<std::string> compressors;
  std::map<SeriesKey, Series> styles;
  for (const Point& point : records.points) {
    compressors.insert(point.axes.compressor);
    styles[{point.axes.compressor, point.axes.way()}] = {.compressor = point.axes.compressor,
                                                         .method = point.axes.method,
                                                         .collective = point.axes.collective,
                                                         .bucketing = point.axes.bucketing,
                                                         .device = point.axes.device,
                                                         .baseline = point.axes.baseline()};
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
      const bool both = !series->bucketing.empty() && !device.empty();
      ways.push_back({series->collective, series->bucketing + (both ? ";" : "") + device});
    }
    const std::vector<std::string> different = way_labels(ways);
    for (std::size_t i = 0; i < list.size(); ++i) {
      list[i]->label = label_of[compressor];
      if (!different[i].empty()) list[i]->label += " (" + different[i] + ")";
    }
  }
  std::ranges::sort(order, {}, [](const Series* series) {
    return std::tuple(!series->is_baseline(), series->baseline, series->label);
  });
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
  const std::string& engine = points.front()->axes.engine;
  std::vector<std::string> parts = {engine == kSimGridEngine    ? "simulated by SimGrid"
                                    : engine == kNetworkEngine  ? "on a network as it is"
                                    : engine == kMachinesEngine ? "between real machines"
                                                                : "",
                                    topology == "star" ? "" : topology,
                                    stragglers == "none" ? "" : stragglers, group.link};
  std::erase(parts, "");
  group.setting = joined(parts, ", ");
  group.title = counted(static_cast<std::size_t>(group.ranks), "rank") +
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
  std::ranges::sort(group.series, {}, &Series::style);
  compare_with_baselines(group);
  return group;
}

}  // namespace

Pays pays(const Estimate& speedup) {
  const double low = speedup.interval ? speedup.interval->low : speedup.value;
  const double high = speedup.interval ? speedup.interval->high : speedup.value;
  if (low > 1) return Pays::kYes;
  return high > 1 ? Pays::kOpen : Pays::kNo;
}

BreakEven break_even(std::span<const SpeedupAtRate> points) {
  BreakEven result;
  if (points.empty()) return result;
  std::vector<RateAndRatio> curve;
  for (const SpeedupAtRate& point : points) {
    assert(curve.empty() || curve.back().rate < point.rate);
    curve.push_back({point.rate, point.speedup.value});
  }
  for (std::size_t i = 1; i < curve.size(); ++i)
    result.crossings += is_above(curve[i - 1]) != is_above(curve[i]) ? 1 : 0;
  if (result.crossings == 0) {
    result.kind = any_is(points, Pays::kOpen) ? BreakEven::Kind::kOpen
                  : is_above(curve[0])        ? BreakEven::Kind::kPaysEverywhere
                                              : BreakEven::Kind::kPaysNowhere;
    return result;
  }
  // A crossing counts only if the compressor is significantly faster somewhere on its faster side.
  const std::size_t stop = last_crossing(curve, /*from_faster=*/true);
  const std::size_t start = last_crossing(curve, /*from_faster=*/false);
  const bool from_faster = any_is(points.first(stop), Pays::kYes);
  if (!from_faster && (start <= stop || !any_is(points.subspan(start), Pays::kYes))) {
    result.kind = BreakEven::Kind::kOpen;
    return result;
  }
  const std::size_t at = from_faster ? stop : start;
  result.kind = from_faster ? BreakEven::Kind::kPaysBelow : BreakEven::Kind::kPaysAbove;
  result.rate = crossing(curve[at - 1], curve[at]);
  // The curve of the lower ends stops being faster at a lower rate than `rate`, that of the upper
  // ends at a higher one. Crossings on the other side of `rate` belong to other crossings.
  const std::span<const SpeedupAtRate> below = points.first(at + 1), above = points.subspan(at - 1);
  result.low = crossing_of_ends(from_faster ? below : above, from_faster, &Interval::low);
  result.high = crossing_of_ends(from_faster ? above : below, from_faster, &Interval::high);
  // The pessimistic curve of a compressor that is faster above a rate crosses later.
  if (!from_faster) std::swap(result.low, result.high);
  return result;
}

Repeats Cell::repeats(const MetricType& metric) const {
  Repeats result;
  for (const Point* point : used) {
    std::vector<double> samples = point->samples(metric);
    if (!samples.empty()) result.push_back(std::move(samples));
  }
  return result;
}

std::optional<double> Cell::median_of_metric(const MetricType& metric) const {
  const std::vector<double> all = pooled(repeats(metric));
  return all.empty() ? std::nullopt : std::optional<double>(median(all));
}

std::optional<double> Cell::mean_of_metric(const MetricType& metric) const {
  const std::vector<double> all = pooled(repeats(metric));
  return all.empty() ? std::nullopt : std::optional<double>(mean(all));
}

std::optional<double> Cell::fidelity(std::optional<double> Fidelity::*figure) const {
  return mean_over(used, [&](const Point& point) {
    return point.fidelity ? *point.fidelity.*figure : std::nullopt;
  });
}

std::optional<double> Cell::prediction(const MetricType& metric) const {
  return mean_over(used, [&](const Point& point) { return point.prediction.number(metric); });
}

const Cell* Series::at(double rate) const {
  const auto found = std::ranges::find(cells, rate, &Cell::rate);
  return found == cells.end() ? nullptr : &*found;
}

const Series* Group::baseline(double rate, std::optional<Baseline> kind) const {
  const Series* best = nullptr;
  double least = 0;
  for (const Series& one : series) {
    if (!one.is_baseline() || (kind && one.baseline != kind)) continue;
    const Cell* cell = one.at(rate);
    if (cell == nullptr || cell->status != Status::kOk || !cell->step_time) continue;
    if (best != nullptr && cell->step_time->value >= least) continue;
    best = &one;
    least = cell->step_time->value;
  }
  return best;
}

bool Group::has_baseline(Baseline kind) const {
  return std::ranges::count(series, std::optional(kind), &Series::baseline) > 0;
}

std::string Group::baseline_name() const {
  if (!has_baseline(Baseline::kBf16)) return "none";
  return has_baseline(Baseline::kFp32) ? "the faster of bf16 and none" : "bf16";
}

Summary summarize(const Records& records) {
  require_one_time_scale(records);
  Summary summary;
  summary.records = &records;
  const std::map<SeriesKey, Series> styles = make_styles(records);
  std::map<std::tuple<int, std::string, std::string, std::string, double, std::string>,
           std::vector<const Point*>>
      groups;
  for (const Point& point : records.points) {
    const Axes& axes = point.axes;
    groups[{axes.ranks, axes.engine, axes.topology, axes.stragglers, axes.delay,
            link_without_rate(axes.link)}]
        .push_back(&point);
  }
  for (const auto& [key, points] : groups) summary.groups.push_back(make_group(points, styles));
  return summary;
}

}  // namespace thinpipe
