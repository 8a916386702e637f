// The speed of compressors as a page or as Markdown: findings, figures, a table.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "base/escape.h"
#include "base/text.h"
#include "reports/bench/bench.h"
#include "reports/figures/style.h"
#include "reports/page/page.h"
#include "reports/page/table.h"
#include "reports/text/phrases.h"
#include "reports/text/provenance.h"

namespace thinpipe {
namespace {

using Pick = std::optional<Estimate> BenchLine::*;

std::string estimate_text(const Estimate& estimate, std::string (*format)(double)) {
  return format(estimate.value) +
         (estimate.interval ? " (95 % CI " + format_interval(estimate, format) + ")" : "");
}

// Draws a panel per setting and a row per compressor; the marker is the median.
Figure rows_figure(const BenchSummary& summary, const std::string& id, const std::string& title,
                   const std::string& caption, const std::string& axis, Pick pick) {
  Figure figure{id, title, caption};
  for (const BenchSetting& setting : summary.settings) {
    BoxChart chart{.id = panel_id(figure),
                   .alt = title + ", " + setting.title,
                   .axis = {axis, true, format_number, {1.0}},
                   .reference_lines = {1.0}};
    for (const BenchLine& line : setting.lines)
      if (const std::optional<Estimate>& value = line.*pick)
        chart.rows.push_back(
            {line.label, line.style, value->value, value->interval, std::nullopt, line.is_trusted,
             line.point->axes.compressor + "\n" + estimate_text(*value, format_number)});
    std::ranges::stable_sort(chart.rows, {}, &BoxRow::middle);
    if (!chart.rows.empty()) add_panel(figure, setting.title, chart);
  }
  return figure;
}

// Curves over the one axis in which settings or lines differ.
using Abscissa = std::function<std::optional<double>(const BenchSetting&, const BenchLine&)>;
using CurveName = std::function<std::string(const BenchSetting&, const BenchLine&)>;

Figure curves_figure(const BenchSummary& summary, Figure figure, const Axis& x,
                     const Abscissa& abscissa, const CurveName& panel, const CurveName& name) {
  std::vector<std::string> panels;
  for (const BenchSetting& setting : summary.settings)
    for (const BenchLine& line : setting.lines) add_once(panels, panel(setting, line));
  std::set<std::pair<std::size_t, std::string>> known;
  for (const std::string& title : panels) {
    Chart chart{.id = panel_id(figure),
                .alt = figure.title + ", " + title,
                .x = x,
                .y = {"encode", true, format_time}};
    std::set<double> places;
    for (const BenchSetting& setting : summary.settings) {
      for (const BenchLine& line : setting.lines) {
        const std::optional<double> place = abscissa(setting, line);
        if (panel(setting, line) != title || !place || !line.encode) continue;
        places.insert(*place);
        const std::string label = name(setting, line);
        auto curve = std::ranges::find(chart.curves, label, &Curve::name);
        if (curve == chart.curves.end())
          curve = chart.curves.insert(curve, {line.style, true, true, {}, label});
        curve->points.push_back(
            {*place, line.encode->value, line.encode->interval, true,
             line.label + ", " + setting.title + "\n" + estimate_text(*line.encode, format_time)});
      }
    }
    if (places.size() < 2) continue;
    for (Curve& curve : chart.curves) {
      std::ranges::sort(curve.points, {}, &ChartPoint::x);
      if (known.emplace(curve.style, curve.name).second)
        figure.legend.push_back({line_marker_svg(curve.style), curve.name});
    }
    // The limit: the time to read the input.
    Guide limit;
    for (const BenchSetting& setting : summary.settings)
      for (const BenchLine& line : setting.lines)
        if (const auto place = abscissa(setting, line);
            place && panel(setting, line) == title && setting.read_seconds > 0)
          limit.emplace_back(*place, setting.read_seconds);
    std::sort(limit.begin(), limit.end());
    chart.guides.push_back(limit);
    add_panel(figure, title, chart);
  }
  return figure;
}

// Returns the settings that one panel of times against size has in common.
std::string size_panel(const BenchSetting& setting, const BenchLine& line) {
  const BenchSubject& subject = setting.subject;
  return (line.ratio ? "ratio " + format_number(*line.ratio) : "no ratio") + ", " +
         counted(static_cast<std::size_t>(subject.threads), "thread") +
         (subject.simd.empty() ? "" : ", " + subject.simd);
}

Figure time_by_size(const BenchSummary& summary) {
  return curves_figure(
      summary,
      {"latency-size", "Time against size",
       "Median encode times with 95 % intervals. Dashed: the time in which this machine reads the "
       "input, a lower bound for every encode that reads all of it."},
      {"elements", true, format_tick},
      [](const BenchSetting& setting, const BenchLine&) -> std::optional<double> {
        return setting.subject.elements;
      },
      size_panel,
      [&summary](const BenchSetting&, const BenchLine& line) {
        return summary.families.at(line.style - 1);
      });
}

Figure time_by_ratio(const BenchSummary& summary) {
  return curves_figure(
      summary,
      {"latency-ratio", "Time against ratio",
       "Median encode times with 95 % intervals of the methods that take a ratio. Dashed: the time "
       "in which this machine reads the input."},
      {"requested ratio", true, format_tick},
      [](const BenchSetting&, const BenchLine& line) { return line.ratio; },
      [](const BenchSetting& setting, const BenchLine&) { return setting.title; },
      [&summary](const BenchSetting&, const BenchLine& line) {
        return summary.families.at(line.style - 1);
      });
}

Figure bits_and_error(const BenchSummary& summary) {
  Figure figure{"bits-error", "Payload against relative error",
                "Payload bits per element against the norm of decoded minus input over the norm of "
                "the input. Lower left is better. The dashed line is the Pareto front: compressors "
                "above and right of it are dominated by another."};
  for (const BenchSetting& setting : summary.settings) {
    DotChart chart{.id = panel_id(figure),
                   .alt = figure.title + ", " + setting.title,
                   .x = {"bits per element", true, format_number},
                   .y = {"relative error", false, format_percent, {0.0}},
                   .has_front = true};
    for (const BenchLine& line : setting.lines) {
      if (!line.bits || !line.error) continue;
      chart.dots.push_back({line.label, line.style, *line.bits, *line.error, std::nullopt,
                            std::nullopt, line.is_trusted,
                            line.label + "\n" + format_number(*line.bits) +
                                " bits per element, error " + format_percent(*line.error)});
    }
    if (chart.dots.size() < 2) continue;
    add_panel(figure, setting.title, dots_chart(chart));
    // Errors depend only on the input: they are equal for all threads and instruction sets.
    if (figure.panels.size() == 1 || summary.settings.size() < 2) {
      for (std::size_t i = 0; i < summary.families.size(); ++i)
        figure.legend.push_back({marker_svg(i + 1), summary.families[i]});
      break;
    }
  }
  return figure;
}

constexpr const char* kBenchHeadline = "Speed of compressors on this machine";

Table bench_table(const BenchSummary& summary) {
  Table table{{"compressor", "status", "input", "threads", "elements", "encode", "encode / read",
               "share of the floor", "vs Top-k", "decode", "bits / element", "error", "k\xcc\x82/k",
               "passes"},
              3};
  table.facets = {0, 1, 2, 3};
  for (const BenchSetting& setting : summary.settings) {
    for (const BenchLine& line : setting.lines) {
      const BenchSubject& subject = setting.subject;
      std::vector<TableCell> row = {
          {line.label, "", std::nullopt, line.style},
          {status_name(line.point->status), joined(line.point->reasons, "; ")},
          {subject.tensor, subject.simd},
          count_cell(static_cast<std::size_t>(subject.threads)),
          {fmt::format("{:.0f}", subject.elements), "", subject.elements},
          figure_cell(line.encode, format_time, false),
          figure_cell(line.encode_over, format_number, false),
          figure_cell(line.floor_share, format_percent),
          figure_cell(line.speedup, format_number, false),
          figure_cell(line.decode, format_time, false),
          figure_cell(line.bits, format_number),
          figure_cell(line.error, format_percent),
          figure_cell(line.quality, format_number),
          figure_cell(line.passes, format_number)};
      if (!line.is_trusted)
        for (TableCell& cell : row) cell.is_untrusted = true;
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

// Returns the commands of the rows of bench_table().
std::vector<std::string> bench_commands(const BenchSummary& summary, const Records& records) {
  std::vector<std::string> commands;
  for (const BenchSetting& setting : summary.settings)
    for (const BenchLine& line : setting.lines)
      commands.push_back(again_command(records, *line.point));
  return commands;
}

std::vector<std::string> bench_notes() {
  return {
      "Times are medians over the repetitions, with exact 95 % intervals from order statistics; "
      "fewer than 6 repetitions give no interval. Repetitions of all compressors of a run were "
      "taken in random order.",
      "vs Top-k: the median encode time of Top-k with the same ratio, and the same memory where "
      "that was measured, over the compressor's; percentile interval of 2000 resamplings.",
      "Encode / read: the encode time over the time in which the same run read the input, with the "
      "best of 1, 2, 4 and 8 streams.",
      "Share of the floor: the time in which the same run moved the data that the method's "
      "definition forces an encode to move, or did its arithmetic, over the encode time. GPUs and "
      "records of earlier versions have no floor.",
      "Bits, error, k\xcc\x82/k (sent elements over requested elements) and passes are means over "
      "the steps before timing and depend only on the seed. A compressor fails where its payloads "
      "or decoded values differ from those of the plainest instruction set; it has no times then."};
}

std::string where_line(const Records& records) {
  std::string line = trace_line(records);
  if (line.empty()) line = std::to_string(records.points.size()) + " points";
  return line + (records.headers.empty() ? "" : ", " + records.headers.back().created);
}

}  // namespace

std::vector<Figure> bench_figures(const BenchSummary& summary) {
  return with_panels(
      {rows_figure(summary, "speedup-topk", "Speed-up over Top-k",
                   "Median encode time of Top-k at the same ratio over that of the compressor, "
                   "with the 95 % percentile interval of 2000 resamplings. Right of the dashed "
                   "line the compressor is faster than Top-k. Methods without a ratio are left "
                   "out.",
                   "speed-up over Top-k", &BenchLine::speedup),
       rows_figure(summary, "encode-roofline", "Encode against the memory roofline",
                   "Median encode time over the time in which this machine read the input in the "
                   "same run, with its 95 % interval. The dashed line is the time to read.",
                   "encode / time to read", &BenchLine::encode_over),
       rows_figure(summary, "decode-roofline", "Decode against the memory roofline",
                   "Median decode time over the time in which this machine read the input in the "
                   "same run, with its 95 % interval. Decoding a sparse payload writes less than "
                   "the input and can be faster.",
                   "decode / time to read", &BenchLine::decode_over),
       time_by_size(summary), time_by_ratio(summary), bits_and_error(summary)});
}

std::string render_bench_html(const Records& records) {
  const BenchSummary summary = summarize_bench(records);
  std::string page = html::masthead(kBenchHeadline, escape_html(where_line(records))) +
                     html::findings(bench_findings(summary));
  if (const std::vector<Figure> figures = bench_figures(summary); !figures.empty())
    page += html::section("drawn", "Figures", html::figures(figures, reproduce_commands(records)));
  Table all = bench_table(summary);
  const std::string csv = html::csv("bench", "All points (CSV)", table_csv(all));
  add_commands(all, bench_commands(summary, records));
  page += html::section("all", "All points", html::table(all, "All points", true) + csv);
  if (!records.notes.empty())
    page += html::section("notes", "Notes on the records file", html::list(records.notes));
  page += html::section("method", "How it was computed", html::list(bench_notes())) +
          html::section("origin", "Provenance", html::provenance(records));
  return html::document("Bench \xe2\x80\x93 thinpipe report", page);
}

std::string render_bench_markdown(const Records& records) {
  const BenchSummary summary = summarize_bench(records);
  std::string text = "# " + std::string(kBenchHeadline) + "\n\n" +
                     escape_markdown(where_line(records)) + "\n\n## Findings\n\n" +
                     markdown::bullets(bench_findings(summary)) + "## All points\n\n" +
                     markdown::table(bench_table(summary));
  if (!records.notes.empty())
    text += "## Notes on the records file\n\n" + markdown::bullets(records.notes);
  return text + "## How it was computed\n\n" + markdown::bullets(bench_notes()) +
         "## How to reproduce\n\n" + markdown::code_block(reproduce_commands(records)) +
         "## Provenance\n\n" + markdown::provenance(records);
}

}  // namespace thinpipe
