#include "harness/predict/output.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/units.h"
#include "harness/options/layout.h"
#include "harness/sweep/lines.h"

namespace thinpipe {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kSpecColumn = 32;  // a longer spec has a line of its own

std::string named_row(std::string name, const std::string& cells) {
  std::string before;
  if (name.size() >= kSpecColumn) before = "  " + std::exchange(name, "") + "\n";
  return before + fmt::format("  {:<32}", name) + cells + "\n";
}

std::string heading_of(const SweepPoint& point, const TopologySpec& topology) {
  std::string text = fmt::format("{} ranks, {}, {}", point.ranks, point.pattern.to_string(),
                                 link_line(point.link));
  if (!point.feed.is_default()) text += ", " + point.feed.to_string();
  if (!topology.is_star()) text += ", " + topology.to_string();
  if (!point.schedule.empty()) text += ", schedule " + point.schedule.to_string();
  if (!point.stragglers.empty()) text += ", " + point.stragglers.to_string();
  if (point.time_scale != 1) text += fmt::format(", time scale {}", point.time_scale);
  return wrap(text, 2, kColumns, false) + "\n";
}

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json axes_json(const SweepPoint& point, const SweepOptions& options) {
  Json axes{{"compressor", point.compressor.to_string()},
            {"link", point.link_text()},
            {"rate", point.link.rate()},
            {"delay", point.link.delay()},
            {"ranks", point.ranks},
            {"topology", options.topology.to_string()},
            {"time_scale", point.time_scale},
            {"pattern", point.pattern.to_string()},
            {"feed", point.feed.to_string()}};
  if (!point.stragglers.empty()) axes["stragglers"] = point.stragglers.to_string();
  return axes;
}

Json to_json(const PredictedPoint& one, Predictor& predictor, const SweepOptions& options) {
  Json json{{"axes", axes_json(one.point, options)}};
  if (one.prediction)
    json["prediction"] = prediction_json(
        *one.prediction, predictor.codec(one.point.compressor, one.point.feed, one.point.pattern));
  else
    json["refusal"] = predictor.refusal(one.point);
  json["speed_up"] = or_null(one.speed_up());
  return json;
}

Json to_json(const PredictedCrossing& one) {
  return {{"compressor", one.compressor.to_string()},
          {"pattern", one.pattern.to_string()},
          {"feed", one.feed.to_string()},
          {"ranks", one.ranks},
          {"delay", one.link.delay()},
          {"rate", or_null(one.result.rate)},
          {"pays_at_least_rate", one.result.pays_at_least},
          {"pays_at_most_rate", one.result.pays_at_most}};
}

}  // namespace

std::optional<double> PredictedPoint::speed_up() const {
  if (!prediction || !baseline || prediction->step <= 0) return std::nullopt;
  return *baseline / prediction->step;
}

std::string crossing_text(const PredictedBreakEven& result) {
  if (result.rate) return "below " + format_rate(*result.rate);
  if (result.pays_at_least) return "at every rate to " + format_rate(kMostRate);
  return result.pays_at_most ? "at high rates only" : "at no rate";
}

std::string prediction_table(const std::vector<PredictedPoint>& points, const Predictor& predictor,
                             const TopologySpec& topology) {
  std::string text, heading;
  for (const PredictedPoint& one : points) {
    if (const std::string next = heading_of(one.point, topology); next != heading) {
      text += (heading.empty() ? "" : "\n") + next;
      text += fmt::format("  {:<32}{:>10}{:>10}{:>10}{:>12}\n", "compressor", "step", "codec",
                          "exchange", "speed-up");
      heading = next;
    }
    if (!one.prediction) {
      text += named_row(one.point.compressor.to_string(), "  " + predictor.refusal(one.point));
      continue;
    }
    const Prediction& prediction = *one.prediction;
    const std::optional<double> gain = one.speed_up();
    text += named_row(
        one.point.compressor.to_string(),
        fmt::format("{:>10}{:>10}{:>10}{:>12}", format_time(prediction.step),
                    format_time(prediction.compress + prediction.decode),
                    format_time(prediction.exchange), gain ? fmt::format("{:.2f}", *gain) : "-"));
  }
  return text;
}

std::string crossing_table(const std::vector<PredictedCrossing>& crossings) {
  std::string text;
  for (const PredictedCrossing& one : crossings)
    text += named_row(one.compressor.to_string(),
                      fmt::format("{:>5}  {:<12} {}", one.ranks, one.pattern.to_string(),
                                  crossing_text(one.result)));
  if (text.empty()) return text;
  return "Break-even: a compressor pays where links are slower than\n" +
         fmt::format("  {:<32}{:>5}  {:<12} {}\n", "compressor", "ranks", "pattern", "rate") + text;
}

nlohmann::ordered_json predictions_json(const std::vector<PredictedPoint>& points,
                                        const std::vector<PredictedCrossing>& crossings,
                                        Predictor& predictor, const SweepOptions& options) {
  Json json{
      {"trace", options.trace.string()}, {"points", Json::array()}, {"break_even", Json::array()}};
  for (const PredictedPoint& one : points)
    json["points"].push_back(to_json(one, predictor, options));
  for (const PredictedCrossing& one : crossings) json["break_even"].push_back(to_json(one));
  return json;
}

}  // namespace thinpipe
