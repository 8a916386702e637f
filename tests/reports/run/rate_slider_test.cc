// The slider over the link's rate: its curves, its first state and its escapes. tests/pages moves
// the slider in a browser.
#include "reports/run/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/escape.h"
#include "reports/run/page.h"
#include "reports/verdict/verdict.h"
#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Nine steps with a median of `seconds`. The exact 95 % interval of nine values reaches from the
// second to the eighth: 0.3 % to both sides.
Point slider_point(const std::string& compressor, double rate, double seconds) {
  std::vector<double> steps;
  for (int i = -4; i <= 4; ++i) steps.push_back(seconds * (1 + 0.001 * i));
  return sample::point(compressor, rate, 0, steps);
}

// Every step time at 1 Gbit/s is a quarter of that at 10 Mbit/s. At 100 Mbit/s, the geometric mean
// of the rates, the interpolated step time is the geometric mean of both: half of the first.
Records slider_records(const std::string& compressor) {
  std::vector<Point> points;
  for (const auto& [rate, factor] : {std::pair{1e7, 1.0}, {1e9, 0.25}}) {
    points.push_back(slider_point("none", rate, 4 * factor));
    points.push_back(slider_point("bf16", rate, 2 * factor));
    points.push_back(slider_point(compressor, rate, 1 * factor));
  }
  return sample::records(std::move(points));
}

TEST(RateSlider, InterpolatesLogarithmsBetweenMeasuredRates) {
  const std::vector<RatePoint> curve = {{1e7, 4, 3.9, 4.1}, {1e9, 1, 0.9, 1.1}};
  const std::optional<TimeAtRate> middle = step_time_at(curve, 1e8);
  ASSERT_TRUE(middle.has_value());
  EXPECT_NEAR(middle->time, 2, 1e-12);
  EXPECT_EQ(middle->low, middle->high);  // no interval
  EXPECT_EQ(middle->left, 1e7);
  EXPECT_EQ(middle->right, 1e9);
  // A quarter of the way from ln 4 to ln 1.
  EXPECT_NEAR(step_time_at(curve, std::pow(10, 7.5))->time, std::pow(4, 0.75), 1e-12);
  const std::optional<TimeAtRate> end = step_time_at(curve, 1e9);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->time, 1);
  EXPECT_EQ(end->high, 1.1);
  EXPECT_EQ(end->left, end->right);
  EXPECT_FALSE(step_time_at(curve, 9e6).has_value());
  EXPECT_FALSE(step_time_at(curve, 2e9).has_value());
  EXPECT_FALSE(step_time_at({}, 1e8).has_value());
}

TEST(RateSlider, HasACurveForEachSeriesOfAGroup) {
  Records records = slider_records("topk");
  for (Point& point : slider_records("topk").points) {
    point.axes.ranks = 8;
    records.points.push_back(std::move(point));
  }
  const Summary summary = summarize(records);
  ASSERT_EQ(summary.groups.size(), 2u);
  for (const Group& group : summary.groups) {
    const std::vector<RateCurves> curves = rate_curves(group);
    ASSERT_EQ(curves.size(), 3u);
    EXPECT_EQ(curves[0].series->label, "none");
    EXPECT_EQ(curves[1].series->label, "bf16");
    EXPECT_EQ(curves[2].series->label, "topk");
    for (const RateCurves& one : curves) EXPECT_TRUE(one.predicted.empty());
    ASSERT_EQ(curves[2].measured.size(), 2u);
    EXPECT_EQ(curves[2].measured[0].rate, 1e7);
    EXPECT_NEAR(curves[2].measured[0].low, 0.997, 1e-12);
    EXPECT_NEAR(curves[2].measured[0].high, 1.003, 1e-12);
    EXPECT_EQ(curves[2].measured[1].time, 0.25);
  }
}

TEST(RateSlider, BeginsInterpolatedAtTheMiddleRate) {
  const Records records = slider_records("topk");
  const std::string slider = rate_slider(summarize(records).groups.at(0));
  EXPECT_THAT(slider,
              HasSubstr("<p aria-live=\"polite\">At 100 Mbit/s: topk is fastest, 500 ms a step; "
                        "2\xc3\x97 over bf16, 4\xc3\x97 over fp32 (interpolated between 10 Mbit/s "
                        "and 1 Gbit/s).</p>"));
  EXPECT_THAT(slider, HasSubstr("aria-valuetext=\"100 Mbit/s\""));
  EXPECT_THAT(slider, HasSubstr("<li class=\"best between\" data-kind=\"compressor\""));
  // 2 s, 1 s and 0.5 s.
  for (const char* width : {"\"100.00%\"", "\"50.00%\"", "\"25.00%\""})
    EXPECT_THAT(slider, HasSubstr("<rect y=\"1\" width=" + std::string(width)));
  EXPECT_THAT(slider, HasSubstr("<span>500 ms, interpolated</span>"));
  EXPECT_EQ(sample::check_markup(slider).error, "");
}

TEST(RateSlider, SaysTheVerdictAtAMeasuredRate) {
  Records records = slider_records("topk");
  records.points.push_back(slider_point("none", 1e8, 2));
  records.points.push_back(slider_point("topk", 1e8, 1.9995));
  const Summary summary = summarize(records);
  const Group& group = summary.groups.at(0);
  const std::string told = outcome_sentence(group, 1e8);
  EXPECT_THAT(told, HasSubstr("topk is fastest at 100 Mbit/s with 2 s a step; one of the baselines "
                              "has no trusted time there."));
  const std::string slider = rate_slider(group);
  EXPECT_THAT(slider, HasSubstr("<p aria-live=\"polite\">" + escape_html(told) + "</p>"));
  // A sentence for each measured rate, for the script.
  for (const double rate : group.rates)
    EXPECT_THAT(slider, HasSubstr("\">" + escape_html(outcome_sentence(group, rate)) + "</li>"));
  // 0.3 % of 2 s to both sides; bf16 has no point at this rate.
  EXPECT_THAT(slider, HasSubstr("<span>2 s, measured (1.99 s to 2.01 s)</span>"));
  EXPECT_THAT(slider, HasSubstr("<span>1 s, interpolated</span>"));
}

// The point at 1 Gbit/s failed a check, so only its prediction remains.
TEST(RateSlider, LeavesOutInvalidPointsButNotTheirPredictions) {
  Records records = slider_records("topk");
  records.points.push_back(slider_point("topk", 1e8, 0.5));
  for (Point& point : records.points) {
    if (point.axes.method != "topk") continue;
    if (point.axes.rate == 1e9) point.status = Status::kInvalid;
    point.prediction = document({{"step_time", 4e6 / point.axes.rate}, {"exchange_time", 0.01}});
  }
  const Summary summary = summarize(records);
  const std::vector<RateCurves> curves = rate_curves(summary.groups.at(0));
  ASSERT_EQ(curves.size(), 3u);
  EXPECT_EQ(curves[2].measured.size(), 2u);
  EXPECT_EQ(curves[2].measured.back().rate, 1e8);
  ASSERT_EQ(curves[2].predicted.size(), 3u);
  EXPECT_EQ(curves[2].predicted.back().rate, 1e9);
  const std::string slider = rate_slider(summary.groups.at(0));
  EXPECT_THAT(slider, HasSubstr(" Predicted: topk is fastest, 40 ms a step.</p>"));
  EXPECT_THAT(slider, HasSubstr("; predicted 40 ms</span>"));
}

TEST(RateSlider, EscapesNamesOfCompressors) {
  const Records records = slider_records("</script><b>");
  const std::string slider = rate_slider(summarize(records).groups.at(0));
  EXPECT_THAT(slider, HasSubstr("At 100 Mbit/s: &lt;/script&gt;&lt;b&gt; is fastest"));
  EXPECT_THAT(slider, HasSubstr("&lt;/script&gt;&lt;b&gt;</span>"));
  EXPECT_THAT(slider, Not(HasSubstr("script>")));
  EXPECT_THAT(slider, Not(HasSubstr("<b>")));
  EXPECT_EQ(sample::check_markup(slider).error, "");
  EXPECT_THAT(rate_slider_script(), Not(HasSubstr("</")));
}

TEST(RateSlider, NeedsTwoMeasuredRates) {
  Records records = slider_records("topk");
  for (Point& point : records.points)
    if (point.axes.rate == 1e9) point.status = Status::kInvalid;
  EXPECT_EQ(rate_slider(summarize(records).groups.at(0)), "");
  const std::string one = render_html(sample::synthetic_run({{4}, {1e7}, 1, 8, false}));
  EXPECT_THAT(one, Not(HasSubstr("Who wins at which rate")));
  const std::string two = render_html(sample::synthetic_run({{4}, {1e7, 1e9}, 1, 8, false}));
  EXPECT_THAT(two, HasSubstr("<h2 id=\"who-wins\">Who wins at which rate</h2>"));
  EXPECT_THAT(two, HasSubstr("querySelectorAll('.rates')"));
}

}  // namespace
}  // namespace thinpipe
