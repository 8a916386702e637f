// A history's page: value against launch, a panel per point, with findings and tables.
#include "reports/history/page.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "base/escape.h"
#include "reports/figures/style.h"
#include "reports/gradients/records.h"
#include "reports/page/page.h"
#include "reports/record/reader.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

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

std::string render_history_html(const HistorySummary& summary, const std::string& command) {
  std::string page = html::masthead(kHistoryHeadline, escape_html(history_subject(summary))) +
                     html::findings(history_findings(summary));
  const std::vector<Figure> figures = history_figures(summary);
  if (!figures.empty())
    page += html::section("drawn", "Figures", html::figures(figures, {command}));
  page += html::section("series", "Every metric",
                        html::table(history_trends_table(summary), "Every metric", true));
  page += html::section("launches", "Launches",
                        html::table(history_launches_table(summary), "Launches", false));
  page += html::section("method", "How it was computed", html::list(history_method_notes()));
  return html::document("History \xe2\x80\x93 thinpipe report", page);
}

std::string render_history_markdown(const HistorySummary& summary, const std::string& command) {
  return "# " + std::string(kHistoryHeadline) + "\n\n" + escape_markdown(history_subject(summary)) +
         "\n\n## Findings\n\n" + markdown::bullets(history_findings(summary)) +
         "## Every metric\n\n" + markdown::table(history_trends_table(summary)) +
         "## Launches\n\n" + markdown::table(history_launches_table(summary)) +
         "## How it was computed\n\n" + markdown::bullets(history_method_notes()) +
         "## How to reproduce\n\n" + markdown::code_block({command});
}

}  // namespace thinpipe
