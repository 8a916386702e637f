// A reproduction for people: on the terminal and in Markdown.
#include <fmt/format.h>

#include <cmath>

#include "reports/markdown/parts.h"
#include "reports/reproduction/reproduction.h"
#include "reports/statistics/confidence.h"
#include "reports/statistics/quantile.h"
#include "reports/tables/table.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace {

std::string with_interval(const Estimate& estimate, int digits) {
  std::string text = fmt::format("{:.{}f}", estimate.value, digits);
  if (estimate.interval)
    text += fmt::format(" +-{:.{}f}", estimate.interval->high - estimate.value, digits);
  return text;
}

std::string quality_of(const ArmFigures& arm) {
  if (arm.shown.empty()) return kAbsent;
  return with_interval(mean_of_samples(arm.shown), 2) + (arm.perplexity ? "" : " %");
}

std::string times_smaller(const ArmFigures& arm) {
  if (arm.bytes.empty() || !(mean(arm.bytes) > 0)) return kAbsent;
  return fmt::format("{}", format_number(arm.dense_bytes / mean(arm.bytes)));
}

std::string bytes_of(const ArmFigures& arm) {
  return arm.bytes.empty() ? kAbsent : format_bytes(mean(arm.bytes));
}

std::string bounds_of(const Expectation& expected) {
  const std::string what = fmt::format("'{}' less '{}'", expected.arm, expected.than);
  if (std::isinf(expected.least)) return fmt::format("{}: at most {:g}", what, expected.most);
  if (std::isinf(expected.most)) return fmt::format("{}: at least {:g}", what, expected.least);
  return fmt::format("{}: from {:g} to {:g}", what, expected.least, expected.most);
}

std::string difference_of(const JudgedFinding& finding) {
  return finding.difference ? with_interval(*finding.difference, 2) : kAbsent;
}

const char* unit_of(const Reproduction& reproduction) {
  for (const ArmFigures& arm : reproduction.arms)
    if (arm.perplexity) return "-100 ln(perplexity)";
  return "percentage points";
}

bool any_paper(const Reproduction& reproduction) {
  for (const ArmFigures& arm : reproduction.arms)
    if (!arm.paper.empty()) return true;
  return false;
}

std::string arms_table(const Reproduction& reproduction) {
  const bool paper = any_paper(reproduction);
  Table table{.columns = {"design"}, .text_columns = 1, .rows = {}};
  if (paper) table.columns.emplace_back("paper");
  for (const char* name : {"here", "bytes a worker and step", "times smaller", "seeds"})
    table.columns.emplace_back(name);
  for (const ArmFigures& arm : reproduction.arms) {
    std::vector<TableCell> row{{.text = arm.label}};
    if (paper) row.push_back({.text = arm.paper.empty() ? kAbsent : arm.paper});
    row.push_back({.text = quality_of(arm)});
    row.push_back({.text = bytes_of(arm)});
    row.push_back({.text = times_smaller(arm)});
    row.push_back({.text = std::to_string(arm.seeds.size())});
    table.rows.push_back(std::move(row));
  }
  return markdown::table(table);
}

std::string findings_table(const Reproduction& reproduction) {
  Table table{.columns = {"finding", "rule", "measured", "here"}, .text_columns = 4, .rows = {}};
  for (const JudgedFinding& finding : reproduction.findings)
    table.rows.push_back({{.text = finding.expected.says},
                          {.text = bounds_of(finding.expected)},
                          {.text = difference_of(finding)},
                          {.text = words_of(finding.appeared)}});
  return markdown::table(table);
}

}  // namespace

std::string reproduction_page(const Reproduction& reproduction) {
  std::string text = fmt::format("# {}: {}\n\n{}\n\n{}\n\n", reproduction.name, reproduction.title,
                                 reproduction.source, reproduction.here);
  text += arms_table(reproduction);
  text += fmt::format(
      "\n## What the paper found, and whether it appeared\n\nThe rules were written before "
      "anything "
      "ran. Differences are of quality on held-out data, in {}, positive where the first is "
      "better, "
      "mean over seeds that both have with its 95 % interval. *yes*: the interval lies within the "
      "bounds; *no*: outside; *unclear*: neither.\n\n",
      unit_of(reproduction));
  text += findings_table(reproduction);
  std::vector<std::string> commands, complaints;
  for (const ArmFigures& arm : reproduction.arms) {
    commands.push_back(arm.command);
    for (const std::string& one : arm.complaints) complaints.push_back(arm.label + ", " + one);
  }
  if (!complaints.empty()) text += "\n## What does not count\n\n" + markdown::bullets(complaints);
  return text + "\n## Commands\n\n" + markdown::code_block(commands);
}

std::string reproduction_text(const Reproduction& reproduction) {
  std::string text =
      fmt::format("{}: {}\n{:<33} {:>12} {:>18} {:>13}\n", reproduction.name, reproduction.title,
                  "", any_paper(reproduction) ? "paper" : "", "here", "times smaller");
  for (const ArmFigures& arm : reproduction.arms)
    text += fmt::format("{:<33} {:>12} {:>18} {:>13}\n", arm.label.substr(0, 33), arm.paper,
                        arm.shown.empty() ? "-" : quality_of(arm),
                        arm.bytes.empty() ? "-" : times_smaller(arm));
  for (const JudgedFinding& finding : reproduction.findings)
    text += fmt::format("{}: {} ({})\n", words_of(finding.appeared), finding.expected.says,
                        finding.difference ? with_interval(*finding.difference, 2) : "-");
  return text;
}

}  // namespace thinpipe
