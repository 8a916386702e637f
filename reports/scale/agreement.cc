// Whether the same point came out the same at several time scales.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "reports/scale/scale.h"
#include "reports/text/units.h"

namespace thinpipe {

namespace {

// Two ways of measuring are never the same to the last digit, and many steps make any difference
// significant; below this share of a step nobody would conclude otherwise.
constexpr double kNegligible = 0.01;

// Step times of the repeats that are ok, by factor.
using ByFactor = std::map<double, Repeats>;

double distance_from_one(double factor) { return std::fabs(std::log(factor)); }

ScaleAgreement::Verdict agreement_of(const Estimate& ratio) {
  if (!ratio.interval) return ScaleAgreement::Verdict::kTooFew;
  const bool apart =
      ratio.interval->low > 1 + kNegligible || ratio.interval->high < 1 - kNegligible;
  return apart ? ScaleAgreement::Verdict::kDisagree : ScaleAgreement::Verdict::kAgree;
}

void compare(const std::string& what, const ByFactor& by_factor,
             std::vector<ScaleAgreement>& agreements) {
  const auto base = std::min_element(by_factor.begin(), by_factor.end(), [](auto& a, auto& b) {
    return distance_from_one(a.first) < distance_from_one(b.first);
  });
  for (auto other = by_factor.begin(); other != by_factor.end(); ++other) {
    if (other == base) continue;
    ScaleAgreement agreement;
    agreement.what = what;
    agreement.base = base->first;
    agreement.factor = other->first;
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

std::vector<ScaleAgreement> compare_time_scales(const Records& records) {
  std::map<std::tuple<int, std::string, std::string, std::string, std::string>, ByFactor> points;
  for (const Point& point : records.points) {
    const Axes& axes = point.axes;
    Repeats& repeats = points[{axes.ranks, axes.topology, axes.link, axes.compressor, axes.way()}]
                             [axes.time_scale];
    std::vector<double> samples = point.samples("step_time");
    std::erase_if(samples, [](double time) { return time <= 0; });
    if (point.status == Status::kOk && !samples.empty()) repeats.push_back(std::move(samples));
  }
  std::vector<ScaleAgreement> agreements;
  for (const auto& [key, by_factor] : points) {
    const auto& [ranks, topology, link, compressor, pattern] = key;
    if (by_factor.size() > 1)
      compare(fmt::format("{} on {}, {} rank{}", compressor, link, ranks, ranks == 1 ? "" : "s"),
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
    return text + fmt::format("ratio {:.4g}, too few steps to tell", ratio.value);
  const std::string interval = fmt::format("ratio {:.4g}, {:.4g} to {:.4g}", ratio.value,
                                           ratio.interval->low, ratio.interval->high);
  return text + (agreement.verdict == Verdict::kAgree
                     ? "agree (" + interval + ")"
                     : "DO NOT AGREE (" + interval + "); one of them is not in proportion");
}

}  // namespace thinpipe
