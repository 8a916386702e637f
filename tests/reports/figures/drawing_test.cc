#include "reports/figures/drawing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "base/error.h"
#include "reports/text/phrases.h"
#include "tests/trace/temporary_folder.h"

namespace thinpipe {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Pointwise;

TEST(Ticks, LinearOnesAreRound) {
  EXPECT_THAT(linear_ticks({0, 1}, 5), Pointwise(DoubleEq(), {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}));
  EXPECT_THAT(linear_ticks({-0.13, 0.11}, 5), Pointwise(DoubleEq(), {-0.1, -0.05, 0.0, 0.05, 0.1}));
}

TEST(Ticks, LogarithmicOnes) {
  EXPECT_THAT(log_ticks({0.9, 1100}), ElementsAre(1, 10, 100, 1000));
  EXPECT_THAT(log_ticks({0.9, 11}), Pointwise(DoubleEq(), {1.0, 2.0, 5.0, 10.0}));
}

// 0.995, 1, 1.005, 1.01 would read 0.995, 1, 1 (1.005 has four digits), 1.01: steps of 0.01 do not.
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
  const Range zero = padded_range({0}, false);
  EXPECT_LT(zero.low, zero.high);
}

// Drawing with the real gnuplot.

TEST(Gnuplot, ComplaintsBecomeRunErrors) {
  try {
    run_gnuplot("set nonsense\n");
    FAIL();
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("gnuplot failed"));
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
