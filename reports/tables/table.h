// The report's tables before they become HTML or Markdown.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/summary/summary.h"

namespace thinpipe {

/// Where there is no figure: an en dash.
inline constexpr const char* kAbsent = "\xe2\x80\x93";

/// Between two figures of a cell.
inline constexpr std::string_view kBeside = " / ";

struct TableCell {
  std::string text{};                  ///< plain text
  std::string detail{};                ///< set smaller beside it: an interval
  std::optional<double> value{};       ///< what the column is sorted by; else by `text`
  std::optional<std::size_t> style{};  ///< the compressor's marker goes before the text
  bool is_best = false;
  bool is_doubtful = false;  ///< not to be trusted: greyed
  std::string command{};     ///< to copy; in place of text
};

struct Table {
  std::vector<std::string> columns;
  std::size_t text_columns = 1;  ///< how many from the left hold words; the rest holds figures
  std::vector<std::vector<TableCell>> rows;
  std::vector<std::size_t> facets{};  ///< columns by whose values a reader may choose rows
  std::string beside{};               ///< what figures behind a kBeside are; "" without any
};

/// The table as comma-separated values: numbers as they are, in base units, else the text; what is
/// set smaller beside them in a column of its own.
std::string table_csv(const Table& table);

/// Compressors by link rates: the step times of the baselines, the others' speed-up over them
/// ("1.8x / 3.4x": over `bf16` first, over `none` beside it), the break-even rate and the geometric
/// mean of the speed-ups over the rates where all figures are there.
Table overview_table(const Group& group);

/// How to read it.
inline constexpr const char* kOverviewNote =
    "Step times of the baselines, and how many times as fast the others are: as bf16, summed in 16 "
    "bits, and as none, where both were measured; 95 % intervals beside or beneath.";

/// Every compressor at every rate of every group with everything that was measured; what is grey
/// says why.
Table points_table(const Summary& summary);

/// For each row of the above the command that measures it again; "" where it is not known.
std::vector<std::string> again_commands(const Summary& summary);

/// The command of every row as the table's last column, unless none is known ("").
void add_commands(Table& table, const std::vector<std::string>& commands);

/// Step times beside the loss that trainings of the same compressors ended with (training/like.h).
/// @throws InputError when `training` has none of them, or is no training
Table losses_table(const Summary& summary, const Records& training);

/// What models predicted beside what was measured; no rows where nothing was predicted.
Table predictions_table(const Group& group);

/// The failed and invalid points with their reasons.
Table problems_table(const Records& records);

/// Every way of every link that was calibrated: what it delivered before ranks used it.
Table calibration_table(const Records& records);

}  // namespace thinpipe
