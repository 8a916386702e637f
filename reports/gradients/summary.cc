// Statistics of gradients, put together by tensor and by step.
#include "reports/gradients/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"

namespace thinpipe {
namespace {

constexpr const char* kWhole = "*";
constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

/// The mean over `items` of what `of` says of one, leaving out what is not finite.
template <class Items, class Of>
double mean_of(const Items& items, Of of) {
  double sum = 0;
  std::size_t count = 0;
  for (const auto* item : items) {
    const double value = of(*item);
    if (!std::isfinite(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? kNothing : sum / static_cast<double>(count);
}

using Gradients = std::vector<const StatsGradient*>;

StatsMeans means_of(const Gradients& gradients, std::size_t ratios) {
  StatsMeans means;
  const auto mean = [&](auto of) { return mean_of(gradients, of); };
  means.p = mean([](const StatsGradient& g) { return g.p; });
  means.r_squared = mean([](const StatsGradient& g) { return g.r_squared; });
  means.zero_share = mean([](const StatsGradient& g) { return g.zeros / g.elements; });
  means.kurtosis = mean([](const StatsGradient& g) { return g.kurtosis; });
  means.mean_magnitude = mean([](const StatsGradient& g) { return g.mean_magnitude; });
  means.deviation = mean([](const StatsGradient& g) { return g.deviation; });
  for (std::size_t i = 0; i < ratios; ++i)
    means.best_k_errors.push_back(mean([i](const StatsGradient& g) { return g.best_k_errors[i]; }));
  for (std::size_t i = 0; i < kFitNames.size(); ++i)
    means.distances[i] = mean([i](const StatsGradient& g) { return g.distances[i]; });
  return means;
}

StatsSeries series_of(const Gradients& gradients, std::size_t ratios) {
  StatsSeries series;
  std::map<std::uint64_t, Gradients> by_step;
  for (const StatsGradient* gradient : gradients) {
    by_step[gradient->step].push_back(gradient);
    if (!gradient->points || gradient->rank != gradients.front()->rank) continue;
    if (series.first == nullptr) series.first = gradient;
    series.last = gradient;
  }
  for (const auto& [step, of_step] : by_step) {
    series.steps.push_back(means_of(of_step, ratios));
    series.steps.back().step = step;
  }
  series.all = means_of(gradients, ratios);
  return series;
}

StatsAlike alike_of(const std::vector<const StatsSimilarity*>& similarities) {
  using Similarities = std::vector<const StatsSimilarity*>;
  StatsAlike alike;
  std::map<std::uint64_t, Similarities> by_step;
  for (const StatsSimilarity* similarity : similarities)
    by_step[similarity->step].push_back(similarity);
  const auto means = [](std::uint64_t step, const Similarities& those) {
    return StatsAlikeMeans{step, mean_of(those, [](const StatsSimilarity& s) { return s.cosine; }),
                           mean_of(those, [](const StatsSimilarity& s) { return s.overlap; })};
  };
  for (const auto& [step, of_step] : by_step) alike.steps.push_back(means(step, of_step));
  alike.all = means(0, similarities);
  return alike;
}

struct Parts {
  Gradients plain, feedback;
  std::vector<const StatsSimilarity*> workers, steps;
};

}  // namespace

std::size_t StatsMeans::best_fit() const {
  std::size_t best = distances.size();
  for (std::size_t i = 0; i < distances.size(); ++i) {
    if (std::isfinite(distances[i]) &&
        (best == distances.size() || distances[i] < distances[best])) {
      best = i;
    }
  }
  return best;
}

StatsSummary summarize(const StatsRecords& records) {
  if (records.gradients.empty())
    throw InputError(records.origin.file.string() + ": no gradient's statistics in it");
  StatsSummary summary{&records, {}};
  std::vector<std::string> order;
  std::map<std::string, Parts> parts;
  for (const StatsGradient& gradient : records.gradients) {
    const auto [place, is_new] = parts.try_emplace(gradient.tensor);
    if (is_new) order.push_back(gradient.tensor);
    (gradient.feedback ? place->second.feedback : place->second.plain).push_back(&gradient);
  }
  for (const StatsSimilarity& similarity : records.similarities) {
    const auto place = parts.find(similarity.tensor);
    if (place == parts.end()) continue;
    (similarity.between_workers ? place->second.workers : place->second.steps)
        .push_back(&similarity);
  }
  for (const std::string& name : order) {
    const Parts& part = parts[name];
    if (part.plain.empty()) continue;
    StatsUnit unit;
    unit.tensor = name;
    unit.title = name == kWhole ? "whole model" : name;
    unit.elements = part.plain.front()->elements;
    unit.plain = series_of(part.plain, records.ratios.size());
    unit.feedback = series_of(part.feedback, records.ratios.size());
    unit.workers = alike_of(part.workers);
    unit.steps = alike_of(part.steps);
    summary.units.push_back(std::move(unit));
  }
  if (summary.units.empty())
    throw InputError(records.origin.file.string() + ": no gradient without error feedback in it");
  const auto whole = std::find_if(summary.units.begin(), summary.units.end(),
                                  [](const StatsUnit& unit) { return unit.tensor == kWhole; });
  const auto largest =
      std::max_element(summary.units.begin(), summary.units.end(),
                       [](const auto& a, const auto& b) { return a.elements < b.elements; });
  const auto main = whole != summary.units.end() ? whole : largest;
  std::rotate(summary.units.begin(), main, main + 1);
  return summary;
}

}  // namespace thinpipe
