#include "reports/reproduction/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/tables/table.h"
#include "reports/text/lists.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace {

// Percentages have decimals of their own; of others three digits do.
bool is_percentage(std::string (*format)(double)) { return format == format_percentage; }

std::string formatted_with_interval(const Estimate& estimate, std::string (*format)(double)) {
  if (!estimate.interval) return format(estimate.value);
  if (is_percentage(format))
    return fmt::format("{:.2f} +-{:.2f} %", estimate.value,
                       estimate.interval->high - estimate.value);
  const bool sharp = format(estimate.interval->low) == format(estimate.interval->high);
  if (sharp) return format(estimate.value);
  return format(estimate.value) + " (" + format_interval(estimate, format) + ")";
}

const ReproductionColumn& column_called(const ReproductionPlan& plan, const std::string& name) {
  const auto found =
      std::find_if(plan.columns.begin(), plan.columns.end(),
                   [&](const ReproductionColumn& column) { return column.name == name; });
  return found == plan.columns.end() ? plan.columns.front() : *found;
}

}  // namespace

std::string cell_words(const MeasuredCell& cell, std::string (*format)(double)) {
  if (cell.distrusted) return "not trusted";
  if (cell.repetitions.empty()) return kAbsent;
  return formatted_with_interval(cell.estimate(), format);
}

std::string rule_words(const ReproductionPlan& plan, const Expectation& expected) {
  const std::string& column = column_called(plan, expected.column).name;
  return rule_text(
      expected, column,
      expected.than_column.empty() ? column : column_called(plan, expected.than_column).name);
}

std::string measured_words(const ReproductionPlan& plan, const JudgedFinding& finding) {
  if (!finding.measured) return kAbsent;
  const ReproductionColumn& column = column_called(plan, finding.expected.column);
  if (finding.expected.bounded == Bounded::kRatio)
    return formatted_with_interval(*finding.measured, format_plain);
  if (!is_percentage(column.format))
    return formatted_with_interval(*finding.measured, column.format);
  std::string text = fmt::format("{:.2f}", finding.measured->value);
  if (finding.measured->interval)
    text += fmt::format(" +-{:.2f}", finding.measured->interval->high - finding.measured->value);
  return text;
}

std::string outcome_words(const std::vector<JudgedFinding>& findings) {
  constexpr std::array kOrder = {Appeared::kYes,     Appeared::kSeen,    Appeared::kNo,
                                 Appeared::kNotSeen, Appeared::kUnclear, Appeared::kDistrusted,
                                 Appeared::kMissing};
  std::vector<std::string> parts;
  for (const Appeared one : kOrder) {
    const auto count =
        std::count_if(findings.begin(), findings.end(),
                      [one](const JudgedFinding& finding) { return finding.appeared == one; });
    if (count > 0) parts.push_back(fmt::format("{} {}", count, words_of(one)));
  }
  return joined(parts, ", ");
}

bool paper_has(const ReproductionPlan& plan, std::size_t column) {
  return std::any_of(plan.rows.begin(), plan.rows.end(), [column](const ReproductionRow& row) {
    return column < row.paper.size() && !row.paper[column].empty();
  });
}

std::string paper_words(const ReproductionRow& row, std::size_t column) {
  return column < row.paper.size() && !row.paper[column].empty() ? row.paper[column] : kAbsent;
}

}  // namespace thinpipe
