#include "workloads/replay/sparse_sums.h"

#include <gtest/gtest.h>

#include <barrier>
#include <cmath>
#include <memory>
#include <string>

#include "compressors/registry.h"
#include "tests/replay/replay_ranks.h"
#include "workloads/collectives/collectives.h"

namespace thinpipe {
namespace {

/// Takes every vector's first element and gives the rest back.
class FirstOnly final : public SparseAllReduce {
 public:
  SparseSum sparse_all_reduce(SparseView own, std::size_t k, std::size_t dimension,
                              float factor) override {
    k_ = k;
    dimension_ = dimension;
    indices_.assign(own.indices.begin(), own.indices.end());
    values_.assign(own.values.begin(), own.values.end());
    scaled_ = {values_[0] * factor};
    return {{std::span(indices_).first(1), scaled_},
            {std::span(indices_).subspan(1), std::span(values_).subspan(1)}};
  }
  std::size_t mean_count(std::size_t own, std::size_t) override { return own; }
  void expected_sparse(std::span<const std::span<const float>>, std::size_t, float,
                       std::span<float>) const override {}

  std::size_t k_ = 0, dimension_ = 0;

 private:
  std::vector<std::uint32_t> indices_;
  std::vector<float> values_, scaled_;
};

std::vector<float> floats(std::span<const float> values) { return {values.begin(), values.end()}; }

TEST(SparseSums, JoinsUnitsAndPutsBackWhatWasDropped) {
  const auto make = [](const char* spec, std::size_t elements) {
    return make_compressor(parse_spec(spec), {"t", {static_cast<std::int64_t>(elements)}, elements},
                           {});
  };
  const auto first = make("topk:ratio=0.5", 4), second = make("topk:ratio=0.3", 3),
             third = make("topk:memory=none,ratio=1", 2);
  SparseSums sums({first.get(), second.get(), third.get()});
  EXPECT_EQ(sums.elements(), 9U);
  const std::vector<std::vector<float>> gradients = {{1, -4, 3, 2}, {5, 6, 7}, {8, 9}};
  FirstOnly collective;
  sums.begin();
  std::vector<std::byte> payload(100);
  std::size_t unit = 0, bytes = 0;
  for (Compressor* compressor : {first.get(), second.get(), third.get()}) {
    const EncodeReport report =
        compressor->encode({.values = gradients[unit], .squares = {}}, payload);
    bytes +=
        sums.add(unit++, std::span(payload).first(report.encoded_bytes), report.target_elements);
  }
  EXPECT_EQ(bytes, 8U * 5);  // 2 of 4, 1 of 3, 2 of 2
  sums.exchange(collective, 0.5F);
  EXPECT_EQ(collective.k_, 5U);
  EXPECT_EQ(collective.dimension_, 9U);
  std::vector<float> sum(9, 7.0F);
  sums.decode(sum);
  EXPECT_EQ(sum, (std::vector<float>{0, -2, 0, 0, 0, 0, 0, 0, 0}));
  // Not before the next step, so that distortions are those of the encoding; and once.
  EXPECT_EQ(floats(second->residual()), (std::vector<float>{5, 6, 0}));
  for (int step = 0; step < 2; ++step) {
    sums.begin();
    EXPECT_EQ(floats(first->residual()), (std::vector<float>{1, 0, 3, 2}));
    EXPECT_EQ(floats(second->residual()), (std::vector<float>{5, 6, 7}));
  }
}

class SparseReplay : public SampleTraceTest {
 protected:
  SparseReplay() : SampleTraceTest({.compute_seconds = 0, .squares = true}) {}

  /// Checks every step of a job of three ranks against StepChecks::expected().
  void run(const std::string& compressor, const std::string& collective,
           const Bucketing& bucketing = {}) {
    SCOPED_TRACE(compressor + " " + collective + " " + bucketing.to_string());
    constexpr int kSparseRanks = 3;
    constexpr std::uint64_t kSparseSteps = 6;
    std::vector<std::vector<std::vector<float>>> sent(kSparseSteps), got(kSparseSteps),
        expected(kSparseSteps);
    for (auto* all : {&sent, &got, &expected})
      for (auto& step : *all) step.resize(kSparseRanks);
    ReplayOptions options = replay_options(compressor, bucketing);
    options.sparse_sums =
        find_collective(parse_spec(collective).name).can(Exchange::kSparseAllReduce);
    std::barrier all_are_here(kSparseRanks);
    std::vector<StepReport> reports(kSparseRanks);
    Mailboxes boxes;
    on_all_ranks(boxes, kSparseRanks, [&](std::unique_ptr<ThreadTransport> transport) {
      const int rank = transport->rank();
      const auto r = static_cast<std::size_t>(rank);
      Replay replay(trace_, options, rank, kSparseRanks);
      replay.connect([&](std::size_t capacity) {
        return over_threads(collective, boxes, rank, kSparseRanks, capacity);
      });
      EXPECT_FALSE(replay.checks().takes_mean());
      replay.prepare(kSparseSteps);
      for (std::uint64_t step = 0; step < kSparseSteps; ++step) {
        if (replay.loads()) replay.load(step);
        reports[r] = replay.step(step);
        EXPECT_GE(replay.checks().relative_error(step), 0);
        sent[step][r].resize(replay.checks().contribution_size());
        replay.checks().own_contribution(sent[step][r]);
        for (const auto result : replay.checks().results())
          got[step][r].insert(got[step][r].end(), result.begin(), result.end());
        got[step][r].resize(replay.checks().contribution_size());
        all_are_here.arrive_and_wait();
        std::vector<std::span<const float>> all(sent[step].begin(), sent[step].end());
        expected[step][r].resize(replay.checks().contribution_size());
        replay.checks().expected(all, expected[step][r]);
        all_are_here.arrive_and_wait();
      }
    });
    for (std::size_t step = 0; step < kSparseSteps; ++step) {
      double sum = 0;
      for (const float value : got[step][0]) sum += std::fabs(static_cast<double>(value));
      EXPECT_GT(sum, 0);
      for (std::size_t rank = 0; rank < kSparseRanks; ++rank) {
        EXPECT_EQ(got[step][rank], got[step][0]);
        ASSERT_EQ(got[step][rank].size(), expected[step][rank].size());
        // Rings sum in another order; all else is to the bit.
        for (std::size_t i = 0; i < got[step][rank].size(); ++i)
          ASSERT_NEAR(got[step][rank][i], expected[step][rank][i], 1e-6) << step << " " << i;
      }
    }
    EXPECT_GT(reports[0].payload_bytes, 0U);
    EXPECT_EQ(reports[0].payload_bytes, reports[0].summed_bytes);
  }
};

TEST_F(SparseReplay, EndsEveryStepWithWhatIsExpected) {
  const Bucketing whole = in_units_of(Granularity::kModel);
  const Bucketing by_bucket = overlapped("first=4kb,rest=4kb");
  Bucketing large_only;
  large_only.min_elements = 400;
  for (const char* collective :
       {"gtopk", "gtopk:putback=sender", "oktopk:regions=4,thresholds=2"}) {
    run("topk:ratio=0.02", collective);
    run("topk:ratio=0.02,values=fp16,positions=golomb", collective, whole);
    run("dgc:ratio=0.05", collective, by_bucket);
    run("topk:ratio=0.02", collective, large_only);  // small tensors go by the ring beside
    // No target: another number of elements on every rank, and of equal magnitudes.
    for (const char* compressor :
         {"strom:tau=0.003", "threshold:tau=0.003", "variance:alpha=1", "hybrid:tau=0.002",
          "tensor-0:topk:ratio=0.02;*:strom:tau=0.003"})
      run(compressor, collective);
  }
  for (const char* collective : {"qgz:group=1", "qgz:group=3,block=32"}) {
    run("none", collective);
    run("none", collective, by_bucket);
    run("powersgd:rank=2", collective);
    run("powersgd:rank=2", collective, by_bucket);
  }
}

TEST_F(SparseReplay, RefusesWhatCollectivesCannotTake) {
  ReplayOptions options = replay_options("terngrad");  // its payloads are no elements
  options.sparse_sums = true;
  EXPECT_THROW(Replay(trace_, options, 0, 2), InputError);
}

}  // namespace
}  // namespace thinpipe
