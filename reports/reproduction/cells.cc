// From records to cells and findings.
#include <algorithm>
#include <stdexcept>

#include "reports/reproduction/reproduction.h"

namespace thinpipe {
namespace {

MeasuredCell cell_of(const ReproductionColumn& column, const ReproductionRow& row,
                     const std::vector<ArmRecords>& arms) {
  const std::string& label = column.arm.empty() ? row.arm : column.arm;
  for (const ArmRecords& arm : arms)
    if (arm.label == label) return column.measure(arm, row.compressor);
  return {};
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
    const std::size_t column = column_of(result.plan, expected.column);
    const MeasuredCell& first = result.cells[row_of(result.plan, expected.arm)][column];
    const MeasuredCell* second = nullptr;
    if (expected.bounded != Bounded::kValue) {
      const std::size_t other =
          expected.than_column.empty() ? column : column_of(result.plan, expected.than_column);
      second = &result.cells[row_of(result.plan, expected.than)][other];
    }
    result.findings.push_back(judge(expected, first, second));
  }
  return result;
}

bool Reproduction::nothing_trusted() const {
  return plan.rests_on_times &&
         std::none_of(findings.begin(), findings.end(),
                      [](const JudgedFinding& finding) { return finding.measured.has_value(); });
}

bool Reproduction::complete() const {
  return std::all_of(arms.begin(), arms.end(),
                     [](const ArmRecords& arm) { return arm.failure.empty(); });
}

}  // namespace thinpipe
