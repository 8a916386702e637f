// Reports of trace statistics: what they find, and that nothing in the records can break them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "base/error.h"
#include "reports/gradients/figures.h"
#include "reports/gradients/findings.h"
#include "reports/gradients/marks.h"
#include "reports/gradients/page.h"
#include "reports/gradients/tables.h"
#include "reports/report.h"
#include "tests/base/input_error.h"
#include "tests/reports/gradients/sample.h"
#include "tests/reports/markup.h"
#include "tests/trace/temporary_folder.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

StatsRecords parsed(const std::string& text) { return parse_trace_stats(text, "stats.jsonl"); }

std::string stats_error(const std::string& text) {
  return input_error([&] { parsed(text); });
}

TEST(StatsRecords, SaysFileLineAndFieldOfWhatIsBroken) {
  const std::string head = sample::stats_header().dump() + "\n";
  nlohmann::json gradient = sample::stats_gradient("a", 10, false);
  gradient["curves"]["x"].push_back(1);
  EXPECT_THAT(stats_error(head + gradient.dump() + "\n"),
              HasSubstr("stats.jsonl line 2: field 'curves.empirical': expected 21 numbers"));
  gradient = sample::stats_gradient("a", 10, false);
  gradient["best_k_error"] = {{0.1, 0.5}};
  EXPECT_THAT(stats_error(head + gradient.dump() + "\n"),
              HasSubstr("field 'best_k_error': expected 2 pairs of a ratio and an error"));
  gradient["best_k_error"] = {{0.1, 0.5}, 3};
  EXPECT_THAT(stats_error(head + gradient.dump() + "\n"), HasSubstr("best_k_error"));
  gradient = sample::stats_gradient("a", 10, false);
  gradient["decay"]["p"] = "steep";
  EXPECT_THAT(stats_error(head + gradient.dump() + "\n"),
              HasSubstr("field 'decay.p': expected a number or null, found \"steep\""));
  EXPECT_THAT(stats_error(head + "{\n"), HasSubstr("line 2: not JSON"));
  EXPECT_THAT(stats_error(head + R"({"record": "point"})" + "\n"), HasSubstr("'gradient'"));
  nlohmann::json other = sample::stats_header();
  other["statistics"].erase("ratios");
  EXPECT_THAT(stats_error(other.dump() + "\n"), HasSubstr("'statistics.ratios'"));
}

TEST(StatsRecords, AreFoundInAFolderWithoutARunsRecords) {
  const TemporaryFolder folder;
  EXPECT_FALSE(find_trace_stats(folder.path()));
  std::ofstream(folder.path() / kStatsFileName) << sample::stats_text();
  ASSERT_TRUE(find_trace_stats(folder.path()));
  EXPECT_EQ(find_trace_stats(folder.path())->gradients.size(), 12U);
  std::ofstream(folder.path() / kRecordFileName) << header_json(sample::header()).dump() << "\n";
  EXPECT_FALSE(find_trace_stats(folder.path())) << "a run's report comes first";
  EXPECT_TRUE(find_trace_stats(folder.path() / kStatsFileName));
  EXPECT_FALSE(find_trace_stats(folder.path() / kRecordFileName));
}

TEST(StatsSummary, HasTheWholeModelFirstAndMeansOverSteps) {
  const StatsRecords records = parsed(sample::stats_text());
  const StatsSummary summary = summarize(records);
  ASSERT_EQ(summary.units.size(), 3U);
  EXPECT_EQ(summary.main().title, "whole model");
  EXPECT_EQ(summary.units[1].title, "a");
  EXPECT_EQ(summary.main().plain.steps.size(), 2U);
  EXPECT_EQ(summary.main().plain.first->step, 10U);
  EXPECT_EQ(summary.main().feedback.last->step, 11U);
  EXPECT_DOUBLE_EQ(summary.main().plain.all.p, 0.6);
  EXPECT_DOUBLE_EQ(summary.main().feedback.all.p, 0.4);
  EXPECT_EQ(summary.main().plain.all.best_fit(), 1U);
  EXPECT_THROW(summarize(parsed(sample::stats_header().dump() + "\n")), InputError);
}

TEST(StatsSummary, LeavesOutWhatIsNotANumber) {
  nlohmann::json none = sample::stats_gradient("a", 10, false);
  for (const char* name : kFitNames) none["fits"][name]["distance"] = nullptr;
  none["decay"]["p"] = nullptr;
  none.erase("curves");
  std::string text = sample::stats_header().dump() + "\n" + none.dump() + "\n";
  const StatsRecords empty = parsed(text);
  EXPECT_THAT(stats_findings(summarize(empty))[0], HasSubstr("none of the distributions"));
  for (const std::string& sentence : stats_findings(summarize(empty)))
    EXPECT_THAT(sentence, Not(HasSubstr("not a number")));
  EXPECT_THAT(render_stats_html(empty), Not(HasSubstr("nan")));
  none["zeros"] = none["elements"];
  EXPECT_THAT(stats_findings(summarize(parsed(sample::stats_header().dump() + "\n" + none.dump()))),
              ElementsAre(HasSubstr("none of the distributions"), "All elements are exactly 0."));
  text += sample::stats_gradient("a", 11, false).dump() + "\n";
  EXPECT_DOUBLE_EQ(summarize(parsed(text)).main().plain.all.p, 0.6);
}

TEST(StatsFindings, SayWhatIsNearestAndHowMuchIsLost) {
  const StatsRecords records = parsed(sample::stats_text());
  EXPECT_THAT(
      stats_findings(summarize(records)),
      ElementsAre(
          "toy, whole model (3000 elements), 2 training steps, 10 to 11: nearest by "
          "Kolmogorov-Smirnov distance is the fit of gamma at 0.01; then exponential at 0.02, "
          "gpareto at 0.03 and normal at 0.2.",
          "With error feedback of a top-k of 0.1 %: nearest by Kolmogorov-Smirnov distance is the "
          "fit of gamma at 0.01; then exponential at 0.02, gpareto at 0.03 and normal at 0.2.",
          "Sorted magnitudes fall as a power law with p = 0.6 on average, above \xc2\xbd in 2 of 2 "
          "steps; of the norm is lost 50 % with the largest 10 % and 90 % with the largest 1 %.",
          "With error feedback of a top-k of 0.1 %: p = 0.4 on average, above \xc2\xbd in 0 of 2 "
          "steps; of the norm is lost 50 % with the largest 10 % and 90 % with the largest 1 %.",
          "3.33 % of the elements are exactly 0, which none of the fits can follow.",
          "Of 2 tensors with 1000 elements and more a is farthest from all fits: the nearest, "
          "gamma, is off by 0.01.",
          "Neighbouring workers have a cosine of 0.25 and 12.5 % of their largest 1 % in common. "
          "Successive steps that were looked at have a cosine of 0.25 and 12.5 % of their largest "
          "1 % in common."));
}

TEST(StatsFigures, DrawEveryFigureWithWellFormedPanels) {
  const StatsRecords records = parsed(sample::stats_text());
  std::vector<std::string> drawn;
  for (const Figure& figure : stats_figures(summarize(records))) {
    drawn.push_back(figure.id + " " + std::to_string(figure.panels.size()));
    for (const Panel& panel : figure.panels) {
      EXPECT_EQ(sample::check_markup(panel.svg).error, "") << figure.id;
    }
  }
  EXPECT_THAT(drawn, ElementsAre("density 3", "tail 3", "decay 1", "best-k 1", "fits 2",
                                 "decay-steps 3", "alike 2", "tensors 2"));
}

TEST(StatsFigures, TicksAreShort) {
  EXPECT_EQ(figures::format_tick(1e-6), "1e-6");
  EXPECT_EQ(figures::format_tick(2e-4), "2e-4");
  EXPECT_EQ(figures::format_tick(0.01), "0.01");
  EXPECT_EQ(figures::format_tick(1e5), "1e5");
}

TEST(StatsReport, IsTheSameForTheSameRecordsAndLoadsNothing) {
  const StatsRecords records = parsed(sample::stats_text());
  const std::string html = render_stats(records, ReportFormat::kHtml);
  EXPECT_EQ(html, render_stats(records, ReportFormat::kHtml));
  EXPECT_FALSE(std::regex_search(html, std::regex("(src|href)=['\"](?!#)")));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  const std::string markdown = render_stats(records, ReportFormat::kMarkdown);
  EXPECT_THAT(markdown, HasSubstr("| whole model | 0.6 | 0.9 | 0.5 | 0.9 | 0.02 | **0.01** |"));
  EXPECT_THAT(markdown, HasSubstr("thinpipe trace stats 'a trace' --out stats"));
}

TEST(StatsReport, TakesNamesForTextAndNeverForMarkup) {
  const std::string hostile = "</title><script>alert(1)</script>`|\"' onerror=x";
  const StatsRecords records = parsed(sample::stats_text(hostile, hostile));
  for (const ReportFormat format : {ReportFormat::kHtml, ReportFormat::kMarkdown})
    EXPECT_THAT(render_stats(records, format), Not(HasSubstr("<script>alert")));
}

}  // namespace
}  // namespace thinpipe
