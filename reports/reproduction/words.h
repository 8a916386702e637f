// Cells and findings in words, for pages and terminals alike.
#pragma once

#include <string>

#include "reports/reproduction/reproduction.h"

namespace thinpipe {

/// "91.25 % +-2.48": the mean and its 95 % interval; "not trusted"; or an en dash.
std::string cell_words(const MeasuredCell& cell, std::string (*format)(double));
/// The rule, with the columns' headings.
std::string rule_words(const ReproductionPlan& plan, const Expectation& expected);
/// What the rule was applied to; an en dash without any.
std::string measured_words(const ReproductionPlan& plan, const JudgedFinding& finding);
/// "2 yes, 1 unclear".
std::string outcome_words(const std::vector<JudgedFinding>& findings);
/// Some row has a figure of the paper in that column.
bool paper_has(const ReproductionPlan& plan, std::size_t column);
/// The paper's figure, or an en dash.
std::string paper_words(const ReproductionRow& row, std::size_t column);

}  // namespace thinpipe
