#include "harness/predict/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "workloads/synthetic/synthetic.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PredictedPoint point_of_model(const char* compressor, const char* link, int ranks, double step,
                              double baseline) {
  PredictedPoint one;
  one.point.compressor = parse_spec(compressor);
  one.point.link = parse_link_spec(link);
  one.point.ranks = ranks;
  one.is_baseline = one.point.compressor == kUncompressed;
  one.step = PredictedStep{};
  one.step->prediction.step = step;
  one.step->prediction.payload_bytes = 2000;
  one.step->none = baseline;
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
  EXPECT_THAT(text,
              HasSubstr("At 10 Mbit/s between 8 ranks topk should be fastest, 8 times as fast as "
                        "none (fp32), sending 2 kB a rank."));
  EXPECT_THAT(text, HasSubstr("At 1 Gbit/s between 8 ranks no compressor should be 5 % faster than "
                              "the baseline."));
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

PredictedPoint with_local_steps(PredictedPoint one, std::uint64_t steps) {
  one.point.bucketing.local_steps = steps;
  return one;
}

TEST(PredictionSentences, NameTheShortestStepOfAllCollectivesAndBucketings) {
  // Compression gains less over 50 local steps, whose step is the shorter one all the same.
  const std::vector<PredictedPoint> points = {
      point_of_model("none", "rate=10mbit", 4, 4, 4),
      point_of_model("fedavg:delay=50", "rate=10mbit", 4, 0.5, 4),
      with_local_steps(point_of_model("none", "rate=10mbit", 4, 0.4, 0.4), 50),
      with_local_steps(point_of_model("topk", "rate=10mbit", 4, 0.2, 0.4), 50)};
  EXPECT_THAT(on_one_line(prediction_sentences(points)),
              HasSubstr("At 10 Mbit/s between 4 ranks topk (ring, local_steps=50) should be "
                        "fastest, 2 times as fast as none (fp32) with the same settings, sending "
                        "2 kB a rank."));
  EXPECT_THAT(on_one_line(prediction_sentences({points[0], points[1], points[2]})),
              HasSubstr("none (ring, local_steps=50) should have the shortest step."));
}

TEST(PredictionSentences, TellBothBaselinesAndNameNoneThatIsNoFasterThanTheFaster) {
  PredictedPoint faster = point_of_model("topk", "rate=10mbit", 8, 0.5, 4);
  faster.step->bf16 = 2;
  EXPECT_THAT(on_one_line(prediction_sentences({faster})),
              HasSubstr("topk should be fastest, 4 times as fast as bf16 and 8 times as fast as "
                        "none (fp32), sending"));
  faster.step->bf16 = 0.5;
  EXPECT_THAT(on_one_line(prediction_sentences({faster})),
              HasSubstr("no compressor should be 5 % faster than the baseline."));
}

TEST(PredictionSentences, CompareNoStepsOfDifferentNetworks) {
  const std::string text =
      on_one_line(prediction_sentences({point_of_model("topk", "rate=10mbit,delay=1s", 4, 2, 4),
                                        point_of_model("3lc", "rate=10mbit", 4, 1, 4)}));
  EXPECT_THAT(text, HasSubstr("At rate=10mbit,delay=1s between 4 ranks topk should be fastest, 2 "
                              "times"));
  EXPECT_THAT(text, HasSubstr("At 10 Mbit/s between 4 ranks 3lc should be fastest, 4 times"));
}

PredictedCrossing crossing(const char* link, std::uint64_t local_steps, double rate) {
  PredictedCrossing one;
  one.point.compressor = parse_spec("topk");
  one.point.link = parse_link_spec(link);
  one.point.ranks = 4;
  one.point.bucketing.local_steps = local_steps;
  one.result.rate = rate;
  return one;
}

TEST(CrossingTable, SaysOfEveryRowWhichSettingItIsOf) {
  const std::string text =
      crossing_table({crossing("rate=1gbit", 1, 1e9), crossing("rate=1gbit", 50, 2e9),
                      crossing("rate=1gbit,delay=10ms", 1, 3e9)},
                     {});
  EXPECT_THAT(text, HasSubstr("ring\n"
                              "compressor  ranks     faster than\n"
                              "                     the baseline\n"
                              "topk            4  below 1 Gbit/s\n\n"));
  EXPECT_THAT(text, HasSubstr("\nring, local_steps=50\n"));
  EXPECT_THAT(text, HasSubstr("\nring, delay=10ms\n"));
}

TEST(CrossingTable, SaysWhyThereIsNoBreakEven) {
  PredictedCrossing one{
      point_of_model("topk", "rate=10mbit", 8, 1, 1).point, {.sends = 0.998}, {}, {}};
  const std::string text = crossing_table({one, one}, {});
  EXPECT_THAT(text, HasSubstr("8  no break-even\n"));
  EXPECT_THAT(text, HasSubstr("\ntopk has no break-even rate: it sends 99.8 % of the uncompressed "
                              "bytes, and\nnoise of the codec times would decide.\n"));
}

// A codec that was timed on a CPU is compared with a GPU's compute time only with a note.
TEST(PredictionTable, ShowsTheOtherBoundWhereComputeIsAGpus) {
  PredictedPoint one = point_of_model("topk", "rate=1gbit", 4, 2, 3);
  one.at_memory_pace = PredictedStep{};
  one.at_memory_pace->prediction.step = 1;
  one.at_memory_pace->none = 2.5;
  const Trace lenet5 = make_synthetic(parse_synthetic_spec("synthetic:model=lenet5"));
  const SweepOptions options;
  const std::string text = prediction_table({one}, Predictor(lenet5, options), {});
  EXPECT_THAT(text, HasSubstr("  memory-bound codec   1 s"));
  EXPECT_THAT(on_one_line(prediction_sentences({one})),
              HasSubstr("With codecs bound by the GPU's memory bandwidth: At 1 Gbit/s between 4 "
                        "ranks topk should be fastest, 2.5 times as fast as none (fp32)"));
  EXPECT_THAT(text, HasSubstr("2.50\n"));
  PredictedOrigin origin{"NVIDIA V100-SXM2", "one core", ComputeDevice{"NVIDIA V100-SXM2", 9e11}};
  EXPECT_THAT(on_one_line(origin_text(origin)), HasSubstr("at 900 GB/s."));
  origin.device->memory_rate = 0;
  EXPECT_THAT(on_one_line(origin_text(origin)), HasSubstr("take codecs as free."));
  origin.device.reset();
  EXPECT_EQ(origin_text(origin), "Compute times: NVIDIA V100-SXM2. Codec times: one core.\n");
}

}  // namespace
}  // namespace thinpipe
