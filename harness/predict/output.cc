#include "harness/predict/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/plain_table.h"
#include "base/units.h"
#include "harness/machine/fingerprint.h"
#include "harness/options/terminal.h"
#include "harness/plan/plan.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;
using Points = std::vector<const PredictedPoint*>;

// Returns ", overlap=bucket, racks:racks=2": the axes other than ranks, collective and link.
std::string other_axes(const SweepPoint& point, const TopologySpec& topology) {
  std::string text;
  if (!point.bucketing.is_default()) text += ", " + point.bucketing.to_string();
  if (!topology.is_star()) text += ", " + topology.to_string();
  if (!point.schedule.empty()) text += ", schedule " + point.schedule.to_string();
  if (!point.stragglers.empty()) text += ", " + point.stragglers.to_string();
  return text;
}

std::string heading_line(const std::string& text) { return wrap(text, 2, kColumns, false) + "\n"; }

std::string heading_of(const SweepPoint& point, const TopologySpec& topology) {
  std::string text = fmt::format("{} ranks, {}, {}", point.ranks, point.collective.to_string(),
                                 link_line(point.link)) +
                     other_axes(point, topology);
  if (point.time_scale != 1) text += fmt::format(", time scale {}", point.time_scale);
  return heading_line(text);
}

Json axes_json(const SweepPoint& point, const SweepOptions& options) {
  Json axes{{"compressor", point.compressor.to_string()},
            {"link", point.link_text()},
            {"rate", point.link.rate()},
            {"delay", point.link.delay()},
            {"ranks", point.ranks},
            {"topology", options.topology.to_string()},
            {"time_scale", point.time_scale},
            {"collective", point.collective.to_string()},
            {"bucketing", point.bucketing.to_string()}};
  if (!point.stragglers.empty()) axes["stragglers"] = point.stragglers.to_string();
  if (options.device != kDeviceCpu) axes["device"] = options.device;
  return axes;
}

void add_speed_ups(const PredictedStep& step, Json& json) {
  json["over_bf16"] = number_or_null(step.over_bf16());
  json["over_none"] = number_or_null(step.over_none());
}

Json to_json(const PredictedPoint& one, Predictor& predictor, const SweepOptions& options) {
  Json json{{"axes", axes_json(one.point, options)}};
  if (!one.step) {
    json["refusal"] = predictor.refusal(one.point);
    return json;
  }
  const CodecProfile& codec =
      predictor.codec(one.point.compressor, one.point.bucketing, one.point.collective);
  json["prediction"] = prediction_json(one.step->prediction, codec);
  add_speed_ups(*one.step, json);
  if (one.at_memory_pace) {
    Json& bound = json["at_memory_pace"];
    bound["prediction"] = prediction_json(one.at_memory_pace->prediction, codec);
    bound["prediction"].erase("codec");
    add_speed_ups(*one.at_memory_pace, bound);
  }
  return json;
}

Json to_json(const PredictedCrossing& one) {
  Json json{{"compressor", one.point.compressor.to_string()},
            {"collective", one.point.collective.to_string()},
            {"bucketing", one.point.bucketing.to_string()},
            {"ranks", one.point.ranks},
            {"delay", one.point.link.delay()}};
  json.update(break_even_json(one.result));
  if (one.over_none) json["over_none"] = break_even_json(*one.over_none);
  if (one.at_memory_pace) json["at_memory_pace"] = break_even_json(*one.at_memory_pace);
  if (!one.point.stragglers.empty()) json["stragglers"] = one.point.stragglers.to_string();
  return json;
}

std::string times_or_dash(const std::optional<double>& times) {
  return times ? fmt::format("{:.2f}", *times) : "-";
}

// One table of points that differ only in their compressor.
class StepTable {
 public:
  StepTable(bool has_bf16, bool has_none)
      : has_bf16_(has_bf16), has_none_(has_none), table_(heads()) {}

  void add(const std::string& name, const PredictedStep& step) {
    const Prediction& prediction = step.prediction;
    std::vector<std::string> row = {
        name, format_time(prediction.step), format_time(prediction.compute),
        format_time(prediction.compress + prediction.decode), format_time(prediction.exposed)};
    if (has_bf16_) row.push_back(times_or_dash(step.over_bf16()));
    if (has_none_) row.push_back(times_or_dash(step.over_none()));
    table_.add(std::move(row));
  }

  std::string text() const { return table_.empty() ? "" : table_.text(); }

 private:
  std::vector<std::string> heads() const {
    std::vector<std::string> heads = {"compressor", "step", "compute", "codec",
                                      "exposed\nexchange"};
    if (has_bf16_) heads.emplace_back("vs\nbf16");
    if (has_none_) heads.emplace_back("vs\nfp32");
    return heads;
  }

  bool has_bf16_, has_none_;
  PlainTable table_;
};

bool counts(const PredictedPoint& one) {
  return one.step && one.step->speed_up() && one.point.link.throttled();
}

// Returns the bytes sent, which a speed-up costs.
std::string sent_text(const PredictedPoint& one) {
  const Prediction& prediction = one.step->prediction;
  return fmt::format("sending {} a rank", format_bytes(prediction.payload_bytes));
}

// Returns the point's collective and bucketing, which a user chooses like a compressor. The network
// is left out, because steps in different networks cannot be compared.
std::string way_of(const SweepPoint& point) {
  return point.collective.to_string() +
         (point.bucketing.is_default() ? "" : ", " + point.bucketing.to_string());
}

std::string network_of(const SweepPoint& point) {
  std::string text = link_line(point.link);
  if (!point.schedule.empty()) text += ", schedule " + point.schedule.to_string();
  if (!point.stragglers.empty()) text += ", " + point.stragglers.to_string();
  if (point.time_scale != 1) text += fmt::format(", time scale {}", point.time_scale);
  return text;
}

// Returns a sentence on the fastest of these points, which share one network. The shortest step
// decides, not the speed-up, because each point's speed-up is over the baselines with its own
// collective and bucketing.
std::string fastest_of(const Points& points) {
  const PredictedPoint& best = **std::ranges::min_element(
      points, {}, [](const PredictedPoint* one) { return one->step->prediction.step; });
  const bool several_ways = std::ranges::any_of(
      points, [&](const PredictedPoint* one) { return way_of(one->point) != way_of(best.point); });
  const std::string way = several_ways ? " (" + way_of(best.point) + ")" : "";
  const std::string where =
      fmt::format("At {} between {} ranks ", network_of(best.point), best.point.ranks);
  const std::string name = best.point.compressor.to_string();
  if (*best.step->speed_up() >= kWorthSaying)
    return where + fmt::format("{}{} should be fastest, {}{}, {}.", name, way,
                               speed_up_text(*best.step),
                               several_ways ? " with the same settings" : "", sent_text(best));
  if (!several_ways)
    return where + fmt::format("no compressor should be {:.0f} % faster than the baseline.",
                               100 * (kWorthSaying - 1));
  return where + fmt::format("{}{} should have the shortest step.", name, way);
}

std::string fastest_at(const Points& points, double rate) {
  std::vector<std::pair<std::string, Points>> networks;  // in the order of the points
  for (const PredictedPoint* one : points) {
    if (one->point.link.rate() != rate) continue;
    const std::string name = network_of(one->point);
    auto network = std::ranges::find(networks, name, &std::pair<std::string, Points>::first);
    if (network == networks.end()) network = networks.insert(network, {name, {}});
    network->second.push_back(one);
  }
  std::string text;
  for (const auto& [name, group] : networks) text += (text.empty() ? "" : " ") + fastest_of(group);
  return text;
}

// Returns sentences on the fastest points with the most ranks, at the lowest and the highest rate;
// "" where all points are baselines.
std::string fastest_at_both_ends(const std::vector<PredictedPoint>& points) {
  int ranks = 0;
  for (const PredictedPoint& one : points)
    if (counts(one)) ranks = std::max(ranks, one.point.ranks);
  Points most;
  for (const PredictedPoint& one : points)
    if (counts(one) && one.point.ranks == ranks) most.push_back(&one);
  if (std::ranges::all_of(most, &PredictedPoint::is_baseline)) return "";
  const auto by_rate = [](const PredictedPoint* one, const PredictedPoint* other) {
    return one->point.link.rate() < other->point.link.rate();
  };
  const auto [slowest, fastest] = std::minmax_element(most.begin(), most.end(), by_rate);
  const double low = (*slowest)->point.link.rate(), high = (*fastest)->point.link.rate();
  const std::string text = fastest_at(most, low);
  return high > low ? text + " " + fastest_at(most, high) : text;
}

// Returns the rates between kMinRate and kMaxRate at which the compressor is faster: "below 1.2
// Gbit/s", "at every rate", "at no rate", "at high rates only".
std::string crossing_text(const PredictedBreakEven& result) {
  if (result.sends) return "no break-even";
  if (result.rate) return "below " + format_rate(*result.rate);
  if (result.pays_at_least) return "at every rate";
  return result.pays_at_most ? "at high rates only" : "at no rate";
}

}  // namespace

std::string speed_up_text(const PredictedStep& step) {
  std::string text;
  for (const auto& [times, name] :
       {std::pair(step.over_bf16(), "bf16"), std::pair(step.over_none(), "none (fp32)")})
    if (times)
      text += fmt::format("{}{} times as fast as {}", text.empty() ? "" : " and ",
                          format_number(*times), name);
  return text;
}

std::optional<double> PredictedStep::over(const std::optional<double>& baseline) const {
  if (!baseline || prediction.step <= 0) return std::nullopt;
  return *baseline / prediction.step;
}

std::optional<double> PredictedStep::speed_up() const {
  if (bf16 && none) return over(std::min(*bf16, *none));
  return bf16 ? over_bf16() : over_none();
}

std::string apart_from_rate(const SweepPoint& point, const TopologySpec& topology) {
  // Gives every link the same rate at the beginning of its text, and removes that.
  const std::string rate = "rate=1mbit";
  LinkSpec link = point.link;
  link.up.rate = link.down.rate = 1e6;
  std::string rest = link.to_string();
  if (rest.starts_with(rate)) rest.erase(0, rate.size());
  if (!rest.empty() && rest.front() == ',') rest.erase(0, 1);
  return point.collective.to_string() + (rest.empty() ? "" : ", " + rest) +
         other_axes(point, topology);
}

std::string prediction_table(const std::vector<PredictedPoint>& points, const Predictor& predictor,
                             const TopologySpec& topology) {
  const auto has = [&](std::optional<double> PredictedStep::*baseline) {
    return std::ranges::any_of(points, [&](const PredictedPoint& one) {
      return one.step && (*one.step.*baseline).has_value();
    });
  };
  const StepTable empty(has(&PredictedStep::bf16), has(&PredictedStep::none));
  std::string text, current, refusals;
  StepTable table = empty;
  const auto end_table = [&] {
    if (!current.empty()) text += (text.empty() ? "" : "\n") + current + table.text() + refusals;
    table = empty;
    refusals.clear();
  };
  for (const PredictedPoint& one : points) {
    if (const std::string next = heading_of(one.point, topology); next != current) {
      end_table();
      current = next;
    }
    const std::string name = one.point.compressor.to_string();
    if (!one.step) {
      refusals += wrap(name + ": " + predictor.refusal(one.point), 4, kColumns, false) + "\n";
      continue;
    }
    table.add(name, *one.step);
    if (one.at_memory_pace) table.add("  memory-bound codec", *one.at_memory_pace);
  }
  end_table();
  return text;
}

std::string crossing_table(const std::vector<PredictedCrossing>& crossings,
                           const TopologySpec& topology) {
  const auto has = [&](auto member) {
    return std::ranges::any_of(crossings,
                               [&](const auto& one) { return (one.*member).has_value(); });
  };
  std::vector<std::string> heads = {"compressor", "ranks", "faster than\nthe baseline"};
  const bool over_none = has(&PredictedCrossing::over_none);
  const bool at_pace = has(&PredictedCrossing::at_memory_pace);
  if (over_none) heads.emplace_back("faster than\nfp32 alone");
  if (at_pace) heads.emplace_back("memory-bound\ncodec");
  std::vector<std::pair<std::string, PlainTable>> tables;  // in the order of the crossings
  for (const PredictedCrossing& one : crossings) {
    const std::string setting = apart_from_rate(one.point, topology);
    auto table = std::ranges::find(tables, setting, &std::pair<std::string, PlainTable>::first);
    if (table == tables.end()) table = tables.insert(table, {setting, PlainTable(heads)});
    std::vector<std::string> row = {one.point.compressor.to_string(),
                                    std::to_string(one.point.ranks), crossing_text(one.result)};
    for (const auto& [wanted, more] :
         {std::pair(over_none, &one.over_none), std::pair(at_pace, &one.at_memory_pace)})
      if (wanted) row.push_back(*more ? crossing_text(**more) : "-");
    table->second.add(std::move(row));
  }
  std::string text;
  for (const auto& [setting, table] : tables)
    text += (text.empty() ? "" : "\n") + heading_line(setting) + table.text();
  std::set<std::string> reasons;
  for (const PredictedCrossing& one : crossings)
    if (one.result.sends)
      reasons.insert(
          fmt::format("{} has no break-even rate: {}, and noise of the codec times would "
                      "decide.",
                      one.point.compressor.to_string(), one.result.reason()));
  for (const std::string& reason : reasons) text += wrap(reason, 0) + "\n";
  return text;
}

std::string origin_text(const PredictedOrigin& origin) {
  std::string text =
      fmt::format("Compute times: {}. Codec times: {}.", origin.compute, origin.codecs);
  if (origin.device && origin.device->memory_rate > 0)
    text += fmt::format(
        " A codec on that GPU would take less time than on a CPU. Its lower bound is in the rows "
        "of the memory-bound codec: the gradient read once and the mean written once at {}/s.",
        format_bytes(origin.device->memory_rate));
  else if (origin.device)
    text +=
        " A codec on that GPU would take less time than on a CPU. Its memory bandwidth is unknown, "
        "so the rows of the memory-bound codec take codecs as free.";
  return wrap(text, 0) + "\n";
}

nlohmann::ordered_json predictions_json(const std::vector<PredictedPoint>& points,
                                        const std::vector<PredictedCrossing>& crossings,
                                        const PredictedOrigin& origin, Predictor& predictor,
                                        const SweepOptions& options) {
  Json json{{"created", created_now()},        {"fingerprint", fingerprint({})},
            {"trace", options.trace.string()}, {"compute", origin.compute},
            {"codecs", origin.codecs},         {"points", Json::array()},
            {"break_even", Json::array()}};
  for (const PredictedPoint& one : points)
    json["points"].push_back(to_json(one, predictor, options));
  for (const PredictedCrossing& one : crossings) json["break_even"].push_back(to_json(one));
  return json;
}

std::string prediction_sentences(const std::vector<PredictedPoint>& points) {
  std::string text = fastest_at_both_ends(points);
  if (text.empty()) return "";
  std::vector<PredictedPoint> bound = points;
  for (PredictedPoint& one : bound) one.step = one.at_memory_pace;
  if (const std::string other = fastest_at_both_ends(bound); !other.empty())
    text += " With codecs bound by the GPU's memory bandwidth: " + other;
  return wrap(text + " These are predictions of models; `thinpipe run` measures times and errors.",
              0) +
         "\n";
}

}  // namespace thinpipe
