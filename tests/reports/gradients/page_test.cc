// Reports of trace statistics: their findings, and that nothing in the records can break them.
#include "reports/gradients/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "reports/figures/style.h"
#include "reports/gradients/records.h"
#include "tests/base/support.h"
#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

nlohmann::json stats_header(const std::string& model = "toy") {
  nlohmann::json head = header_json(sample::header());
  head["kind"] = "trace-stats";
  head["command"] = {"thinpipe", "trace", "stats", "a trace", "--out", "stats"};
  head["trace"]["model"] = model;
  head["statistics"] = {{"ranks", {0}},
                        {"training_steps", {10, 11}},
                        {"ratios", {0.1, 0.01}},
                        {"feedback_ratio", 0.001},
                        {"overlap_ratio", 0.01}};
  return head;
}

/// Gamma is nearest, then exponential, generalised Pareto and normal; p = 0.6, with feedback 0.4.
nlohmann::json stats_gradient(const std::string& tensor, int step, bool feedback,
                              double elements = 1000) {
  nlohmann::json gradient = {{"record", "gradient"},
                             {"tensor", tensor},
                             {"training_step", step},
                             {"rank", 0},
                             {"feedback", feedback},
                             {"elements", elements},
                             {"zeros", 100},
                             {"non_finite", 0},
                             {"mean", 0},
                             {"deviation", 1.4},
                             {"skewness", 0},
                             {"excess_kurtosis", 3},
                             {"l2", 44.7},
                             {"mean_magnitude", 1},
                             {"decay", {{"p", feedback ? 0.4 : 0.6}, {"r_squared", 0.9}}},
                             {"best_k_error", {{0.1, 0.5}, {0.01, 0.9}}}};
  const double distances[] = {0.02, 0.01, 0.03, 0.2};
  nlohmann::json curves = {
      {"places", {1, 10, 100}}, {"magnitudes", {0.2, 0.1, 0.03}}, {"errors", {0.95, 0.8, 0.4}}};
  std::vector<double> x, below;
  for (int i = 1; i <= 20; ++i) {
    x.push_back(0.01 * i);
    below.push_back(1 - std::exp(-0.4 * i));
  }
  curves["x"] = x;
  curves["empirical"] = below;
  for (std::size_t i = 0; i < kFitNames.size(); ++i) {
    gradient["fits"][kFitNames[i]] = {{"distance", distances[i]}};
    curves["fitted"][kFitNames[i]] = below;
  }
  gradient["curves"] = curves;
  return gradient;
}

nlohmann::json stats_similarity(const std::string& tensor, const char* between, int step) {
  return {{"record", "similarity"}, {"tensor", tensor}, {"between", between},
          {"training_step", step},  {"cosine", 0.25},   {"top_k_overlap", 0.125}};
}

/// A whole model of two tensors, two steps, with and without error feedback.
std::string stats_text(const std::string& model = "toy", const std::string& tensor = "a") {
  std::string text = stats_header(model).dump() + "\n";
  for (const int step : {10, 11}) {
    for (const std::string& name : {tensor, std::string("b"), std::string("*")}) {
      for (const bool feedback : {false, true})
        text += stats_gradient(name, step, feedback, name == "*" ? 3000 : 1500).dump() + "\n";
      text += stats_similarity(name, "workers", step).dump() + "\n";
      if (step > 10) text += stats_similarity(name, "steps", step).dump() + "\n";
    }
  }
  return text;
}

StatsRecords parsed(const std::string& text) { return parse_trace_stats(text, "stats.jsonl"); }

std::string stats_error(const std::string& text) {
  return input_error([&] { parsed(text); });
}

TEST(StatsRecords, SaysFileLineAndFieldOfWhatIsBroken) {
  const std::string head = stats_header().dump() + "\n";
  nlohmann::json gradient = stats_gradient("a", 10, false);
  gradient["curves"]["x"].push_back(1);
  EXPECT_THAT(stats_error(head + gradient.dump() + "\n"),
              HasSubstr("stats.jsonl line 2: field 'curves.empirical': expected 21 numbers"));
  gradient = stats_gradient("a", 10, false);
  gradient["best_k_error"] = {{0.1, 0.5}};
  EXPECT_THAT(stats_error(head + gradient.dump() + "\n"),
              HasSubstr("field 'best_k_error': expected 2 pairs of a ratio and an error"));
  gradient["best_k_error"] = {{0.1, 0.5}, 3};
  EXPECT_THAT(stats_error(head + gradient.dump() + "\n"), HasSubstr("best_k_error"));
  gradient = stats_gradient("a", 10, false);
  gradient["decay"]["p"] = "steep";
  EXPECT_THAT(stats_error(head + gradient.dump() + "\n"),
              HasSubstr("field 'decay.p': expected a number or null, found \"steep\""));
  EXPECT_THAT(stats_error(head + "{\n"), HasSubstr("line 2: not JSON"));
  EXPECT_THAT(stats_error(head + R"({"record": "point"})" + "\n"), HasSubstr("'gradient'"));
  nlohmann::json other = stats_header();
  other["statistics"].erase("ratios");
  EXPECT_THAT(stats_error(other.dump() + "\n"), HasSubstr("'statistics.ratios'"));
}

TEST(StatsRecords, AreFoundInAFolderWithoutARunsRecords) {
  const TemporaryFolder folder;
  EXPECT_FALSE(find_trace_stats(folder.path()));
  std::ofstream(folder.path() / kStatsFileName) << stats_text();
  ASSERT_TRUE(find_trace_stats(folder.path()));
  EXPECT_EQ(find_trace_stats(folder.path())->gradients.size(), 12U);
  std::ofstream(folder.path() / kRecordFileName) << header_json(sample::header()).dump() << "\n";
  EXPECT_FALSE(find_trace_stats(folder.path())) << "a run's report comes first";
  EXPECT_TRUE(find_trace_stats(folder.path() / kStatsFileName));
  EXPECT_FALSE(find_trace_stats(folder.path() / kRecordFileName));
}

TEST(StatsSummary, HasTheWholeModelFirstAndMeansOverSteps) {
  const StatsRecords records = parsed(stats_text());
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
  EXPECT_THROW(summarize(parsed(stats_header().dump() + "\n")), InputError);
}

TEST(StatsSummary, LeavesOutWhatIsNotANumber) {
  nlohmann::json none = stats_gradient("a", 10, false);
  for (const char* name : kFitNames) none["fits"][name]["distance"] = nullptr;
  none["decay"]["p"] = nullptr;
  none.erase("curves");
  std::string text = stats_header().dump() + "\n" + none.dump() + "\n";
  const StatsRecords empty = parsed(text);
  EXPECT_THAT(stats_findings(summarize(empty))[0], HasSubstr("no distribution could be fitted"));
  for (const std::string& sentence : stats_findings(summarize(empty)))
    EXPECT_THAT(sentence, Not(HasSubstr("not a number")));
  EXPECT_THAT(render_stats(empty, ReportFormat::kHtml), Not(ContainsRegex("[^e]nan")));
  none["zeros"] = none["elements"];
  EXPECT_THAT(
      stats_findings(summarize(parsed(stats_header().dump() + "\n" + none.dump()))),
      ElementsAre(HasSubstr("no distribution could be fitted"), "All elements are exactly 0."));
  text += stats_gradient("a", 11, false).dump() + "\n";
  EXPECT_DOUBLE_EQ(summarize(parsed(text)).main().plain.all.p, 0.6);
}

TEST(StatsFindings, SayWhatIsNearestAndHowMuchIsLost) {
  const StatsRecords records = parsed(stats_text());
  EXPECT_THAT(
      stats_findings(summarize(records)),
      ElementsAre(
          "toy, whole model (3000 elements), 2 training steps, 10 to 11: the best fit by "
          "Kolmogorov-Smirnov distance is gamma (0.01), followed by exponential (0.02), gpareto "
          "(0.03) and normal (0.2).",
          "With error feedback of a top-k of 0.1 %: the best fit by Kolmogorov-Smirnov distance is "
          "gamma (0.01), followed by exponential (0.02), gpareto (0.03) and normal (0.2).",
          "Sorted magnitudes decay as a power law with p = 0.6 on average, above \xc2\xbd in 2 of "
          "2 steps. The best-k error is 50 % for the largest 10 % and 90 % for the largest 1 %.",
          "With error feedback of a top-k of 0.1 %: p = 0.4 on average, above \xc2\xbd in 0 of 2 "
          "steps. The best-k error is 50 % for the largest 10 % and 90 % for the largest 1 %.",
          "3.33 % of the elements are exactly 0, which no fit can represent.",
          "Of 2 tensors with at least 1000 elements, a is fitted worst: its best fit, gamma, has a "
          "distance of 0.01.",
          "Gradients of neighbouring workers have a cosine of 0.25 and share 12.5 % of their "
          "largest 1 %. Gradients of successive analysed steps have a cosine of 0.25 and share "
          "12.5 % of their largest 1 %."));
}

TEST(StatsFigures, DrawEveryFigureWithWellFormedPanels) {
  const StatsRecords records = parsed(stats_text());
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

// The first of 20 quantiles is 0, as half of the elements are; data are the curve with tooltips.
TEST(StatsFigures, TailsOfManyZerosHaveData) {
  nlohmann::json gradient = stats_gradient("*", 10, false);
  gradient["curves"]["x"][0] = 0;
  gradient["curves"]["empirical"][0] = 0.5;
  const StatsRecords records = parsed(stats_header().dump() + "\n" + gradient.dump() + "\n");
  const std::vector<Figure> figures = stats_figures(summarize(records));
  const auto tail = std::ranges::find(figures, std::string("tail"), &Figure::id);
  ASSERT_NE(tail, figures.end());
  EXPECT_GT(sample::check_markup(tail->panels.at(0).svg).titles.size(), 5u);
}

// Lines of the fits have no markers, so their dashes must tell them apart without colours.
TEST(StatsFigures, LegendsShowTheDashesOfLines) {
  std::set<std::string> dashes;
  static const std::regex kDashes("stroke-dasharray='([^']*)'");
  for (std::size_t style = 1; style <= kFitNames.size(); ++style) {
    std::smatch match;
    const std::string line = line_svg(style);
    ASSERT_TRUE(std::regex_search(line, match, kDashes)) << line;
    EXPECT_TRUE(dashes.insert(match[1].str()).second) << line;
  }
}

TEST(StatsFigures, TicksAreShort) {
  EXPECT_EQ(format_tick(1e-6), "1e-6");
  EXPECT_EQ(format_tick(2e-4), "2e-4");
  EXPECT_EQ(format_tick(0.01), "0.01");
  EXPECT_EQ(format_tick(1e5), "1e5");
}

TEST(StatsReport, IsTheSameForTheSameRecordsAndLoadsNothing) {
  const StatsRecords records = parsed(stats_text());
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
  const StatsRecords records = parsed(stats_text(hostile, hostile));
  for (const ReportFormat format : {ReportFormat::kHtml, ReportFormat::kMarkdown})
    EXPECT_THAT(render_stats(records, format), Not(HasSubstr("<script>alert")));
}

}  // namespace

}  // namespace thinpipe
