// What predictions come to, for a person to repeat.
#include <algorithm>

#include <fmt/format.h>

#include "base/units.h"
#include "harness/options/layout.h"
#include "harness/predict/output.h"
#include "harness/sweep/lines.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace {

// Faster than a baseline by less is no difference to speak of: a model is not that good.
constexpr double kWorthSaying = 1.05;

using Points = std::vector<const PredictedPoint*>;

bool counts(const PredictedPoint& one) {
  return one.step && one.step->speed_up() && one.point.link.throttled();
}

// "2.4 times as fast as bf16 and 4.4 times as fast as none"
std::string times_text(const PredictedStep& step) {
  std::string text;
  for (const auto& [times, name] :
       {std::pair(step.over_bf16(), "bf16"), std::pair(step.over_none(), "none")})
    if (times)
      text += fmt::format("{}{} times as fast as {}", text.empty() ? "" : " and ",
                          format_number(*times), name);
  return text;
}

// The bytes that speed is bought with.
std::string sent_text(const PredictedPoint& one) {
  const Prediction& prediction = one.step->prediction;
  return fmt::format("sending {} a rank", format_bytes(prediction.payload_bytes));
}

// Pattern and feed are chosen as a compressor is; steps in other networks cannot be compared.
std::string way_of(const SweepPoint& point) {
  return point.pattern.to_string() + (point.feed.is_default() ? "" : ", " + point.feed.to_string());
}

std::string network_of(const SweepPoint& point) {
  std::string text = link_line(point.link);
  if (!point.schedule.empty()) text += ", schedule " + point.schedule.to_string();
  if (!point.stragglers.empty()) text += ", " + point.stragglers.to_string();
  if (point.time_scale != 1) text += fmt::format(", time scale {}", point.time_scale);
  return text;
}

// All points are of one network. Each point's speed-up is over the baselines by its own pattern and
// feed, so the shortest step decides.
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
                               times_text(*best.step), several_ways ? " there" : "",
                               sent_text(best));
  if (!several_ways) return where + "nothing here should pay.";
  return where + fmt::format("{}{} should be as fast as anything here.", name, way);
}

std::string fastest_at(const Points& points, double rate) {
  std::vector<std::pair<std::string, Points>> networks;  // in the order in which they come
  for (const PredictedPoint* one : points) {
    if (one->point.link.rate() != rate) continue;
    const std::string name = network_of(one->point);
    auto network = std::ranges::find(networks, name, &std::pair<std::string, Points>::first);
    if (network == networks.end()) network = networks.insert(network, {name, {}});
    network->second.push_back(one);
  }
  std::string text;
  for (const auto& [name, there] : networks) text += (text.empty() ? "" : " ") + fastest_of(there);
  return text;
}

// The fastest among the most ranks, at the lowest and the highest rate; "" where nothing
// compresses.
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

}  // namespace

std::string prediction_sentences(const std::vector<PredictedPoint>& points) {
  std::string text = fastest_at_both_ends(points);
  if (text.empty()) return "";
  std::vector<PredictedPoint> bound = points;
  for (PredictedPoint& one : bound) one.step = one.at_memory_pace;
  if (const std::string other = fastest_at_both_ends(bound); !other.empty())
    text += " With codecs at the pace of the GPU's memory: " + other;
  return wrap(text + " Models say so; `thinpipe run` measures, and what is lost.", 0) + "\n";
}

}  // namespace thinpipe
