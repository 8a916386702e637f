// A reproduction on a terminal.
#include <fmt/format.h>

#include <algorithm>

#include "reports/reproduction/words.h"
#include "reports/tables/table.h"

namespace thinpipe {
namespace {

constexpr std::size_t kTextColumns = 80;
constexpr std::size_t kLabelWidth = 30;

// Characters, not bytes: of UTF-8 every byte counts but those that go on.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xc0) != 0x80; }));
}

std::string padded_left(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, width_of(text)), ' ') + text;
}

struct TextColumn {
  std::vector<std::string> cells;  ///< heading first
  std::size_t width() const {
    std::size_t most = 0;
    for (const std::string& cell : cells) most = std::max(most, width_of(cell));
    return most + 2;
  }
};

std::vector<TextColumn> text_columns(const Reproduction& reproduction) {
  const ReproductionPlan& plan = reproduction.plan;
  std::vector<TextColumn> columns;
  for (std::size_t i = 0; i < plan.columns.size(); ++i) {
    if (paper_has(plan, i)) {
      TextColumn& paper = columns.emplace_back();
      paper.cells = {"paper"};
      for (const ReproductionRow& row : plan.rows) paper.cells.push_back(paper_words(row, i));
    }
    TextColumn& here = columns.emplace_back();
    here.cells = {plan.columns[i].name};
    for (const auto& cells : reproduction.cells)
      here.cells.push_back(cell_words(cells[i], plan.columns[i].format));
  }
  return columns;
}

// As many columns side by side as fit, then the rest below.
std::string blocks_of(const ReproductionPlan& plan, const std::vector<TextColumn>& columns) {
  std::string text;
  for (std::size_t begin = 0; begin < columns.size();) {
    std::size_t end = begin, width = kLabelWidth;
    while (end < columns.size() && (end == begin || width + columns[end].width() <= kTextColumns))
      width += columns[end++].width();
    for (std::size_t line = 0; line <= plan.rows.size(); ++line) {
      const std::string label = line == 0 ? "" : plan.rows[line - 1].label.substr(0, kLabelWidth);
      text += label + std::string(kLabelWidth - std::min(kLabelWidth, width_of(label)), ' ');
      for (std::size_t i = begin; i < end; ++i)
        text += padded_left(columns[i].cells[line], columns[i].width());
      text += "\n";
    }
    begin = end;
  }
  return text;
}

}  // namespace

std::string reproduction_text(const Reproduction& reproduction) {
  std::string text = fmt::format("{}: {}\n", reproduction.plan.name, reproduction.plan.title);
  text += blocks_of(reproduction.plan, text_columns(reproduction));
  for (const JudgedFinding& finding : reproduction.findings)
    text += fmt::format("{}: {} ({})\n", words_of(finding.appeared), finding.expected.says,
                        measured_words(reproduction.plan, finding));
  return text;
}

}  // namespace thinpipe
