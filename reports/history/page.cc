#include "reports/history/page.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "reports/gradients/records.h"
#include "reports/html/parts.h"
#include "reports/markdown/parts.h"
#include "reports/text/escape.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHeadline = "What changed from launch to launch";

std::string section(const std::string& id, const std::string& title, const std::string& inside) {
  return "<section aria-labelledby=\"" + id + "\">\n<h2 id=\"" + id + "\">" + title + "</h2>\n" +
         inside + "</section>\n";
}

}  // namespace

bool is_history(const fs::path& folder_or_file) {
  std::error_code failure;
  fs::path file = folder_or_file;
  if (fs::is_directory(file, failure)) {
    file /= kRecordFileName;
    if (!fs::exists(file, failure)) {
      if (fs::exists(folder_or_file / kStatsFileName, failure)) return false;
      for (auto below = fs::recursive_directory_iterator(folder_or_file, failure);
           below != fs::recursive_directory_iterator(); below.increment(failure)) {
        if (failure) break;
        if (below->path().extension() == ".jsonl") return true;
      }
      return false;
    }
  }
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  const auto header = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object() || !header.contains("kind")) return false;
  return header["kind"] == kBenchKind || header["kind"] == kQualityKind;
}

std::string render_history_html(const HistorySummary& summary, const std::string& command) {
  std::string page = html::head("History \xe2\x80\x93 thinpipe report") + "<body>\n<main>\n";
  page += "<header>\n<p class=\"kicker\">thinpipe report</p>\n<h1>" + std::string(kHeadline) +
          "</h1>\n<p class=\"facts\">" + escape_html(history_subject(summary)) +
          "</p>\n</header>\n<section class=\"verdict\" aria-labelledby=\"found\">\n"
          "<h2 id=\"found\">What was found</h2>\n" +
          html::list(history_findings(summary)) + "</section>\n";
  const std::vector<Figure> figures = history_figures(summary);
  if (!figures.empty()) {
    std::string drawn = "<div class=\"figures\">\n";
    for (const Figure& figure : figures) drawn += html::figure(figure, {command});
    page += section("drawn", "Figures", drawn + "</div>\n");
  }
  page += section("series", "Every metric",
                  html::table(history_trends_table(summary), "Every metric", true));
  page += section("launches", "Launches",
                  html::table(history_launches_table(summary), "Launches", false));
  page += section("method", "How it was judged", html::list(history_method_notes()));
  return page + "</main>\n<script>\n" + html::script() + "</script>\n</body>\n</html>\n";
}

std::string render_history_markdown(const HistorySummary& summary, const std::string& command) {
  return "# " + std::string(kHeadline) + "\n\n" + escape_markdown(history_subject(summary)) +
         "\n\n## What was found\n\n" + markdown::bullets(history_findings(summary)) +
         "## Every metric\n\n" + markdown::table(history_trends_table(summary)) +
         "## Launches\n\n" + markdown::table(history_launches_table(summary)) +
         "## How it was judged\n\n" + markdown::bullets(history_method_notes()) +
         "## How to reproduce\n\n" + markdown::code_block({command});
}

}  // namespace thinpipe
