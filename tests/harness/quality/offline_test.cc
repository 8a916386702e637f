// Distortion of a compressor over a replayed trace, added up and printed.
#include "harness/quality/offline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "harness/quality/output.h"
#include "tests/base/support.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"
#include "tests/harness/files/files.h"
#include "tests/trace/sample_trace.h"

namespace thinpipe {
namespace {

/// A small trace and a folder for the dumped arrays.
class OfflineTest : public ::testing::Test {
 protected:
  OfflineTest() {
    write_sample_trace(folder_ / "trace",
                       {.shapes = {{30, 20}, {7}}, .ranks = 2, .steps = 4, .seed = 3});
    trace_.emplace(folder_ / "trace");
  }
  CompressorQuality replay(const std::string& spec, const OfflineOptions& options = {}) {
    return replay_offline(*trace_, parse_spec(spec), options);
  }

  TemporaryFolder folder_;
  std::optional<Trace> trace_;
};

TEST_F(OfflineTest, NoCompressionLosesNothing) {
  const CompressorQuality quality = replay("none");
  EXPECT_DOUBLE_EQ(quality.total.bits_per_element, 32);
  EXPECT_EQ(*quality.total.error_mean, 0);
  EXPECT_DOUBLE_EQ(*quality.total.cosine_mean, 1);
  EXPECT_EQ(*quality.total.drift, 0);
  EXPECT_EQ(quality.total.encoded_bytes, 607U * 4 * 2 * 4);  // elements, bytes, ranks, steps
  EXPECT_FALSE(quality.total.estimation.has_value());
  ASSERT_EQ(quality.tensors.size(), 2U);
  EXPECT_EQ(quality.tensors[1].summary.elements, 7U);
}

TEST_F(OfflineTest, FiguresOfTopKAgainstAPlainReplay) {
  // Every figure again, from compressors run by hand.
  const CompressorQuality quality = replay("topk:ratio=0.1");
  double errors = 0, cosines = 0, drifts = 0;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const auto compressor = testing::make("topk:ratio=0.1", 600, "tensor-0");
    std::vector<double> carried(600), inputs(600), decoded_sum(600);
    for (std::size_t step = 0; step < 4; ++step) {
      const auto gradient = trace_->gradient(rank, step, 0);
      const auto encoded = testing::encode(*compressor, gradient, step);
      const auto decoded = testing::decode(*compressor, encoded.payload);
      double error = 0, c_norm = 0, decoded_norm = 0, product = 0;
      for (std::size_t i = 0; i < 600; ++i) {
        const double c = carried[i] + static_cast<double>(gradient[i]);
        const auto d = static_cast<double>(decoded[i]);
        error += (d - c) * (d - c);
        c_norm += c * c;
        decoded_norm += d * d;
        product += c * d;
        carried[i] = c - d;
        inputs[i] += static_cast<double>(gradient[i]);
        decoded_sum[i] += d;
      }
      errors += std::sqrt(error / c_norm) / 8;
      cosines += product / std::sqrt(c_norm * decoded_norm) / 8;
    }
    double difference = 0, input = 0;
    for (std::size_t i = 0; i < 600; ++i) {
      difference += (inputs[i] - decoded_sum[i]) * (inputs[i] - decoded_sum[i]);
      input += inputs[i] * inputs[i];
    }
    drifts += std::sqrt(difference / input) / 2;
  }
  const QualitySummary& summary = quality.tensors[0].summary;
  EXPECT_NEAR(*summary.error_mean, errors, 1e-6);
  EXPECT_NEAR(*summary.cosine_mean, cosines, 1e-6);
  EXPECT_NEAR(*summary.drift, drifts, 1e-6);
  EXPECT_DOUBLE_EQ(*summary.overlap, 1);
  EXPECT_DOUBLE_EQ(summary.estimation->mean, 1);
  EXPECT_EQ(quality.total.estimation->samples, 2U * 4 * 2);  // tensors, steps, ranks
}

TEST_F(OfflineTest, ThePeriodIsHeldAndTheBitsAreOfAllSteps) {
  const double every = replay("topk:ratio=0.1").total.bits_per_element;
  const CompressorQuality delayed = replay("topk:ratio=0.1,delay=2");
  EXPECT_EQ(delayed.period, 2U);
  EXPECT_DOUBLE_EQ(delayed.total.bits_per_element, every / 2);
  EXPECT_DOUBLE_EQ(*delayed.total.overlap, 1);
  // Without memory as well: the sum of the period's gradients is ranked.
  EXPECT_DOUBLE_EQ(*replay("topk:ratio=0.1,delay=2,memory=none").total.overlap, 1);
}

// Two steps in the first epoch, at a quarter, and two in the second, at a hundredth.
TEST_F(OfflineTest, EpochsHaveTheirSteps) {
  OfflineOptions options;
  options.steps = 4;
  options.steps_per_epoch = 2;
  const double warm = replay("topk:ratio=0.01,warmup=0.25", options).total.bits_per_element;
  const double quarter = replay("topk:ratio=0.25").total.bits_per_element;
  const double hundredth = replay("topk:ratio=0.01").total.bits_per_element;
  EXPECT_NEAR(warm, (quarter + hundredth) / 2, 1e-9);
}

TEST_F(OfflineTest, TheDumpIsWhatReceiversDecodeAndWhatStaysBehind) {
  for (const std::string& spec : testing::all_specs()) {
    SCOPED_TRACE(spec);
    if (find_method(parse_spec(spec).name).needs_squares) continue;
    OfflineOptions options;
    options.ranks = 1;  // the compressors by hand are of rank 0
    options.dump = folder_ / "dump";
    std::filesystem::remove_all(options.dump);
    const CompressorQuality quality = replay(spec, options);
    const TensorInfo info{"tensor-0", {30, 20}, 600};
    const auto compressor = make_compressor(parse_spec(spec), info, {});
    for (std::size_t step = 0; step < 4; ++step) {
      const auto tensors = testing::read_tensors(
          options.dump / "rank-000" / ("step-0000000" + std::to_string(step) + ".safetensors"));
      const auto gradient = trace_->gradient(0, step, 0);
      std::vector<float> decoded(600);
      if ((step + 1) % quality.period == 0) {
        const auto encoded = testing::encode(*compressor, gradient, step);
        // Another process's compressor decodes: one that never encoded.
        decoded = testing::decode(*make_compressor(parse_spec(spec), info, {}), encoded.payload);
      } else {
        compressor->hold({.values = gradient, .squares = {}, .step = step});
      }
      ASSERT_EQ(tensors[0].first, "decoded/tensor-0");
      ASSERT_EQ(testing::bits(tensors[0].second), testing::bits(decoded));
      const auto residual = compressor->residual();
      ASSERT_EQ(tensors.size(), residual.empty() ? 2U : 4U);
      if (residual.empty()) continue;
      EXPECT_EQ(tensors[2].first, "residual/tensor-0");
      EXPECT_EQ(testing::bits(tensors[2].second), testing::bits(residual));
    }
  }
}

TEST_F(OfflineTest, StepsAddUpToTheWhole) {
  const CompressorQuality quality = replay("sidco:ratio=0.05,delay=2");
  const std::vector<StepQuality> steps = quality_by_step(quality.tensors);
  ASSERT_EQ(steps.size(), 2U);  // of 4 steps two exchange
  EXPECT_EQ(steps[0].step, 1U);
  EXPECT_EQ(steps[1].step, 3U);
  std::size_t bytes = 0;
  double error = 0, sent = 0;
  for (const StepQuality& step : steps) {
    bytes += step.summary.encoded_bytes;
    error += *step.summary.error_mean / 2;
    sent += step.summary.quality->mean / 2;
    EXPECT_FALSE(step.summary.quality->interval.has_value()) << "one step has no scatter";
    EXPECT_EQ(step.summary.estimation->samples, 2U * 2);  // tensors, ranks
  }
  EXPECT_EQ(bytes, quality.total.encoded_bytes);
  EXPECT_DOUBLE_EQ(error, *quality.total.error_mean);
  EXPECT_DOUBLE_EQ(sent, quality.total.quality->mean);
  EXPECT_DOUBLE_EQ(*steps[1].summary.drift, *quality.total.drift);
  EXPECT_NE(*steps[0].summary.drift, *steps[1].summary.drift);
  // A tensor's steps, over the ranks; k-hat of all tensors is the sum of theirs.
  std::size_t selected = 0, target = 0;
  for (const TensorQuality& tensor : quality.tensors) {
    ASSERT_EQ(quality_by_step({&tensor, 1}).size(), 2U);
    ASSERT_EQ(tensor.samples.size(), 2U * 2);  // steps, ranks
    for (const QualitySample& sample : tensor.samples) {
      if (sample.step != 1) continue;
      selected += sample.selected;
      target += sample.target;
    }
  }
  EXPECT_DOUBLE_EQ(steps[0].summary.quality->mean,
                   static_cast<double>(selected) / static_cast<double>(target));
}

TEST_F(OfflineTest, RecordsSayWhichStepAndRankASampleIsOf) {
  const std::vector<Point> points = quality_points(replay("topk:ratio=0.1"));
  ASSERT_EQ(points.size(), 3U);
  for (const Point& point : points) {
    EXPECT_EQ(point.at.value().step.size(), 8U);  // 4 steps, 2 ranks
    for (const char* name : {"encoded_bytes", "passes", "quality", "relative_error", "cosine",
                             "drift", "top_k_overlap", "encode_time"})
      EXPECT_EQ(point.metrics.at(name).samples.size(), 8U) << name;
  }
  EXPECT_EQ(points[0].quality.value().tensor, "*");
  EXPECT_EQ(points[0].metrics.at("tensor_quality").samples.size(), 16U);
  EXPECT_FALSE(points[1].metrics.contains("tensor_quality"));
  // Ranks go one after the other.
  EXPECT_EQ(points[0].at->rank, (std::vector<double>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_FALSE(quality_points(replay("none"))[0].metrics.contains("quality"));
}

TEST_F(OfflineTest, MoreStepsThanRecordedBeginAgain) {
  OfflineOptions options;
  options.steps = 6;
  options.ranks = 1;
  std::size_t advanced = 0;
  const CompressorQuality quality = replay_offline(
      *trace_, parse_spec("none"), options, [&](std::size_t elements) { advanced += elements; });
  EXPECT_EQ(advanced, 6U * 607);
  EXPECT_EQ(quality.total.encoded_bytes, 6U * 607 * 4);
}

TEST_F(OfflineTest, RefusesWhatCannotBe) {
  OfflineOptions options;
  options.ranks = 3;
  EXPECT_NE(input_error([&] { replay("none", options); }).find("3 ranks requested"),
            std::string::npos);
  EXPECT_THROW(replay("nosuch"), InputError);
  options.ranks = 0;
  options.dump = folder_ / "trace";
  EXPECT_NE(input_error([&] { replay("none", options); }).find("is not empty"), std::string::npos);
}

TEST(OverlapWithTopK, CountsWhatIsAmongTheLargest) {
  std::vector<float> work;
  const std::vector<float> c = {1, -5, 3, -2, 0.5F};
  const auto overlap = [&](const std::vector<float>& decoded) {
    return overlap_with_top_k(c, decoded, work);
  };
  EXPECT_EQ(overlap({0, -5, 3, 0, 0}), 2U);  // the two largest
  EXPECT_EQ(overlap({1, -5, 0, 0, 0}), 1U);
  EXPECT_EQ(overlap({0, 0, 0, 0, 0.5F}), 0U);
  EXPECT_EQ(overlap({0, 0, 0, 0, 0}), 0U);
  const std::vector<float> ties = {2, 2, 2, 1};
  EXPECT_EQ(overlap_with_top_k(ties, std::vector<float>{0, 0, 2, 0}, work), 1U);
}

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
