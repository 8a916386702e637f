// Reports: from records to one HTML or Markdown file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "reports/page/page.h"
#include "reports/record/record.h"

namespace thinpipe {

/// Parses `html`, `md` or `markdown`. @throws InputError for anything else
ReportFormat parse_report_format(const std::string& name);

/// Reads the records of a run or of jobs in a folder or file for a report. If `time_scale` is
/// given, keeps only the points with this time dilation, and adds notes that compare the time
/// scales.
/// @throws InputError as at_time_scale() (reports/summary/time_scale.h) and read_run_records()
Records reported_records(const std::filesystem::path& records_folder,
                         std::optional<double> time_scale);

/// Returns the report of a run as text. `trained` has the records of a training, for the losses.
/// @throws InputError without a point, or when `trained` has none of the run's compressors;
/// RunError without gnuplot (HTML)
std::string render_report(const Records& records, ReportFormat format,
                          const Records* trained = nullptr);

/// Returns the records of a folder or file if they are of `kind` (Header::kind); else nothing.
/// @throws InputError as read_records().
std::optional<Records> find_records(const std::filesystem::path& folder_or_file,
                                    std::string_view kind);

}  // namespace thinpipe
