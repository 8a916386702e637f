// Records of simulated points: the job that a point becomes, and the metrics of its answer.
#include "harness/sweep/simulated.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "reports/record/metrics.h"
#include "workloads/synthetic/synthetic.h"

namespace thinpipe {
namespace {

class SimulatedTest : public ::testing::Test {
 protected:
  SimulatedTest() {
    options_.simulated = true;
    options_.ranks = {2};
    options_.steps = 2;
    options_.links = {parse_link_spec("rate=1gbit")};
    point_.ranks = 2;
    point_.link = options_.links.front();
    point_.compressor = parse_spec("topk");
    codec_.compressor = "topk";
    codec_.payload_bytes = 1000;
    codec_.buckets.push_back({.tensors = {0},
                              .compress = 0.01,
                              .decode = 0.001,
                              .decode_message = 0.002,
                              .exchanges = {{Exchange::kAllGather, {1000}}}});
  }

  SimulationJob job(std::vector<std::size_t>& step_of) {
    Predictor predictor(trace_, options_);
    predictor.know(point_.compressor, point_.bucketing, point_.collective, codec_);
    return simulation_job(point_, options_, trace_, predictor, 1e-5, step_of);
  }

  // The metric's samples if each of both steps takes these times on both ranks.
  std::vector<double> samples(const MetricType& metric, double carried = 0) {
    const SimulatedRankStep rank = {.total = 1,
                                    .compute = 0.4,
                                    .compress = 0.1,
                                    .exchange = 0.3,
                                    .decode = 0.2,
                                    .carried = carried};
    const SimulationAnswer answer{.version = "3.32", .seconds = 1, .steps = {{rank, rank}}};
    return simulated_point(point_, options_, trace_, codec_, 1e-5, answer, {0, 0}).samples(metric);
  }

  Trace trace_ = make_synthetic(parse_synthetic_spec("synthetic:model=lenet5"));
  SweepOptions options_;
  SweepPoint point_;
  CodecProfile codec_;
};

TEST_F(SimulatedTest, AJobHasTimesAndSizes) {
  std::vector<std::size_t> step_of;
  const SimulationJob job = this->job(step_of);
  EXPECT_EQ(job.message_time, 1e-5);
  ASSERT_EQ(job.work.buckets.size(), 1U);
  EXPECT_EQ(job.work.buckets[0].compress, 0.01);
  EXPECT_DOUBLE_EQ(job.work.buckets[0].decode, 0.001 + 2 * 0.002);
  EXPECT_EQ(job.work.buckets[0].exchanges.at(0).bytes, std::vector<double>{1000});
  EXPECT_EQ(step_of, (std::vector<std::size_t>{0, 0})) << "equal steps are simulated once";
  EXPECT_EQ(job.work.steps.size(), 1U);
}

TEST_F(SimulatedTest, RanksThatShareCoresTakeLonger) {
  options_.cores = 0.5;  // a quarter of a core for each
  std::vector<std::size_t> step_of;
  const SimulationJob job = this->job(step_of);
  EXPECT_DOUBLE_EQ(job.message_time, 4e-5);
  EXPECT_DOUBLE_EQ(job.work.buckets[0].compress, 0.04);
  EXPECT_EQ(samples("compress_time"_metric), (std::vector<double>{0.1, 0.1}));
  EXPECT_EQ(samples("compress_cpu_time"_metric), (std::vector<double>{0.025, 0.025}));
}

// The compute time to which `ready` belongs is that of ranks without a straggler.
TEST_F(SimulatedTest, StragglersComputeLonger) {
  const std::vector<double> even = compute_of_ranks(trace_, options_, point_, 0);
  point_.stragglers = Stragglers::parse("host1:compute=4");
  std::vector<std::size_t> step_of;
  const SimulationJob job = this->job(step_of);
  EXPECT_DOUBLE_EQ(job.work.steps.at(0).at(0), even.at(0));
  EXPECT_DOUBLE_EQ(job.work.steps.at(0).at(1), 4 * even.at(1));
  EXPECT_NEAR(job.work.compute, even.at(0), 0.5 * even.at(0));
}

TEST_F(SimulatedTest, StallsAreApartFromWhatIsComputedLonger) {
  const std::vector<double> even = compute_of_ranks(trace_, options_, point_, 0);
  point_.stragglers = Stragglers::parse("host1:compute=4,stall=100ms");
  std::vector<std::size_t> step_of;
  const SimulationJob job = this->job(step_of);
  EXPECT_DOUBLE_EQ(job.work.steps.at(0).at(1), 4 * even.at(1) + 0.1);
  EXPECT_EQ(job.work.stalls.at(0), (std::vector<double>{0, 0.1}));
}

// Every fourth step exchanges; the other three compute, and accumulate for 0.05 s.
TEST_F(SimulatedTest, APeriodIsOneSampleOfItsMean) {
  codec_.period = 4;
  codec_.hold = 0.05;
  EXPECT_NEAR(samples("step_time"_metric).at(0), (1 + 3 * 0.45) / 4, 1e-12);
  EXPECT_NEAR(samples("exchange_time"_metric).at(0), 0.3 / 4, 1e-12);
  EXPECT_EQ(samples("payload_bytes"_metric).at(0), 250);
}

// The links carry the bytes for longer than the step, or the period of four steps, took.
TEST_F(SimulatedTest, AStepIsNotShorterThanItsBytesTakeOnTheLink) {
  EXPECT_NEAR(samples("step_time"_metric, 0.9).at(0), 1, 1e-12);
  EXPECT_NEAR(samples("step_time"_metric, 1.5).at(0), 1.5, 1e-12);
  EXPECT_NEAR(samples("exchange_time"_metric, 1.5).at(0), 0.3 + 0.5, 1e-12);
  codec_.period = 4;  // 1 s, and three steps that only compute for 0.4 s
  EXPECT_NEAR(samples("step_time"_metric, 3).at(0), 3.0 / 4, 1e-12);
  EXPECT_NEAR(samples("exchange_time"_metric, 3).at(0), (0.3 + 0.8) / 4, 1e-12);
}

TEST_F(SimulatedTest, NobodyClaimsAnError) {
  EXPECT_TRUE(samples("relative_error"_metric).empty());
  EXPECT_TRUE(samples("quality"_metric).empty());
  EXPECT_TRUE(samples("wire_bytes"_metric).empty());
  EXPECT_EQ(samples("ideal_time"_metric), (std::vector<double>{0.4, 0.4}));
}

}  // namespace
}  // namespace thinpipe
