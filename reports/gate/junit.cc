// JUnit's XML, as CI systems read it.
#include <fmt/format.h>

#include "reports/gate/output.h"
#include "reports/gate/words.h"
#include "reports/text/escape.h"

namespace thinpipe {
namespace {

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

}  // namespace

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
  for (const MetricComparison& comparison : outcome.comparisons) {
    text += fmt::format("  <testcase classname=\"{}\" name=\"{}\">{}</testcase>\n",
                        escape_html(comparison.name.first), escape_html(comparison.name.second),
                        inner(comparison));
  }
  return text + "</testsuite>\n";
}

}  // namespace thinpipe
