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

// Faster than no compression by less is no difference to speak of: a model is not that good.
constexpr double kWorthSaying = 1.05;

using Points = std::vector<const PredictedPoint*>;

bool counts(const PredictedPoint& one) { return one.speed_up() && one.point.link.throttled(); }

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

// All points are of one network. Each point's speed-up is over the uncompressed step of its own
// pattern and feed, so the shortest step decides.
std::string fastest_of(const Points& points) {
  const PredictedPoint& best = **std::ranges::min_element(
      points, {}, [](const PredictedPoint* one) { return one->prediction->step; });
  const bool several_ways = std::ranges::any_of(points, [&](const PredictedPoint* one) {
    return way_of(one->point) != way_of(best.point);
  });
  const std::string way = several_ways ? " (" + way_of(best.point) + ")" : "";
  const std::string where =
      fmt::format("At {} between {} ranks ", network_of(best.point), best.point.ranks);
  if (*best.speed_up() >= kWorthSaying)
    return where + fmt::format("{}{} should be fastest, {} times as fast as no compression{}.",
                               best.point.compressor.to_string(), way,
                               format_number(*best.speed_up()), several_ways ? " there" : "");
  if (!several_ways) return where + "nothing here should pay.";
  return where + fmt::format("no compression{} should be as fast as anything here.", way);
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

}  // namespace

std::string prediction_sentences(const std::vector<PredictedPoint>& points) {
  int ranks = 0;
  for (const PredictedPoint& one : points)
    if (counts(one)) ranks = std::max(ranks, one.point.ranks);
  Points most;
  for (const PredictedPoint& one : points)
    if (counts(one) && one.point.ranks == ranks) most.push_back(&one);
  const auto compresses = [](const PredictedPoint* one) {
    return one->point.compressor != kUncompressed;
  };
  if (std::ranges::none_of(most, compresses)) return "";
  const auto by_rate = [](const PredictedPoint* one, const PredictedPoint* other) {
    return one->point.link.rate() < other->point.link.rate();
  };
  const auto [slowest, fastest] = std::minmax_element(most.begin(), most.end(), by_rate);
  const double low = (*slowest)->point.link.rate(), high = (*fastest)->point.link.rate();
  std::string text = fastest_at(most, low);
  if (high > low) text += " " + fastest_at(most, high);
  return wrap(text + " Models say so; `thinpipe run` measures.", 0) + "\n";
}

}  // namespace thinpipe
