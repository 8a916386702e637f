#include "workloads/replay/rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "tests/replay/replay_ranks.h"
#include "workloads/collectives/flows.h"

namespace thinpipe {
namespace {

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
