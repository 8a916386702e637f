// Replays of a small trace on several ranks, over threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/base/support.h"
#include "tests/collectives/thread_transport.h"
#include "tests/trace/sample_trace.h"
#include "workloads/replay/replay.h"

namespace thinpipe {

/// A test with a trace in a folder of its own.
class SampleTraceTest : public ::testing::Test {
 protected:
  explicit SampleTraceTest(const SampleTrace& what) : trace_(written(folder_, what)) {}

  TemporaryFolder folder_;
  const Trace trace_;

 private:
  static Trace written(const TemporaryFolder& folder, const SampleTrace& what) {
    write_sample_trace(folder / "trace", what);
    return Trace(folder / "trace");
  }
};

inline ReplayOptions replay_options(const std::string& rules, const Bucketing& bucketing = {}) {
  ReplayOptions options;
  options.compressor = CompressorRules::parse(rules);
  options.bucketing = bucketing;
  return options;
}

/// Returns a bucketing whose buckets leave as they become ready.
inline Bucketing overlapped(const std::string& limits = "first=2kb,rest=10kb") {
  Bucketing bucketing;
  bucketing.overlap = Overlap::kBucket;
  bucketing.limits = BucketLimits::parse(limits);
  return bucketing;
}

inline Bucketing in_units_of(Granularity granularity) {
  Bucketing bucketing;
  bucketing.granularity = granularity;
  return bucketing;
}

inline Bucketing with_local_steps(std::uint64_t steps) {
  Bucketing bucketing;
  bucketing.local_steps = steps;
  return bucketing;
}

/// Returns a bucketing of each kind, for tests of results that no bucketing changes.
inline std::vector<Bucketing> all_bucketings() {
  return {Bucketing{}, overlapped("first=1kb,rest=10kb"), in_units_of(Granularity::kModel),
          with_local_steps(2)};
}

/// Connects a rank's replay to rings over threads. The worker runs them over MPI.
inline void connect_rings(Replay& replay, Mailboxes& boxes, int rank, int ranks) {
  replay.connect([&boxes, rank, ranks](std::size_t capacity) {
    return over_threads("ring", boxes, rank, ranks, capacity);
  });
}

/// The replay of rank 0, whose rings have mailboxes of their own.
class LoneReplay : private Mailboxes, public Replay {
 public:
  LoneReplay(const Trace& trace, const ReplayOptions& options, int ranks = 1)
      : Replay(trace, options, 0, ranks) {
    connect_rings(*this, *this, 0, ranks);
  }
};

/// Runs body(replay, rank) for every rank in a thread of its own.
template <typename Body>
void on_all_ranks(const Trace& trace, const ReplayOptions& options, int ranks, Body body) {
  Mailboxes boxes;
  on_all_ranks(boxes, ranks, [&](std::unique_ptr<ThreadTransport> transport) {
    Replay replay(trace, options, transport->rank(), ranks);
    connect_rings(replay, boxes, transport->rank(), ranks);
    body(replay, transport->rank());
  });
}

/// Observations of a rank in every step.
struct RankSteps {
  std::vector<StepReport> reports;
  std::vector<std::vector<float>> aggregates, contributions;
};

inline std::vector<RankSteps> run_steps(const Trace& trace, const ReplayOptions& options, int ranks,
                                        std::uint64_t steps) {
  std::vector<RankSteps> seen(static_cast<std::size_t>(ranks));
  on_all_ranks(trace, options, ranks, [&](Replay& replay, int rank) {
    replay.prepare(steps);
    RankSteps& mine = seen[static_cast<std::size_t>(rank)];
    for (std::uint64_t step = 0; step < steps; ++step) {
      if (replay.loads()) replay.load(step);
      mine.reports.push_back(replay.step(step));
      EXPECT_GE(replay.checks().relative_error(step), 0);
      const auto aggregate = replay.aggregate();
      mine.aggregates.emplace_back(aggregate.begin(), aggregate.end());
      mine.contributions.emplace_back(replay.checks().contribution_size());
      replay.checks().own_contribution(mine.contributions.back());
    }
  });
  return seen;
}

/// Every aggregate must be the mean of the values that the ranks report as sent, and must be the
/// same on all ranks.
inline void expect_means(const std::vector<RankSteps>& seen) {
  for (std::size_t step = 0; step < seen[0].aggregates.size(); ++step) {
    for (const RankSteps& one : seen) ASSERT_EQ(one.aggregates[step], seen[0].aggregates[step]);
    double most = 0;
    for (std::size_t i = 0; i < seen[0].aggregates[step].size(); ++i) {
      double mean = 0;
      for (const RankSteps& one : seen)
        mean += static_cast<double>(one.contributions[step][i]) / static_cast<double>(seen.size());
      most = std::max(most, std::fabs(mean));
      ASSERT_NEAR(seen[0].aggregates[step][i], mean, 1e-6 * (1 + std::fabs(mean)));
    }
    if (seen[0].reports[step].exchanged) {
      EXPECT_GT(most, 0);
    }
  }
}

}  // namespace thinpipe
