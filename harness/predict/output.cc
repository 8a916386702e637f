#include "harness/predict/output.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/plain_table.h"
#include "base/units.h"
#include "harness/fingerprint/fingerprint.h"
#include "harness/options/layout.h"
#include "harness/records/launch_header.h"
#include "harness/sweep/lines.h"

namespace thinpipe {

namespace {

using Json = nlohmann::ordered_json;

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
  if (options.device != kDeviceCpu) axes["device"] = options.device;
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
  const auto empty_table = [] {
    return PlainTable({"compressor", "step", "codec", "exchange", "speed-up"});
  };
  std::string text, heading, refusals;
  PlainTable table = empty_table();
  const auto end_table = [&] {
    if (!heading.empty())
      text += (text.empty() ? "" : "\n") + heading + (table.empty() ? "" : table.text()) + refusals;
    table = empty_table();
    refusals.clear();
  };
  for (const PredictedPoint& one : points) {
    if (const std::string next = heading_of(one.point, topology); next != heading) {
      end_table();
      heading = next;
    }
    const std::string name = one.point.compressor.to_string();
    if (!one.prediction) {
      refusals += wrap(name + ": " + predictor.refusal(one.point), 4, kColumns, false) + "\n";
      continue;
    }
    const Prediction& prediction = *one.prediction;
    const std::optional<double> gain = one.speed_up();
    table.add({name, format_time(prediction.step),
               format_time(prediction.compress + prediction.decode),
               format_time(prediction.exchange), gain ? fmt::format("{:.2f}", *gain) : "-"});
  }
  end_table();
  return text;
}

std::string crossing_table(const std::vector<PredictedCrossing>& crossings) {
  PlainTable table({"compressor", "pattern", "ranks", "pays off"}, 2);
  for (const PredictedCrossing& one : crossings)
    table.add({one.compressor.to_string(), one.pattern.to_string(), std::to_string(one.ranks),
               crossing_text(one.result)});
  return table.empty() ? "" : table.text();
}

nlohmann::ordered_json predictions_json(const std::vector<PredictedPoint>& points,
                                        const std::vector<PredictedCrossing>& crossings,
                                        Predictor& predictor, const SweepOptions& options) {
  // Codecs were timed on this machine.
  Json json{{"created", created_now()},
            {"fingerprint", fingerprint({})},
            {"trace", options.trace.string()},
            {"points", Json::array()},
            {"break_even", Json::array()}};
  for (const PredictedPoint& one : points)
    json["points"].push_back(to_json(one, predictor, options));
  for (const PredictedCrossing& one : crossings) json["break_even"].push_back(to_json(one));
  return json;
}

}  // namespace thinpipe
