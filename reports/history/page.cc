#include "reports/history/page.h"

#include <nlohmann/json.hpp>

#include "reports/gradients/records.h"
#include "reports/html/parts.h"
#include "reports/markdown/parts.h"
#include "reports/record/reader.h"
#include "reports/text/escape.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHistoryHeadline = "What changed from launch to launch";

}  // namespace

bool is_history(const fs::path& folder_or_file) {
  std::error_code failure;
  if (fs::is_directory(folder_or_file, failure) &&
      !fs::exists(folder_or_file / kRecordFileName, failure)) {
    if (fs::exists(folder_or_file / kStatsFileName, failure)) return false;
    return !history_files(folder_or_file).empty();
  }
  const auto header = first_record(folder_or_file);
  if (!header || !header->contains("kind")) return false;
  return header->at("kind") == kBenchKind || header->at("kind") == kQualityKind;
}

std::string render_history_html(const HistorySummary& summary, const std::string& command) {
  std::string page = "<header>\n<p class=\"kicker\">thinpipe report</p>\n<h1>" +
                     std::string(kHistoryHeadline) + "</h1>\n<p class=\"facts\">" +
                     escape_html(history_subject(summary)) +
                     "</p>\n</header>\n<section class=\"verdict\" aria-labelledby=\"found\">\n"
                     "<h2 id=\"found\">What was found</h2>\n" +
                     html::list(history_findings(summary)) + "</section>\n";
  const std::vector<Figure> figures = history_figures(summary);
  if (!figures.empty()) {
    page += html::section("drawn", "Figures", html::figures(figures, {command}));
  }
  page += html::section("series", "Every metric",
                        html::table(history_trends_table(summary), "Every metric", true));
  page += html::section("launches", "Launches",
                        html::table(history_launches_table(summary), "Launches", false));
  page += html::section("method", "How it was judged", html::list(history_method_notes()));
  return html::document("History \xe2\x80\x93 thinpipe report", page);
}

std::string render_history_markdown(const HistorySummary& summary, const std::string& command) {
  return "# " + std::string(kHistoryHeadline) + "\n\n" + escape_markdown(history_subject(summary)) +
         "\n\n## What was found\n\n" + markdown::bullets(history_findings(summary)) +
         "## Every metric\n\n" + markdown::table(history_trends_table(summary)) +
         "## Launches\n\n" + markdown::table(history_launches_table(summary)) +
         "## How it was judged\n\n" + markdown::bullets(history_method_notes()) +
         "## How to reproduce\n\n" + markdown::code_block({command});
}

}  // namespace thinpipe
