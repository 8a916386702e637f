// Figures of arms, and what they say of a finding.
#include <algorithm>
#include <cmath>

#include "reports/reproduction/reproduction.h"
#include "reports/statistics/confidence.h"
#include "reports/statistics/quantile.h"

namespace thinpipe {
namespace {

void add_point(const Point& point, ArmFigures& figures) {
  if (point.status == Status::kFailed) {
    std::string why = "seed " + std::to_string(point.axes.seed) + " " + status_name(point.status);
    for (const std::string& reason : point.reasons) why += ": " + reason;
    figures.complaints.push_back(std::move(why));
    return;
  }
  const std::vector<double> accuracy = point.samples("final_accuracy"),
                            perplexity = point.samples("final_perplexity");
  if (accuracy.empty() && perplexity.empty()) {
    figures.complaints.push_back("seed " + std::to_string(point.axes.seed) +
                                 " was not evaluated on held-out data");
    return;
  }
  figures.perplexity = accuracy.empty();
  figures.seeds.push_back(point.axes.seed);
  figures.shown.push_back(accuracy.empty() ? perplexity[0] : 100 * accuracy[0]);
  figures.quality.push_back(accuracy.empty() ? -100 * std::log(perplexity[0]) : 100 * accuracy[0]);
  figures.bytes.push_back(mean(point.samples("payload_bytes")));
  if (const auto dense = point.samples("dense_bytes"); !dense.empty())
    figures.dense_bytes = dense[0];
}

const ArmFigures* find_arm(const std::vector<ArmFigures>& arms, const std::string& label) {
  const auto found = std::find_if(arms.begin(), arms.end(),
                                  [&](const ArmFigures& one) { return one.label == label; });
  return found == arms.end() ? nullptr : &*found;
}

std::vector<double> differences(const ArmFigures& arm, const ArmFigures& than) {
  std::vector<double> values;
  for (std::size_t i = 0; i < arm.seeds.size(); ++i) {
    const auto other = std::find(than.seeds.begin(), than.seeds.end(), arm.seeds[i]);
    if (other != than.seeds.end())
      values.push_back(arm.quality[i] -
                       than.quality[static_cast<std::size_t>(other - than.seeds.begin())]);
  }
  return values;
}

}  // namespace

ArmFigures arm_figures(std::string label, std::string paper, std::string command,
                       const Records& records) {
  ArmFigures figures;
  figures.label = std::move(label);
  figures.paper = std::move(paper);
  figures.command = std::move(command);
  for (const Point& point : records.points) add_point(point, figures);
  return figures;
}

const char* words_of(Appeared appeared) {
  switch (appeared) {
    case Appeared::kYes:
      return "yes";
    case Appeared::kNo:
      return "no";
    case Appeared::kUnclear:
      return "unclear";
    case Appeared::kSeen:
      return "looks so";
    case Appeared::kNotSeen:
      return "does not look so";
    case Appeared::kMissing:
      break;
  }
  return "not measured";
}

JudgedFinding judge(const Expectation& expected, const std::vector<ArmFigures>& arms) {
  JudgedFinding finding{.expected = expected, .difference = std::nullopt};
  const ArmFigures* arm = find_arm(arms, expected.arm);
  const ArmFigures* than = find_arm(arms, expected.than);
  if (arm == nullptr || than == nullptr) return finding;
  const std::vector<double> values = differences(*arm, *than);
  if (values.empty()) return finding;
  finding.difference = mean_of_samples(values);
  const Interval bounds{expected.least, expected.most};
  if (!finding.difference->interval) {
    finding.appeared =
        bounds.holds(finding.difference->value) ? Appeared::kSeen : Appeared::kNotSeen;
    return finding;
  }
  const Interval& interval = *finding.difference->interval;
  finding.appeared = bounds.holds(interval.low) && bounds.holds(interval.high) ? Appeared::kYes
                     : interval.high < bounds.low || interval.low > bounds.high
                         ? Appeared::kNo
                         : Appeared::kUnclear;
  return finding;
}

}  // namespace thinpipe
