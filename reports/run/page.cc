// The report of a run, as one page (findings and validity first, then figures, all points and
// provenance) and as Markdown.
#include "reports/run/page.h"

#include <utility>

#include "base/error.h"
#include "base/escape.h"
#include "reports/page/page.h"
#include "reports/run/figures.h"
#include "reports/summary/summary.h"
#include "reports/text/phrases.h"
#include "reports/text/provenance.h"
#include "reports/training/summary.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

// Explains overview_table().
constexpr const char* kOverviewNote =
    "Step times of the baselines, and speed-ups of the compressors: over bf16 (gradients summed in "
    "16 bits) and over none (fp32), where both were measured; 95 % intervals beside or beneath.";

// Returns a training that has the same compressor and bucketing, and a final loss. Prefers a
// trusted training with the same number of workers. The link may differ, because it does not change
// the final loss. Null without any.
const TrainedGroup* trained_like(const TrainingSummary& trained, const Series& series, int ranks) {
  const TrainedGroup* found = nullptr;
  for (const TrainedGroup& group : trained.groups) {
    const Axes& axes = group.axes;
    if (axes.compressor != series.compressor || axes.bucketing != series.bucketing) continue;
    if (!group.mean("final_loss"_metric)) continue;
    if (axes.ranks == ranks && group.trusted()) return &group;
    if (found == nullptr || (group.trusted() && !found->trusted())) found = &group;
  }
  return found;
}

// Returns false if the mean loss of the trainings must not be compared: it is not trusted, or seeds
// that did not end are missing in it.
bool shows_loss(const TrainedGroup& trained) {
  return trained.trusted() && trained.is_complete("final_loss"_metric);
}

// Returns a table of the run's step times, each beside the final loss of trainings with the same
// compressor.
// @throws InputError when `training` has none of these compressors, or is no training
Table losses_table(const Summary& summary, const Records& training) {
  const TrainingSummary trained = summarize_training(training);
  Table table{
      {"compressor", "ranks", "link rate", "step time", "final loss", "trainings", "workers"}};
  for (const Group& group : summary.groups)
    for (const Series& series : group.series) {
      const TrainedGroup* like = trained_like(trained, series, group.ranks);
      if (like == nullptr) continue;
      const std::optional<Estimate> loss = like->mean("final_loss"_metric);
      for (const Cell& cell : series.cells) {
        if (!cell.step_time) continue;
        std::vector<TableCell> row = {{series.label, "", std::nullopt, series.style},
                                      count_cell(static_cast<std::size_t>(group.ranks)),
                                      figure_cell(cell.rate, format_rate),
                                      figure_cell(cell.step_time, format_time),
                                      figure_cell(loss, format_number),
                                      count_cell(like->count("final_loss"_metric)),
                                      count_cell(static_cast<std::size_t>(like->axes.ranks))};
        for (TableCell& entry : row)
          entry.is_untrusted = cell.status != Status::kOk || !shows_loss(*like);
        table.rows.push_back(std::move(row));
      }
    }
  if (table.rows.empty())
    throw InputError(training.file.string() +
                     ": no finished training with a compressor of the run; train with the same -c");
  return table;
}

// Shows step time against the final loss of trainings with the same compressors; without panels
// where there are none.
Figure loss_figure(const Group& group, const std::string& id, const TrainingSummary& trained) {
  Figure figure{id + "-loss", "Step time against loss, " + group.title};
  figure.caption =
      "Loss on held-out data at the end of trainings with the same compressor, mean over the seeds "
      "with its 95 % interval, against the median step time of the run; lower left is better. The "
      "dashed line is the Pareto front: compressors above and right of it are dominated by "
      "another.";
  std::vector<Curve> drawn;
  for (const double rate : panel_rates(group.rates)) {
    DotChart dots;
    dots.id = panel_id(figure);
    dots.alt =
        "Final loss of trainings against step time at " + format_rate(rate) + ", " + group.title;
    dots.width = kPanelWidth;
    dots.x = {"step time", true, format_time};
    dots.y = {"final loss", false, format_number};
    dots.has_front = true;
    for (const Series& series : group.series) {
      const Cell* cell = series.at(rate);
      const TrainedGroup* like = trained_like(trained, series, group.ranks);
      if (cell == nullptr || !cell->step_time || like == nullptr) continue;
      const Estimate loss = *like->mean("final_loss"_metric);
      dots.dots.push_back(
          {.name = series.label,
           .style = series.style,
           .x = cell->step_time->value,
           .y = loss.value,
           .x_interval = cell->step_time->interval,
           .y_interval = loss.interval,
           .is_trusted = cell->status == Status::kOk && shows_loss(*like),
           .tooltip = cell_title(series, *cell) + "\n" + format_time(cell->step_time->value) +
                      " a step\nfinal loss " + format_number(loss.value) + " (" +
                      format_interval(loss, format_number) + "), " +
                      counted(like->count("final_loss"_metric), "training") + " with " +
                      counted(static_cast<std::size_t>(like->axes.ranks), "worker")});
    }
    const Chart chart = dots_chart(dots);
    add_panel(figure, format_rate(rate), chart);
    drawn.insert(drawn.end(), chart.curves.begin(), chart.curves.end());
  }
  figure.legend = series_legend(group, drawn);
  return figure;
}

struct Section {
  std::string id, title, inside;
};

std::string page_title(const Records& records) {
  const std::string model =
      records.headers.empty() ? "" : records.headers.back().trace.text("model");
  return model.empty() ? "thinpipe report" : model + " \xe2\x80\x93 thinpipe report";
}

std::string masthead(const Records& records) {
  std::string facts = escape_html(trace_line(records));
  if (!records.headers.empty()) facts += " &middot; " + escape_html(records.headers.back().created);
  return html::masthead("Speed-up of compressors by link rate", facts);
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
         " The fastest compressor is highlighted where it is faster than the baseline.</p>\n";
}

std::string links_part(const Records& records, const std::vector<std::string>& commands) {
  const Table links = calibration_table(records);
  if (links.rows.empty()) return "";
  std::string text = "<h3 id=\"links\">Calibration of the links</h3>\n";
  if (const Figure figure = calibration_figure(records); !figure.panels.empty())
    text += html::figures({figure}, commands);
  return text + html::table(links, "Calibration of the links", /*is_sortable=*/true) +
         "<p class=\"note\">Before the first point, thinpipe filled both directions of every "
         "distinct link with traffic of its own. A link fails calibration where its goodput "
         "differs from the TCP ceiling by more than 3 %; its points are greyed.</p>\n";
}

std::string problems_part(const Records& records) {
  const Table problems = problems_table(records);
  std::string text = "<h3 id=\"problems\">Invalid and failed points</h3>\n";
  if (problems.rows.empty()) {
    text += "<p>None.</p>\n";
  } else {
    text +=
        "<p class=\"note\">Invalid points were measured but failed a check. They are grey in "
        "tables and hollow in figures, and no conclusion rests on them. Failed points have no "
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
    checks.push_back(fidelity_figure(summary.groups[i], "g" + std::to_string(i)));
    if (summary.groups.size() > 1) checks.back().title += ", " + summary.groups[i].title;
  }
  checks = with_panels(std::move(checks));
  return html::list({trust_sentence(summary)}) + problems_part(*summary.records) +
         links_part(*summary.records, commands) +
         (checks.empty() ? "" : html::figures(checks, commands));
}

// Explains rate_slider().
constexpr const char* kSliderNote =
    "Filled bars are measured median step times, with 95 % intervals beneath. Outlined bars are "
    "interpolated between measured rates: ln(step time) is taken as linear in ln(link rate). They "
    "have no interval, so a small difference may not be significant. Upright lines are predictions "
    "of the models, where records have them. Points that failed their checks are left out, and "
    "nothing is extrapolated. The shortest step time is highlighted.";

// Returns the sliders of all groups; "" where no group has several measured rates.
std::string who_wins(const Summary& summary) {
  std::string text;
  for (const Group& group : summary.groups) {
    const std::string slider = rate_slider(group);
    if (slider.empty()) continue;
    if (summary.groups.size() > 1) text += "<h3>" + escape_html(group.title) + "</h3>\n";
    text += slider;
  }
  if (text.empty()) return "";
  return text + "<p class=\"note\">" + kSliderNote + "</p>\n";
}

std::string all_points(const Summary& summary) {
  Table table = points_table(summary);
  const std::string csv = table_csv(table);  // without the commands, which the table has
  add_commands(table, again_commands(summary));
  return html::table(table, "All points", /*is_sortable=*/true) +
         html::csv("points", "All points (CSV)", csv) +
         "<p class=\"note\">Medians over the steps of all trusted repeats, with 95 % intervals "
         "beneath step times and speed-ups. Each row's command measures that point again, into a "
         "folder of its own.</p>\n";
}

std::string losses(const Summary& summary, const Records& trained,
                   const std::vector<std::string>& commands) {
  const TrainingSummary trainings = summarize_training(trained);
  const Table table = losses_table(summary, trained);
  std::vector<Figure> figures;
  for (std::size_t i = 0; i < summary.groups.size(); ++i)
    figures.push_back(loss_figure(summary.groups[i], "g" + std::to_string(i), trainings));
  return html::figures(with_panels(std::move(figures)), commands) +
         html::table(table, "Step time and final loss", /*is_sortable=*/true);
}

std::vector<Section> sections_of(const Records& records, const Summary& summary,
                                 const Records* trained) {
  const std::vector<std::string> commands = reproduce_commands(records);
  std::vector<Section> sections = {{"found", "Findings", found(summary)},
                                   {"believed", "Validity", believed(summary, commands)}};
  if (std::string sliders = who_wins(summary); !sliders.empty())
    sections.push_back({"who-wins", "Who wins at which rate", std::move(sliders)});
  for (std::size_t i = 0; i < summary.groups.size(); ++i) {
    const std::string id = "g" + std::to_string(i);
    sections.push_back({id, summary.groups[i].title,
                        html::figures(group_figures(summary.groups[i], id), commands)});
  }
  if (const std::vector<Figure> scaling = scaling_figures(summary, "scaling"); !scaling.empty())
    sections.push_back({"more-workers", "Scaling", html::figures(scaling, commands)});
  if (trained != nullptr)
    sections.push_back({"losses", "Speed against loss", losses(summary, *trained, commands)});
  sections.push_back({"points", "All points", all_points(summary)});
  sections.push_back({"method", "How it was computed", html::list(method_notes())});
  sections.push_back({"origin", "Provenance", html::provenance(records)});
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
  return html::document(page_title(records), masthead(records) + html::contents(names) + body,
                        rate_slider_script());
}

std::string render_markdown(const Records& records, const Records* trained) {
  const Summary summary = summarize(records);
  const bool has_titles = summary.groups.size() > 1;
  std::string text = "# thinpipe report\n\n" + escape_markdown(trace_line(records)) + "\n\n";
  text += "## Findings\n\n";
  for (const Group& group : summary.groups) {
    if (has_titles) text += "### " + escape_markdown(group.title) + "\n\n";
    text += markdown::bullets(group_verdict(group)) + kOverviewNote + "\n\n" +
            markdown::table(overview_table(group));
  }
  text += "## Validity\n\n" + markdown::bullets({trust_sentence(summary)});
  const Table links = calibration_table(records), problems = problems_table(records);
  if (!problems.rows.empty())
    text += "### Invalid and failed points\n\n" + markdown::table(problems);
  if (!records.notes.empty())
    text += "### Notes on the records file\n\n" + markdown::bullets(records.notes);
  if (!links.rows.empty()) text += "### Calibration of the links\n\n" + markdown::table(links);
  if (trained != nullptr)
    text += "## Speed against loss\n\n" + markdown::table(losses_table(summary, *trained));
  text += "## All points\n\n" + markdown::table(points_table(summary));
  for (const Group& group : summary.groups)
    if (const Table predictions = predictions_table(group); !predictions.rows.empty())
      text += "## Predicted and measured" +
              (has_titles ? ", " + escape_markdown(group.title) : std::string()) + "\n\n" +
              markdown::table(predictions);
  text += "## How it was computed\n\n" + markdown::bullets(method_notes());
  text += "## How to reproduce\n\n" + markdown::code_block(reproduce_commands(records));
  std::vector<std::string> again = again_commands(summary);
  std::erase(again, "");
  if (!again.empty())
    text += "One point at a time, in the order of the table:\n\n" + markdown::code_block(again);
  text += "## Provenance\n\n" + markdown::provenance(records);
  return text;
}

}  // namespace thinpipe
