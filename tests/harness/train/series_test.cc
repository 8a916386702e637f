#include "harness/train/series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace thinpipe {
namespace {

TEST(TrainTarget, ReadsWhatItWrites) {
  for (const char* text : {"acc=0.9", "loss=0.1", "ppl=20", "acc=1", "loss=0"})
    EXPECT_EQ(Target::parse(text).to_string(), text);
  for (const char* text : {"", "acc", "acc=", "acc=0", "acc=1.1", "acc=0.9x", "ppl=0.5", "loss=-1",
                           "loss=nan", "accuracy=0.9", "0.9"})
    EXPECT_THROW(Target::parse(text), InputError) << text;
}

TEST(TrainTarget, AccuracyIsReachedFromBelow) {
  EXPECT_TRUE(Target::parse("acc=0.9").reached(0.9));
  EXPECT_FALSE(Target::parse("acc=0.9").reached(0.89));
  EXPECT_TRUE(Target::parse("ppl=20").reached(19));
  EXPECT_FALSE(Target::parse("loss=0.1").reached(0.11));
}

TrainSeries some_series() {
  TrainSeries series;
  series.loss = {2.5, 2, 1.5, 1};
  series.seconds = {0.1, 0.2, 0.3, 0.4};
  series.bytes = {10, 20, 30, 40};
  series.held_out = {{2, 1.9, 0.5}, {4, 1.1, 0.75}};
  return series;
}

TEST(TrainSeriesTest, TimeToATargetIsThatOfTheFirstEvaluationThatReachesIt) {
  const TrainSeries series = some_series();
  EXPECT_EQ(series.reaching(Target::parse("acc=0.9")), nullptr);
  const HeldOut* reached = series.reaching(Target::parse("acc=0.4"));
  ASSERT_NE(reached, nullptr);
  EXPECT_EQ(reached->steps, 2U);
  EXPECT_NEAR(series.seconds_after(reached->steps), 0.3, 1e-12);
  EXPECT_EQ(series.bytes_after(reached->steps), 30);
  EXPECT_EQ(series.reaching(Target::parse("loss=1.2"))->steps, 4U);
}

TEST(TrainSeriesTest, GoesThroughACheckpointAndIntoARecord) {
  const auto json = nlohmann::json::parse(some_series().to_json().dump());
  const TrainSeries series = TrainSeries::from_json({json, "point.json"});
  EXPECT_EQ(series.to_json(), some_series().to_json());
  const nlohmann::json record = series.record(false);
  EXPECT_NEAR(record.at("seconds").at(3).get<double>(), 1.0, 1e-12);
  EXPECT_EQ(record.at("bytes"), (nlohmann::json{10, 30, 60, 100}));
  EXPECT_EQ(record.at("evaluations").at("accuracy"), (nlohmann::json{0.5, 0.75}));
  EXPECT_EQ(record.at("evaluations").at("bytes"), (nlohmann::json{30, 100}));
  EXPECT_TRUE(series.record(true).at("evaluations").contains("perplexity"));
}

TEST(TrainSeriesTest, RefusesWhatItWouldReadBeyond) {
  nlohmann::json json = some_series().to_json();
  json["held_out"][0][0] = 1000;  // steps that it has not
  EXPECT_THROW(TrainSeries::from_json({json, "point.json"}), InputError);
  json = some_series().to_json();
  json["seconds"].erase(0);
  EXPECT_THROW(TrainSeries::from_json({json, "point.json"}), InputError);
  json = some_series().to_json();
  json["loss"][0] = nullptr;  // as JSON has NaN
  EXPECT_TRUE(std::isnan(TrainSeries::from_json({json, "point.json"}).loss[0]));
}

TEST(TrainSeriesTest, RecordsHaveTheRatesFactorWhereItFell) {
  TrainSeries series = some_series();
  EXPECT_EQ(TrainSeries().rate_factor(), 1);
  EXPECT_FALSE(series.record(false).at("evaluations").contains("rate_factor"));
  series.held_out.back().rate_factor = 0.25;
  const nlohmann::json json = series.to_json();
  series = TrainSeries::from_json({json, "point.json"});
  EXPECT_EQ(series.rate_factor(), 0.25);
  EXPECT_EQ(series.record(false).at("evaluations").at("rate_factor"), (nlohmann::json{1, 0.25}));
  EXPECT_EQ(series.held_out_losses(), (std::vector<double>{1.9, 1.1}));
}

}  // namespace
}  // namespace thinpipe
