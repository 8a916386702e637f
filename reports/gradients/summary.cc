// Gradient statistics by tensor and by step, and their findings.
#include "reports/gradients/summary.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "base/error.h"
#include "reports/statistics/statistics.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

constexpr const char* kWhole = "*";

/// Returns the mean of `of` (a member or a function) over `items`, without values that are not
/// finite.
template <class Items, class Of>
double mean_of(const Items& items, Of of) {
  std::vector<double> values;
  for (const auto* item : items) values.push_back(std::invoke(of, *item));
  return finite_mean(values);
}

using Gradients = std::vector<const StatsGradient*>;

StatsMeans means_of(const Gradients& gradients, std::size_t ratios) {
  StatsMeans means;
  const auto mean = [&](auto of) { return mean_of(gradients, of); };
  means.p = mean(&StatsGradient::p);
  means.r_squared = mean(&StatsGradient::r_squared);
  means.zero_share = mean([](const StatsGradient& g) { return g.zeros / g.elements; });
  means.kurtosis = mean(&StatsGradient::kurtosis);
  means.mean_magnitude = mean(&StatsGradient::mean_magnitude);
  means.deviation = mean(&StatsGradient::deviation);
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

using Similarities = std::vector<const StatsSimilarity*>;

StatsAlike alike_of(const Similarities& similarities) {
  StatsAlike alike;
  std::map<std::uint64_t, Similarities> by_step;
  for (const StatsSimilarity* similarity : similarities)
    by_step[similarity->step].push_back(similarity);
  const auto means = [](std::uint64_t step, const Similarities& those) {
    return StatsAlikeMeans{step, mean_of(those, &StatsSimilarity::cosine),
                           mean_of(those, &StatsSimilarity::overlap)};
  };
  for (const auto& [step, of_step] : by_step) alike.steps.push_back(means(step, of_step));
  alike.all = means(0, similarities);
  return alike;
}

struct Parts {
  Gradients plain, feedback;
  Similarities workers, steps;
};

constexpr double kCompressible = 0.5;  // SIDCo, definition 1
constexpr double kManyZeros = 0.01;    // as a fraction: a lower bound of every fit's distance
// Chance alone puts a smaller sample some hundredths from its own distribution (0.9 / sqrt n).
constexpr int kMinElements = 1000;

/// "gamma (0.0595), followed by exponential (0.0714), gpareto (0.0743) and normal (0.386)".
std::string fits_in_order(const StatsMeans& means) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < kFitNames.size(); ++i)
    if (std::isfinite(means.distances[i])) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return means.distances[i]; });
  std::vector<std::string> names;
  for (const std::size_t i : order)
    names.push_back(std::string(kFitNames[i]) + " (" + format_number(means.distances[i]) + ")");
  const std::string nearest = names.front();
  names.erase(names.begin());
  return names.empty() ? nearest : nearest + ", followed by " + listed(names);
}

std::string nearest_sentence(const StatsSeries& series, const std::string& subject) {
  if (series.all.best_fit() == kFitNames.size())
    return subject + ": no distribution could be fitted.";
  return subject + ": the best fit by Kolmogorov-Smirnov distance is " + fits_in_order(series.all) +
         ".";
}

/// Returns the exponent and the best-k errors; "" where no line could be fitted.
std::string decay_sentence(const StatsSummary& summary, const StatsSeries& series,
                           const std::string& subject) {
  if (!std::isfinite(series.all.p)) return "";
  std::size_t above = 0;
  for (const StatsMeans& step : series.steps) above += step.p > kCompressible ? 1 : 0;
  std::string text = subject + "p = " + format_number(series.all.p) +
                     " on average, above \xc2\xbd in " + std::to_string(above) + " of " +
                     counted(series.steps.size(), "step");
  std::vector<std::string> errors;
  for (std::size_t i = 0; i < summary.records->ratios.size(); ++i) {
    if (!std::isfinite(series.all.best_k_errors[i])) continue;
    errors.push_back(format_percent(series.all.best_k_errors[i]) + " for the largest " +
                     format_percent(summary.records->ratios[i]));
  }
  if (!errors.empty()) text += ". The best-k error is " + listed(errors);
  return text + ".";
}

std::string farthest_sentence(const StatsSummary& summary) {
  const StatsUnit* farthest = nullptr;
  std::size_t count = 0;
  const auto least = [](const StatsUnit& unit) {
    return unit.plain.all.distances[unit.plain.all.best_fit()];
  };
  for (const StatsUnit& unit : summary.units) {
    if (&unit == &summary.main() || unit.elements < kMinElements ||
        unit.plain.all.best_fit() == kFitNames.size())
      continue;
    ++count;
    if (farthest == nullptr || least(unit) > least(*farthest)) farthest = &unit;
  }
  if (count < 2) return "";
  return "Of " + counted(count, "tensor") + " with at least " + std::to_string(kMinElements) +
         " elements, " + farthest->title + " is fitted worst: its best fit, " +
         kFitNames[farthest->plain.all.best_fit()] + ", has a distance of " +
         format_number(least(*farthest)) + ".";
}

std::string alike_sentence(const StatsSummary& summary) {
  const StatsUnit& unit = summary.main();
  const std::string top = " of their largest " + format_percent(summary.records->overlap_ratio);
  std::string text;
  const auto add = [&](const StatsAlike& alike, const std::string& who) {
    if (!std::isfinite(alike.all.cosine)) return;
    text += (text.empty() ? "" : " ") + who + " have a cosine of " +
            format_number(alike.all.cosine) + " and share " + format_percent(alike.all.overlap) +
            top + ".";
  };
  add(unit.workers, "Gradients of neighbouring workers");
  add(unit.steps, "Gradients of successive analysed steps");
  return text;
}

std::string zeros_sentence(const StatsSummary& summary) {
  const double fraction = summary.main().plain.all.zero_share;
  if (!(fraction >= kManyZeros)) return "";
  if (fraction == 1) return "All elements are exactly 0.";
  return format_percent(fraction) + " of the elements are exactly 0, which no fit can represent.";
}

std::string warning_sentence(const StatsSummary& summary) {
  std::size_t non_finite = 0;
  for (const StatsGradient& gradient : summary.records->gradients)
    non_finite += gradient.non_finite > 0 ? 1 : 0;
  if (non_finite == 0) return "";
  return counted(non_finite, "gradient") +
         " contained values that are not finite; all statistics exclude these values.";
}

}  // namespace

std::size_t StatsMeans::best_fit() const {
  std::size_t best = distances.size();
  for (std::size_t i = 0; i < distances.size(); ++i)
    if (std::isfinite(distances[i]) && (best == distances.size() || distances[i] < distances[best]))
      best = i;
  return best;
}

StatsSummary summarize(const StatsRecords& records) {
  if (records.gradients.empty())
    throw InputError(records.origin.file.string() + ": no statistics of a gradient");
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
    throw InputError(records.origin.file.string() + ": no gradient without error feedback");
  const auto whole = std::ranges::find(summary.units, kWhole, &StatsUnit::tensor);
  const auto largest = std::ranges::max_element(summary.units, {}, &StatsUnit::elements);
  const auto main = whole != summary.units.end() ? whole : largest;
  std::rotate(summary.units.begin(), main, main + 1);
  return summary;
}

std::string stats_subject(const StatsSummary& summary) {
  const std::string model = summary.records->origin.headers.back().trace.text("model");
  const StatsSeries& series = summary.main().plain;
  std::string text = model.empty() ? "" : model + ", ";
  text += summary.main().title + " (" + std::to_string(std::llround(summary.main().elements)) +
          " elements), " + counted(series.steps.size(), "training step") + ", " +
          std::to_string(series.steps.front().step);
  if (series.steps.size() > 1) text += " to " + std::to_string(series.steps.back().step);
  return text;
}

std::vector<std::string> stats_findings(const StatsSummary& summary) {
  const StatsUnit& unit = summary.main();
  const std::string with_feedback =
      summary.records->feedback_ratio
          ? "With error feedback of a top-k of " + format_percent(*summary.records->feedback_ratio)
          : "";
  const bool has_feedback = !unit.feedback.empty();
  std::vector<std::string> sentences = {
      nearest_sentence(unit.plain, stats_subject(summary)),
      has_feedback ? nearest_sentence(unit.feedback, with_feedback) : "",
      decay_sentence(summary, unit.plain, "Sorted magnitudes decay as a power law with "),
      has_feedback ? decay_sentence(summary, unit.feedback, with_feedback + ": ") : "",
      zeros_sentence(summary),
      farthest_sentence(summary),
      alike_sentence(summary),
      warning_sentence(summary)};
  std::erase(sentences, "");
  return sentences;
}

std::vector<std::string> stats_method_notes(const StatsSummary& summary) {
  std::vector<std::string> notes = {
      "Figures of a step are means over the analysed ranks; figures of a tensor are means over "
      "ranks and steps.",
      "The fits are those of SIDCo's thresholds: exponential by the mean magnitude, gamma by mean "
      "and mean logarithm, generalised Pareto by mean and variance. The normal fit is by mean and "
      "deviation of the signed values. Distances are exact Kolmogorov-Smirnov statistics over "
      "magnitudes.",
      "Decay is SIDCo's definition 1: p is the slope of ln of the sorted magnitudes against ln of "
      "their index, up to 0.37 of the elements; a gradient counts as compressible above \xc2\xbd. "
      "The best-k error is the norm of all but the k largest elements over the norm.",
      "Densities are over intervals with 2 % of the elements each, fewer in the tail; for data and "
      "fits, the fraction of the elements in an interval over its length."};
  if (summary.records->feedback_ratio)
    notes.push_back(
        "Error feedback adds the residual of top-k to the next analysed gradient. The residual is "
        "zero at the first step, so the first step equals that without error feedback.");
  return notes;
}

}  // namespace thinpipe
