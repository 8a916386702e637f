#include "harness/predict/again.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "harness/options/layout.h"
#include "harness/predict/basis.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {

namespace {

constexpr double kClose = 0.1;

std::optional<double> median_step(const Point& point) {
  std::vector<double> values = point.samples("step_time");
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

LinkFigures figures_in(const JsonField& link) {
  constexpr double kMost = 1e18;
  return {.alpha = link.at("alpha").number(0, kMost),
          .beta = link.at("beta").number(0, kMost),
          .credit = link.at("credit").number(0, kMost)};
}

// `allgather-hierarchical:group=2` in records.
Spec pattern_in(const Axes& axes) {
  const std::size_t dash = axes.pattern.find('-');
  return parse_spec(dash == std::string::npos ? axes.pattern : axes.pattern.substr(dash + 1));
}

std::string time_or_dash(const std::optional<double>& seconds) {
  return seconds ? format_time(*seconds) : "-";
}

// What speaks against a row.
std::string remark_of(const PredictedAgain& one) {
  std::string text = one.status == Status::kOk ? "" : std::string("  ") + status_name(one.status);
  if (one.prediction && one.prediction->incast) text += "  incast";
  return text;
}

std::string row_of(const PredictedAgain& one) {
  const auto ratio = one.ratio();
  const std::string ratio_text = ratio ? fmt::format("{:.2f}", *ratio) : "-";
  const std::string name = fmt::format("{} x {}, {}, {}", one.axes.ranks, one.axes.compressor,
                                       one.axes.way(), format_rate(one.axes.rate));
  std::string row =
      name.size() < 44 ? fmt::format("  {:<44}", name) : fmt::format("  {}\n  {:<44}", name, "");
  if (!one.prediction) return row + "  " + one.refusal + "\n";
  return row + fmt::format("{:>11}{:>11}{:>7}{}\n", time_or_dash(one.measured),
                           format_time(one.prediction->step), ratio_text, remark_of(one));
}

nlohmann::ordered_json value_json(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::optional<double> PredictedAgain::ratio() const {
  if (!prediction || !measured || *measured <= 0) return std::nullopt;
  return prediction->step / *measured;
}

std::vector<PredictedAgain> predict_again(const Records& records) {
  ExchangeTimes times;
  std::vector<PredictedAgain> found;
  for (const Point& point : records.points) {
    PredictedAgain& one = found.emplace_back();
    one.axes = point.axes;
    one.status = point.status;
    one.measured = median_step(point);
    one.recorded = point.prediction_number("step_time");
    if (!point.prediction.contains("basis")) {
      one.refusal = point.prediction.empty() ? "not predicted when it ran"
                                             : "recorded without what it was predicted from";
      continue;
    }
    const JsonField prediction(point.prediction,
                               fmt::format("{}: point {}", records.file.string(), point.id),
                               "prediction");
    PredictionBasis basis = basis_from(prediction.at("basis"));
    basis.input.ranks = point.axes.ranks;
    basis.input.pattern = pattern_in(point.axes);
    basis.input.link = figures_in(prediction.at("link"));
    one.prediction = predict(basis.codec, basis.input, times);
    if (!one.prediction) one.refusal = "no model of pattern " + basis.input.pattern.name;
  }
  return found;
}

std::string again_table(const std::vector<PredictedAgain>& points) {
  std::string text =
      fmt::format("  {:<44}{:>11}{:>11}{:>7}\n", "point", "measured", "predicted", "ratio");
  std::vector<double> ratios;
  for (const PredictedAgain& one : points) {
    text += row_of(one);
    if (one.status == Status::kOk && one.ratio()) ratios.push_back(*one.ratio());
  }
  if (ratios.empty()) return text;
  const auto close = std::count_if(ratios.begin(), ratios.end(),
                                   [](double ratio) { return std::fabs(ratio - 1) <= kClose; });
  return text + fmt::format(
                    "\n{} of {} points within {:.0f} %; {} others not ok or without a"
                    " prediction.\n",
                    close, ratios.size(), 100 * kClose, points.size() - ratios.size());
}

nlohmann::ordered_json again_json(const std::vector<PredictedAgain>& points) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const PredictedAgain& one : points)
    all.push_back({{"axes",
                    {{"compressor", one.axes.compressor},
                     {"pattern", one.axes.pattern},
                     {"feed", one.axes.feed},
                     {"link", one.axes.link},
                     {"rate", one.axes.rate},
                     {"ranks", one.axes.ranks},
                     {"repeat", one.axes.repeat}}},
                   {"status", status_name(one.status)},
                   {"measured", value_json(one.measured)},
                   {"recorded", value_json(one.recorded)},
                   {"predicted", one.prediction ? nlohmann::ordered_json(one.prediction->step)
                                                : nlohmann::ordered_json(nullptr)},
                   {"ratio", value_json(one.ratio())},
                   {"incast", one.prediction && one.prediction->incast},
                   {"refusal", one.refusal}});
  return {{"points", std::move(all)}};
}

}  // namespace thinpipe
