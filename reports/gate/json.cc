// A gate's outcome for programs.
#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/gate/output.h"

namespace thinpipe {
namespace {

using Json = nlohmann::json;

Json one(const MetricComparison& comparison) {
  Json json = {{"point", comparison.name.first}, {"metric", comparison.name.second},
               {"unit", comparison.unit},        {"kind", comparison.kind},
               {"better", comparison.better},    {"verdict", verdict_name(comparison.verdict)},
               {"before", comparison.before},    {"after", comparison.after},
               {"change", comparison.change},    {"interval", nullptr},
               {"margin", comparison.margin},    {"samples", comparison.samples},
               {"note", comparison.note}};
  if (comparison.interval) json["interval"] = {comparison.interval->low, comparison.interval->high};
  return json;
}

}  // namespace

Json gate_json(const GateOutcome& outcome) {
  Json comparisons = Json::array();
  for (const MetricComparison& comparison : outcome.comparisons)
    comparisons.push_back(one(comparison));
  return {{"worse", outcome.count(Verdict::kWorse)},
          {"unclear", outcome.count(Verdict::kUnclear)},
          {"better", outcome.count(Verdict::kBetter)},
          {"same", outcome.count(Verdict::kSame)},
          {"launches", outcome.launches},
          {"looks", outcome.looks},
          {"in_turns", outcome.in_turns},
          {"failed", outcome.failed},
          {"missing", outcome.missing},
          {"comparisons", comparisons}};
}

}  // namespace thinpipe
