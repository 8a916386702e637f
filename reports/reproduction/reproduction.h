// A paper's finding held against what was measured here: figures, the rules, and a page of both.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reports/figures/chart.h"
#include "reports/reproduction/columns.h"
#include "reports/reproduction/judge.h"

namespace thinpipe {

/// A line of the table.
struct ReproductionRow {
  std::string label;                    ///< as the paper names it
  std::string arm;                      ///< whose records, where the column does not say
  std::string compressor = {};          ///< of these, as the records spell it; "" for all
  std::vector<std::string> paper = {};  ///< the paper's figures, column by column; "" for none
};

/// The content of a picture besides its axes.
struct ReproductionPicture {
  Chart chart;
  std::vector<std::string> names;  ///< of the chart's curves, in their order
};

/// The question, before there are records.
struct ReproductionPlan {
  std::string name, title;
  std::string source;                    ///< the paper, its table or figure, what was done there
  std::string here;                      ///< what is measured instead, and why that says something
  std::vector<std::string> differences;  ///< what makes figures differ: hardware, data, scale
  bool rests_on_times = false;
  std::vector<ReproductionColumn> columns;
  std::vector<ReproductionRow> rows;
  std::vector<Expectation> expectations;
  std::function<ReproductionPicture(const std::vector<ArmRecords>&)> picture = {};
};

struct Reproduction {
  ReproductionPlan plan;
  bool quick = false;
  std::vector<ArmRecords> arms;
  std::vector<std::vector<MeasuredCell>> cells;  ///< by row and column
  std::vector<JudgedFinding> findings;           ///< as the expectations

  /// Rules rest on times and no time can be trusted.
  bool nothing_trusted() const;
  /// No command failed.
  bool complete() const;
};

/// Reads the cells and judges. @throws std::logic_error where the plan names a row or column that
/// it has not
Reproduction reproduced(ReproductionPlan plan, std::vector<ArmRecords> arms, bool quick);

/// Markdown: what the paper did and what was done here, the rules and what came of them, the
/// paper's figures beside ours, why they differ, the commands.
/// @param picture  file name of the drawing; "" for none
std::string reproduction_page(const Reproduction& reproduction, const std::string& picture);

/// The table and the findings, at most 80 columns wide.
std::string reproduction_text(const Reproduction& reproduction);

/// The drawing as an SVG file that needs nothing else; "" where there is nothing to draw.
std::string reproduction_picture(const Reproduction& reproduction);

/// A recipe's entry in the list of all that were carried out in a folder.
struct ReproductionOutcome {
  std::string name, title;
  std::string outcome;  ///< "3 yes, 1 unclear"
  std::string date;     ///< of the last measurement, ISO 8601
  bool quick = false;
  bool complete = true;
};

ReproductionOutcome outcome_of(const Reproduction& reproduction);

/// Leaves it where outcomes_in() finds it. @throws SystemError when it cannot be written
void write_outcome(const std::filesystem::path& file, const ReproductionOutcome& outcome);
/// @returns nothing for a file that is not there, or not an outcome
std::optional<ReproductionOutcome> read_outcome(const std::filesystem::path& file);

/// Markdown, with links to the pages beside it.
std::string reproduction_index(const std::vector<ReproductionOutcome>& outcomes);

}  // namespace thinpipe
