// Charts by the real gnuplot: scales, words for readers who do not see them, and their data.
#include "reports/figures/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "reports/figures/drawing.h"
#include "reports/figures/figure.h"
#include "reports/text/phrases.h"
#include "tests/base/support.h"
#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

using ::testing::Contains;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pointwise;

Chart simple_chart() {
  Chart chart;
  chart.id = "c";
  chart.alt = "a < b";
  chart.x = {"rate", true, format_rate};
  chart.y = {"time", false, format_time};
  const std::vector<ChartPoint> points = {{1e7, 1, Interval{0.9, 1.2}, true, "first"},
                                          {1e9, 3, std::nullopt, true, "<last>"}};
  chart.curves = {{1, true, true, points}};
  return chart;
}

TEST(Gnuplot, WithoutItTheMessageSaysWhatToInstall) {
  const TemporaryFolder folder;
  const EnvironmentVariable path("PATH", folder.path());
  EXPECT_THAT(error_text<RunError>([] { draw_chart(simple_chart()); }),
              AllOf(HasSubstr("gnuplot-nox"), HasSubstr("--format md")));
}

TEST(Chart, HasNativeTooltipsAndEscapes) {
  const std::string svg = draw_chart(simple_chart());
  const sample::Markup markup = sample::check_markup(svg);
  EXPECT_EQ(markup.error, "");
  EXPECT_EQ(markup.titles, (std::vector<std::string>{"first", "&lt;last&gt;"}));
  EXPECT_THAT(svg, HasSubstr("aria-label=\"a &lt; b."));
  EXPECT_FALSE(std::regex_search(svg, std::regex("<g [^>]*>\\s*</g>")));
  EXPECT_THAT(svg, Not(HasSubstr("<rect x=\"0\" y=\"0\"")));  // would be a frame
  EXPECT_THAT(svg, HasSubstr("var(--s1)"));
  EXPECT_THAT(svg, Not(HasSubstr("rgb(  1,   2")));
  EXPECT_THAT(svg, Not(HasSubstr("http")));
}

TEST(Chart, LeavesOutWhatCannotBeDrawn) {
  Chart chart = simple_chart();
  chart.curves[0].points = {{0, 1, std::nullopt, true, ""}, {1e7, NAN, std::nullopt, true, ""}};
  EXPECT_EQ(draw_chart(chart), "");
  EXPECT_EQ(draw_chart(Chart{}), "");
  chart.curves[0].points.push_back({1e8, 1, Interval{-INFINITY, 2}, false, "one"});
  EXPECT_EQ(sample::check_markup(draw_chart(chart)).titles, std::vector<std::string>{"one"});
}

// gnuplot writes the curve as one path of some 140 kB.
TEST(Chart, OfTenThousandPointsIsDrawn) {
  Chart chart = simple_chart();
  chart.curves = {{1, false, true}};
  for (int i = 1; i <= 10000; ++i)
    chart.curves[0].points.push_back({i * 1.0, i % 2 + 1.0, std::nullopt, true, ""});
  EXPECT_EQ(sample::check_markup(draw_chart(chart)).error, "");
}

// A curve of many points has no markers, and no line joins untrusted points.
TEST(Chart, DrawsUntrustedCurvesWithoutMarkers) {
  Chart chart = simple_chart();
  for (ChartPoint& point : chart.curves[0].points) point.is_trusted = false;
  const std::string marked = draw_chart(chart);
  chart.curves[0].has_markers = false;
  EXPECT_EQ(draw_chart(chart), marked);
  EXPECT_THAT(marked, HasSubstr("var(--muted)"));
}

TEST(Bars, OfGapsAloneAreNotDrawn) {
  BarChart chart;
  chart.id = "b";
  chart.format = format_time;
  chart.bars = {{"x", "", true, {{.length = 1, .is_gap = true}}}};
  EXPECT_EQ(draw_bars(chart), "");
}

// A tenth of the longest bar is 19 px wide.
TEST(Bars, LettersFitTheirParts) {
  BarChart chart;
  chart.id = "b";
  chart.format = format_time;
  chart.bars = {{"x",
                 "",
                 true,
                 {{.length = 0.1, .name = "host 12", .letter = "12"},
                  {.length = 0.1, .name = "host 128", .letter = "128"},
                  {.length = 0.8, .name = "host 129", .letter = "129"}}}};
  const std::string svg = draw_bars(chart);
  EXPECT_THAT(svg, HasSubstr(">12</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">128</text>")));
  EXPECT_THAT(svg, HasSubstr(">129</text>"));
}

TEST(Bars, OfHostileLabels) {
  BarChart chart;
  chart.id = "b";
  chart.format = format_time;
  const std::string label = "<script>alert(1)</script> \xc3\xa9\xc3\xa9\xc3\xa9";
  chart.bars = {{label, "1 s", true, {{1, "a&b"}, {0, "nothing"}}},
                {"x", "", false, {{0, ""}, {0.5, "\"c\""}}}};
  const std::string svg = draw_bars(chart);
  const sample::Markup markup = sample::check_markup(svg);
  EXPECT_EQ(markup.error, "");
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(markup.titles, Contains("a&amp;b"));
  EXPECT_THAT(markup.titles, Not(Contains("nothing")));  // a phase without length has no box
  EXPECT_EQ(draw_bars(BarChart{}), "");
}

// Kinds of drawings beside charts and bars.

DotChart four_dots() {
  DotChart dots;
  dots.id = "d";
  dots.alt = "Cost against loss";
  dots.x = {"cost", true, format_time, {}, {}};
  dots.y = {"loss", false, format_number, {}, {}};
  // Dot b has the same cost as dot a and a greater loss. Dot d would be on the Pareto front if it
  // were trusted.
  dots.dots = {{.name = "a", .style = 1, .x = 1, .y = 5, .tooltip = "a<b"},
               {.name = "b", .style = 2, .x = 1, .y = 6},
               {.name = "c", .style = 3, .x = 4, .y = 2, .x_interval = Interval{3, 5}},
               {.name = "d", .style = 4, .x = 0.5, .y = 1, .is_trusted = false}};
  dots.has_front = true;
  return dots;
}

TEST(Dots, TheFrontIsOfTrustedDotsThatNoneBeats) {
  const DotChart dots = four_dots();
  std::vector<std::string> names;
  for (const Dot* dot : pareto_front(dots.dots)) names.push_back(dot->name);
  EXPECT_THAT(names, ElementsAre("a", "c"));
  const Chart chart = dots_chart(dots);
  ASSERT_EQ(chart.guides.size(), 1u);
  // From a at the height of a to below it, then down to c.
  EXPECT_EQ(chart.guides[0], (Guide{{1, 5}, {4, 5}, {4, 2}}));
  const std::string svg = draw_chart(chart);
  EXPECT_EQ(sample::check_markup(svg).error, "");
  EXPECT_THAT(svg, HasSubstr("On the front, left to right: a, c"));
  EXPECT_THAT(svg, HasSubstr("a&lt;b"));
}

TEST(Dots, TheDiagonalSpansAllValues) {
  DotChart dots = four_dots();
  dots.has_front = false;
  dots.has_diagonal = true;
  EXPECT_EQ(dots_chart(dots).guides[0], (Guide{{0.5, 0.5}, {6, 6}}));
}

TEST(Boxes, DrawMarkersBoxesAndSayWhoIsWhere) {
  BoxChart chart;
  chart.id = "b";
  chart.alt = "Spread of it";
  chart.axis = {"value", true, format_number, {1.0}, {}};
  chart.reference_lines = {1};
  chart.rows = {{.label = "first",
                 .style = 1,
                 .middle = 2,
                 .box = Interval{1, 3},
                 .whiskers = Interval{0.5, 4},
                 .tooltip = "2 & more"},
                {.label = "second", .style = 2, .middle = 0.7, .box = Interval{0.6, 0.8}},
                {.label = "grey", .style = 3, .middle = 5, .is_trusted = false},
                {.label = "gone", .style = 4, .middle = 0}};  // no position on a logarithmic axis
  const std::string svg = draw_boxes(chart);
  const sample::Markup markup = sample::check_markup(svg);
  EXPECT_EQ(markup.error, "");
  EXPECT_THAT(markup.titles, ::testing::Contains("2 &amp; more"));
  EXPECT_THAT(svg, HasSubstr("Spread of it: from 0.7 (second) to 5 (grey)."));
  EXPECT_THAT(svg, HasSubstr("var(--muted)"));
  EXPECT_THAT(svg, Not(HasSubstr("gone")));
  chart.rows = {{.label = "none", .middle = NAN}};
  EXPECT_EQ(draw_boxes(chart), "");
}

TEST(Boxes, LongLabelsKeepBothEnds) {
  BoxChart chart;
  chart.id = "b";
  chart.alt = "Goodput";
  chart.axis = {"goodput", false, format_number, {}, {}};
  chart.rows = {{.label = "rate=100mbit,delay=10ms", .middle = 1},
                {.label = "rate=100mbit,delay=20ms", .middle = 2}};
  const std::string svg = draw_boxes(chart);
  EXPECT_THAT(svg, HasSubstr(">rate=100m\xe2\x80\xa6lay=10ms<title>"));
  EXPECT_THAT(svg, HasSubstr(">rate=100m\xe2\x80\xa6lay=20ms<title>"));
}

// Student's interval of a few scattered times reaches below 0. Without a bar, the mean would look
// exact. The plot's box begins at 152 px.
TEST(Boxes, IntervalsDownToZeroReachTheEndOfALogarithmicAxis) {
  BoxChart chart;
  chart.id = "b";
  chart.alt = "Time";
  chart.axis = {"time", true, format_time, {}, {}};
  chart.rows = {{.label = "a", .style = 1, .middle = 2, .box = Interval{-1, 5}, .tooltip = "2 s"}};
  EXPECT_THAT(draw_boxes(chart), HasSubstr("<rect x=\"152.0\""));
}

TEST(ChartSentence, TellsBothEndsByName) {
  Chart chart;
  chart.alt = "Time against rate";
  chart.x = {"rate", true, format_rate, {}, {}};
  chart.y = {"time", true, format_time, {}, {}};
  chart.curves = {{1, true, true, {{1e7, 2, {}, true, ""}, {1e9, 1, {}, true, ""}}, "slow"},
                  {2, true, true, {{1e7, 1, {}, true, ""}, {1e9, 0.5, {}, true, ""}}, "fast"},
                  {3, true, true, {{1e7, 9, {}, true, ""}}, ""}};  // a line to compare with
  EXPECT_EQ(chart_sentence(chart),
            "Time against rate: at 10 Mbit/s from 1 s (fast) to 2 s (slow); at 1 Gbit/s from 500 "
            "ms (fast) to 1 s (slow).");
  chart.curves.resize(1);
  EXPECT_EQ(chart_sentence(chart),
            "Time against rate: at 10 Mbit/s slow is at 2 s; at 1 Gbit/s slow is at 1 s.");
  chart.curves.clear();
  EXPECT_EQ(chart_sentence(chart), "Time against rate");
}

TEST(FigureData, HasARowAValue) {
  Chart chart;
  chart.x = {"rate", true, format_rate, {}, {}};
  chart.y = {"time, all", true, format_time, {}, {}};
  chart.curves = {
      {1, true, true, {{1e7, 2, Interval{1, 3}, true, ""}, {1e9, NAN, {}, false, ""}}, "a\"b"}};
  chart.marks = {{2e7, 1, 1, "breaks even\nsomewhere"}};
  EXPECT_EQ(figure_data("p", chart),
            "p,\"a\"\"b\",1e+07,2,1,3,yes\n"
            "p,\"a\"\"b\",1e+09,,,,no\n"
            "p,breaks even,2e+07,1,,,yes\n");
  BarChart bars;
  bars.label = "mean time";
  bars.bars = {{"x", "", true, {{.length = 1, .is_gap = true}, {.length = 2, .name = "decode"}}}};
  EXPECT_EQ(figure_data("", bars), ",x: decode,1,2,,,yes\n");
  BoxChart boxes;
  boxes.axis.label = "share";
  boxes.rows = {{.label = "r", .middle = 0.25, .box = Interval{0.125, 0.5}}};
  EXPECT_EQ(figure_data("q", boxes), "q,r,,0.25,0.125,0.5,yes\n");
}

TEST(Ticks, LinearOnesAreRound) {
  EXPECT_THAT(linear_ticks({0, 1}, 5), Pointwise(DoubleEq(), {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}));
  EXPECT_THAT(linear_ticks({-0.13, 0.11}, 5), Pointwise(DoubleEq(), {-0.1, -0.05, 0.0, 0.05, 0.1}));
}

TEST(Ticks, LogarithmicOnes) {
  EXPECT_THAT(log_ticks({0.9, 1100}), ElementsAre(1, 10, 100, 1000));
  EXPECT_THAT(log_ticks({0.9, 11}), Pointwise(DoubleEq(), {1.0, 2.0, 5.0, 10.0}));
}

// Ticks at 0.995, 1, 1.005 and 1.01 would be labelled 0.995, 1, 1 and 1.01, because 1.005 has four
// digits. Steps of 0.01 give different labels.
TEST(Ticks, LabelsDiffer) {
  const std::vector<double> ticks = readable_ticks({0.993, 1.013}, 5, format_number);
  std::set<std::string> labels;
  for (const double tick : ticks) labels.insert(format_number(tick));
  EXPECT_EQ(labels.size(), ticks.size());
}

TEST(Ticks, CloseNeighboursAreThinned) {
  EXPECT_THAT(thinned({1e7, 1.1e7, 1e8, 1e12}, {1e6, 1e9}, true), ElementsAre(1e7, 1e8));
}

TEST(Ticks, RangesHoldTheirValuesAndHaveExtent) {
  for (const bool is_log : {false, true}) {
    for (const std::vector<double>& values : {std::vector<double>{5}, {1, 2, 3}, {1e-9, 1e9}}) {
      const Range range = padded_range(values, is_log);
      EXPECT_LT(range.low, values.front());
      EXPECT_GT(range.high, values.back());
    }
  }
}

// For example, the errors of a run of `none` alone.
TEST(Ticks, OfNothingButZerosAreShort) {
  for (const double almost : {0.0, 1e-17}) {
    const Range zero = padded_range({0, almost}, false);
    std::vector<std::string> labels;
    for (const double tick : readable_ticks(zero, 5, format_percent))
      labels.push_back(format_percent(tick));
    EXPECT_THAT(labels, ElementsAre("-1 %", "-0.5 %", "0 %", "0.5 %", "1 %"));
  }
}

// Drawing with the real gnuplot.

TEST(Gnuplot, ComplaintsBecomeRunErrors) {
  EXPECT_THAT(error_text<RunError>([] { run_gnuplot("set nonsense\n"); }),
              HasSubstr("gnuplot failed"));
}

TEST(Gnuplot, QuotedTextStaysText) {
  // A quote that ended the string would let `system` run.
  const std::string hostile = "'; system 'touch injected'; print '\nquit\n$x`touch injected`";
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const std::string output = run_gnuplot("set print '-'\nprint " + gnuplot_quoted(hostile) + "\n");
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_THAT(output, HasSubstr("; system \xe2\x80\x99touch injected"));
}

// gnuplot's border runs along the plot's box: left 40, right 400 - 20, top 30, bottom 300 - 50.
TEST(Canvas, AgreesWithGnuplotToAPixel) {
  const Canvas canvas(400, 300, {40, 20, 30, 50}, {{1, 100}, true}, {{0, 10}, false});
  const std::string svg = run_gnuplot(
      canvas.script() + "set logscale x\nset xrange [1:100]\nset yrange [0:10]\nplot 5\n");
  std::smatch match;
  static const std::regex kBorder("M([0-9.]+),([0-9.]+) L[0-9.]+,([0-9.]+) L([0-9.]+),[0-9.]+ M");
  ASSERT_TRUE(std::regex_search(svg, match, kBorder)) << svg;
  EXPECT_NEAR(std::stod(match[1]), canvas.x(1), 1);
  EXPECT_NEAR(std::stod(match[2]), canvas.y(10), 1);
  EXPECT_NEAR(std::stod(match[3]), canvas.y(0), 1);
  EXPECT_NEAR(std::stod(match[4]), canvas.x(100), 1);
  EXPECT_NEAR(canvas.x(10), 0.5 * (canvas.x(1) + canvas.x(100)), 1e-9);  // 10 is half-way in log
}

TEST(GnuplotBlocks, OfNothingIsNothing) {
  GnuplotBlocks plot;
  plot.add("", "with lines");
  EXPECT_EQ(plot.count, 0);
  plot.add("1 2\n", "with lines");
  plot.add("3 4\n", "with points");
  EXPECT_EQ(plot.script(),
            "$d0 << EOD\n1 2\nEOD\n$d1 << EOD\n3 4\nEOD\nplot $d0 with lines, \\\n  $d1 with "
            "points\n");
}

}  // namespace

}  // namespace thinpipe
