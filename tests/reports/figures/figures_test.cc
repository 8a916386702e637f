// Figures drawn by the real gnuplot: well-formed, safe beside each other, tooltips on their points.
#include "reports/figures/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <regex>

#include "base/error.h"
#include "reports/figures/bars.h"
#include "reports/figures/canvas.h"
#include "reports/figures/chart.h"
#include "reports/figures/gnuplot.h"
#include "reports/text/units.h"
#include "tests/reports/markup.h"
#include "tests/reports/sample.h"
#include "tests/reports/synthetic_run.h"
#include "tests/trace/temporary_folder.h"

namespace thinpipe {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class WithoutGnuplot {
 public:
  WithoutGnuplot() : path_(getenv("PATH")) { setenv("PATH", folder_.path().c_str(), 1); }
  ~WithoutGnuplot() { setenv("PATH", path_.c_str(), 1); }

 private:
  TemporaryFolder folder_;
  std::string path_;
};

Chart simple_chart() {
  Chart chart;
  chart.id = "c";
  chart.alt = "a < b";
  chart.x = {"rate", true, format_rate, {}, {}};
  chart.y = {"time", false, format_time, {}, {}};
  chart.curves = {
      {1,
       true,
       true,
       {{1e7, 1, Interval{0.9, 1.2}, true, "first"}, {1e9, 3, std::nullopt, true, "<last>"}}}};
  return chart;
}

TEST(Gnuplot, ComplaintsBecomeRunErrors) {
  try {
    run_gnuplot("set nonsense\n");
    FAIL();
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("gnuplot failed"));
  }
}

TEST(Gnuplot, WithoutItTheMessageSaysWhatToInstall) {
  const WithoutGnuplot without;
  try {
    draw_chart(simple_chart());
    FAIL();
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("gnuplot-nox"));
    EXPECT_THAT(error.what(), HasSubstr("--format md"));
  }
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

TEST(Bars, OfHostileLabels) {
  BarChart chart;
  chart.id = "b";
  chart.format = format_time;
  chart.bars = {{"<script>alert(1)</script> \xc3\xa9\xc3\xa9\xc3\xa9",
                 "1 s",
                 true,
                 {{1, "a&b"}, {0, "nothing"}}},
                {"x", "", false, {{0, ""}, {0.5, "\"c\""}}}};
  const std::string svg = draw_bars(chart);
  const sample::Markup markup = sample::check_markup(svg);
  EXPECT_EQ(markup.error, "");
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(markup.titles, Contains("a&amp;b"));
  EXPECT_THAT(markup.titles, Not(Contains("nothing")));  // a part without length has no box
  EXPECT_EQ(draw_bars(BarChart{}), "");
}

TEST(Figures, AreWellFormedAndShareNoId) {
  sample::SyntheticRun run;
  run.ranks = {2, 4};
  const Records records = sample::synthetic_run(run);
  const Summary summary = summarize(records);
  std::set<std::string> ids;
  for (std::size_t i = 0; i < summary.groups.size(); ++i) {
    const std::vector<Figure> figures = group_figures(summary.groups[i], "g" + std::to_string(i));
    EXPECT_EQ(figures.size(), 11u);  // all but timelines
    for (const Figure& figure : figures) {
      EXPECT_TRUE(ids.insert(figure.id).second) << figure.id;
      // Rows of boxes have their names beside them.
      EXPECT_EQ(figure.legend.empty(), figure.title == "Encoding against Top-k") << figure.id;
      for (const Panel& panel : figure.panels) {
        const sample::Markup markup = sample::check_markup(panel.svg);
        EXPECT_EQ(markup.error, "") << figure.id;
        EXPECT_FALSE(markup.titles.empty()) << figure.id;
        for (const std::string& id : markup.ids) EXPECT_TRUE(ids.insert(id).second) << id;
        for (const std::string& target : markup.references) {
          EXPECT_THAT(markup.ids, Contains(target)) << figure.id;
        }
      }
    }
  }
}

TEST(Figures, NothingToDrawIsNoFigure) {
  Records records;
  records.headers = {sample::header()};
  Point failed = sample::point("topk", 1e7, 0, {});
  failed.status = Status::kFailed;
  records.points = {failed};
  EXPECT_TRUE(group_figures(summarize(records).groups[0], "g").empty());
}

TEST(Figures, TimelinesOfOverlappedSteps) {
  Point plain = sample::point("none", 1e7, 0, {2, 2, 2});
  Point fed = sample::point("topk", 1e7, 0, {1, 1, 1});
  fed.axes.feed = "overlap=bucket";
  fed.timeline = {{{"compute", 0, 0, 0.5}, {"compress", 0, 0.1, 0.2}, {"exchange", 0, 0.2, 0.4}},
                  {{"compute", 0, 0, 0.5},
                   {"compress", 1, 0.1, 0.2},
                   {"exchange", 1, 0.2, 0.7},
                   {"decode", 1, 0.8, 1},
                   {"later", 0, 0, 5}}};  // of a version to come
  Records records;
  records.headers = {sample::header()};
  records.points = {plain, fed};
  const Summary summary = summarize(records);
  const std::vector<Figure> figures = group_figures(summary.groups[0], "g");
  const auto timeline = std::find_if(figures.begin(), figures.end(),
                                     [](const Figure& f) { return f.id == "g-timeline"; });
  ASSERT_NE(timeline, figures.end());
  ASSERT_EQ(timeline->panels.size(), 1U);  // of the rank that ended last
  const std::string& svg = timeline->panels[0].svg;
  EXPECT_THAT(svg, HasSubstr("exchange of bucket 1: 200 ms to 700 ms"));
  EXPECT_THAT(svg, HasSubstr("decode of bucket 1: 800 ms to 1 s"));
  EXPECT_THAT(svg, Not(HasSubstr("bucket 0")));
  EXPECT_EQ(sample::check_markup(svg).error, "");
}

}  // namespace
}  // namespace thinpipe
