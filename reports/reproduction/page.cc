// A reproduction as Markdown.
#include <fmt/format.h>

#include "reports/markdown/parts.h"
#include "reports/reproduction/origins.h"
#include "reports/reproduction/words.h"
#include "reports/text/escape.h"

namespace thinpipe {
namespace {

constexpr const char* kRules =
    "The rules stood in the recipe before this was measured. A difference or ratio is taken "
    "between "
    "figures of the same seed, repeat or worker; *yes*: the 95 % interval of its mean lies within "
    "the bounds; *no*: outside; *unclear*: it reaches across. With fewer than three there is no "
    "interval, only *looks so* or *does not look so*. Of figures that come out the same every time "
    "the figure itself decides.";

std::string findings_table(const Reproduction& reproduction) {
  Table table{.columns = {"finding", "rule", "measured", "here"}, .text_columns = 4, .rows = {}};
  for (const JudgedFinding& finding : reproduction.findings)
    table.rows.push_back({{.text = finding.expected.says},
                          {.text = rule_words(reproduction.plan, finding.expected)},
                          {.text = measured_words(reproduction.plan, finding)},
                          {.text = words_of(finding.appeared)}});
  return markdown::table(table);
}

std::string figures_table(const Reproduction& reproduction) {
  const ReproductionPlan& plan = reproduction.plan;
  Table table{.columns = {""}, .text_columns = 1, .rows = {}};
  for (std::size_t i = 0; i < plan.columns.size(); ++i) {
    if (paper_has(plan, i)) table.columns.push_back(plan.columns[i].name + ", paper");
    table.columns.push_back(plan.columns[i].name + (paper_has(plan, i) ? ", here" : ""));
  }
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    std::vector<TableCell> row{{.text = plan.rows[r].label}};
    for (std::size_t i = 0; i < plan.columns.size(); ++i) {
      if (paper_has(plan, i)) row.push_back({.text = paper_words(plan.rows[r], i)});
      row.push_back({.text = cell_words(reproduction.cells[r][i], plan.columns[i].format)});
    }
    table.rows.push_back(std::move(row));
  }
  return markdown::table(table);
}

std::size_t most_repetitions(const Reproduction& reproduction) {
  std::size_t most = 0;
  for (const auto& row : reproduction.cells)
    for (const MeasuredCell& cell : row) most = std::max(most, cell.repetitions.size());
  return most;
}

std::string doubts(const Reproduction& reproduction) {
  std::vector<std::string> lines = complaints_of(reproduction);
  if (lines.empty()) return "";
  return "## What does not count\n\n" + markdown::bullets(lines);
}

}  // namespace

std::string reproduction_page(const Reproduction& reproduction, const std::string& picture) {
  const ReproductionPlan& plan = reproduction.plan;
  std::string text = fmt::format("# {}: {}\n\n", plan.name, escape_markdown(plan.title));
  if (reproduction.quick)
    text += "**A quick try: it shows that everything runs, and proves nothing.**\n\n";
  if (!reproduction.complete()) text += "**Not complete: some command failed (see below).**\n\n";
  if (reproduction.nothing_trusted())
    text +=
        "**No times here can be trusted: the machine was disturbed, or is too slow for it.**\n\n";
  text += fmt::format("In the paper: {}\n\nHere: {}\n\n", escape_markdown(plan.source),
                      escape_markdown(plan.here));
  text += fmt::format("## The rules, and what came of them\n\n{}\n\n{}", kRules,
                      findings_table(reproduction));
  const std::size_t most = most_repetitions(reproduction);
  text += "## The figures\n\n" +
          (most <= 1
               ? std::string("Of one repetition.")
               : fmt::format(
                     "Means of {} repetitions, with 95 % intervals where there are three or more.",
                     most)) +
          "\n\n" + figures_table(reproduction);
  if (!picture.empty()) text += fmt::format("![{}]({})\n\n", escape_markdown(plan.title), picture);
  if (!plan.differences.empty())
    text += "## Why figures differ from the paper's\n\n" + markdown::bullets(plan.differences);
  text += doubts(reproduction);
  std::vector<std::string> commands;
  for (const ArmRecords& arm : reproduction.arms) commands.push_back(arm.command);
  text += "## Commands\n\nIn the folder of this page, one after the other:\n\n" +
          markdown::code_block(commands);
  return text + "## Where it was measured\n\n" + markdown::bullets(origins_of(reproduction));
}

}  // namespace thinpipe
