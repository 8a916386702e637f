// A history: its verdicts, sentences, tables and values; its figures, in which each point has a
// panel of value against launch; and its report.
#include "reports/history/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <tuple>

#include "base/statistics.h"
#include "base/text.h"
#include "reports/figures/style.h"
#include "reports/gate/gate.h"
#include "reports/gradients/records.h"
#include "reports/record/reader.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

std::vector<std::size_t> changes(const std::vector<double>& values) {
  std::vector<std::size_t> places;
  for (std::size_t i = 1; i < values.size(); ++i)
    if (values[i] != values[i - 1]) places.push_back(i);
  return places;
}

/// Sentences of one kind; further ones are only counted.
constexpr std::size_t kMaxSentences = 10;
constexpr std::size_t kBars = 16;  // fit one line of the table

/// Adds the first of `sentences`, then the number of the remaining `what`.
void add_some(const std::vector<std::string>& sentences, const std::string& what,
              std::vector<std::string>& findings) {
  const std::size_t shown = std::min(sentences.size(), kMaxSentences);
  findings.insert(findings.end(), sentences.begin(),
                  sentences.begin() + static_cast<std::ptrdiff_t>(shown));
  if (shown < sentences.size())
    findings.push_back(fmt::format("And {} more {}.", sentences.size() - shown, what));
}

// Returns the median of the values from one step to the next.
double level(const HistoryTrend& of, std::size_t step) {
  const std::size_t begin = step == 0 ? 0 : of.trend.steps[step - 1];
  const std::size_t end = step < of.trend.steps.size() ? of.trend.steps[step] : of.values.size();
  return median(std::span(of.values).subspan(begin, end - begin));
}

// Returns (after - before) / |before|; NaN where `before` is 0.
double relative_change(double before, double after) {
  return before != 0 ? (after - before) / std::abs(before) : NAN;
}

// Returns " (+5.3 %)"; "" without a finite change.
std::string change_between(double before, double after) {
  const double change = relative_change(before, after);
  return std::isfinite(change) ? fmt::format(" ({:+.1f} %)", 100 * change) : "";
}

std::vector<std::string> newest_sentences(const HistorySummary& summary) {
  std::vector<std::string> sentences;
  for (const MetricComparison& of : summary.outcome.comparisons) {
    if (of.verdict != Verdict::kWorse && of.verdict != Verdict::kBetter) continue;
    sentences.push_back(
        fmt::format("{} is {} in the newest launch: {}, {} {}{}.", series_title(of.name),
                    verdict_name(of.verdict), value_text(of.unit, of.kind, of.after),
                    of.kind == "exact" ? "in the launch before"
                                       : fmt::format("median of the {} before it", of.samples),
                    value_text(of.unit, of.kind, of.before),
                    of.kind == "exact" ? "" : change_between(of.before, of.after)));
  }
  return sentences;
}

std::vector<std::string> step_sentences(const HistorySummary& summary) {
  std::vector<std::string> sentences;
  for (const HistoryTrend& of : summary.trends) {
    for (std::size_t i = 0; i < of.trend.steps.size(); ++i) {
      const HistoryEntry& first = of.series.entries[of.trend.steps[i]];
      // newest_sentences() has the exact values that the newest launch changed.
      if (of.series.kind == "exact" && first.launch + 1 == summary.history.launches) continue;
      const double before = level(of, i), after = level(of, i + 1);
      sentences.push_back(
          fmt::format("{} went from {} to {}{} with launch {} ({}).", series_title(of.name),
                      history_value_text(of.series, before), history_value_text(of.series, after),
                      change_between(before, after), first.launch + 1, first.created));
    }
  }
  return sentences;
}

// Figures.

constexpr std::size_t kMaxPanels = 60;
constexpr std::size_t kValueStyle = 1, kOutlyingStyle = 2;

bool is_drawn(const HistoryTrend& of) {
  return of.values.size() > 1 && (of.series.kind != "exact" || !of.trend.steps.empty());
}

/// Returns the trends with the highest interest(), in their order among equals.
std::set<const HistoryTrend*> drawn_ones(const HistorySummary& summary) {
  std::vector<const HistoryTrend*> all;
  for (const HistoryTrend& of : summary.trends)
    if (is_drawn(of)) all.push_back(&of);
  std::ranges::stable_sort(all, std::greater(), &HistoryTrend::interest);
  all.resize(std::min(all.size(), kMaxPanels));
  return {all.begin(), all.end()};
}

std::string (*format_of(const std::string& unit))(double) {
  if (unit == "s") return format_time;
  if (unit == "bit/s") return format_rate;
  if (unit == "B") return format_bytes;
  return format_number;
}

ChartPoint chart_point(const HistoryTrend& of, std::size_t i, const History& history) {
  const HistoryEntry& entry = of.series.entries[i];
  ChartPoint point;
  point.x = static_cast<double>(entry.launch + 1);
  point.y = entry.value;
  const std::string& revision = history.origins[entry.launch].revision;
  point.tooltip = "launch " + std::to_string(entry.launch + 1) + ", " + entry.created +
                  (revision.empty() ? "" : ", " + revision) + "\n" +
                  history_value_text(of.series, entry.value);
  if (const Standing* standing = of.standing(i)) {
    const double reach = quiet_reach(*standing, of.margin);
    point.tooltip += (of.is_outlying(i) ? ", outlying: " : ", as expected: ") +
                     history_value_text(of.series, standing->typical - reach) + " to " +
                     history_value_text(of.series, standing->typical + reach);
  }
  return point;
}

Chart chart_of(const HistoryTrend& of, const std::string& id, const History& history) {
  Chart chart;
  chart.id = id;
  chart.alt = series_title(of.name) + " in " + std::to_string(of.values.size()) +
              " launches, newest " + history_value_text(of.series, of.values.back());
  chart.x = {"launch", false, format_number, {1, static_cast<double>(history.launches)}};
  for (std::size_t launch = 1; launch <= history.launches; ++launch)
    chart.x.ticks.push_back(static_cast<double>(launch));
  chart.y.format = format_of(of.series.unit);
  const bool names_unit = chart.y.format != format_number || of.series.unit == "1";
  chart.y.label = of.name.second + (names_unit ? "" : ", " + of.series.unit);
  Curve curve{kValueStyle, true, true};
  chart.bands.emplace_back();
  std::size_t since = 0;  // the values that make a step are compared with the level before it
  for (std::size_t i = 0; i < of.values.size(); ++i) {
    const ChartPoint point = chart_point(of, i, history);
    if (of.begins_step(i)) chart.upright_lines.push_back(point.x - 0.5);
    if (const Standing* standing = of.standing(i)) {
      const double reach = quiet_reach(*standing, of.margin);
      if (standing->since != since) chart.bands.emplace_back();
      since = standing->since;
      chart.bands.back().push_back(
          {point.x, standing->typical - reach, standing->typical, standing->typical + reach});
    }
    if (of.is_outlying(i)) chart.marks.push_back({point.x, point.y, kOutlyingStyle, point.tooltip});
    curve.points.push_back(point);
  }
  chart.curves.push_back(std::move(curve));
  return chart;
}

std::vector<LegendEntry> history_legend(bool is_exact) {
  const std::string line =
      "<svg class='marker' viewBox='0 0 14 14' width='14' height='14' aria-hidden='true' "
      "style='stroke:var(--muted);stroke-width:1.5;fill:none'>";
  std::vector<LegendEntry> entries = {{marker_svg(kValueStyle), "a launch"}};
  if (!is_exact) {
    entries.push_back(
        {"<span class='swatch' aria-hidden='true' "
         "style='background:var(--muted);opacity:.3'></span>",
         "expected"});
    entries.push_back({line + "<path d='M0,7H14'/></svg>", "median of earlier launches"});
    entries.push_back(
        {"<svg class='marker' viewBox='0 0 14 14' width='14' height='14' aria-hidden='true' "
         "style='stroke:var(--s2);stroke-width:2;fill:none'><path d='M7,1L13,7L7,13L1,7z'/></svg>",
         "outlying"});
  }
  entries.push_back({line + "<path stroke-dasharray='3 2' d='M7,0V14'/></svg>",
                     is_exact ? "another value" : "accepted step"});
  return entries;
}

Figure figure_of(const std::string& metric, const HistorySeries& series, std::size_t number) {
  Figure figure{"history-" + std::to_string(number), metric};
  const bool is_exact = series.kind == "exact";
  figure.caption = is_exact ? "Exact values, which change only with the code."
                            : "Band: the values that would not be outlying, by the launches before "
                              "each one. It begins after enough launches, and again after a step.";
  if (series.better == "lower" || series.better == "higher")
    figure.caption +=
        " " + std::string(series.better == "lower" ? "Lower" : "Higher") + " is better.";
  figure.legend = history_legend(is_exact);
  return figure;
}

namespace fs = std::filesystem;

constexpr const char* kHistoryHeadline = "Changes from launch to launch";

}  // namespace

bool HistoryTrend::is_outlying(std::size_t entry) const {
  return standing(entry) != nullptr && thinpipe::is_outlying(*standing(entry), margin);
}

bool HistoryTrend::makes_step(std::size_t entry) const {
  return std::any_of(trend.steps.begin(), trend.steps.end(),
                     [&](std::size_t step) { return entry >= step && entry < step + kStepLength; });
}

int HistoryTrend::interest() const {
  if (verdict == Verdict::kWorse) return 3;
  if (verdict == Verdict::kBetter) return 2;
  if (!trend.steps.empty()) return 1;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (is_outlying(i)) return 1;
  return 0;
}

HistorySummary summarize(History history) {
  const GatePolicy policy;
  HistorySummary summary;
  summary.outcome = judge_history(history, policy);
  std::map<SeriesName, Verdict> verdicts;
  for (const MetricComparison& comparison : summary.outcome.comparisons)
    verdicts[comparison.name] = comparison.verdict;
  for (const auto& [name, series] : history.series) {
    const GateMargins margins = policy.of(name.first, name.second, policy.stored(series.kind));
    if (margins.ignore) continue;
    HistoryTrend shown;
    shown.name = name;
    shown.series = series;
    for (const HistoryEntry& entry : series.entries) shown.values.push_back(entry.value);
    if (series.kind == "exact") {
      shown.trend.steps = changes(shown.values);
    } else {
      shown.margin = margins.margin;
      shown.trend = trend(shown.values, shown.margin);
    }
    shown.is_newest = series.entries.back().launch + 1 == history.launches;
    const auto verdict = verdicts.find(name);
    shown.verdict = verdict == verdicts.end() ? Verdict::kUnclear : verdict->second;
    summary.trends.push_back(std::move(shown));
  }
  std::ranges::stable_sort(summary.trends, {}, [](const HistoryTrend& of) {
    return std::tie(of.name.second, of.name.first);
  });
  summary.history = std::move(history);
  return summary;
}

std::string history_value_text(const HistorySeries& series, double value) {
  return value_text(series.unit, series.kind, value);
}

std::string history_csv(const HistorySummary& summary) {
  std::string text =
      "launch,created,point,metric,unit,better,kind,value,typical,least,most,outlying,step\r\n";
  for (const HistoryTrend& of : summary.trends) {
    for (std::size_t i = 0; i < of.values.size(); ++i) {
      const HistoryEntry& entry = of.series.entries[i];
      text += fmt::format("{},{},{},{},{},{},{},{},", entry.launch + 1, escape_csv(entry.created),
                          escape_csv(of.name.first), escape_csv(of.name.second),
                          escape_csv(of.series.unit), escape_csv(of.series.better),
                          escape_csv(of.series.kind), entry.value);
      if (const Standing* standing = of.standing(i)) {
        const double reach = quiet_reach(*standing, of.margin);
        text += fmt::format("{:.9g},{:.9g},{:.9g},", standing->typical, standing->typical - reach,
                            standing->typical + reach);
      } else {
        text += ",,,";
      }
      text += fmt::format("{},{}\r\n", of.is_outlying(i) ? "yes" : "no",
                          of.begins_step(i) ? "yes" : "no");
    }
  }
  return text;
}

std::string history_subject(const HistorySummary& summary) {
  const History& history = summary.history;
  return fmt::format("{}, {}, {} to {}", history.kind,
                     counted(history.launches, "launch", "launches"),
                     history.origins.front().created, history.origins.back().created);
}

std::vector<std::string> history_findings(const HistorySummary& summary) {
  const GateOutcome& outcome = summary.outcome;
  std::vector<std::string> findings;
  if (outcome.comparisons.empty())
    findings.push_back("There is no earlier launch to compare the newest one with.");
  else
    findings.push_back(
        fmt::format("Of {} in the newest launch, {} worse, {} better, {} the same and {} unclear "
                    "after too few launches.",
                    counted(outcome.comparisons.size(), "metric"), outcome.count(Verdict::kWorse),
                    outcome.count(Verdict::kBetter), outcome.count(Verdict::kSame),
                    outcome.count(Verdict::kUnclear)));
  add_some(newest_sentences(summary), "that changed in the newest launch", findings);
  add_some(step_sentences(summary), "changes of level", findings);
  std::size_t passing = 0;
  for (const HistoryTrend& of : summary.trends)
    for (std::size_t i = 0; i + 1 < of.values.size(); ++i)
      passing += of.is_outlying(i) && !of.makes_step(i);
  if (passing > 0)
    findings.push_back(fmt::format("Before the newest launch, {} without a change of level.",
                                   counted(passing, "value was outlying", "values were outlying")));
  std::vector<std::string> absent = outcome.missing;
  for (const std::string& failed : outcome.failed)
    absent.push_back("In the newest launch, " + failed);
  for (std::string& sentence : absent) {
    sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
    sentence += ".";
  }
  add_some(absent, "that the newest launch lacks", findings);
  add_some(summary.history.notes, "files with such errors", findings);
  return findings;
}

std::vector<std::string> history_method_notes() {
  return {
      "A launch's value is the median of its samples for times, their mean for others.",
      fmt::format(
          "A value is outlying where it differs from the median of the earlier values by the "
          "margin (10 % of times, 1 % of quality) or more, and by more than {:g} times the "
          "expected scatter of one more value. That scatter is 1.4826 times the median absolute "
          "deviation of the n values since the last step, outlying ones excluded, times the root "
          "of 1 + 1/n. There are at least {} such values.",
          kOutlyingZ, kMinBefore),
      fmt::format("{} outlying values in a row, on one side, are accepted as a step; later values "
                  "are compared with them.",
                  kStepLength),
      "Exact values (bytes, bits per element, passes, allocations) must equal those of the launch "
      "before.",
      "Times in seconds are only those of the newest launch's machine; ratios are those of all "
      "launches. Metrics of the machine rather than of thinpipe are left out, as in `thinpipe "
      "gate`."};
}

Table history_trends_table(const HistorySummary& summary) {
  Table table;
  table.columns = {"metric", "point", "trend", "newest", "before", "change", "launches", "verdict"};
  table.text_columns = 3;
  for (const HistoryTrend& of : summary.trends) {
    const bool is_exact = of.series.kind == "exact";
    std::vector<TableCell> row = {{of.name.second}, {of.name.first}, {sparkline(of.values, kBars)}};
    row.push_back({history_value_text(of.series, of.values.back()), "", of.values.back()});
    double before = NAN;
    if (const Standing* standing = of.standing(of.values.size() - 1)) before = standing->typical;
    if (is_exact && of.values.size() > 1) before = of.values[of.values.size() - 2];
    row.push_back(std::isfinite(before)
                      ? TableCell{history_value_text(of.series, before), "", before}
                      : TableCell{kAbsent});
    row.push_back(figure_cell(relative_change(before, of.values.back()), [](double fraction) {
      return fmt::format("{:+.2f} %", 100 * fraction);
    }));
    row.push_back(count_cell(of.values.size()));
    TableCell now{of.is_newest ? verdict_name(of.verdict) : "missing"};
    now.is_best = of.is_newest && of.verdict == Verdict::kBetter;
    now.is_untrusted = !of.is_newest;
    row.push_back(std::move(now));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table history_launches_table(const HistorySummary& summary) {
  Table table;
  table.columns = {"launch", "begun", "revision", "CPU", "records"};
  table.text_columns = table.columns.size();
  std::size_t number = 0;
  for (const HistoryLaunch& launch : summary.history.origins)
    table.rows.push_back({{std::to_string(++number)},
                          {launch.created},
                          {launch.revision.empty() ? kAbsent : launch.revision},
                          {launch.processor.empty() ? kAbsent : launch.processor},
                          {launch.file.string()}});
  return table;
}

std::vector<Figure> history_figures(const HistorySummary& summary) {
  const std::set<const HistoryTrend*> drawn = drawn_ones(summary);
  std::vector<Figure> result;
  std::size_t count = 0;
  for (const HistoryTrend& of : summary.trends) {
    if (!drawn.contains(&of)) continue;
    if (result.empty() || result.back().title != of.name.second)
      result.push_back(figure_of(of.name.second, of.series, result.size()));
    Figure& figure = result.back();
    add_panel(figure, of.name.first,
              chart_of(of, "history-chart-" + std::to_string(count++), summary.history));
  }
  result = with_panels(std::move(result));
  const auto all = static_cast<std::size_t>(
      std::count_if(summary.trends.begin(), summary.trends.end(), is_drawn));
  if (!result.empty() && all > drawn.size())
    result.front().caption += " Of " + std::to_string(all) + " metrics of points, " +
                              std::to_string(drawn.size()) +
                              " are drawn, those with changes first; the table has all.";
  return result;
}

bool is_history(const fs::path& folder_or_file) {
  std::error_code failure;
  if (fs::is_directory(folder_or_file, failure) &&
      !fs::exists(folder_or_file / kRecordFileName, failure)) {
    if (fs::exists(folder_or_file / kStatsFileName, failure)) return false;
    return !history_files(folder_or_file).empty();
  }
  const std::string kind = text_in(first_record(folder_or_file).value_or(nullptr), "kind");
  return kind == kBenchKind || kind == kQualityKind;
}

std::string render_history(const HistorySummary& summary, ReportFormat format,
                           const std::vector<fs::path>& folders) {
  std::vector<std::string> command = {"thinpipe", "report", "--history"};
  for (const fs::path& folder : folders) command.push_back(folder.string());
  ReportWriter report(format, {.headline = kHistoryHeadline,
                               .facts = history_subject(summary),
                               .findings = history_findings(summary),
                               .commands = {shell_quoted(command)}});
  if (report.is_page()) report.figures(history_figures(summary));
  report.table("series", "Every metric", history_trends_table(summary));
  report.table("launches", "Launches", history_launches_table(summary), /*is_sortable=*/false);
  return report.finish("History", history_method_notes(), /*origin=*/nullptr);
}

}  // namespace thinpipe
