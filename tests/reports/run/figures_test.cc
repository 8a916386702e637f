// Each figure of a run, drawn from records made by hand, read from the data behind it.
#include "reports/run/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

Metric seconds(std::vector<double> samples) { return {"s", "lower", "timed", std::move(samples)}; }

// `none` takes 2 s, `topk` 1 s, `dgc` 0.5 s, but dgc is untrusted.
Records three_methods(int ranks = 4) {
  Records records;
  records.headers = {sample::header()};
  for (const auto& [spec, step] :
       {std::pair{"none", 2.0}, {"topk:ratio=0.1", 1.0}, {"dgc:ratio=0.1", 0.5}}) {
    Point point = sample::point(spec, 1e7, 0, {step, step, step, step});
    point.axes.ranks = ranks;
    point.id += std::to_string(ranks);
    point.metrics["exposed_time"] = seconds({0.25, 0.25, 0.25, 0.25});
    point.metrics["ideal_time"] = seconds({0.25});
    point.metrics["relative_error"] = {"1", "lower", "quality", {step == 2.0 ? 0.0 : step / 2}};
    point.metrics["dense_bytes"] = {"B", "lower", "exact", {4000}};
    point.metrics["payload_bytes"] = {"B", "lower", "exact", {2000, 1000, 500, 250}};
    point.metrics["quality"] = {"1", "target:1", "quality", {1, 3, 2, 2}};
    point.metrics["compress_time"] = seconds(std::vector<double>(8, step / 10));
    point.prediction = document({{"step_time", 1.5}, {"break_even", {{"rate", 3e7}}}});
    point.critical_path =
        document({{"waits",
                   {{{"host", 1}, {"phase", "compute"}, {"share", 0.1}},
                    {{"host", 1}, {"phase", "compress"}, {"share", 0.05}},
                    {{"host", 3}, {"phase", "compute"}, {"share", 0.01}},
                    {{"host", 2}, {"phase", "start"}, {"share", 0.5}},     // not its own doing
                    {{"host", -1}, {"phase", "compute"}, {"share", 0.5}},  // hostile
                    {{"host", "x"}, {"phase", 1}, {"share", "y"}}}}});
    if (step == 0.5) {
      point.status = Status::kInvalid;
      point.reasons = {"too slow a machine"};
    }
    records.points.push_back(std::move(point));
  }
  return records;
}

std::string data_of(Figure (*build)(const Group&, const std::string&)) {
  const Records records = three_methods();
  const Summary summary = summarize(records);
  return build(summary.groups.at(0), "g").data;
}

TEST(RunFigures, ExposedCommunicationIsAShareOfTheStep) {
  const std::string data = data_of(exposed_figure);
  EXPECT_THAT(data, HasSubstr(",topk,1e+07,0.25,,,yes\n"));
  EXPECT_THAT(data, HasSubstr(",dgc,1e+07,0.5,,,no\n"));
}

TEST(RunFigures, ParetoPutsErrorAgainstStepTime) {
  const Records records = three_methods();
  const Summary summary = summarize(records);
  const Figure figure = pareto_figure(summary.groups.at(0), "g");
  EXPECT_THAT(figure.data, HasSubstr("10 Mbit/s,topk,1,0.5,,,yes\n"));
  ASSERT_EQ(figure.panels.size(), 1u);
  // dgc would be on it, were it to be trusted.
  EXPECT_THAT(figure.panels[0].svg, HasSubstr("On the front, left to right: topk, none."));
}

TEST(RunFigures, WaitsAddUpByHost) {
  const std::string data = data_of(waits_figure);
  EXPECT_THAT(data, HasSubstr("10 Mbit/s,topk: host 1,0,0.15,,,yes\n"));
  EXPECT_THAT(data, HasSubstr("10 Mbit/s,topk: host 3,0.15,0.01,,,yes\n"));
  EXPECT_THAT(data, Not(HasSubstr("host 2")));
  EXPECT_THAT(data, Not(HasSubstr("host -1")));
}

TEST(RunFigures, PredictionsStandAgainstMeasuredTimes) {
  EXPECT_THAT(data_of(predicted_figure), HasSubstr("the step,topk,1,1.5,,,yes\n"));
}

TEST(RunFigures, SizesAreBitsAnElement) {
  // 2000 of 4000 bytes are 16 of 32 bits.
  const std::string data = data_of(sizes_figure);
  EXPECT_THAT(data, HasSubstr(",topk,1,16,,,yes\n"));
  EXPECT_THAT(data, HasSubstr(",topk,4,2,,,yes\n"));
}

// Curves of more than 60 steps have no markers where they are trusted.
TEST(RunFigures, LongCurvesOfInvalidPointsAreDrawn) {
  Records records = three_methods();
  for (Point& point : records.points) {
    point.status = Status::kInvalid;
    point.metrics["payload_bytes"].samples.assign(100, 1000.0);
  }
  const Summary summary = summarize(records);
  const Figure figure = sizes_figure(summary.groups.at(0), "g");
  ASSERT_EQ(figure.panels.size(), 1u);
  EXPECT_THAT(figure.panels[0].svg, HasSubstr("var(--muted)"));
}

TEST(RunFigures, EncodingIsComparedWithTopKByTrustedPoints) {
  Records records = three_methods();
  records.points[2].status = Status::kOk;
  const Summary summary = summarize(records);
  // 0.1 s of Top-k over 0.05 s of DGC.
  EXPECT_THAT(latency_figure(summary.groups.at(0), "g").data, HasSubstr(",dgc,,2,2,2,yes\n"));
  EXPECT_EQ(data_of(latency_figure), "");  // dgc was the only other
}

TEST(RunFigures, QualityIsARunningMeanOverTimeAndADistribution) {
  // Four steps of 1 s; a quarter of them is one.
  const std::string data = data_of(quality_figure);
  EXPECT_THAT(data, HasSubstr("Against time,topk,2,"));
  // Quartiles of 1, 2, 2, 3 by Hyndman and Fan's type 7: 1.75 and 2.25.
  EXPECT_THAT(data, HasSubstr("topk,,2,1.75,2.25,yes\n"));
}

TEST(RunFigures, SpeedUpMarksPredictedBreakEvens) {
  EXPECT_THAT(data_of(speedup_figure),
              HasSubstr("topk was predicted to break even at 30 Mbit/s,3e+07,"));
}

TEST(RunFigures, ScalingIsWorkersTimesTheIdealStepOverTheStep) {
  Records records = three_methods(2);
  EXPECT_TRUE(scaling_figures(summarize(records), "s").empty());
  for (Point& point : three_methods(8).points) records.points.push_back(std::move(point));
  const std::vector<Figure> figures = scaling_figures(summarize(records), "s");
  ASSERT_EQ(figures.size(), 1u);
  // 2 x 0.25 s over 1 s; 8 x 0.25 s over 2 s of none.
  EXPECT_THAT(figures[0].data, HasSubstr("10 Mbit/s,topk,2,0.5,"));
  EXPECT_THAT(figures[0].data, HasSubstr("10 Mbit/s,none,8,1,"));
  EXPECT_THAT(figures[0].data, HasSubstr("10 Mbit/s,dgc,8,4,,,no\n"));
}

TEST(RunFigures, ScalingHasSeriesThatTheLargestGroupLacks) {
  Records records = three_methods(2);
  for (Point& point : three_methods(4).points) records.points.push_back(std::move(point));
  for (const char* other : {"none", "3lc", "sbc", "sidco"}) {
    Point point = sample::point(other, 1e7, 0, {1, 1, 1, 1});
    point.axes.ranks = 8;
    point.metrics["ideal_time"] = seconds({0.25});
    records.points.push_back(std::move(point));
  }
  const std::vector<Figure> figures = scaling_figures(summarize(records), "s");
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_THAT(figures[0].data, HasSubstr("10 Mbit/s,topk,2,0.5,"));
  EXPECT_THAT(figures[0].data, HasSubstr("10 Mbit/s,none,8,2,"));  // 8 x 0.25 s over 1 s
}

TEST(RunFigures, OfManyRatesSixHaveAPanel) {
  EXPECT_EQ(panel_rates(std::vector<double>{1, 2}), (std::vector<double>{1, 2}));
  EXPECT_EQ(panel_rates(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
            (std::vector<double>{1, 3, 5, 7, 9, 11}));
}

TEST(RunFigures, TimelinesOfRanks) {
  Records records = three_methods();
  for (Point& point : records.points)
    point.timeline = {{{"compute", 0, 0, 0.5}, {"exchange", 0, 0.5, 1}},
                      {{"compute", 0, 0, 0.75}, {"exchange", 0, 0.75, 1}}};
  const Summary summary = summarize(records);
  const Figure figure = timeline_figure(summary.groups.at(0), "g");
  ASSERT_EQ(figure.panels.size(), 2u);
  EXPECT_EQ(figure.panels[0].title, "none, 10 Mbit/s");
  EXPECT_EQ(figure.panels[1].title, "topk, 10 Mbit/s");
  EXPECT_THAT(figure.data, HasSubstr("rank 1: exchange,0.75,"));
}

// Drawn apart, the three series at 10 Mbit/s have that rate in the data.
TEST(RunFigures, FidelityHasTheMeasuredRates) {
  Records records = three_methods();
  for (Point& point : records.points) point.fidelity = Fidelity{.idle_cpu = 0.5};
  const Summary summary = summarize(records);
  const Figure figure = fidelity_figure(summary.groups.at(0), "g");
  for (const char* row : {"none,1e+07,0.5,,,yes", "topk,1e+07,0.5,,,yes", "dgc,1e+07,0.5,,,no"})
    EXPECT_THAT(figure.data, HasSubstr("CPU idle time," + std::string(row) + "\n"));
  ASSERT_EQ(figure.panels.size(), 1u);
  // The targets of the tooltips are at three places.
  std::set<std::string> places;
  static const std::regex kPlace("<circle cx=\"([0-9.]+)\"");
  const std::string& svg = figure.panels[0].svg;
  for (auto match = std::sregex_iterator(svg.begin(), svg.end(), kPlace);
       match != std::sregex_iterator(); ++match)
    places.insert((*match)[1].str());
  EXPECT_EQ(places.size(), 3u);
}

TEST(RunFigures, LinksThatDidNotHoldAreGrey) {
  Records records = three_methods();
  EXPECT_TRUE(calibration_figure(records).panels.empty());
  records.headers[0].calibration = document(sample::calibration());
  const Figure figure = calibration_figure(records);
  EXPECT_THAT(figure.data, HasSubstr(",rate=100mbit,,0.998,0.998,1.001,yes\n"));
  EXPECT_THAT(figure.data, HasSubstr(",rate=10gbit,,0.3,0.3,0.31,no\n"));
  EXPECT_THAT(figure.data, Not(HasSubstr("2gbit")));  // nothing came through it
}

// All figures of a group.

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
  fed.axes.bucketing = "overlap=bucket";
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
