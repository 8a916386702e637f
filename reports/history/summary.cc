// The results of a history: verdicts, sentences, tables and values.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <span>
#include <tuple>

#include "base/statistics.h"
#include "reports/gate/gate.h"
#include "reports/history/page.h"
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

}  // namespace thinpipe
