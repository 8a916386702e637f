// A gate's outcome as text, job summary, annotation, JUnit's XML and JSON.
#include "reports/gate/gate.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/escape.h"
#include "base/plain_table.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

std::string signed_percent(double fraction) { return fmt::format("{:+.2f}", 100 * fraction); }

std::string detail_text(const MetricComparison& comparison) {
  std::string text = value_text(comparison.unit, comparison.kind, comparison.before) + " before, " +
                     value_text(comparison.unit, comparison.kind, comparison.after) + " now";
  if (comparison.margin > 0) text += fmt::format("; margin {:g} %", 100 * comparison.margin);
  if (comparison.kind == "timed") text += fmt::format("; {} samples", comparison.samples);
  if (!comparison.note.empty()) text += "; " + comparison.note;
  return text;
}

constexpr std::size_t kMaxShown = 12;

constexpr std::size_t kNamedWorst = 3;

// Escapes text for workflow commands of GitHub's runner.
std::string escape_annotation(std::string_view text) {
  std::string escaped(text);
  replace_all(escaped, "%", "%25");
  replace_all(escaped, "\r", "%0D");
  replace_all(escaped, "\n", "%0A");
  return escaped;
}

std::string row(const MetricComparison& comparison) {
  return fmt::format(
      "| {} | {} | {} | {} | {} |\n", verdict_name(comparison.verdict),
      escape_markdown(change_text(comparison)), escape_markdown(comparison.name.second),
      escape_markdown(comparison.name.first), escape_markdown(detail_text(comparison)));
}

std::string inner(const MetricComparison& comparison) {
  const std::string message = escape_html(change_text(comparison));
  const std::string detail = escape_html(detail_text(comparison));
  if (comparison.verdict == Verdict::kWorse)
    return fmt::format("<failure message=\"{}\">{}</failure>", message, detail);
  if (comparison.verdict == Verdict::kUnclear)
    return fmt::format("<skipped message=\"unclear: {}\"/>", message);
  return fmt::format("<system-out>{}; {}; {}</system-out>", verdict_name(comparison.verdict),
                     message, detail);
}

std::string error_case(const std::string& kind, const std::string& why) {
  return fmt::format(
      "  <testcase classname=\"{0}\" name=\"{1}\"><error message=\"{1}\"/></testcase>\n", kind,
      escape_html(why));
}

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

std::string change_text(const MetricComparison& comparison) {
  // From 0 there is no fraction.
  const bool from_zero =
      comparison.before == 0 && comparison.change != 0 && !comparison.better.starts_with("target:");
  if (from_zero || !std::isfinite(comparison.change)) return "changed";
  std::string text = signed_percent(comparison.change) + " %";
  if (comparison.interval)
    text += fmt::format(" ({} to {})", signed_percent(comparison.interval->low),
                        signed_percent(comparison.interval->high));
  return text;
}

std::string value_text(const std::string& unit, const std::string& kind, double value) {
  const std::string with_unit = unit == "1" ? "" : " " + unit;
  if (kind == "exact") return fmt::format("{}{}", value, with_unit);  // every digit counts
  if (unit == "s") return format_time(value);
  if (unit == "bit/s") return format_rate(value);
  return format_number(value) + with_unit;
}

std::string gate_sentence(const GateOutcome& outcome) {
  const std::pair<std::size_t, const char*> all[] = {
      {outcome.count(Verdict::kWorse), "worse"},   {outcome.count(Verdict::kUnclear), "unclear"},
      {outcome.count(Verdict::kBetter), "better"}, {outcome.count(Verdict::kSame), "the same"},
      {outcome.missing.size(), "not comparable"},  {outcome.failed.size(), "failed"}};
  std::vector<std::string> counts;
  for (const auto& [count, what] : all)
    if (count > 0) counts.push_back(fmt::format("{} {}", count, what));
  if (counts.empty()) return "Nothing was compared.";
  std::string text =
      fmt::format("Of {} metrics: {}.", outcome.comparisons.size(), joined(counts, ", "));
  if (outcome.count(Verdict::kWorse) > 0) {
    const MetricComparison& worst = outcome.comparisons.front();
    text += fmt::format(" The worst: {}, {}.", series_title(worst.name), change_text(worst));
  }
  return text;
}

std::string gate_text(const GateOutcome& outcome, bool all) {
  std::string text = folded(gate_sentence(outcome), 0, " ");
  std::size_t shown = 0, left_out = 0;
  const auto shows = [&] {  // at most a screen
    if (!all && shown >= kMaxShown) ++left_out;
    return all || shown++ < kMaxShown;
  };
  for (const std::string& why : outcome.failed)
    if (shows()) text += folded("failed: " + why, 2, " ");
  for (const std::string& why : outcome.missing)
    if (shows()) text += folded("not comparable: " + why, 2, " ");
  for (const MetricComparison& comparison : outcome.comparisons) {
    if (!all && (comparison.verdict == Verdict::kSame || !shows())) continue;
    text += fmt::format("{:<8} {:<28} {}\n", verdict_name(comparison.verdict),
                        change_text(comparison), comparison.name.second);
    text += "         " + comparison.name.first + "\n" +
            folded("         " + detail_text(comparison), 9, " ");
  }
  if (left_out > 0) text += fmt::format("... and {} more; --all shows them\n", left_out);
  return text;
}

std::string gate_markdown(const GateOutcome& outcome, std::size_t longest) {
  std::string text = "## thinpipe gate\n\n" + escape_markdown(gate_sentence(outcome)) + "\n\n";
  constexpr std::size_t kBytesForCount = 100;
  std::size_t left_out = 0;
  const auto add = [&](const std::string& line) {
    if (left_out > 0 || text.size() + line.size() + kBytesForCount > longest) {
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
    if (++named <= kNamedWorst) add(series_title(comparison.name) + ": " + change_text(comparison));
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
  return fmt::format("::warning title=thinpipe gate::{} of {} metrics are unclear\n", unclear,
                     outcome.comparisons.size());
}

std::string gate_junit(const GateOutcome& outcome) {
  const std::size_t errors = outcome.failed.size() + outcome.missing.size();
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"thinpipe gate\" tests=\"{}\" failures=\"{}\" errors=\"{}\" "
      "skipped=\"{}\">\n",
      outcome.comparisons.size() + errors, outcome.count(Verdict::kWorse), errors,
      outcome.count(Verdict::kUnclear));
  for (const std::string& why : outcome.failed) text += error_case("failed", why);
  for (const std::string& why : outcome.missing) text += error_case("not comparable", why);
  for (const MetricComparison& comparison : outcome.comparisons)
    text += fmt::format("  <testcase classname=\"{}\" name=\"{}\">{}</testcase>\n",
                        escape_html(comparison.name.first), escape_html(comparison.name.second),
                        inner(comparison));
  return text + "</testsuite>\n";
}

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
