// From records to cells and findings, and the picture as a file of its own.
#include "reports/reproduction/reproduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <utility>

#include "base/escape.h"
#include "reports/figures/style.h"
#include "reports/page/page.h"

namespace thinpipe {
namespace {

const ArmRecords* arm_of(const ReproductionColumn& column, const ReproductionRow& row,
                         const std::vector<ArmRecords>& arms) {
  const std::string& label = column.arm.empty() ? row.arm : column.arm;
  for (const ArmRecords& arm : arms)
    if (arm.label == label) return &arm;
  return nullptr;
}

MeasuredCell cell_of(const ReproductionColumn& column, const ReproductionRow& row,
                     const std::vector<ArmRecords>& arms) {
  if (column.arm.empty() && row.arm == kAllArms) {
    MeasuredCell all;
    for (const ArmRecords& arm : arms) {
      const MeasuredCell part = column.measure(arm, row.compressor);
      all.exact = part.exact;
      all.is_ratio = part.is_ratio;
      all.distrusted = all.distrusted || part.distrusted;
      all.complaints.insert(all.complaints.end(), part.complaints.begin(), part.complaints.end());
      for (const Repetition& one : part.repetitions)
        all.repetitions.push_back({all.repetitions.size(), one.value});
    }
    return all;
  }
  const ArmRecords* const arm = arm_of(column, row, arms);
  return arm == nullptr ? MeasuredCell{} : column.measure(*arm, row.compressor);
}

/// A row and a column of a reproduction's table.
struct CellPlace {
  std::size_t row, column;
};

// Returns why the rule on these cells means nothing; "" where it means something.
std::string void_because(const Reproduction& all, std::initializer_list<CellPlace> places) {
  for (const CellPlace& place : places) {
    const ReproductionColumn& column = all.plan.columns[place.column];
    if (!column.of_learning) continue;
    const ArmRecords* const arm = arm_of(column, all.plan.rows[place.row], all.arms);
    if (arm == nullptr) continue;
    if (std::string why = not_learnt(*arm, all.arms); !why.empty()) return why;
  }
  return "";
}

std::size_t row_of(const ReproductionPlan& plan, const std::string& label) {
  for (std::size_t i = 0; i < plan.rows.size(); ++i)
    if (plan.rows[i].label == label) return i;
  throw std::logic_error(plan.name + " has no row " + label);
}

std::size_t column_of(const ReproductionPlan& plan, const std::string& name) {
  if (name.empty()) return 0;
  for (std::size_t i = 0; i < plan.columns.size(); ++i)
    if (plan.columns[i].name == name) return i;
  throw std::logic_error(plan.name + " has no column " + name);
}

constexpr int kChartHeight = 296, kLine = 22, kSide = 24, kAcross = 2;

// Draws the legend: markers of 28 x 14 px, each with its name on the same line.
std::string picture_legend(const ReproductionPicture& picture, int width) {
  std::string text;
  int place = 0;
  for (std::size_t i = 0; i < picture.names.size() && i < picture.chart.curves.size(); ++i) {
    if (picture.names[i].empty()) continue;
    const int x = kSide + (place % kAcross) * (width / kAcross);
    const int y = kChartHeight + 8 + (place / kAcross) * kLine;
    text += fmt::format(
        "<g transform='translate({},{})'>{}<text x='36' y='12' font-size='14'>{}</text></g>", x, y,
        line_marker_svg(picture.chart.curves[i].style), escape_html(picture.names[i]));
    ++place;
  }
  return text;
}

}  // namespace

Reproduction reproduced(ReproductionPlan plan, std::vector<ArmRecords> arms, bool quick) {
  Reproduction result{.plan = std::move(plan),
                      .quick = quick,
                      .arms = std::move(arms),
                      .cells = {},
                      .findings = {}};
  for (const ReproductionRow& row : result.plan.rows) {
    std::vector<MeasuredCell>& cells = result.cells.emplace_back();
    for (const ReproductionColumn& column : result.plan.columns)
      cells.push_back(cell_of(column, row, result.arms));
  }
  for (const Expectation& expected : result.plan.expectations) {
    const CellPlace first{row_of(result.plan, expected.arm),
                          column_of(result.plan, expected.column)};
    CellPlace second = first;
    if (expected.bounded != Bounded::kValue) second.row = row_of(result.plan, expected.than);
    if (!expected.than_column.empty()) second.column = column_of(result.plan, expected.than_column);
    const auto cell = [&](const CellPlace& place) {
      return &result.cells[place.row][place.column];
    };
    JudgedFinding finding =
        judge(expected, *cell(first), expected.bounded == Bounded::kValue ? nullptr : cell(second));
    if (finding.measured) finding.void_because = void_because(result, {first, second});
    if (!finding.void_because.empty()) finding.appeared = Appeared::kVoid;
    result.findings.push_back(std::move(finding));
  }
  return result;
}

bool Reproduction::nothing_trusted() const {
  return plan.rests_on_times &&
         std::ranges::any_of(findings,
                             [](const JudgedFinding& finding) {
                               return finding.appeared == Appeared::kDistrusted;
                             }) &&
         std::ranges::none_of(
             findings, [](const JudgedFinding& finding) { return finding.measured.has_value(); });
}

bool Reproduction::complete() const {
  return std::all_of(arms.begin(), arms.end(),
                     [](const ArmRecords& arm) { return arm.failure.empty(); });
}

std::string reproduction_picture(const Reproduction& reproduction) {
  if (!reproduction.plan.picture) return "";
  const ReproductionPicture picture = reproduction.plan.picture(reproduction.arms);
  std::string chart = draw_chart(picture.chart);
  if (chart.empty()) return "";
  // Aligned at the top: the legend is below.
  chart.insert(chart.find("<svg") + 4, " preserveAspectRatio='xMidYMin'");
  const int width = picture.chart.width;
  const int lines = (static_cast<int>(picture.names.size()) + kAcross - 1) / kAcross;
  const int height = kChartHeight + 16 + lines * kLine;
  return html::standalone_document(width, height, picture.chart.alt,
                                   chart + "\n" + picture_legend(picture, width));
}

}  // namespace thinpipe
