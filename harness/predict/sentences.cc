// What predictions come to, for a person to repeat.
#include <algorithm>

#include <fmt/format.h>

#include "base/units.h"
#include "harness/options/layout.h"
#include "harness/predict/output.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace {

// Faster than no compression by less is no difference to speak of: a model is not that good.
constexpr double kWorthSaying = 1.05;

bool counts(const PredictedPoint& one) {
  return one.speed_up() && one.point.link.throttled() && one.point.compressor != kUncompressed;
}

std::string fastest_at(const std::vector<const PredictedPoint*>& points, double rate) {
  const PredictedPoint* best = nullptr;
  for (const PredictedPoint* one : points)
    if (one->point.link.rate() == rate && (best == nullptr || *one->speed_up() > *best->speed_up()))
      best = one;
  const std::string where =
      fmt::format("At {} between {} ranks ", format_rate(rate), best->point.ranks);
  if (*best->speed_up() < kWorthSaying) return where + "nothing here should pay.";
  return where + fmt::format("{} should be fastest, {} times as fast as no compression.",
                             best->point.compressor.to_string(), format_number(*best->speed_up()));
}

}  // namespace

std::string prediction_sentences(const std::vector<PredictedPoint>& points) {
  int ranks = 0;
  for (const PredictedPoint& one : points)
    if (counts(one)) ranks = std::max(ranks, one.point.ranks);
  std::vector<const PredictedPoint*> most;
  for (const PredictedPoint& one : points)
    if (counts(one) && one.point.ranks == ranks) most.push_back(&one);
  if (most.empty()) return "";
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
