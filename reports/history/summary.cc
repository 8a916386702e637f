#include "reports/history/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "reports/gate/words.h"
#include "reports/text/escape.h"

namespace thinpipe {
namespace {

std::vector<std::size_t> changes(const std::vector<double>& values) {
  std::vector<std::size_t> places;
  for (std::size_t i = 1; i < values.size(); ++i)
    if (values[i] != values[i - 1]) places.push_back(i);
  return places;
}

}  // namespace

bool HistoryTrend::is_outlying(std::size_t entry) const {
  return entry < trend.standings.size() && trend.standings[entry] &&
         thinpipe::is_outlying(*trend.standings[entry], margin);
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
  std::stable_sort(summary.trends.begin(), summary.trends.end(), [](const auto& a, const auto& b) {
    return std::tie(a.name.second, a.name.first) < std::tie(b.name.second, b.name.first);
  });
  summary.history = std::move(history);
  return summary;
}

std::string history_value_text(const HistorySeries& series, double value) {
  MetricComparison shown;
  shown.unit = series.unit;
  shown.kind = series.kind;
  return value_text(shown, value);
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
      if (i < of.trend.standings.size() && of.trend.standings[i]) {
        const Standing& standing = *of.trend.standings[i];
        const double reach = quiet_reach(standing, of.margin);
        text += fmt::format("{:.9g},{:.9g},{:.9g},", standing.typical, standing.typical - reach,
                            standing.typical + reach);
      } else {
        text += ",,,";
      }
      const auto& steps = of.trend.steps;
      const bool is_step = std::find(steps.begin(), steps.end(), i) != steps.end();
      text += fmt::format("{},{}\r\n", of.is_outlying(i) ? "yes" : "no", is_step ? "yes" : "no");
    }
  }
  return text;
}

}  // namespace thinpipe
