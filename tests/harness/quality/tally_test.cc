// Distortion of a compressor, added up and printed.
#include "harness/quality/tally.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/text.h"
#include "harness/quality/output.h"
#include "tests/base/support.h"
#include "tests/trace/sample_trace.h"

namespace thinpipe {
namespace {

QualitySample tally_sample(std::size_t rank, Distortion distortion, double decoded_squares) {
  QualitySample sample;
  sample.rank = rank;
  sample.elements = 100;
  sample.encoded_bytes = 25;
  sample.distortion = distortion;
  sample.decoded_squares = decoded_squares;
  sample.passes_by_elements = 300;
  sample.seconds = 1e-6;
  return sample;
}

TEST(Tally, NothingIsNothing) {
  const QualitySummary summary = Tally().summary();
  EXPECT_FALSE(summary.estimation || summary.error_mean || summary.cosine_last || summary.drift ||
               summary.overlap);
  EXPECT_EQ(summary.bits_per_element, 0);
}

TEST(Tally, ErrorsAndCosines) {
  // c = (3, 4), decoded (0, 4): error 3 of 5; cosine 16 / (5 * 4) = 0.8.
  Tally tally;
  tally.add(tally_sample(0, {9, 25}, 16));
  // decoded = c on another rank, in its last step.
  tally.add(tally_sample(1, {9, 25}, 16));
  tally.add(tally_sample(1, {0, 25}, 25));
  const QualitySummary summary = tally.summary();
  EXPECT_DOUBLE_EQ(*summary.error_mean, (0.6 + 0.6 + 0) / 3);
  EXPECT_DOUBLE_EQ(*summary.error_last, (0.6 + 0) / 2);
  EXPECT_DOUBLE_EQ(*summary.cosine_mean, (0.8 + 0.8 + 1) / 3);
  EXPECT_DOUBLE_EQ(*summary.cosine_last, (0.8 + 1) / 2);
  EXPECT_DOUBLE_EQ(summary.passes, 3);
  EXPECT_DOUBLE_EQ(summary.nanoseconds_per_element, 10);  // 1 us for 100 elements
  EXPECT_DOUBLE_EQ(summary.bits_per_element, 2);          // 25 bytes for 100 elements
  EXPECT_DOUBLE_EQ(summary.compression_ratio, 16);
}

TEST(Tally, HeldStepsCountForTheBitsAlone) {
  Tally tally;
  QualitySample held;
  held.exchanged = false;
  held.elements = 100;
  tally.add(held);
  tally.add(tally_sample(0, {9, 25}, 16));
  EXPECT_DOUBLE_EQ(tally.summary().bits_per_element, 1);
  EXPECT_DOUBLE_EQ(*tally.summary().error_mean, 0.6);
}

TEST(Tally, DistributionAndOverlap) {
  Tally tally;
  for (std::size_t i = 0; i <= 100; ++i) {
    QualitySample of_a_tensor;
    of_a_tensor.selected = 7 * i;
    of_a_tensor.target = 7;
    tally.add_estimation(of_a_tensor);
  }
  tally.add_estimation({});  // of a method without a target
  QualitySample some = tally_sample(0, {0, 1}, 1);
  some.overlap_of = 40;
  some.overlap = 30;
  tally.add(some);
  some.overlap_of = 10;
  some.overlap = 10;
  tally.add(some);
  const QualitySummary summary = tally.summary();
  EXPECT_EQ(summary.estimation->samples, 101U);
  EXPECT_DOUBLE_EQ(summary.estimation->mean, 50);
  EXPECT_DOUBLE_EQ(summary.estimation->p5, 5);
  EXPECT_DOUBLE_EQ(summary.estimation->p50, 50);
  EXPECT_DOUBLE_EQ(summary.estimation->p95, 95);
  EXPECT_DOUBLE_EQ(summary.estimation->max, 100);
  EXPECT_DOUBLE_EQ(*summary.overlap, 0.8);
  EXPECT_EQ(summary.series.overlap, (std::vector<double>{0.75, 1}));
  EXPECT_FALSE(summary.quality.has_value());
}

TEST(Tally, QualityIsOfStepsWithSidcosInterval) {
  Tally tally;
  const std::size_t selected[3][2] = {{90, 110}, {100, 120}, {150, 150}};  // by step and rank
  for (std::size_t step = 0; step < 3; ++step) {
    for (std::size_t rank = 0; rank < 2; ++rank) {
      QualitySample one = tally_sample(rank, {1, 2}, 1);
      one.step = step;
      one.selected = selected[step][rank];
      one.target = 100;
      tally.add(one);
    }
  }
  // Steps have 1, 1.1 and 1.5: mean 1.2, s = sqrt(0.07); t(0.95; 2) = 2.919986.
  const QualitySummary summary = tally.summary();
  ASSERT_TRUE(summary.quality && summary.quality->interval);
  EXPECT_EQ(summary.quality->samples, 3U);
  EXPECT_NEAR(summary.quality->mean, 1.2, 1e-12);
  EXPECT_NEAR(summary.quality->interval->high, 1.2 + 2.919986 * std::sqrt(0.07 / 3), 1e-6);
  EXPECT_EQ(summary.series.quality, (std::vector<double>{0.9, 1.1, 1, 1.2, 1.5, 1.5}));
  EXPECT_EQ(summary.series.step, (std::vector<double>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(summary.series.rank, (std::vector<double>{0, 1, 0, 1, 0, 1}));
}

TEST(Tally, DriftIsTheLastOfEachRank) {
  Tally tally;
  const auto drifted = [](std::size_t rank, double difference, double inputs) {
    QualitySample one = tally_sample(rank, {0, 1}, 1);
    one.drift_difference = difference;
    one.drift_inputs = inputs;
    return one;
  };
  tally.add(drifted(0, 9, 9));
  QualitySample held = drifted(0, 4, 16);  // a step without an exchange drifts as well: 2 of 4
  held.exchanged = false;
  tally.add(held);
  tally.add(drifted(1, 0, 16));
  tally.add(drifted(2, 1, 0));  // no input: no drift to speak of
  EXPECT_DOUBLE_EQ(*tally.summary().drift, 0.25);
  EXPECT_EQ(tally.summary().series.drift[0], 1);
}

TEST(Tally, SamplesOfTensorsAddUp) {
  QualitySample all;
  all += tally_sample(0, {9, 25}, 16);
  all += tally_sample(0, {16, 75}, 9);
  EXPECT_EQ(all.elements, 200U);
  EXPECT_EQ(all.encoded_bytes, 50U);
  EXPECT_DOUBLE_EQ(all.distortion.relative(), 0.5);  // sqrt(25 / 100)
  EXPECT_DOUBLE_EQ(all.decoded_squares, 25);
}

std::vector<std::string> table_lines(const CompressorQuality& quality, QualityRows rows) {
  QualityTable table;
  table.add(quality, rows);
  return split(table.text(), '\n');
}

TEST(QualityTable, FitsItsColumnsAndHasTheRowsAskedFor) {
  TemporaryFolder folder;
  write_sample_trace(folder.path() / "trace",
                     {.shapes = {{30, 20}, {7}}, .ranks = 2, .steps = 3, .seed = 3});
  const Trace trace(folder.path() / "trace");
  for (const char* spec :
       {"topk", "sidco:ratio=0.001", "fp16", "none", "topk:delay=2,ratio=0.01"}) {
    const CompressorQuality quality = replay_offline(trace, parse_spec(spec), {});
    const auto lines = [&](QualityRows rows) {
      const auto all = table_lines(quality, rows);
      for (const std::string& line : all) EXPECT_LE(text_columns(line), 80U) << line;
      // Two tables: headings of two lines and of one, a line between, and nothing after the last.
      EXPECT_EQ((all.size() - 5) % 2, 0U);
      return (all.size() - 5) / 2;
    };
    const std::size_t steps = quality.period == 1 ? 3 : 1;
    EXPECT_EQ(lines(QualityRows::kTotal), 1U);
    EXPECT_EQ(lines(QualityRows::kTensors), 3U);
    EXPECT_EQ(lines(QualityRows::kSteps), 1 + steps);
    EXPECT_EQ(lines(QualityRows::kTensorSteps), 3 + 2 * steps);
  }
}

TEST(QualityTable, FiguresOfAnySizeStayInTheirColumns) {
  CompressorQuality quality;
  quality.spec = parse_spec("topk");
  quality.total.encoded_bytes = 123456789012;
  quality.total.bits_per_element = 31.99999;
  quality.total.estimation = Distribution{4, 1, 1e-9, 12345.6, 1e7, 1e20};
  quality.total.quality = MeanInterval{2, 99999.4, Interval{-1e30, 1e30}};
  quality.total.error_mean = 1e-12;
  quality.total.cosine_mean = -0.99999;
  quality.total.drift = 1.2345e-5;
  quality.total.overlap = 1;
  const auto lines = table_lines(quality, QualityRows::kTotal);
  EXPECT_EQ(lines[2], "topk        123 GB  32.0  1e-10   -1.00  1e-05    100       0");
  EXPECT_EQ(lines[5], "topk                   99999  1e+30  1e-09  12346  1e+07  1e+20");
}

}  // namespace

}  // namespace thinpipe
