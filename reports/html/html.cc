// The page: what was found and what can be believed first, then figures, every point and where it
// all comes from.
#include "reports/html/html.h"

#include "reports/html/parts.h"
#include "reports/summary/summary.h"
#include "reports/text/escape.h"
#include "reports/text/provenance.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

struct Section {
  std::string id, title, inside;
};

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

std::string found(const Summary& summary) {
  const bool has_titles = summary.groups.size() > 1;
  std::string text;
  for (const Group& group : summary.groups) {
    if (has_titles) text += "<h3>" + escape_html(group.title) + "</h3>\n";
    text += html::list(group_verdict(group));
    text += html::table(overview_table(group), "Speed-up over the baselines, " + group.title,
                        /*is_sortable=*/false);
  }
  return text + "<p class=\"note\">" + kOverviewNote +
         " The fastest compressor is set off where it pays.</p>\n";
}

std::string links_part(const Records& records, const std::vector<std::string>& commands) {
  const Table links = calibration_table(records);
  if (links.rows.empty()) return "";
  std::string text = "<h3 id=\"links\">The links before they were used</h3>\n";
  if (const Figure figure = calibration_figure(records); !figure.panels.empty())
    text += html::figures({figure}, commands);
  return text + html::table(links, "Calibration of the links", /*is_sortable=*/true) +
         "<p class=\"note\">Traffic of thinpipe's own filled each way of every distinct link "
         "before the first point. A link that is farther from what TCP can deliver over it than 3 "
         "% is not the one it is called: its points are greyed.</p>\n";
}

std::string problems_part(const Records& records) {
  const Table problems = problems_table(records);
  std::string text = "<h3 id=\"problems\">Invalid and failed points</h3>\n";
  if (problems.rows.empty()) {
    text += "<p>None: every point passed its checks.</p>\n";
  } else {
    text +=
        "<p class=\"note\">Invalid points were measured and failed a check; they are grey in "
        "tables and hollow in figures, and nothing is concluded from them. Failed ones have no "
        "figures.</p>\n" +
        html::table(problems, "Invalid and failed points", /*is_sortable=*/true);
  }
  if (!records.notes.empty())
    text += "<h3>Notes on the records file</h3>\n" + html::list(records.notes);
  return text;
}

std::string believed(const Summary& summary, const std::vector<std::string>& commands) {
  std::vector<Figure> checks;
  for (std::size_t i = 0; i < summary.groups.size(); ++i) {
    Figure figure = fidelity_figure(summary.groups[i], "g" + std::to_string(i));
    if (summary.groups.size() > 1) figure.title += ", " + summary.groups[i].title;
    if (!figure.panels.empty()) checks.push_back(std::move(figure));
  }
  return html::list({trust_sentence(summary)}) + problems_part(*summary.records) +
         links_part(*summary.records, commands) +
         (checks.empty() ? "" : html::figures(checks, commands));
}

std::string all_points(const Summary& summary) {
  Table table = points_table(summary);
  const std::string csv = table_csv(table);  // without the commands, which each row has
  add_commands(table, again_commands(summary));
  return html::table(table, "All points", /*is_sortable=*/true) +
         html::csv("points", "All points (CSV)", csv) +
         "<p class=\"note\">Medians over the steps of all trusted repeats, 95 % intervals beneath "
         "step times and speed-ups. Each row's command measures that point again, into a folder of "
         "its own.</p>\n";
}

std::string losses(const Summary& summary, const Records& trained,
                   const std::vector<std::string>& commands) {
  const TrainingSummary trainings = summarize_training(trained);
  const Table table = losses_table(summary, trained);
  std::vector<Figure> figures;
  for (std::size_t i = 0; i < summary.groups.size(); ++i) {
    Figure figure = loss_figure(summary.groups[i], "g" + std::to_string(i), trainings);
    if (!figure.panels.empty()) figures.push_back(std::move(figure));
  }
  return html::figures(figures, commands) +
         html::table(table, "Step time and final loss", /*is_sortable=*/true);
}

std::vector<Section> sections_of(const Records& records, const Summary& summary,
                                 const Records* trained) {
  const std::vector<std::string> commands = reproduce_commands(records);
  std::vector<Section> sections = {
      {"found", "What was found", found(summary)},
      {"believed", "What can be believed", believed(summary, commands)}};
  for (std::size_t i = 0; i < summary.groups.size(); ++i) {
    const std::string id = "g" + std::to_string(i);
    sections.push_back({id, summary.groups[i].title,
                        html::figures(group_figures(summary.groups[i], id), commands)});
  }
  if (const std::vector<Figure> scaling = scaling_figures(summary, "scaling"); !scaling.empty())
    sections.push_back({"more-workers", "More workers", html::figures(scaling, commands)});
  if (trained != nullptr)
    sections.push_back({"losses", "Speed against loss", losses(summary, *trained, commands)});
  sections.push_back({"points", "All points", all_points(summary)});
  sections.push_back({"method", "How it was computed", html::list(method_notes())});
  sections.push_back({"origin", "Where it was measured", html::provenance(records)});
  return sections;
}

}  // namespace

std::string render_html(const Records& records, const Records* trained) {
  const Summary summary = summarize(records);
  const std::vector<Section> sections = sections_of(records, summary, trained);
  std::vector<std::pair<std::string, std::string>> names;
  std::string body;
  for (const Section& section : sections) {
    names.emplace_back(section.id, section.title);
    body += html::section(section.id, section.title, section.inside);
  }
  return html::document(page_title(records), masthead(records) + html::contents(names) + body);
}

}  // namespace thinpipe
