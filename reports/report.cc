// Renders reports by format.
#include "reports/report.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "reports/record/reader.h"
#include "reports/run/page.h"
#include "reports/summary/time_scale.h"

namespace thinpipe {
namespace {

bool has_kind(const std::filesystem::path& folder_or_file, std::string_view kind) {
  const auto header = first_record(folder_or_file);
  return header && header->contains("kind") && header->at("kind") == std::string(kind);
}

}  // namespace

ReportFormat parse_report_format(const std::string& name) {
  if (name == "html") return ReportFormat::kHtml;
  if (name == "md" || name == "markdown") return ReportFormat::kMarkdown;
  throw InputError("report format '" + name + "': expected html or md");
}

std::string render_report(const Records& records, ReportFormat format, const Records* trained) {
  if (records.points.empty())
    throw InputError(records.file.string() +
                     ": no finished point yet, so there is nothing to report");
  return format == ReportFormat::kHtml ? render_html(records, trained)
                                       : render_markdown(records, trained);
}

Records reported_records(const std::filesystem::path& records_folder,
                         std::optional<double> time_scale) {
  Records records = has_kind(records_folder, kJobKind) ? read_repeated_records(records_folder)
                                                       : read_run_records(records_folder);
  const std::vector<ScaleAgreement> agreements = compare_time_scales(records);
  if (time_scale) records = at_time_scale(std::move(records), *time_scale);
  for (std::string& note : time_scale_notes(records)) records.notes.push_back(std::move(note));
  for (const ScaleAgreement& agreement : agreements)
    if (!time_scale || agreement.factor == *time_scale || agreement.base == *time_scale)
      records.notes.push_back("Time scales compared: " + agreement_sentence(agreement) + ".");
  return records;
}

std::optional<Records> find_records(const std::filesystem::path& folder_or_file,
                                    std::string_view kind) {
  if (!has_kind(folder_or_file, kind)) return std::nullopt;
  return read_records(folder_or_file);
}

}  // namespace thinpipe
