// Trainings: their curves and figures, the table, and the report.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "reports/figures/style.h"
#include "reports/page/page.h"
#include "reports/page/table.h"
#include "reports/statistics/statistics.h"
#include "reports/text/phrases.h"
#include "reports/text/provenance.h"
#include "reports/training/summary.h"

namespace thinpipe {
namespace {

constexpr double kBitsOfByte = 8, kBytesOfElement = 4;

std::vector<double> array_of(const nlohmann::json& object, const std::string& name) {
  std::vector<double> values;
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array()) return values;
  for (const nlohmann::json& value : *found)
    values.push_back(value.is_number() ? value.get<double>() : std::nan(""));
  return values;
}

// Returns the i-th value of each seed that has a finite one.
std::vector<double> column(const std::vector<std::vector<double>>& seeds, std::size_t i) {
  std::vector<double> values;
  for (const std::vector<double>& seed : seeds)
    if (i < seed.size() && std::isfinite(seed[i])) values.push_back(seed[i]);
  return values;
}

std::string told(const TrainedGroup& group, double x, const std::string& x_name,
                 const std::string& y, std::size_t seeds) {
  const std::string at = x_name == "seconds" ? format_time(x)
                         : x_name == "bytes" ? format_bytes(x)
                                             : "step " + format_number(x);
  return group.label + ", " + at + "\n" + y + ", mean of " + counted(seeds, "seed");
}

Axis quality_axis(const TrainingSummary& summary) {
  if (summary.figure == "accuracy") return {"accuracy on held-out data", false, format_percent};
  return {"perplexity of held-out text", false, format_number};
}

struct Sectioned {
  const TrainingSummary& summary;
  const TrainingSection& section;
  const std::string& id;
};

std::vector<LegendEntry> legend_of(const TrainingSection& section, bool is_line) {
  std::vector<LegendEntry> legend;
  for (const auto& [group, style] : section.groups)
    if (!group->used.empty())
      legend.push_back({is_line ? line_marker_svg(style) : marker_svg(style), group->label});
  return legend;
}

// Adds the group's curve unless it has no points.
void add_curve(const StyledGroup& of, std::vector<ChartPoint> points, Chart& chart) {
  constexpr std::size_t kMarkedPoints = 30;  // with more points, curves have no markers
  const bool is_marked = points.size() <= kMarkedPoints;
  if (!points.empty())
    chart.curves.push_back({of.style, is_marked, true, std::move(points), of.group->label});
}

// Draws a curve per compressor, over steps, bytes and emulated seconds.
Figure by_progress(const Sectioned& in, const char* name, const std::string& title,
                   const std::string& field, const Axis& y) {
  Figure figure{in.id + "-" + name, title};
  figure.caption =
      "Means over the seeds at each evaluation; bars are 95 % intervals by Student's t, with three "
      "seeds or more. Bytes are those that a worker sent; seconds are emulated time.";
  const auto panel = [&](const std::string& over, const std::string& x, const std::string& label,
                         std::string (*format)(double)) {
    Chart chart{.id = panel_id(figure), .alt = title + " against " + over};
    // Bytes differ by orders of magnitude between compressors; steps are the same for all.
    const bool is_log = x != "steps";
    chart.x = {label, is_log, format};
    if (!is_log) chart.x.include = {0.0};
    chart.y = y;
    for (const StyledGroup& of : in.section.groups)
      add_curve(of, evaluation_points(*of.group, x, field, y.format), chart);
    add_panel(figure, "against " + over, chart);
  };
  panel("steps", "steps", "steps", format_step);
  panel("bytes", "bytes", "bytes sent by a worker", format_bytes);
  panel("emulated seconds", "seconds", "emulated time", format_time);
  figure.legend = legend_of(in.section, true);
  return figure;
}

BoxChart rows_of(const Sectioned& in, const std::string& id, const std::string& alt,
                 const MetricType& metric, const Axis& axis, bool all_seeds) {
  BoxChart chart{.id = id, .alt = alt, .axis = axis};
  for (const auto& [group, style] : in.section.groups) {
    const std::optional<Estimate> mean = group->mean(metric);
    // A mean over only the seeds that reached the target would be biased.
    if (!mean || (all_seeds && !group->is_complete(metric))) continue;
    chart.rows.push_back({group->label, style, mean->value, mean->interval, std::nullopt,
                          group->trusted(),
                          group->label + "\n" + axis.format(mean->value) + ", " +
                              counted(group->count(metric), "seed")});
  }
  return chart;
}

Figure to_target(const Sectioned& in) {
  Figure figure{
      in.id + "-target", "Time and bytes to " + in.summary.target,
      "Emulated time and bytes of a worker up to the first evaluation that reached the target: "
      "means over the seeds with 95 % intervals by Student's t (three seeds or more). Compressors "
      "with a seed that missed the target are left out; the table has the number of seeds."};
  if (in.summary.target.empty()) return figure;
  add_panel(figure, "time",
            rows_of(in, figure.id + "-0", "Emulated time to the target", "target_seconds"_metric,
                    {"emulated time", true, format_time}, true));
  add_panel(figure, "bytes",
            rows_of(in, figure.id + "-1", "Bytes to the target", "target_bytes"_metric,
                    {"bytes sent by a worker", true, format_bytes}, true));
  return figure;
}

Figure final_quality(const Sectioned& in) {
  Figure figure{
      in.id + "-final", "Final quality",
      "Means over the seeds after the last step, with 95 % intervals by Student's t (three seeds "
      "or more). Compressors with disjoint intervals differ significantly; others may not differ."};
  add_panel(figure, "",
            rows_of(in, figure.id + "-0", "Final " + in.summary.figure, in.summary.final_metric(),
                    quality_axis(in.summary), false));
  return figure;
}

Figure time_and_loss(const Sectioned& in) {
  Figure figure{
      in.id + "-pareto", "Time against loss",
      "Emulated time of all steps against the final loss on held-out data, means over the seeds. "
      "Lower left is better. The dashed line is the Pareto front: compressors above and right of "
      "it are dominated by another."};
  DotChart chart{.id = panel_id(figure),
                 .alt = "Emulated time of all steps against final loss",
                 .x = {"emulated time of all steps", true, format_time},
                 .y = {"final loss", false, format_number},
                 .has_front = true};
  for (const auto& [group, style] : in.section.groups) {
    const auto time = group->mean("train_seconds"_metric), loss = group->mean("final_loss"_metric);
    if (!time || !loss) continue;
    chart.dots.push_back(
        {group->label, style, time->value, loss->value, time->interval, loss->interval,
         group->trusted(),
         group->label + "\n" + format_time(time->value) + ", loss " + format_number(loss->value)});
  }
  if (chart.dots.size() > 1) add_panel(figure, "", dots_chart(chart));
  figure.legend = legend_of(in.section, false);
  return figure;
}

Figure bits_by_step(const Sectioned& in) {
  Figure figure{
      in.id + "-bits", "Payload by step",
      "Payload bits per element that a worker sends, means over the seeds. Long trainings are "
      "averaged over neighbouring steps, to 100 points per curve. An uncompressed element has 32."};
  Chart chart{.id = panel_id(figure),
              .alt = "Payload bits per element by step",
              .x = {"step", false, format_step, {0.0}},
              .y = {"bits per element", true, format_number}};
  for (const StyledGroup& of : in.section.groups) add_curve(of, bits_points(*of.group), chart);
  add_panel(figure, "", chart);
  figure.legend = legend_of(in.section, true);
  return figure;
}

// The table and the report.

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

}  // namespace

std::vector<ChartPoint> evaluation_points(const TrainedGroup& group, const std::string& x,
                                          const std::string& y, std::string (*format)(double)) {
  std::vector<std::vector<double>> xs, ys;
  std::size_t longest = 0;
  for (const Point* point : group.used) {
    const auto evaluations = point->training->find("evaluations");
    if (evaluations == point->training->end() || !evaluations->is_object()) continue;
    xs.push_back(array_of(*evaluations, x));
    ys.push_back(array_of(*evaluations, y));
    longest = std::max(longest, std::min(xs.back().size(), ys.back().size()));
  }
  std::vector<ChartPoint> points;
  for (std::size_t i = 0; i < longest; ++i) {
    const std::vector<double> places = column(xs, i), values = column(ys, i);
    if (places.empty() || values.empty()) continue;
    const Estimate place = mean_of_samples(places), value = mean_of_samples(values);
    points.push_back({place.value, value.value, value.interval, group.trusted(),
                      told(group, place.value, x, format(value.value), values.size())});
  }
  return points;
}

std::vector<ChartPoint> bits_points(const TrainedGroup& group) {
  std::vector<std::vector<double>> seeds;
  std::size_t longest = 0;
  for (const Point* point : group.used) {
    const std::vector<double> dense = point->samples("dense_bytes"_metric);
    if (dense.empty() || !(dense.front() > 0)) continue;
    std::vector<double> bits = point->samples("payload_bytes"_metric);
    for (double& value : bits) value *= kBitsOfByte * kBytesOfElement / dense.front();
    longest = std::max(longest, bits.size());
    seeds.push_back(std::move(bits));
  }
  const std::size_t width = std::max<std::size_t>(1, (longest + kDrawnSteps - 1) / kDrawnSteps);
  std::vector<ChartPoint> points;
  for (std::size_t first = 0; first < longest; first += width) {
    double sum = 0, count = 0;
    const std::size_t end = std::min(first + width, longest);
    for (std::size_t i = first; i < end; ++i)
      for (const double value : column(seeds, i)) {
        sum += value;
        ++count;
      }
    if (count == 0) continue;
    const double step = 0.5 * static_cast<double>(first + end + 1);  // steps count from 1
    points.push_back({step, sum / count, std::nullopt, group.trusted(),
                      told(group, step, "steps", format_number(sum / count) + " bits per element",
                           seeds.size())});
  }
  return points;
}

std::vector<TrainingSection> training_sections(const TrainingSummary& summary) {
  std::vector<TrainingSection> sections;
  std::vector<std::string> labels;
  for (const TrainedGroup& group : summary.groups) {
    auto section = std::find_if(sections.begin(), sections.end(), [&](const TrainingSection& one) {
      return one.groups.front().group->comparable(group);
    });
    if (section == sections.end()) {
      const Axes& axes = group.axes;
      std::string title =
          counted(static_cast<std::size_t>(axes.ranks), "worker") + ", " + axes.link;
      if (axes.topology != "star") title += ", " + axes.topology;
      if (axes.stragglers != "none") title += ", stragglers " + axes.stragglers;
      if (axes.time_scale != 1) title += ", time scale " + format_number(axes.time_scale);
      section = sections.insert(sections.end(), {title, {}});
    }
    const bool is_none = group.baseline == Baseline::kFp32;
    section->groups.push_back({&group, is_none ? 0 : add_once(labels, group.label) + 1});
  }
  return sections;
}

std::vector<Figure> training_figures(const TrainingSummary& summary, const TrainingSection& section,
                                     const std::string& id) {
  const Sectioned in{summary, section, id};
  return with_panels({by_progress(in, "quality", "Quality on held-out data", summary.figure,
                                  quality_axis(summary)),
                      by_progress(in, "loss", "Loss on held-out data", "loss",
                                  {"loss on held-out data", false, format_number}),
                      to_target(in), final_quality(in), time_and_loss(in), bits_by_step(in)});
}

std::string render_training(const Records& records, ReportFormat format) {
  if (records.points.empty())
    throw InputError(records.file.string() +
                     ": no finished training yet, so there is nothing to report");
  const TrainingSummary summary = summarize_training(records);
  ReportWriter report(format, {.headline = kTrainingHeadline,
                               .facts = what_was_trained(records),
                               .findings = training_findings(summary),
                               .commands = reproduce_commands(records)});
  if (report.is_page()) {
    const std::vector<TrainingSection> sections = training_sections(summary);
    for (std::size_t i = 0; i < sections.size(); ++i) {
      const std::string id = "t" + std::to_string(i);
      report.figures(id, sections[i].title, training_figures(summary, sections[i], id));
    }
  }
  report.points("All trainings", trainings_table(records, summary), "trainings",
                training_commands(records, summary));
  if (const Table problems = problems_table(records); !problems.rows.empty())
    report.table("problems", "Invalid and failed trainings", problems);
  report.notes(records);
  return report.finish("Training", training_notes(summary), &records);
}

}  // namespace thinpipe
