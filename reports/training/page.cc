#include "reports/training/page.h"

#include <algorithm>

#include "base/error.h"
#include "base/escape.h"
#include "base/text.h"
#include "base/units.h"
#include "reports/page/page.h"
#include "reports/page/table.h"
#include "reports/text/phrases.h"
#include "reports/text/provenance.h"

namespace thinpipe {
namespace {

constexpr const char* kTrainingHeadline = "Training time and quality by compressor and link";

TableCell mean_cell(const TrainedGroup& group, const MetricType& metric, double factor,
                    std::string (*format)(double), bool counts_seeds = false) {
  const auto mean = group.mean(metric);
  if (!mean) return {kAbsent};
  const Estimate shown = mean->mapped([&](double value) { return factor * value; });
  TableCell cell = figure_cell(shown, format, /*tells_missing=*/false);
  const std::size_t count = group.count(metric);
  if (counts_seeds && !group.is_complete(metric))
    cell.detail = std::to_string(count) + " of " + std::to_string(group.seeds()) + " seeds";
  return cell;
}

// Returns why trainings of a group are not trusted, each reason once.
std::string warnings_of(const Records& records, const TrainedGroup& group) {
  std::vector<std::string> reasons;
  if (group.trusted()) {
    if (group.invalid > 0) reasons.push_back(std::to_string(group.invalid) + " invalid left out");
    if (group.failed > 0) reasons.push_back(std::to_string(group.failed) + " failed");
    return joined(reasons, ", ");
  }
  for (const Point& point : records.points)
    if (group.holds(point))
      for (const std::string& reason : point.reasons) add_once(reasons, reason);
  return joined(reasons, "; ");
}

Table trainings_table(const Records& records, const TrainingSummary& summary) {
  const bool is_accuracy = summary.figure == "accuracy";
  Table table{{"compressor", "status", "network", "seeds",
               is_accuracy ? "accuracy, %" : "perplexity", "loss", "time", "bytes of a worker"},
              3};
  if (!summary.target.empty())
    table.columns.insert(table.columns.end(),
                         {"time to " + summary.target, "bytes to " + summary.target});
  const bool has_bf16 = summary.has_baseline(Baseline::kBf16);
  if (has_bf16) table.columns.emplace_back("vs bf16");
  table.columns.emplace_back("vs fp32");
  table.facets = {0, 1, 2};
  for (const TrainingSection& section : training_sections(summary))
    for (const auto& [trained, style] : section.groups) {
      const TrainedGroup& group = *trained;
      std::vector<TableCell> row = {
          {group.label, "", std::nullopt, style},
          {group.trusted()     ? "ok"
           : group.invalid > 0 ? "invalid"
                               : "failed",
           warnings_of(records, group)},
          {section.title},
          count_cell(group.used.size()),
          mean_cell(group, summary.final_metric(), is_accuracy ? 100 : 1, format_number),
          mean_cell(group, "final_loss"_metric, 1, format_number),
          mean_cell(group, "train_seconds"_metric, 1, format_time),
          mean_cell(group, "train_bytes"_metric, 1, format_bytes)};
      if (!summary.target.empty()) {
        row.push_back(mean_cell(group, "target_seconds"_metric, 1, format_time, true));
        row.push_back(mean_cell(group, "target_bytes"_metric, 1, format_bytes, true));
      }
      if (has_bf16) row.push_back(figure_cell(summary.gain(group, Baseline::kBf16), format_number));
      row.push_back(figure_cell(summary.gain(group, Baseline::kFp32), format_number));
      for (TableCell& cell : row) cell.is_untrusted = !group.trusted();
      table.rows.push_back(std::move(row));
    }
  return table;
}

// Returns the commands of the rows of trainings_table(); each trains all seeds of its row.
std::vector<std::string> training_commands(const Records& records, const TrainingSummary& summary) {
  std::vector<std::string> commands;
  for (const TrainingSection& section : training_sections(summary))
    for (const StyledGroup& of : section.groups) {
      const auto point = std::find_if(records.points.begin(), records.points.end(),
                                      [&](const Point& one) { return of.group->holds(one); });
      commands.push_back(point == records.points.end() ? "" : again_command(records, *point));
    }
  return commands;
}

std::vector<std::string> training_notes(const TrainingSummary& summary) {
  return {
      "Real ranks took every step over throttled links. Seconds are emulated time, from the "
      "network and the compute times in the header; bytes are those that a worker sent.",
      "Figures are means over seeds; intervals are 95 % by Student's t, of three seeds or more. A "
      "seed sets initial parameters and order of data, which are equal for all compressors.",
      "vs fp32, vs bf16: the " +
          std::string(summary.target.empty() ? "time of all steps" : "time to the target") +
          " of training without compression on the same network, or with gradients summed in 16 "
          "bits, over the compressor's; only where every seed has that time.",
      "Only trainings with status ok count. Where a compressor has none, its invalid ones are "
      "drawn hollow and grey, and no conclusion rests on them."};
}

std::string what_was_trained(const Records& records) {
  if (records.headers.empty()) return "";
  const Header& header = records.headers.back();
  std::string line = trace_line(records);
  if (const std::string data = header.training.text("data"); !data.empty())
    line += (line.empty() ? "" : ", ") + data;
  return line + (line.empty() ? "" : ", ") + header.created;
}

void require_points(const Records& records) {
  if (records.points.empty())
    throw InputError(records.file.string() +
                     ": no finished training yet, so there is nothing to report");
}

}  // namespace

std::string render_training_html(const Records& records) {
  require_points(records);
  const TrainingSummary summary = summarize_training(records);
  std::string page = html::masthead(kTrainingHeadline, escape_html(what_was_trained(records))) +
                     html::findings(training_findings(summary));
  const std::vector<TrainingSection> sections = training_sections(summary);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const std::string id = "t" + std::to_string(i);
    page += html::section(
        id, sections[i].title,
        html::figures(training_figures(summary, sections[i], id), reproduce_commands(records)));
  }
  Table all = trainings_table(records, summary);
  const std::string csv = html::csv("trainings", "All trainings (CSV)", table_csv(all));
  add_commands(all, training_commands(records, summary));
  page += html::section("all", "All trainings", html::table(all, "All trainings", true) + csv);
  if (const Table problems = problems_table(records); !problems.rows.empty())
    page += html::section("problems", "Invalid and failed trainings",
                          html::table(problems, "Invalid and failed trainings", true));
  if (!records.notes.empty())
    page += html::section("notes", "Notes on the records file", html::list(records.notes));
  page += html::section("method", "How it was computed", html::list(training_notes(summary))) +
          html::section("origin", "Provenance", html::provenance(records));
  return html::document("Training \xe2\x80\x93 thinpipe report", page);
}

std::string render_training_markdown(const Records& records) {
  require_points(records);
  const TrainingSummary summary = summarize_training(records);
  std::string text = "# " + std::string(kTrainingHeadline) + "\n\n" +
                     escape_markdown(what_was_trained(records)) + "\n\n## Findings\n\n" +
                     markdown::bullets(training_findings(summary)) + "## All trainings\n\n" +
                     markdown::table(trainings_table(records, summary));
  if (const Table problems = problems_table(records); !problems.rows.empty())
    text += "## Invalid and failed trainings\n\n" + markdown::table(problems);
  if (!records.notes.empty())
    text += "## Notes on the records file\n\n" + markdown::bullets(records.notes);
  return text + "## How it was computed\n\n" + markdown::bullets(training_notes(summary)) +
         "## How to reproduce\n\n" + markdown::code_block(reproduce_commands(records)) +
         "## Provenance\n\n" + markdown::provenance(records);
}

}  // namespace thinpipe
