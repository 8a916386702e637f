// Which points may share a report, and whether the same point agrees at several time scales.
#include "reports/summary/time_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/error.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

std::vector<std::string> texts(const std::set<double>& factors) {
  std::vector<std::string> result;
  for (const double factor : factors) result.push_back(fmt::format("{}", factor));
  return result;
}

std::set<double> factors_of(const Records& records) {
  std::set<double> factors;
  for (const Point& point : records.points) factors.insert(point.axes.time_scale);
  return factors;
}

// Largest difference of two step times that still counts as agreement, as a fraction of the step
// time. Measurements at two time scales never agree to the last digit, and many steps make any
// difference significant. A difference below this fraction changes no conclusion.
constexpr double kNegligible = 0.01;

// Step times of the repeats that are ok, by factor.
using ByFactor = std::map<double, Repeats>;

ScaleAgreement::Verdict agreement_of(const Estimate& ratio) {
  if (!ratio.interval) return ScaleAgreement::Verdict::kTooFew;
  const bool apart =
      ratio.interval->low > 1 + kNegligible || ratio.interval->high < 1 - kNegligible;
  return apart ? ScaleAgreement::Verdict::kDisagree : ScaleAgreement::Verdict::kAgree;
}

void compare(const std::string& what, const ByFactor& by_factor,
             std::vector<ScaleAgreement>& agreements) {
  const auto base = std::ranges::min_element(
      by_factor, {}, [](const auto& one) { return std::fabs(std::log(one.first)); });
  for (auto other = by_factor.begin(); other != by_factor.end(); ++other) {
    if (other == base) continue;
    ScaleAgreement agreement{.what = what, .base = base->first, .factor = other->first};
    if (base->second.empty() || other->second.empty()) {
      agreement.verdict = ScaleAgreement::Verdict::kNotTrusted;
    } else {
      const BootstrappedMedian of_base = bootstrap_median(base->second, 0);
      const BootstrappedMedian of_other = bootstrap_median(other->second, 1);
      agreement.base_time = of_base.value;
      agreement.time = of_other.value;
      agreement.ratio = ratio_of_medians(of_other, of_base);
      agreement.verdict = agreement_of(agreement.ratio);
    }
    agreements.push_back(std::move(agreement));
  }
}

}  // namespace

void require_one_time_scale(const Records& records) {
  std::map<std::tuple<int, std::string, std::string, std::string, std::string>, std::set<double>>
      seen;
  for (const Point& point : records.points) {
    const Axes& axes = point.axes;
    std::set<double>& factors =
        seen[{axes.ranks, axes.engine, axes.topology, axes.stragglers, axes.link}];
    factors.insert(point.axes.time_scale);
    if (factors.size() > 1)
      throw InputError(fmt::format(
          "{}: {} ranks on {} were measured at time scales {}, which one report cannot mix; "
          "`thinpipe report --time-scale {}` reports one of {} and compares it with the others",
          records.file.string(), point.axes.ranks, point.axes.link, listed(texts(factors)),
          *factors_of(records).begin(), listed(texts(factors_of(records)))));
  }
}

Records at_time_scale(Records records, double factor) {
  const std::set<double> factors = factors_of(records);
  if (!factors.contains(factor))
    throw InputError(fmt::format("{}: no point was measured at time scale {}; the records have {}",
                                 records.file.string(), factor, listed(texts(factors))));
  std::erase_if(records.points,
                [&](const Point& point) { return point.axes.time_scale != factor; });
  return records;
}

std::vector<std::string> time_scale_notes(const Records& records) {
  std::map<double, std::set<std::string>> links;
  for (const Point& point : records.points)
    links[point.axes.time_scale].insert(
        fmt::format("{} ranks on {}", point.axes.ranks, point.axes.link));
  links.erase(1);
  std::vector<std::string> notes;
  for (const auto& [factor, where] : links)
    notes.push_back(fmt::format(
        "Time scale {}: {} {} measured with time dilation. Links were set to 1/{} of their rate, "
        "delays and compute times to {} times theirs. Times in this report are converted back to "
        "the links as they are named; the records have the raw times too.",
        factor, listed({where.begin(), where.end()}), where.size() == 1 ? "was" : "were", factor,
        factor));
  return notes;
}

std::vector<ScaleAgreement> compare_time_scales(const Records& records) {
  std::map<
      std::tuple<int, std::string, std::string, std::string, std::string, std::string, std::string>,
      ByFactor>
      points;
  for (const Point& point : records.points) {
    const Axes& axes = point.axes;
    Repeats& repeats = points[{axes.ranks, axes.engine, axes.topology, axes.stragglers, axes.link,
                               axes.compressor, axes.way()}][axes.time_scale];
    std::vector<double> samples = point.samples("step_time"_metric);
    std::erase_if(samples, [](double time) { return time <= 0; });
    if (point.status == Status::kOk && !samples.empty()) repeats.push_back(std::move(samples));
  }
  std::vector<ScaleAgreement> agreements;
  for (const auto& [key, by_factor] : points) {
    const auto& [ranks, engine, topology, stragglers, link, compressor, way] = key;
    const bool is_usual = way.empty() || way.ends_with("-ring");  // "allreduce-ring"
    if (by_factor.size() > 1)
      compare(fmt::format("{}{} on {}, {}{}{}", compressor, is_usual ? "" : " (" + way + ")", link,
                          counted(static_cast<std::size_t>(ranks), "rank"),
                          topology == "star" || topology.empty() ? "" : ", " + topology,
                          stragglers == "none" ? "" : ", " + stragglers),
              by_factor, agreements);
  }
  return agreements;
}

std::string agreement_sentence(const ScaleAgreement& agreement) {
  using Verdict = ScaleAgreement::Verdict;
  if (agreement.verdict == Verdict::kNotTrusted)
    return fmt::format("{}: no trusted figures at time scale {} or {} to compare", agreement.what,
                       agreement.factor, agreement.base);
  std::string text = fmt::format("{}: {} a step at time scale {}, {} at {}: ", agreement.what,
                                 format_time(agreement.time), agreement.factor,
                                 format_time(agreement.base_time), agreement.base);
  const Estimate& ratio = agreement.ratio;
  if (agreement.verdict == Verdict::kTooFew)
    return text + fmt::format("ratio {:.4g}, too few steps for a 95 % CI", ratio.value);
  const std::string interval = fmt::format("ratio {:.4g}, {:.4g} to {:.4g}", ratio.value,
                                           ratio.interval->low, ratio.interval->high);
  return text + (agreement.verdict == Verdict::kAgree
                     ? "agree (" + interval + ")"
                     : "DO NOT AGREE (" + interval + "): one did not scale in proportion");
}

}  // namespace thinpipe
