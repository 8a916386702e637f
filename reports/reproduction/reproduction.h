// A paper's finding compared with measurements on this machine: figures, rules and their page.
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

inline constexpr const char* kAllArms = "*";

/// A row of the table.
struct ReproductionRow {
  std::string label;                    ///< as the paper names it
  std::string arm;                      ///< label of the row's command; a column may have its own.
                                        ///< kAllArms: the figures of all commands together
  std::string compressor = {};          ///< as the records spell it; "" for all
  std::vector<std::string> paper = {};  ///< the paper's figures, column by column; "" for none
};

/// The content of a picture besides its axes.
struct ReproductionPicture {
  Chart chart;
  std::vector<std::string> names;  ///< of the chart's curves, in their order
};

/// The plan of a reproduction, before there are records.
struct ReproductionPlan {
  std::string name, title;
  std::string source;                    ///< the paper, its table or figure, and its setting
  std::string here;                      ///< the measurement instead, and why it is informative
  std::vector<std::string> differences;  ///< causes of differing figures: hardware, data, scale
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
  std::vector<JudgedFinding> findings;           ///< in the order of the expectations

  /// The rules rest on times, and no time is trusted.
  bool nothing_trusted() const;
  /// No command failed.
  bool complete() const;
};

/// Reads the cells of the table from the commands' records and judges the plan's expectations.
/// @throws std::logic_error where the plan names a row or column that it lacks
Reproduction reproduced(ReproductionPlan plan, std::vector<ArmRecords> arms, bool quick);

/// Returns the page as Markdown: the paper's setting and this one, the rules and their outcomes,
/// the paper's figures beside the reproduced ones, causes of differences, the commands.
/// @param picture  file name of the drawing; "" for none
std::string reproduction_page(const Reproduction& reproduction, const std::string& picture);

/// Returns the table and the findings, at most 80 columns wide.
std::string reproduction_text(const Reproduction& reproduction);

/// Returns the drawing as a self-contained SVG file; "" where there is nothing to draw.
std::string reproduction_picture(const Reproduction& reproduction);

/// A recipe's entry in the index of a folder's reproductions.
struct ReproductionOutcome {
  std::string name, title;
  std::string outcome;  ///< "3 yes, 1 unclear"
  std::string date;     ///< of the last measurement, ISO 8601
  bool quick = false;
  bool complete = true;
};

ReproductionOutcome outcome_of(const Reproduction& reproduction);

/// Writes the outcome for the index. @throws SystemError when it cannot be written
void write_outcome(const std::filesystem::path& file, const ReproductionOutcome& outcome);
/// Reads an outcome; returns nothing where the file is missing or has no outcome.
std::optional<ReproductionOutcome> read_outcome(const std::filesystem::path& file);

/// Returns the index as Markdown, with links to the pages beside it.
std::string reproduction_index(const std::vector<ReproductionOutcome>& outcomes);

}  // namespace thinpipe
