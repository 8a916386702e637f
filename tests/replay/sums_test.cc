// Jobs whose gradients are summed in 16 bits, as pairs, and in rounds.
#include "workloads/replay/sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "compressors/registry.h"
#include "tests/replay/replay_ranks.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/flows.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;

// In 16 bits.

class HalfSumsTest : public SampleTraceTest {
 protected:
  HalfSumsTest() : SampleTraceTest({.ranks = 3, .compute_seconds = 0}) {}
};

// Ranks end with the results of the plan's own additions, to the bit, and near the mean.
TEST_F(HalfSumsTest, AggregatesAreThoseOfThePlan) {
  for (const Bucketing& bucketing : all_bucketings())
    for (const char* rules :
         {"fp16", "bf16", "fp16:predivide=false", "bf16:predivide=false",
          "fp16:memory=residual,delay=2", "tensor-0:bf16;tensor-1:fp16;tensor-2:topk:ratio=0.01",
          "tensor-0:bf16;tensor-1:bf16:predivide=false;tensor-2:powersgd:rank=2"}) {
      SCOPED_TRACE(rules + (" " + bucketing.to_string()));
      constexpr int kHalfRanks = 3;
      std::vector<std::vector<float>> sent(kHalfRanks), ended(kHalfRanks);
      std::barrier all_are_here(kHalfRanks);
      const auto run = [&](Replay& replay, int number) {
        const auto rank = static_cast<std::size_t>(number);
        for (std::uint64_t step = 0; step < 4; ++step) {
          replay.load(step);
          const bool exchanged = replay.step(step).exchanged;
          EXPECT_FALSE(replay.checks().takes_mean());
          EXPECT_EQ(replay.checks().rounded_sums().empty(), !exchanged);
          sent[rank].assign(replay.checks().contribution_size(), 0);
          replay.checks().own_contribution(sent[rank]);
          ended[rank].assign(replay.aggregate().begin(), replay.aggregate().end());
          all_are_here.arrive_and_wait();
          EXPECT_EQ(ended[rank], ended[0]);
          std::vector<float> expected(replay.checks().contribution_size());
          replay.checks().expected(std::vector<std::span<const float>>(sent.begin(), sent.end()),
                                   expected);
          for (const RoundedSum& sum : replay.checks().rounded_sums())
            for (std::size_t i = sum.begin; i < sum.begin + sum.size; ++i) {
              EXPECT_EQ(ended[rank][i], expected[i]) << i;
              double mean = 0, magnitudes = 0;
              for (const auto& one : sent) {
                mean += static_cast<double>(one[i]) / kHalfRanks;
                magnitudes += std::fabs(static_cast<double>(one[i])) / kHalfRanks;
              }
              // Three roundings of values that are no more than the sum of magnitudes.
              const double unit = sum.type == ElementType::kFloat16 ? 0x1p-11 : 0x1p-8;
              EXPECT_NEAR(static_cast<double>(ended[rank][i]), mean,
                          1.02 * kHalfRanks * unit * magnitudes + 4 * 0x1p-25);
            }
          all_are_here.arrive_and_wait();
        }
      };
      on_all_ranks(trace_, replay_options(rules, bucketing), kHalfRanks, run);
    }
}

TEST_F(HalfSumsTest, TwoBytesAnElementAreSummed) {
  on_all_ranks(trace_, replay_options("fp16"), 2, [](Replay& replay, int) {
    const StepReport report = replay.step(0);
    EXPECT_EQ(report.payload_bytes, 2 * replay.aggregate().size());
    EXPECT_EQ(report.summed_bytes, report.payload_bytes);
    EXPECT_LT(replay.checks().relative_error(0), 1e-3);
    EXPECT_GT(replay.checks().relative_error(0), 0);
  });
}

// A gradient beyond fp16's range, and sums that are, though no gradient is.
TEST_F(HalfSumsTest, OverflowIsAnErrorThatNamesTheUnit) {
  write_sample_trace(folder_ / "large", {.ranks = 3, .compute_seconds = 0, .scale = 3e4F});
  const Trace large(folder_ / "large");
  const auto error_of = [&](const std::string& rules, int ranks) {
    std::vector<std::string> errors(static_cast<std::size_t>(ranks));
    on_all_ranks(large, replay_options(rules), ranks, [&](Replay& replay, int rank) {
      try {
        replay.step(0);
      } catch (const RunError& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
    for (const std::string& error : errors) EXPECT_EQ(error, errors[0]);
    return errors[0];
  };
  EXPECT_THAT(error_of("fp16", 1), HasSubstr("unit 'tensor-"));
  EXPECT_THAT(error_of("fp16", 1), HasSubstr("65504"));
  EXPECT_THAT(error_of("fp16", 1), HasSubstr("expected bf16, or smaller gradients"));
  EXPECT_EQ(error_of("bf16", 2), "");
}

TEST(HalfSums, WhatOverflowsOnTheWayIsFoundAtItsEnd) {
  PlannedBucket plan;
  for (const char* name : {"first", "second"})
    plan.units.push_back({{name, {4}, 4}, parse_spec("fp16:predivide=false"), {}});
  const SumGroup group{.summation = summation_of(plan.units[0].compressor),
                       .first = 0,
                       .last = 2,
                       .begin = 0,
                       .elements = 8};
  constexpr int kHalfRanks = 4;
  on_all_ranks(kHalfRanks, [&](ThreadTransport& transport) {
    RingCollective ring(std::make_unique<ThreadTransport>(transport), 0);
    HalfSums sums(plan, {group}, kHalfRanks);
    ASSERT_EQ(sums.bytes(), 16U);
    // Three times 30000 is more than 65504, the greatest binary16 number, although the mean is not.
    // The fourth value is added together with the division.
    std::vector<std::uint16_t> own(8, to_half(1, HalfFormat::kFp16));
    own[5] = to_half(30000, HalfFormat::kFp16);
    std::vector<float> means(8);
    sums.prepare(std::as_bytes(std::span(own)));
    sums.exchange(ring);
    try {
      sums.decode(means);
      ADD_FAILURE() << "no error was reported";
    } catch (const RunError& error) {
      EXPECT_THAT(error.what(), HasSubstr("unit 'second': the sum of an element over all ranks"));
    }
    own[5] = to_half(20000, HalfFormat::kFp16);
    sums.prepare(std::as_bytes(std::span(own)));
    sums.exchange(ring);
    sums.decode(means);
    EXPECT_EQ(means[0], 1);
    EXPECT_NEAR(means[5], 20000, 16);
  });
}

// As pairs.

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

// In rounds.

constexpr int kRanks = 3;
constexpr std::uint64_t kSteps = 3;

/// A ring whose `bad`-th all-reduce brings all ranks the same wrong number.
class FaultyCollective : public Collective, public AllReduce, public AllGather {
 public:
  FaultyCollective(RingCollective ring, int bad) : ring_(std::move(ring)), bad_(bad) {}
  void all_reduce(ElementType type, std::span<const std::byte> own, std::span<std::byte> result,
                  float factor) override {
    ring_.all_reduce(type, own, result, factor);
    const std::span floats(reinterpret_cast<float*>(result.data()), result.size() / sizeof(float));
    if (++calls_ == bad_) floats[0] += 1e-3F * largest(floats);
  }
  const std::vector<std::span<const std::byte>>& all_gather(
      std::span<const std::byte> own) override {
    return ring_.all_gather(own);
  }
  TransportCounters counters() const override { return ring_.counters(); }
  int calls() const { return calls_; }

  static float largest(std::span<const float> values) {
    float most = 0;
    for (const float value : values) most = std::max(most, std::fabs(value));
    return most;
  }

 private:
  RingCollective ring_;
  int bad_, calls_ = 0;
};

/// Observations of a job's ranks in its last step.
struct Outcome {
  std::vector<std::vector<float>> contributions;        // by rank
  std::vector<std::vector<std::vector<float>>> pieces;  // by rank: StepChecks::results()
  std::vector<StepReport> reports;
  int calls = 0;  // of all_reduce in all steps

  /// max |result - mean of contributions| / max |mean|, as ranks check it.
  double error_of(std::size_t piece) const {
    std::size_t from = 0;
    for (std::size_t before = 0; before < piece; ++before) from += pieces[0][before].size();
    double worst = 0, most = 0;
    for (std::size_t i = 0; i < pieces[0][piece].size(); ++i) {
      double mean = 0;
      for (const auto& of_rank : contributions)
        mean += static_cast<double>(of_rank[from + i]) / kRanks;
      worst = std::max(worst, std::fabs(static_cast<double>(pieces[0][piece][i]) - mean));
      most = std::max(most, std::fabs(mean));
    }
    return worst / most;
  }
};

class RoundsTest : public SampleTraceTest {
 protected:
  RoundsTest() : SampleTraceTest({.compute_seconds = 0}) {}

  static Outcome run(const Trace& trace, const std::string& spec, int bad_call = 0) {
    Mailboxes boxes;
    Outcome outcome;
    outcome.contributions.resize(kRanks);
    outcome.pieces.resize(kRanks);
    outcome.reports.resize(kRanks);
    on_all_ranks(boxes, kRanks, [&](std::unique_ptr<ThreadTransport> transport) {
      const int rank = transport->rank();
      Replay replay(trace, replay_options(spec), rank, kRanks);
      replay.connect([&](std::size_t capacity) {
        return std::make_unique<FaultyCollective>(
            RingCollective(std::make_unique<ThreadTransport>(boxes, rank, kRanks), capacity),
            bad_call);
      });
      const auto r = static_cast<std::size_t>(rank);
      for (std::uint64_t step = 0; step < kSteps; ++step) outcome.reports[r] = replay.step(step);
      outcome.contributions[r].resize(replay.checks().contribution_size());
      replay.checks().own_contribution(outcome.contributions[r]);
      for (const auto piece : replay.checks().results())
        outcome.pieces[r].emplace_back(piece.begin(), piece.end());
      if (rank == 0)
        outcome.calls = dynamic_cast<const FaultyCollective&>(replay.collective(0)).calls();
    });
    for (const auto& pieces : outcome.pieces) EXPECT_EQ(pieces, outcome.pieces[0]);
    return outcome;
  }
};

TEST_F(RoundsTest, FactorsAreSummedInTwoRoundsAndTheRestInTheFirst) {
  // Matrices of 20 x 25 and 300 x 40, vectors of 20 and 300.
  const Outcome outcome = run(trace_, "powersgd:rank=2");
  EXPECT_EQ(outcome.calls, 2 * static_cast<int>(kSteps));
  ASSERT_EQ(outcome.pieces[0].size(), 3U);
  EXPECT_EQ(outcome.pieces[0][1].size(), 2U * 20 + 20 + 2 * 300 + 300);
  EXPECT_EQ(outcome.pieces[0][2].size(), 2U * 25 + 2 * 40);
  EXPECT_EQ(outcome.reports[0].payload_bytes, 4 * (960 + 130U));
  for (std::size_t piece = 0; piece < 3; ++piece) EXPECT_LT(outcome.error_of(piece), 1e-5) << piece;
}

TEST_F(RoundsTest, AWrongMeanOfAnyRoundIsSeen) {
  // The mean is wrong in the same way on all ranks, so their digests agree. A wrong P would not
  // even show in the aggregate, because the aggregate's reference is made of the same P.
  const Outcome wrong_p = run(trace_, "powersgd:rank=2", 5);
  EXPECT_LT(wrong_p.error_of(0), 1e-5);
  EXPECT_GT(wrong_p.error_of(1), 1e-4);
  const Outcome wrong_q = run(trace_, "powersgd:rank=2", 6);
  EXPECT_GT(wrong_q.error_of(0), 1e-5);
  EXPECT_GT(wrong_q.error_of(2), 1e-4);
}

TEST_F(RoundsTest, VectorsAloneTakeOneRound) {
  write_sample_trace(folder_ / "vectors", {.shapes = {{20}, {300}}, .compute_seconds = 0});
  const Outcome outcome = run(Trace(folder_ / "vectors"), "powersgd");
  EXPECT_EQ(outcome.calls, static_cast<int>(kSteps));
  EXPECT_EQ(outcome.pieces[0].size(), 1U);
  EXPECT_LT(outcome.error_of(0), 1e-5);
}

}  // namespace
}  // namespace thinpipe
