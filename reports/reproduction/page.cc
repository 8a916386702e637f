// A reproduction as Markdown and on a terminal, and the index of all reproductions.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/input_file.h"
#include "base/output_file.h"
#include "base/plain_table.h"
#include "base/text.h"
#include "reports/page/page.h"
#include "reports/page/table.h"
#include "reports/reproduction/reproduction.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

// Percentages have two decimals; other figures have three significant digits.
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
  const auto found = std::ranges::find(plan.columns, name, &ReproductionColumn::name);
  return found == plan.columns.end() ? plan.columns.front() : *found;
}

// Returns "91.25 +-2.48 %", the mean and its 95 % interval; "not trusted"; or an en dash.
std::string cell_words(const MeasuredCell& cell, std::string (*format)(double)) {
  if (cell.distrusted) return "not trusted";
  if (cell.repetitions.empty()) return kAbsent;
  return formatted_with_interval(cell.estimate(), format);
}

// Returns the rule, with the columns' headings.
std::string rule_words(const ReproductionPlan& plan, const Expectation& expected) {
  const std::string& column = column_called(plan, expected.column).name;
  return rule_text(
      expected, column,
      expected.than_column.empty() ? column : column_called(plan, expected.than_column).name);
}

// Returns the value that the rule was applied to; an en dash without any.
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

// "2 yes, 1 unclear, 3 yes by arithmetic".
std::string outcome_words(const std::vector<JudgedFinding>& findings) {
  constexpr std::array kOrder = {Appeared::kYes,     Appeared::kSeen,    Appeared::kNo,
                                 Appeared::kNotSeen, Appeared::kUnclear, Appeared::kDistrusted,
                                 Appeared::kVoid,    Appeared::kMissing};
  std::vector<std::string> parts;
  for (const bool arithmetic : {false, true})
    for (const Appeared one : kOrder) {
      const auto count = std::ranges::count_if(findings, [&](const JudgedFinding& finding) {
        return finding.appeared == one && finding.expected.arithmetic == arithmetic;
      });
      if (count > 0)
        parts.push_back(
            fmt::format("{} {}{}", count, words_of(one), arithmetic ? " by arithmetic" : ""));
    }
  return joined(parts, ", ");
}

// Returns the paper's figure, or an en dash.
std::string paper_words(const ReproductionRow& row, std::size_t column) {
  return column < row.paper.size() && !row.paper[column].empty() ? row.paper[column] : kAbsent;
}

// Returns whether some row has a figure of the paper in that column.
bool paper_has(const ReproductionPlan& plan, std::size_t column) {
  return std::ranges::any_of(plan.rows, [column](const ReproductionRow& row) {
    return column < row.paper.size() && !row.paper[column].empty();
  });
}

std::string origin_of(const std::string& created, const nlohmann::json& fingerprint) {
  const auto text = [&](const char* field) {
    const auto found = fingerprint.find(field);
    if (found == fingerprint.end()) return std::string("unknown");
    return found->is_string() ? found->get<std::string>() : found->dump();
  };
  return fmt::format("{}: {}, {} cores, {}, thinpipe {} ({}), {}", created.substr(0, 10),
                     text("cpu"), text("cores"), text("kernel"), text("thinpipe"), text("git"),
                     text("compiler"));
}

// Returns the machines, builds and days of all commands, each once.
std::vector<std::string> origins_of(const Reproduction& reproduction) {
  std::vector<std::string> lines;
  for (const ArmRecords& arm : reproduction.arms) {
    for (const Header& header : arm.records.headers)
      add_once(lines, origin_of(header.created, header.fingerprint));
    if (arm.stats)
      for (const Header& header : arm.stats->origin.headers)
        add_once(lines, origin_of(header.created, header.fingerprint));
    // Older records of commands that print JSON have no fingerprint.
    if (const std::string created = arm.printed.text("created");
        !created.empty() && arm.printed->contains("fingerprint"))
      add_once(lines, origin_of(created, arm.printed->at("fingerprint")));
  }
  if (lines.empty()) lines.push_back("nothing was recorded");
  return lines;
}

// Returns the commands that failed and the points that do not count, with reasons, each once.
std::vector<std::string> complaints_of(const Reproduction& reproduction) {
  std::vector<std::string> lines;
  for (const ArmRecords& arm : reproduction.arms)
    if (!arm.failure.empty()) lines.push_back(arm.label + ": " + arm.failure);
  for (std::size_t r = 0; r < reproduction.cells.size(); ++r)
    for (const MeasuredCell& cell : reproduction.cells[r])
      for (const std::string& one : cell.complaints)
        add_once(lines, reproduction.plan.rows[r].label + ", " + one);
  // A baseline with a row of its own is among these lines.
  for (const auto& row : reproduction.cells)
    for (const MeasuredCell& cell : row)
      for (const std::string& one : cell.baseline_complaints)
        if (std::ranges::none_of(lines, [&](const auto& line) { return line.ends_with(one); }))
          lines.push_back("baseline, " + one);
  for (const JudgedFinding& finding : reproduction.findings)
    if (!finding.void_because.empty()) add_once(lines, finding.void_because);
  return lines;
}

constexpr const char* kRules =
    "The recipe had the rules before the measurement. A difference or ratio is taken between "
    "figures of the same seed, repeat or worker. *yes*: the 95 % interval of its mean lies within "
    "the bounds; *no*: it lies outside; *unclear*: it holds a bound. Fewer than three repetitions "
    "have no interval, only *looks so* or *does not look so* by the mean. Deterministic figures "
    "decide without an interval. *by arithmetic*: the figure follows from the encoder's layout, "
    "whatever the gradients, so it shows that the layout is the paper's. *void*: the rule is about "
    "learning, and the training without "
    "compression did not learn (its error rate or perplexity is over 0.75 of that of a model which "
    "does not look at its input).";

std::string findings_table(const Reproduction& reproduction) {
  Table table{{"finding", "rule", "measured", "reproduced"}, 4};
  for (const JudgedFinding& finding : reproduction.findings)
    table.rows.push_back(
        {{.text = finding.expected.says},
         {.text = rule_words(reproduction.plan, finding.expected)},
         {.text = measured_words(reproduction.plan, finding)},
         {.text = words_of(finding.appeared) +
                  std::string(finding.expected.arithmetic ? ", by arithmetic" : "")}});
  return markdown::table(table);
}

std::string figures_table(const Reproduction& reproduction) {
  const ReproductionPlan& plan = reproduction.plan;
  Table table{.columns = {""}};
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

std::string warnings(const Reproduction& reproduction) {
  std::vector<std::string> lines = complaints_of(reproduction);
  if (lines.empty()) return "";
  return "## Points and rules that do not count\n\n" + markdown::bullets(lines);
}

constexpr std::size_t kTextColumns = 80;
constexpr std::size_t kLabelWidth = 30;

std::string padded_left(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text_columns(text)), ' ') + text;
}

using TextColumn = std::vector<std::string>;  // heading first

std::size_t width_of(const TextColumn& column) {
  std::size_t most = 0;
  for (const std::string& cell : column) most = std::max(most, text_columns(cell));
  return most + 2;
}

std::vector<TextColumn> columns_in_text(const Reproduction& reproduction) {
  const ReproductionPlan& plan = reproduction.plan;
  std::vector<TextColumn> columns;
  for (std::size_t i = 0; i < plan.columns.size(); ++i) {
    if (paper_has(plan, i)) {
      columns.push_back({"paper"});
      for (const ReproductionRow& row : plan.rows) columns.back().push_back(paper_words(row, i));
    }
    columns.push_back({plan.columns[i].name});
    for (const auto& cells : reproduction.cells)
      columns.back().push_back(cell_words(cells[i], plan.columns[i].format));
  }
  return columns;
}

// Returns the table in blocks: as many columns as fit side by side, then the rest below.
std::string blocks_of(const ReproductionPlan& plan, const std::vector<TextColumn>& columns) {
  std::string text;
  for (std::size_t begin = 0; begin < columns.size();) {
    std::size_t end = begin, width = kLabelWidth;
    while (end < columns.size() && (end == begin || width + width_of(columns[end]) <= kTextColumns))
      width += width_of(columns[end++]);
    for (std::size_t line = 0; line <= plan.rows.size(); ++line) {
      const std::string label = line == 0 ? "" : plan.rows[line - 1].label.substr(0, kLabelWidth);
      text += label + std::string(kLabelWidth - std::min(kLabelWidth, text_columns(label)), ' ');
      for (std::size_t i = begin; i < end; ++i)
        text += padded_left(columns[i][line], width_of(columns[i]));
      text += "\n";
    }
    begin = end;
  }
  return text;
}

std::string last_day(const Reproduction& reproduction) {
  std::string last;
  const auto look_at = [&](const std::vector<Header>& headers) {
    for (const Header& header : headers) last = std::max(last, header.created.substr(0, 10));
  };
  for (const ArmRecords& arm : reproduction.arms) {
    look_at(arm.records.headers);
    if (arm.stats) look_at(arm.stats->origin.headers);
    last = std::max(last, arm.printed.text("created").substr(0, 10));
  }
  return last;
}

}  // namespace

std::string reproduction_page(const Reproduction& reproduction, const std::string& picture) {
  const ReproductionPlan& plan = reproduction.plan;
  std::string text = fmt::format("# {}: {}\n\n", plan.name, escape_markdown(plan.title));
  if (reproduction.quick)
    text +=
        "**A quick try: it checks that every command runs, and its figures prove nothing.**\n\n";
  if (!reproduction.complete())
    text += "**Not complete: at least one command failed (see below).**\n\n";
  if (reproduction.nothing_trusted())
    text +=
        "**No times are trusted: the machine was disturbed, or is too slow for these links.**\n\n";
  text += fmt::format("In the paper: {}\n\nHere: {}\n\n", escape_markdown(plan.source),
                      escape_markdown(plan.here));
  text += fmt::format("## The rules and their outcomes\n\n{}\n\n{}", kRules,
                      findings_table(reproduction));
  const std::size_t most = most_repetitions(reproduction);
  text += "## The figures\n\n" +
          (most <= 1
               ? std::string("One repetition.")
               : fmt::format(
                     "Means of {} repetitions, with 95 % intervals where there are three or more.",
                     most)) +
          "\n\n" + figures_table(reproduction);
  if (!picture.empty()) text += fmt::format("![{}]({})\n\n", escape_markdown(plan.title), picture);
  if (!plan.differences.empty())
    text += "## Why figures differ from the paper's\n\n" + markdown::bullets(plan.differences);
  text += warnings(reproduction);
  std::vector<std::string> commands;
  for (const ArmRecords& arm : reproduction.arms) commands.push_back(arm.command);
  text += "## Commands\n\nRun in the folder of this page, one after the other:\n\n" +
          markdown::code_block(commands);
  return text + "## Provenance\n\n" + markdown::bullets(origins_of(reproduction));
}

std::string reproduction_text(const Reproduction& reproduction) {
  std::string text = fmt::format("{}: {}\n", reproduction.plan.name, reproduction.plan.title);
  text += blocks_of(reproduction.plan, columns_in_text(reproduction));
  for (const JudgedFinding& finding : reproduction.findings)
    text += fmt::format("{}: {} ({})\n", words_of(finding.appeared), finding.expected.says,
                        measured_words(reproduction.plan, finding));
  return text;
}

ReproductionOutcome outcome_of(const Reproduction& reproduction) {
  return {.name = reproduction.plan.name,
          .title = reproduction.plan.title,
          .outcome = outcome_words(reproduction.findings),
          .date = last_day(reproduction),
          .quick = reproduction.quick,
          .complete = reproduction.complete()};
}

void write_outcome(const std::filesystem::path& file, const ReproductionOutcome& outcome) {
  const nlohmann::json object = {{"name", outcome.name},       {"title", outcome.title},
                                 {"outcome", outcome.outcome}, {"date", outcome.date},
                                 {"quick", outcome.quick},     {"complete", outcome.complete}};
  write_output(file, object.dump(1) + "\n");
}

std::optional<ReproductionOutcome> read_outcome(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return std::nullopt;
  constexpr std::uint64_t kMaxBytes = 1 << 16;  // six short members
  const auto object = nlohmann::json::parse(read_input(file, "a recipe's outcome", kMaxBytes),
                                            nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return std::nullopt;
  try {
    return ReproductionOutcome{.name = object.value("name", ""),
                               .title = object.value("title", ""),
                               .outcome = object.value("outcome", ""),
                               .date = object.value("date", ""),
                               .quick = object.value("quick", false),
                               .complete = object.value("complete", true)};
  } catch (const nlohmann::json::type_error&) {  // not what write_outcome() writes
    return std::nullopt;
  }
}

std::string reproduction_index(const std::vector<ReproductionOutcome>& outcomes) {
  std::string text =
      "# Reproductions of the papers' findings\n\n"
      "Each page has the rules, which were written before the measurement, and the paper's figures "
      "beside those of this machine.\n\n| recipe | finding | rules | measured |\n| --- | --- | --- "
      "| --- |\n";
  for (const ReproductionOutcome& one : outcomes)
    text += fmt::format(
        "| [{0}]({0}.md) | {1} | {2}{3} | {4}{5} |\n", one.name, escape_markdown(one.title),
        one.outcome, one.complete ? "" : "; not complete",
        one.date.empty() ? std::string(kAbsent) : one.date, one.quick ? ", a quick try" : "");
  return text;
}

}  // namespace thinpipe
