// From the records of a bench to comparable lines, findings, figures, a table and the report.
#include "reports/bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/text.h"
#include "reports/figures/style.h"
#include "reports/page/page.h"
#include "reports/page/table.h"
#include "reports/text/phrases.h"
#include "reports/text/provenance.h"

namespace thinpipe {
namespace {

std::optional<Estimate> median_in(const Point& point, const MetricType& metric) {
  const std::vector<double> samples = point.samples(metric);
  if (samples.empty()) return std::nullopt;
  const Repeats repeats = {samples};
  return median_of(repeats, bootstrap_median(repeats, 0));
}

std::optional<double> single(const Point& point, const MetricType& metric) {
  const std::vector<double> samples = point.samples(metric);
  return samples.empty() ? std::nullopt : std::optional(samples.front());
}

BenchSubject subject_of(const Point& point) { return point.bench.value_or(BenchSubject()); }

std::string memory_of(const Point& point) {
  for (const std::string& pair : spec_parameters(point.axes.compressor))
    if (pair.starts_with("memory=")) return pair;
  return "";
}

std::string title_of(const BenchSubject& subject) {
  const std::string where = subject.device == "cuda"
                                ? "on a GPU"
                                : counted(static_cast<std::size_t>(subject.threads), "thread");
  return fmt::format("{}, {:.0f} elements, {}{}{}", subject.tensor, subject.elements, where,
                     subject.simd.empty() ? "" : ", " + subject.simd,
                     subject.residency == "cache" ? ", inputs in the cache" : "");
}

BenchLine line_of(const Point& point) {
  BenchLine line;
  line.point = &point;
  line.ratio = subject_of(point).ratio;
  line.is_trusted = point.status == Status::kOk;
  if (!line.is_trusted) return line;
  line.encode = median_in(point, "encode_time"_metric);
  line.decode = median_in(point, "decode_time"_metric);
  line.encode_over = median_in(point, "encode_over_read"_metric);
  line.decode_over = median_in(point, "decode_over_read"_metric);
  if (const auto floor = single(point, "encode_floor"_metric); floor && line.encode)
    line.floor_share = *floor / line.encode->value;
  line.bits = single(point, "bits_per_element"_metric);
  line.error = single(point, "relative_error"_metric);
  line.quality = single(point, "quality"_metric);
  line.passes = single(point, "passes"_metric);
  return line;
}

// Returns the Top-k at the ratio, preferably with the same memory: a memory may cost a pass.
const Point* top_k_for(const BenchSetting& setting, const BenchLine& line) {
  const Point* found = nullptr;
  for (const BenchLine& other : setting.lines) {
    if (other.point->axes.method != "topk" || !other.is_trusted || other.ratio != line.ratio)
      continue;
    if (found == nullptr || memory_of(*other.point) == memory_of(*line.point)) found = other.point;
  }
  return found;
}

void set_speedups(BenchSetting& setting) {
  for (BenchLine& line : setting.lines) {
    if (!line.is_trusted || !line.ratio) continue;
    const Point* reference = top_k_for(setting, line);
    if (reference == nullptr) continue;
    const std::vector<double> own = line.point->samples("encode_time"_metric);
    const std::vector<double> others = reference->samples("encode_time"_metric);
    if (own.empty() || others.empty()) continue;
    // Repetitions of all compressors run in random order, so both samples are independent.
    line.speedup = ratio_of_medians(bootstrap_median({others}, 1), bootstrap_median({own}, 2));
    if (reference == line.point) line.speedup = Estimate{1, std::nullopt};
  }
}

auto setting_of(const BenchSubject& of) {
  return std::tie(of.tensor, of.elements, of.threads, of.simd, of.residency, of.device);
}

void name_lines(BenchSummary& summary) {
  std::vector<std::string> specs;
  for (const BenchSetting& setting : summary.settings)
    for (const BenchLine& line : setting.lines) add_once(specs, line.point->axes.compressor);
  const std::vector<std::string> labels = short_labels(specs);
  for (BenchSetting& setting : summary.settings)
    for (BenchLine& line : setting.lines) {
      const std::string& spec = line.point->axes.compressor;
      line.label = labels[add_once(specs, spec)];
      line.style = add_once(summary.families, split_amount(spec).family) + 1;
    }
}

constexpr double kDenseBits = 32;  // of an uncompressed element

// Returns the setting that the findings are about: the last input with the fewest threads, and of
// several instruction sets the one that was measured first (`--simd all` begins with the best).
const BenchSetting& main_setting(const BenchSummary& summary) {
  const auto input_of = [](const BenchSubject& of) {
    return std::tie(of.tensor, of.elements, of.residency, of.device);
  };
  const auto last = input_of(summary.settings.back().subject);
  const BenchSetting* chosen = nullptr;
  for (const BenchSetting& setting : summary.settings)
    if (input_of(setting.subject) == last &&
        (chosen == nullptr || setting.subject.threads < chosen->subject.threads))
      chosen = &setting;
  return *chosen;
}

// "4× (95 % CI 3.9 to 4.1)", with `what` after the sign.
std::string times_with_interval(const Estimate& estimate, const std::string& what = "") {
  std::string text = format_number(estimate.value) + "\xc3\x97" + what;
  if (estimate.interval) text += " (95 % CI " + format_interval(estimate, format_number) + ")";
  return text;
}

// Returns a sentence with the size and the error that a compressor has in return for its speed: "
// It sends 0.64 bits per element with a relative error of 90 %."
std::string price_of(const BenchLine& line) {
  const std::string error = line.error ? format_percent(*line.error) : "";
  if (!line.bits) return error.empty() ? "" : " Its relative error is " + error + ".";
  return " It sends " + format_number(*line.bits) + " bits per element" +
         (error.empty() ? "" : " with a relative error of " + error) + ".";
}

std::string fastest_sentence(const BenchSetting& setting) {
  const BenchLine* fastest = nullptr;
  for (const BenchLine& line : setting.lines)
    if (line.encode && line.bits && *line.bits < kDenseBits &&
        (fastest == nullptr || line.encode->value < fastest->encode->value))
      fastest = &line;
  if (fastest == nullptr) return "";
  std::string text = fastest->label + " encodes fastest among the compressors (" + setting.title +
                     "): " + format_time(fastest->encode->value);
  if (fastest->encode_over)
    text += ", " + times_with_interval(*fastest->encode_over, " the time to read the input");
  return text + "." + price_of(*fastest);
}

std::string top_k_sentence(const BenchSetting& setting) {
  const BenchLine* best = nullptr;
  for (const BenchLine& line : setting.lines)
    if (line.speedup && line.point->axes.method != "topk" &&
        (best == nullptr || line.speedup->value > best->speedup->value))
      best = &line;
  if (best == nullptr) return "";
  const bool holds_one = best->speedup->interval && best->speedup->interval->holds(1);
  return best->label + " has the highest speed-up over Top-k at the same ratio: " +
         times_with_interval(*best->speedup) +
         (holds_one ? ", statistically indistinguishable from 1" : "") + "." + price_of(*best);
}

std::string warning_sentence(const BenchSummary& summary) {
  int all = 0, bad = 0, on_gpu = 0;
  for (const BenchSetting& setting : summary.settings)
    for (const BenchLine& line : setting.lines) {
      ++all;
      on_gpu += setting.subject.device == "cuda" ? 1 : 0;
      bad += line.is_trusted ? 0 : 1;
    }
  if (bad == 0) {
    const std::string passed =
        all == 1 ? "The line passed" : "All " + std::to_string(all) + " lines passed";
    if (on_gpu == all)
      return passed + " validation: payloads are those of the CPU implementation, byte for byte.";
    return passed + " validation: decoded values are the same bits as with the " +
           (on_gpu > 0 ? "CPU implementation" : "plainest instruction set") + ".";
  }
  return std::to_string(bad) + " of " + std::to_string(all) + " lines failed validation and " +
         (bad == 1 ? "has" : "have") + " no times. The table states the reason.";
}

// Figures.

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

BenchSummary summarize_bench(const Records& records) {
  if (records.points.empty())
    throw InputError(records.file.string() +
                     ": no finished point yet, so there is nothing to report");
  BenchSummary summary;
  for (const Point& point : records.points) {
    const BenchSubject subject = subject_of(point);
    auto setting = std::find_if(summary.settings.begin(), summary.settings.end(), [&](auto& one) {
      return setting_of(one.subject) == setting_of(subject);
    });
    if (setting == summary.settings.end())
      setting = summary.settings.insert(setting, {subject, title_of(subject), 0, {}});
    setting->lines.push_back(line_of(point));
    const auto read = single(point, "read_time"_metric);
    if (read && (setting->read_seconds == 0 || *read < setting->read_seconds))
      setting->read_seconds = *read;
  }
  std::ranges::stable_sort(summary.settings, {}, [](const BenchSetting& one) {
    return std::tuple(one.subject.elements, one.subject.threads);
  });
  for (BenchSetting& setting : summary.settings) set_speedups(setting);
  name_lines(summary);
  return summary;
}

std::vector<std::string> bench_findings(const BenchSummary& summary) {
  const BenchSetting& setting = main_setting(summary);
  std::vector<std::string> sentences = {fastest_sentence(setting), top_k_sentence(setting),
                                        warning_sentence(summary)};
  std::erase(sentences, "");
  return sentences;
}

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

std::string render_bench(const Records& records, ReportFormat format) {
  const BenchSummary summary = summarize_bench(records);
  ReportWriter report(format, {.headline = kBenchHeadline,
                               .facts = where_line(records),
                               .findings = bench_findings(summary),
                               .commands = reproduce_commands(records)});
  if (report.is_page()) report.figures(bench_figures(summary));
  report.points("All points", bench_table(summary), "bench", bench_commands(summary, records));
  report.notes(records);
  return report.finish("Bench", bench_notes(), &records);
}

}  // namespace thinpipe
