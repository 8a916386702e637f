// A gate's outcome on a terminal.
#include <fmt/format.h>

#include "reports/gate/output.h"
#include "reports/gate/words.h"

namespace thinpipe {
namespace {

constexpr std::size_t kMostShown = 12;

std::string counted_if_any(std::size_t count, const char* what) {
  return count == 0 ? "" : fmt::format("{}{}", count, what);
}

void add_item(std::string& list, const std::string& item) {
  if (!item.empty()) list += (list.empty() ? "" : ", ") + item;
}

}  // namespace

std::string gate_sentence(const GateOutcome& outcome) {
  std::string counts;
  add_item(counts, counted_if_any(outcome.count(Verdict::kWorse), " worse"));
  add_item(counts, counted_if_any(outcome.count(Verdict::kUnclear), " unclear"));
  add_item(counts, counted_if_any(outcome.count(Verdict::kBetter), " better"));
  add_item(counts, counted_if_any(outcome.count(Verdict::kSame), " the same"));
  add_item(counts, counted_if_any(outcome.missing.size(), " not comparable"));
  add_item(counts, counted_if_any(outcome.failed.size(), " failed"));
  if (counts.empty()) return "Nothing was compared.";
  std::string text = fmt::format("Of {} metrics: {}.", outcome.comparisons.size(), counts);
  if (outcome.count(Verdict::kWorse) > 0) {
    const MetricComparison& worst = outcome.comparisons.front();
    text += fmt::format(" The worst: {}, {}.", metric_title(worst), change_text(worst));
  }
  return text;
}

std::string gate_text(const GateOutcome& outcome, bool all) {
  std::string text = gate_sentence(outcome) + "\n";
  std::size_t shown = 0, left_out = 0;
  const auto shows = [&] {  // more than a screen hides what counts
    if (!all && shown >= kMostShown) ++left_out;
    return all || shown++ < kMostShown;
  };
  for (const std::string& why : outcome.failed)
    if (shows()) text += "failed: " + why + "\n";
  for (const std::string& why : outcome.missing)
    if (shows()) text += "not comparable: " + why + "\n";
  for (const MetricComparison& comparison : outcome.comparisons) {
    if (!all && (comparison.verdict == Verdict::kSame || !shows())) continue;
    text += fmt::format("{:<8} {:<28} {}\n", verdict_name(comparison.verdict),
                        change_text(comparison), comparison.name.second);
    text += "         " + comparison.name.first + "\n";
    text += "         " + detail_text(comparison) + "\n";
  }
  if (left_out > 0) text += fmt::format("... and {} more; --all shows them\n", left_out);
  return text;
}

}  // namespace thinpipe
