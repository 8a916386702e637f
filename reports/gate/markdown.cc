// A job's summary, and the one annotation.
#include <fmt/format.h>

#include <string_view>

#include "reports/gate/output.h"
#include "reports/gate/words.h"
#include "reports/text/escape.h"

namespace thinpipe {
namespace {

constexpr std::size_t kNamedWorst = 3;

// As the workflow commands of GitHub's runner want it.
std::string escape_annotation(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '%') {
      escaped += "%25";
    } else if (c == '\r') {
      escaped += "%0D";
    } else if (c == '\n') {
      escaped += "%0A";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string row(const MetricComparison& comparison) {
  return fmt::format(
      "| {} | {} | {} | {} | {} |\n", verdict_name(comparison.verdict),
      escape_markdown(change_text(comparison)), escape_markdown(comparison.name.second),
      escape_markdown(comparison.name.first), escape_markdown(detail_text(comparison)));
}

}  // namespace

std::string gate_markdown(const GateOutcome& outcome, std::size_t longest) {
  std::string text = "## thinpipe gate\n\n" + escape_markdown(gate_sentence(outcome)) + "\n\n";
  constexpr std::size_t kRoomForCount = 100;
  std::size_t left_out = 0;
  const auto add = [&](const std::string& line) {
    if (left_out > 0 || text.size() + line.size() + kRoomForCount > longest) {
      ++left_out;
    } else {
      text += line;
    }
  };
  for (const std::string& why : outcome.failed) add("- failed: " + escape_markdown(why) + "\n");
  for (const std::string& why : outcome.missing)
    add("- not comparable: " + escape_markdown(why) + "\n");
  if (!outcome.comparisons.empty())
    add("\n| | change | metric | point | |\n|---|---|---|---|---|\n");
  for (const MetricComparison& comparison : outcome.comparisons) add(row(comparison));
  if (left_out > 0) text += fmt::format("\n... and {} more lines.\n", left_out);
  return text;
}

std::string gate_annotation(const GateOutcome& outcome) {
  std::string text;
  const auto add = [&](const std::string& line) { text += (text.empty() ? "" : "\n") + line; };
  std::size_t named = 0;
  for (const MetricComparison& comparison : outcome.comparisons) {
    if (comparison.verdict != Verdict::kWorse) break;  // worst first
    if (++named <= kNamedWorst) add(metric_title(comparison) + ": " + change_text(comparison));
  }
  if (named > kNamedWorst) add(fmt::format("and {} more worse metrics", named - kNamedWorst));
  const auto add_first = [&](const char* what, const std::vector<std::string>& list) {
    if (list.empty()) return;
    add(std::string(what) + ": " + list.front() +
        (list.size() > 1 ? fmt::format(" and {} more", list.size() - 1) : ""));
  };
  add_first("failed", outcome.failed);
  add_first("not comparable", outcome.missing);
  if (text.empty() && outcome.comparisons.empty()) text = "nothing was compared";
  if (!text.empty()) return "::error title=thinpipe gate::" + escape_annotation(text) + "\n";
  const std::size_t unclear = outcome.count(Verdict::kUnclear);
  if (unclear == 0) return "";
  return fmt::format("::warning title=thinpipe gate::{} of {} metrics could not be told apart\n",
                     unclear, outcome.comparisons.size());
}

}  // namespace thinpipe
