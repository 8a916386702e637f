// The page: verdict first, then figures, tables and where it all comes from.
#include "reports/html/html.h"

#include "reports/html/parts.h"
#include "reports/summary/summary.h"
#include "reports/text/escape.h"
#include "reports/text/provenance.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

std::string page_title(const Records& records) {
  std::string model;
  if (!records.headers.empty()) {
    const nlohmann::json& trace = records.headers.back().trace;
    if (trace.contains("model") && trace["model"].is_string())
      model = trace["model"].get<std::string>();
  }
  return model.empty() ? "thinpipe report" : model + " \xe2\x80\x93 thinpipe report";
}

std::string masthead(const Records& records) {
  std::string text = "<header>\n<p class=\"kicker\">thinpipe report</p>\n<h1>";
  text += "Which compressor pays on which link</h1>\n<p class=\"facts\">" +
          escape_html(trace_line(records));
  if (!records.headers.empty()) text += " &middot; " + escape_html(records.headers.back().created);
  return text + "</p>\n</header>\n";
}

std::string verdict_section(const Summary& summary) {
  const bool has_titles = summary.groups.size() > 1;
  std::string text =
      "<section class=\"verdict\" aria-labelledby=\"found\">\n<h2 id=\"found\">What was "
      "found</h2>\n";
  for (const Group& group : summary.groups) {
    std::vector<std::string> sentences = group_verdict(group);
    if (!has_titles) sentences.push_back(trust_sentence(summary));
    if (has_titles) text += "<h3>" + escape_html(group.title) + "</h3>\n";
    text += html::list(sentences);
    text += html::table(overview_table(group), "Speed-up over none, " + group.title,
                        /*is_sortable=*/false);
  }
  if (has_titles) text += html::list({trust_sentence(summary)});
  return text +
         "<p class=\"note\">Step time of none, and how many times as fast the others are; 95 % "
         "intervals "
         "beneath. The fastest compressor is set off where it beats none.</p>\n</section>\n";
}

std::string group_section(const Group& group, std::size_t index,
                          const std::vector<std::string>& commands) {
  const std::string id = "g" + std::to_string(index);
  std::string text = "<section aria-labelledby=\"" + id + "\">\n<h2 id=\"" + id + "\">" +
                     escape_html(group.title) + "</h2>\n<div class=\"figures\">\n";
  for (const Figure& figure : group_figures(group, id)) text += html::figure(figure, commands);
  text += "</div>\n<h3>All points</h3>\n" +
          html::table(points_table(group), "All points, " + group.title, /*is_sortable=*/true);
  if (const Table predictions = predictions_table(group); !predictions.rows.empty())
    text += "<h3>Predicted and measured</h3>\n" +
            html::table(predictions, "Predicted and measured, " + group.title,
                        /*is_sortable=*/true);
  return text + "</section>\n";
}

std::string links_section(const Records& records) {
  const Table links = calibration_table(records);
  if (links.rows.empty()) return "";
  return "<section aria-labelledby=\"links\">\n<h2 id=\"links\">The links before they were "
         "used</h2>\n" +
         html::table(links, "Calibration of the links", /*is_sortable=*/true) +
         "<p class=\"note\">Traffic of thinpipe's own filled each way of every distinct link "
         "before the first point. A link that is farther from what TCP can deliver over it than "
         "3 % is not the one it is called: its points are greyed.</p>\n</section>\n";
}

std::string problems_section(const Records& records) {
  const Table problems = problems_table(records);
  std::string text =
      "<section aria-labelledby=\"problems\">\n<h2 id=\"problems\">Invalid and failed "
      "points</h2>\n";
  if (problems.rows.empty()) {
    text += "<p>None: every point passed its checks.</p>\n";
  } else {
    text += html::table(problems, "Invalid and failed points", /*is_sortable=*/true);
  }
  if (!records.notes.empty())
    text += "<h3>Notes on the records file</h3>\n" + html::list(records.notes);
  return text + "</section>\n";
}

std::string method_section(const Records& records) {
  std::string text =
      "<section aria-labelledby=\"method\">\n<h2 id=\"method\">How it was computed</h2>\n";
  text += html::list(method_notes());
  text +=
      "</section>\n<section aria-labelledby=\"origin\">\n<h2 id=\"origin\">Where it was "
      "measured</h2>\n";
  return text + html::provenance(records) + "</section>\n";
}

}  // namespace

std::string render_html(const Records& records) {
  const Summary summary = summarize(records);
  const std::vector<std::string> commands = reproduce_commands(records);
  std::string page = masthead(records) + verdict_section(summary);
  for (std::size_t i = 0; i < summary.groups.size(); ++i) {
    page += group_section(summary.groups[i], i, commands);
  }
  page += links_section(records) + problems_section(records) + method_section(records);
  return html::document(page_title(records), page);
}

}  // namespace thinpipe
