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

// ", overlap=bucket, racks:racks=2": what tells settings apart beside ranks, pattern and link.
std::string other_axes(const SweepPoint& point, const TopologySpec& topology) {
  std::string text;
  if (!point.feed.is_default()) text += ", " + point.feed.to_string();
  if (!topology.is_star()) text += ", " + topology.to_string();
  if (!point.schedule.empty()) text += ", schedule " + point.schedule.to_string();
  if (!point.stragglers.empty()) text += ", " + point.stragglers.to_string();
  return text;
}

std::string heading_line(const std::string& text) { return wrap(text, 2, kColumns, false) + "\n"; }

std::string heading_of(const SweepPoint& point, const TopologySpec& topology) {
  std::string text = fmt::format("{} ranks, {}, {}", point.ranks, point.pattern.to_string(),
                                 link_line(point.link)) +
                     other_axes(point, topology);
  if (point.time_scale != 1) text += fmt::format(", time scale {}", point.time_scale);
  return heading_line(text);
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
  Json json{{"compressor", one.point.compressor.to_string()},
            {"pattern", one.point.pattern.to_string()},
            {"feed", one.point.feed.to_string()},
            {"ranks", one.point.ranks},
            {"delay", one.point.link.delay()},
            {"rate", or_null(one.result.rate)},
            {"pays_at_least_rate", one.result.pays_at_least},
            {"pays_at_most_rate", one.result.pays_at_most}};
  if (!one.point.stragglers.empty()) json["stragglers"] = one.point.stragglers.to_string();
  return json;
}

}  // namespace

std::optional<double> PredictedPoint::speed_up() const {
  if (!prediction || !baseline || prediction->step <= 0) return std::nullopt;
  return *baseline / prediction->step;
}

std::string apart_from_rate(const SweepPoint& point, const TopologySpec& topology) {
  // The same text at the head of every link, then to be cut off.
  const std::string rate = "rate=1mbit";
  LinkSpec link = point.link;
  link.up.rate = link.down.rate = 1e6;
  std::string rest = link.to_string();
  if (rest.starts_with(rate)) rest.erase(0, rate.size());
  if (!rest.empty() && rest.front() == ',') rest.erase(0, 1);
  return point.pattern.to_string() + (rest.empty() ? "" : ", " + rest) +
         other_axes(point, topology);
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
  std::string text, current, refusals;
  PlainTable table = empty_table();
  const auto end_table = [&] {
    if (!current.empty())
      text += (text.empty() ? "" : "\n") + current + (table.empty() ? "" : table.text()) + refusals;
    table = empty_table();
    refusals.clear();
  };
  for (const PredictedPoint& one : points) {
    if (const std::string next = heading_of(one.point, topology); next != current) {
      end_table();
      current = next;
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

std::string crossing_table(const std::vector<PredictedCrossing>& crossings,
                           const TopologySpec& topology) {
  std::vector<std::pair<std::string, PlainTable>> tables;  // in the order in which settings come
  for (const PredictedCrossing& one : crossings) {
    const std::string setting = apart_from_rate(one.point, topology);
    auto table = std::ranges::find(tables, setting, &std::pair<std::string, PlainTable>::first);
    if (table == tables.end())
      table = tables.insert(table, {setting, PlainTable({"compressor", "ranks", "pays off"})});
    table->second.add({one.point.compressor.to_string(), std::to_string(one.point.ranks),
                       crossing_text(one.result)});
  }
  std::string text;
  for (const auto& [setting, table] : tables)
    text += (text.empty() ? "" : "\n") + heading_line(setting) + table.text();
  return text;
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
