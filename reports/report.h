// The report of a run: from its records to one HTML or Markdown file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/gradients/records.h"
#include "reports/history/page.h"
#include "reports/record/record.h"

namespace thinpipe {

enum class ReportFormat {
  kHtml,      ///< one self-contained file with figures; needs gnuplot
  kMarkdown,  ///< text and tables; needs nothing
};

/// `html`, `md` or `markdown`; InputError for anything else.
ReportFormat parse_report_format(const std::string& name);

/// The records of a folder (or a records file) as a report takes them: those of this time scale, or
/// of one for each point, with notes on how others compare.
/// @throws InputError as at_time_scale() (reports/summary/time_scale.h) and read_run_records() do.
Records reported_records(const std::filesystem::path& records_folder,
                         std::optional<double> time_scale);

/// The report as text. Throws InputError when there is no point, RunError without gnuplot (HTML).
/// @throws InputError also when `trained`, records of a training, has none of the run's compressors
std::string render_report(const Records& records, ReportFormat format,
                          const Records* trained = nullptr);

/// The records of a folder or file where they are of that kind (Header::kind); else nothing.
/// @throws InputError as read_records().
std::optional<Records> find_records(const std::filesystem::path& folder_or_file,
                                    std::string_view kind);

/// The records of `thinpipe quality`, `bench` and `train` as text. @throws InputError without a
/// point; RunError without gnuplot (HTML).
std::string render_kept(const Records& records, ReportFormat format);
std::string render_bench(const Records& records, ReportFormat format);
std::string render_training(const Records& records, ReportFormat format);

/// Statistics of gradients (find_trace_stats()) as text.
/// @throws InputError without gradients, RunError without gnuplot (HTML).
std::string render_stats(const StatsRecords& records, ReportFormat format);

/// A history of these folders as text. @throws RunError without gnuplot (HTML).
std::string render_history(const HistorySummary& summary, ReportFormat format,
                           const std::vector<std::filesystem::path>& folders);

}  // namespace thinpipe
