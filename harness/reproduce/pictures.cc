// Pictures of recipes: a paper's figures, drawn from the records of the recipe's commands.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/statistics.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/reproduce/columns.h"
#include "reports/statistics/statistics.h"

namespace thinpipe {
namespace {

// The parameters of a picture in the recipe's file.
struct PictureRequest {
  std::string alt, arm = {}, ratio = {};
  std::vector<std::string> compressors = {};
  std::vector<double> rates = {}, ranks = {};
  std::vector<PictureLine> lines = {};
};

ReproductionPicture empty_picture(const std::string& id, const PictureRequest& request,
                                  const std::string& x, const std::string& y) {
  ReproductionPicture picture;
  picture.chart.id = id;
  picture.chart.alt = request.alt;
  picture.chart.width = 640;
  picture.chart.x = {x, false, format_plain, {}, {}};
  picture.chart.y = {y, false, format_plain, {}, {}};
  return picture;
}

// Adds a line through these points, with markers if there are few.
void add_points(ReproductionPicture& picture, const std::string& name, const std::vector<double>& x,
                const std::vector<double>& y) {
  constexpr std::size_t kMaxMarkers = 40;
  Curve curve{.style = picture.chart.curves.size() + 1,
              .has_markers = x.size() <= kMaxMarkers,
              .points = {},
              .name = name};
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
    curve.points.push_back({x[i], y[i], std::nullopt, true, name});
  if (curve.points.empty()) return;
  picture.chart.curves.push_back(std::move(curve));
  picture.names.push_back(name);
}

// Adds a line through (1, values[0]), (2, values[1]), ...; of many values, evenly spaced ones.
void add_line(ReproductionPicture& picture, const std::string& name,
              const std::vector<double>& values) {
  constexpr std::size_t kMaxPoints = 200;
  const std::size_t stride = std::max<std::size_t>(1, values.size() / kMaxPoints);
  std::vector<double> x, y;
  for (std::size_t i = 0; i < values.size(); i += stride) {
    x.push_back(static_cast<double>(i + 1));
    y.push_back(values[i]);
  }
  add_points(picture, name, x, y);
}

// DGC, fig. 6.
ReproductionPicture predicted_scaling(const PictureRequest& request,
                                      const std::vector<ArmRecords>& arms) {
  ReproductionPicture picture =
      empty_picture("scaling", request, "nodes", "speed-up over one node");
  picture.chart.x.is_log = picture.chart.y.is_log = true;
  picture.chart.x.ticks = request.ranks;
  for (const ArmRecords& arm : arms) {
    if (arm.label != request.arm || arm.printed.empty()) continue;
    for (const std::string& compressor : request.compressors)
      for (const double rate : request.rates) {
        std::vector<double> speedups;
        for (const double ranks : request.ranks) {
          const MeasuredCell cell = columns::predicted_scaling(rate, static_cast<int>(ranks))
                                        .measure(arm, spelt_out(compressor));
          speedups.push_back(cell.repetitions.empty() ? 0 : cell.repetitions[0].value);
        }
        add_points(picture, compressor + " at " + format_rate(rate), request.ranks, speedups);
      }
  }
  return picture;
}

// The percentage of cells in which compression pays, over the links' rate.
ReproductionPicture paying_cells(const PictureRequest& request,
                                 const std::vector<ArmRecords>& arms) {
  ReproductionPicture picture = empty_picture("paying", request, "link rate", "cells that pay, %");
  picture.chart.x.is_log = true;
  picture.chart.x.format = format_rate;
  picture.chart.x.ticks = request.rates;
  for (const bool memory_bound : {false, true})
    for (const char* over : {"none", "both"}) {
      std::vector<double> rates, shares;
      for (const double rate : request.rates) {
        const ReproductionColumn column =
            columns::paying_cells({.over = over, .memory_bound = memory_bound, .rate = rate});
        std::vector<double> cells;
        for (const ArmRecords& arm : arms)
          if (!arm.printed.empty())
            for (const double value : column.measure(arm, "").values()) cells.push_back(value);
        if (cells.empty()) continue;
        rates.push_back(rate);
        shares.push_back(mean(cells));
      }
      add_points(picture,
                 std::string(over == std::string_view("none") ? "over fp32" : "over both") +
                     (memory_bound ? ", memory-bound" : ", CPU core"),
                 rates, shares);
    }
  return picture;
}

// 3LC, fig. 9: of the first command, for each compressor's first seed.
ReproductionPicture server_bits(const PictureRequest& request,
                                const std::vector<ArmRecords>& arms) {
  ReproductionPicture picture = empty_picture("sizes", request, "training step", "bits an element");
  if (arms.empty()) return picture;
  for (const Point& point : arms.front().records.points)
    for (const bool pulled : {false, true})
      if (point.axes.seed <= 1)
        add_line(picture,
                 spec_value(point.axes.compressor, "s", "s=") + (pulled ? ", pulled" : ", pushed"),
                 running_mean(columns::bits_by_step(point, pulled), 5));
  return picture;
}

// 3LC, fig. 4: a line for each compressor, a point for each command.
ReproductionPicture accuracy_over_time(const PictureRequest& request,
                                       const std::vector<ArmRecords>& arms) {
  ReproductionPicture picture =
      empty_picture("tradeoff", request, "training time, emulated seconds", "accuracy, %");
  picture.chart.x.is_log = true;
  const ReproductionColumn time = columns::training_seconds(), quality = columns::accuracy();
  for (const PictureLine& line : request.lines) {
    std::vector<double> x, y;
    for (const ArmRecords& arm : arms) {
      const MeasuredCell seconds = time.measure(arm, spelt_out(line.compressor)),
                         accuracies = quality.measure(arm, spelt_out(line.compressor));
      if (seconds.repetitions.empty() || accuracies.repetitions.empty()) continue;
      x.push_back(mean(seconds.values()));
      y.push_back(mean(accuracies.values()));
    }
    add_points(picture, line.name, x, y);
  }
  return picture;
}

// A point for each command whose trainings all reached the target, and the Pareto front: the
// commands that no other one beats in both bytes and time.
ReproductionPicture costs_of_target(const PictureRequest& request,
                                    const std::vector<ArmRecords>& arms) {
  ReproductionPicture picture = empty_picture("front", request, "payload bytes of a worker",
                                              "emulated seconds to the target");
  picture.chart.x.is_log = picture.chart.y.is_log = true;
  picture.chart.x.format = format_bytes;
  std::vector<std::pair<double, double>> costs;  // bytes and seconds
  for (const ArmRecords& arm : arms) {
    std::vector<double> bytes, seconds;
    for (const Point& point : arm.records.points) {
      const auto found = columns::mean_sample(point, "target_seconds"_metric);
      if (!found) continue;
      seconds.push_back(*found);
      bytes.push_back(columns::mean_sample(point, "target_bytes"_metric).value_or(0));
    }
    if (seconds.empty() || seconds.size() < arm.records.points.size()) continue;
    costs.emplace_back(mean(bytes), mean(seconds));
    add_points(picture, arm.label, {costs.back().first}, {costs.back().second});
  }
  std::sort(costs.begin(), costs.end());
  std::vector<double> x, y;
  for (const auto& [bytes, seconds] : costs) {
    if (!y.empty() && seconds >= y.back()) continue;
    x.push_back(bytes);
    y.push_back(seconds);
  }
  add_points(picture, "Pareto front", x, y);
  return picture;
}

// SIDCo, fig. 9: of the first seed of a training, or of the first worker of `quality`. SIDCo with
// another rule than the paper's is left out.
ReproductionPicture estimation_quality(const PictureRequest& request,
                                       const std::vector<ArmRecords>& arms) {
  constexpr std::size_t kWindow = 20;
  ReproductionPicture picture =
      empty_picture("kept", request, "step", "k-hat over k, running mean of 20 steps");
  picture.chart.y.is_log = true;
  picture.chart.reference_lines = {1};
  for (const ArmRecords& arm : arms)
    for (const Point& point : arm.records.points) {
      const std::string& compressor = point.axes.compressor;
      const std::string rule = spec_value(compressor, "adapt", "");
      const auto found = point.metrics.find("quality"_metric);
      if (spec_value(compressor, "ratio", "") != request.ratio ||
          (!rule.empty() && rule != "paper") || found == point.metrics.end())
        continue;
      const bool trained = !arm.records.headers.front().training.empty();
      if (trained ? point.axes.seed != 1 : !point.id.ends_with("|*") || !point.at) continue;
      const std::vector<double>& quality = found->second.samples;
      std::vector<double> first;
      for (std::size_t i = 0; i < quality.size(); ++i) {
        const bool shown = trained || (i < point.at->rank.size() && point.at->rank[i] == 0);
        if (shown && std::isfinite(quality[i])) first.push_back(std::max(quality[i], 1e-4));
      }
      add_line(picture, point.axes.method + spec_value(point.axes.compressor, "dist", " "),
               running_mean(first, kWindow));
    }
  return picture;
}

// Returns the whole model's gradient for which `trace stats` has points, without error feedback.
const StatsGradient* first_with_points(const ArmRecords& arm) {
  if (!arm.stats) return nullptr;
  for (const StatsGradient& gradient : arm.stats->gradients)
    if (gradient.tensor == "*" && !gradient.feedback && gradient.points) return &gradient;
  return nullptr;
}

// SIDCo, fig. 2(d): distribution functions of magnitudes.
ReproductionPicture distribution(const PictureRequest& request,
                                 const std::vector<ArmRecords>& arms) {
  ReproductionPicture picture = empty_picture("fits", request, "magnitude over the gradient's norm",
                                              "fraction that is smaller");
  picture.chart.x.is_log = true;
  for (const ArmRecords& arm : arms) {
    const StatsGradient* gradient = arm.label == request.arm ? first_with_points(arm) : nullptr;
    if (gradient == nullptr) continue;
    add_points(picture, "measured", gradient->points->x, gradient->points->empirical);
    for (std::size_t i = 0; i < kFitNames.size(); ++i)
      add_points(picture, kFitNames[i], gradient->points->x, gradient->points->fitted[i]);
  }
  return picture;
}

// SIDCo, fig. 7(a).
ReproductionPicture sorted_magnitudes(const PictureRequest& request,
                                      const std::vector<ArmRecords>& arms) {
  ReproductionPicture picture =
      empty_picture("decay", request, "position", "magnitude over the gradient's norm");
  picture.chart.x.is_log = picture.chart.y.is_log = true;
  for (const ArmRecords& arm : arms)
    if (const StatsGradient* gradient = first_with_points(arm))
      add_points(picture, arm.label, gradient->points->places, gradient->points->magnitudes);
  return picture;
}

struct PictureKind {
  std::string_view name;
  std::vector<std::string> parameters;
  ReproductionPicture (*draw)(const PictureRequest& request, const std::vector<ArmRecords>& arms);
};

const PictureKind kPictureKinds[] = {
    {"predicted_scaling", {"arm", "compressors", "rates", "ranks"}, predicted_scaling},
    {"paying_cells", {"rates"}, paying_cells},
    {"server_bits", {}, server_bits},
    {"accuracy_over_time", {"lines"}, accuracy_over_time},
    {"costs_of_target", {}, costs_of_target},
    {"estimation_quality", {"ratio"}, estimation_quality},
    {"distribution", {"arm"}, distribution},
    {"sorted_magnitudes", {}, sorted_magnitudes},
};

}  // namespace

std::function<ReproductionPicture(const std::vector<ArmRecords>&)> read_picture(
    const JsonField& field, const std::vector<PictureLine>& lines) {
  constexpr double kMaxRanks = 1 << 20;
  const PictureKind& kind = shown(kPictureKinds, field.at("show"));
  std::vector<std::string> known{"show", "alt"};
  known.insert(known.end(), kind.parameters.begin(), kind.parameters.end());
  field.allow_only(known);
  for (const std::string& parameter : kind.parameters) field.at(parameter);
  PictureRequest request{.alt = field.at("alt").string(), .lines = lines};
  const auto each_of = [&field](const char* key, auto read) {
    for (std::size_t i = 0; field.has(key) && i < field.at(key).size(); ++i)
      read(field.at(key).at(i));
  };
  if (field.has("arm")) request.arm = field.at("arm").string();
  if (field.has("ratio")) request.ratio = field.at("ratio").string();
  each_of("compressors",
          [&](const JsonField& one) { request.compressors.push_back(one.string()); });
  each_of("rates", [&](const JsonField& one) { request.rates.push_back(read_rate(one)); });
  each_of("ranks",
          [&](const JsonField& one) { request.ranks.push_back(one.number(1, kMaxRanks)); });
  return [&kind, request](const std::vector<ArmRecords>& arms) { return kind.draw(request, arms); };
}

}  // namespace thinpipe
