#include "harness/quality/tally.h"

#include <gtest/gtest.h>

#include <cmath>

namespace thinpipe {
namespace {

QualitySample sample(std::size_t rank, Distortion distortion, double decoded_squares) {
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
  tally.add(sample(0, {9, 25}, 16));
  // decoded = c on another rank, in its last step.
  tally.add(sample(1, {9, 25}, 16));
  tally.add(sample(1, {0, 25}, 25));
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
  tally.add(sample(0, {9, 25}, 16));
  EXPECT_DOUBLE_EQ(tally.summary().bits_per_element, 1);
  EXPECT_DOUBLE_EQ(*tally.summary().error_mean, 0.6);
}

TEST(Tally, DistributionOverlapAndDrift) {
  Tally tally;
  for (int i = 0; i <= 100; ++i) tally.add_estimation(i);
  QualitySample some = sample(0, {0, 1}, 1);
  some.overlap_of = 40;
  some.overlap = 30;
  tally.add(some);
  some.overlap_of = 10;
  some.overlap = 10;
  tally.add(some);
  tally.add_drift(4, 16);  // 2 of 4
  tally.add_drift(0, 16);
  tally.add_drift(1, 0);  // no input: no drift to speak of
  const QualitySummary summary = tally.summary();
  EXPECT_EQ(summary.estimation->samples, 101U);
  EXPECT_DOUBLE_EQ(summary.estimation->mean, 50);
  EXPECT_DOUBLE_EQ(summary.estimation->p5, 5);
  EXPECT_DOUBLE_EQ(summary.estimation->p50, 50);
  EXPECT_DOUBLE_EQ(summary.estimation->p95, 95);
  EXPECT_DOUBLE_EQ(summary.estimation->max, 100);
  EXPECT_DOUBLE_EQ(*summary.overlap, 0.8);
  EXPECT_DOUBLE_EQ(*summary.drift, 0.25);
}

TEST(Tally, SamplesOfTensorsAddUp) {
  QualitySample all;
  all += sample(0, {9, 25}, 16);
  all += sample(0, {16, 75}, 9);
  EXPECT_EQ(all.elements, 200U);
  EXPECT_EQ(all.encoded_bytes, 50U);
  EXPECT_DOUBLE_EQ(all.distortion.relative(), 0.5);  // sqrt(25 / 100)
  EXPECT_DOUBLE_EQ(all.decoded_squares, 25);
}

}  // namespace
}  // namespace thinpipe
