#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/predict/output.h"

namespace thinpipe {
namespace {

using testing::HasSubstr;
using testing::Not;

PredictedPoint point_of_model(const char* compressor, const char* link, int ranks, double step,
                              double baseline) {
  PredictedPoint one;
  one.point.compressor = parse_spec(compressor);
  one.point.link = parse_link_spec(link);
  one.point.ranks = ranks;
  one.prediction = Prediction{};
  one.prediction->step = step;
  one.baseline = baseline;
  return one;
}

std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

TEST(PredictionSentences, NameTheFastestAtBothEndsForTheMostRanks) {
  const std::string text = on_one_line(prediction_sentences({
      point_of_model("none", "rate=10mbit", 8, 4, 4),
      point_of_model("topk", "rate=10mbit", 8, 0.5, 4),
      point_of_model("3lc", "rate=10mbit", 8, 1, 4), point_of_model("topk", "rate=1gbit", 8, 1, 1),
      point_of_model("3lc", "rate=10mbit", 2, 0.01, 4),  // fewer ranks
  }));
  EXPECT_THAT(text, HasSubstr("At 10 Mbit/s between 8 ranks topk should be fastest, 8 times as"));
  EXPECT_THAT(text, HasSubstr("At 1 Gbit/s between 8 ranks nothing here should pay."));
}

TEST(PredictionSentences, SayOneThingOfOneRateAndNothingOfNothing) {
  const std::string text =
      on_one_line(prediction_sentences({point_of_model("topk", "rate=10mbit", 2, 1, 3)}));
  EXPECT_THAT(text, HasSubstr("At 10 Mbit/s between 2 ranks topk"));
  EXPECT_THAT(text.substr(10), Not(HasSubstr("At 10 Mbit/s")));
  EXPECT_EQ(prediction_sentences({point_of_model("none", "rate=10mbit", 2, 1, 1)}), "");
  EXPECT_EQ(prediction_sentences({point_of_model("topk", "unthrottled", 2, 1, 1)}), "");
  EXPECT_EQ(prediction_sentences({}), "");
}

}  // namespace
}  // namespace thinpipe
