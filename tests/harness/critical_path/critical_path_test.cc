#include "harness/critical_path/critical_path.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace thinpipe {
namespace {

using nlohmann::json;

// One bucket, phase after phase; `leaves`: when its exchange ends.
StepTimeline plain(double compute, double compress, double leaves, double decode,
                   double begun = 0) {
  const double came = compute + compress;
  return {begun,
          leaves + decode,
          {{Phase::kCompute, 0, 0, compute},
           {Phase::kCompress, 0, compute, came},
           {Phase::kExchange, 0, came, leaves},
           {Phase::kDecode, 0, leaves, leaves + decode}}};
}

double seconds_of(const std::vector<PathPiece>& pieces, int rank, PathPhase phase) {
  for (const PathPiece& piece : pieces)
    if (piece.rank == rank && piece.phase == phase) return piece.seconds;
  return 0;
}

double seconds_of_both(const StepPath& path, PathPhase phase) {
  return seconds_of(path.pieces, 0, phase) + seconds_of(path.pieces, 1, phase);
}

double sum_of(const std::vector<PathPiece>& pieces) {
  double sum = 0;
  for (const PathPiece& piece : pieces) sum += piece.seconds;
  return sum;
}

TEST(CriticalPath, GoesThroughTheRankThatCameLast) {
  // Rank 1 computes 5 s; all leave the exchange at 7 s; rank 0 decodes longest.
  const StepPath path = critical_path(std::vector<StepTimeline>{
      plain(2, 0.5, 7, 0.4), plain(5, 0.5, 7, 0.1), plain(2, 0.7, 7, 0.1)});
  EXPECT_DOUBLE_EQ(path.length, 7.4);
  EXPECT_DOUBLE_EQ(seconds_of(path.pieces, 1, PathPhase::kCompute), 5);
  EXPECT_DOUBLE_EQ(seconds_of(path.pieces, 1, PathPhase::kCompress), 0.5);
  EXPECT_NEAR(seconds_of(path.pieces, 0, PathPhase::kExchange), 1.5, 1e-12);
  EXPECT_NEAR(seconds_of(path.pieces, 0, PathPhase::kDecode), 0.4, 1e-12);
  EXPECT_NEAR(sum_of(path.pieces), path.length, 1e-9);
  EXPECT_EQ(path.pieces[0].phase, PathPhase::kCompute);
  // The others came at 2.5 and 2.7, in the middle 2.6; rank 1 at 5.5.
  ASSERT_EQ(path.waits.size(), 1U);
  EXPECT_EQ(path.waits[0].rank, 1);
  EXPECT_EQ(path.waits[0].phase, PathPhase::kCompute);
  EXPECT_NEAR(path.waits[0].seconds, 2.9, 1e-12);
}

TEST(CriticalPath, GoesThroughTheServerAndTheWorkerWhosePayloadItHadLast) {
  // Rank 1 begins its exchange last, at 3 s. But rank 0 has a slow link, so its payload arrives
  // last, at 6 s. Hosts 2 and 3 are servers. The second server answers at 5 s, and no rank still
  // waits for this answer.
  const std::vector<StepTimeline> ranks = {plain(2, 0.5, 8, 0.1, 100), plain(2, 1, 8, 0.2, 100)};
  const std::vector<ServedExchange> served = {{2, 0, 0, 106, 106.5, 107.5},
                                              {3, 0, 1, 104, 104.5, 105}};
  const StepPath path = critical_path(ranks, false, served);
  EXPECT_NEAR(path.length, 8.2, 1e-9);
  EXPECT_NEAR(seconds_of(path.pieces, 1, PathPhase::kDecode), 0.2, 1e-9);
  EXPECT_NEAR(seconds_of(path.pieces, 1, PathPhase::kExchange), 0.5, 1e-9);  // the pull
  EXPECT_NEAR(seconds_of(path.pieces, 2, PathPhase::kCompress), 1, 1e-9);
  EXPECT_NEAR(seconds_of(path.pieces, 2, PathPhase::kDecode), 0.5, 1e-9);
  EXPECT_NEAR(seconds_of(path.pieces, 0, PathPhase::kExchange), 3.5, 1e-9);  // the push
  EXPECT_NEAR(seconds_of(path.pieces, 0, PathPhase::kCompress), 0.5, 1e-9);
  EXPECT_NEAR(seconds_of(path.pieces, 0, PathPhase::kCompute), 2, 1e-9);
  EXPECT_NEAR(sum_of(path.pieces), path.length, 1e-9);
  // Rank 0 had begun before rank 1: its push came last over the network.
  EXPECT_TRUE(path.waits.empty());
}

TEST(CriticalPath, OfBucketsThatArePushedWhileOthersArePulled) {
  // Bucket 1 is compressed from 2 to 3 s and pushed while bucket 0 is still being pulled, until 4
  // s; its answer arrives at 5 s.
  const std::vector<StepTimeline> ranks = {{0,
                                            5.5,
                                            {{Phase::kCompute, 0, 0, 1},
                                             {Phase::kCompress, 0, 1, 2},
                                             {Phase::kExchange, 0, 2, 4},
                                             {Phase::kCompress, 1, 2, 3},
                                             {Phase::kExchange, 1, 3, 5},
                                             {Phase::kDecode, 1, 5, 5.5}}}};
  const std::vector<ServedExchange> served = {{1, 0, 0, 3, 3.2, 3.4}, {1, 1, 0, 4, 4.25, 4.5}};
  const StepPath path = critical_path(ranks, false, served);
  EXPECT_NEAR(seconds_of(path.pieces, 0, PathPhase::kDecode), 0.5, 1e-9);
  EXPECT_NEAR(seconds_of(path.pieces, 0, PathPhase::kExchange), 0.5 + 1, 1e-9);
  EXPECT_NEAR(seconds_of(path.pieces, 1, PathPhase::kCompress), 0.25, 1e-9);
  EXPECT_NEAR(seconds_of(path.pieces, 1, PathPhase::kDecode), 0.25, 1e-9);
  EXPECT_NEAR(seconds_of(path.pieces, 0, PathPhase::kCompress), 2, 1e-9);
  EXPECT_NEAR(seconds_of(path.pieces, 0, PathPhase::kCompute), 1, 1e-9);
  EXPECT_NEAR(sum_of(path.pieces), 5.5, 1e-9);
}

TEST(CriticalPath, NamesTheCodecThatTookLonger) {
  const StepPath path = critical_path(
      std::vector<StepTimeline>{plain(2, 0.1, 5, 0), plain(2, 0.1, 5, 0), plain(2, 1.6, 5, 0)});
  ASSERT_EQ(path.waits.size(), 1U);
  EXPECT_EQ(path.waits[0].rank, 2);
  EXPECT_EQ(path.waits[0].phase, PathPhase::kCompress);
  EXPECT_NEAR(path.waits[0].seconds, 1.5, 1e-12);
}

TEST(CriticalPath, ARankThatBeganLateIsNoSlowOne) {
  const StepPath path =
      critical_path(std::vector<StepTimeline>{plain(2, 0, 4, 0, 100), plain(2, 0, 3.5, 0, 100.5)});
  EXPECT_DOUBLE_EQ(path.length, 4);
  EXPECT_DOUBLE_EQ(seconds_of(path.pieces, 1, PathPhase::kStart), 0.5);
  EXPECT_DOUBLE_EQ(seconds_of(path.pieces, 1, PathPhase::kCompute), 2);
  ASSERT_EQ(path.waits.size(), 1U);
  EXPECT_EQ(path.waits[0].phase, PathPhase::kStart);
}

TEST(CriticalPath, NobodyWaitsWhereAllCameTogether) {
  const StepPath path =
      critical_path(std::vector<StepTimeline>{plain(1, 1, 9, 1), plain(1, 1, 9, 1)});
  EXPECT_TRUE(path.waits.empty());
  EXPECT_EQ(path.pieces[0].phase, PathPhase::kExchange);
  EXPECT_DOUBLE_EQ(path.pieces[0].seconds, 7);
  EXPECT_NEAR(sum_of(path.pieces), 10, 1e-9);
  EXPECT_TRUE(critical_path({}).pieces.empty());
}

// Two exchanges of one bucket: scales first, then payloads.
TEST(CriticalPath, FollowsExchangesOfOneBucketInTurn) {
  const auto rank = [](double compute, double compress) {
    const double shared = 4, came = shared + compress;
    return StepTimeline{0,
                        9,
                        {{Phase::kCompute, 0, 0, compute},
                         {Phase::kExchange, 0, compute, shared},
                         {Phase::kCompress, 0, shared, came},
                         {Phase::kExchange, 0, came, 8},
                         {Phase::kDecode, 0, 8, 9}}};
  };
  // Rank 0 computes longest (3 s), rank 1 compresses longest (2 s).
  const StepPath path = critical_path(std::vector<StepTimeline>{rank(3, 1), rank(1, 2)});
  EXPECT_DOUBLE_EQ(seconds_of(path.pieces, 0, PathPhase::kCompute), 3);
  EXPECT_DOUBLE_EQ(seconds_of(path.pieces, 1, PathPhase::kCompress), 2);
  EXPECT_NEAR(sum_of(path.pieces), 9, 1e-9);
  EXPECT_DOUBLE_EQ(seconds_of(path.waits, 0, PathPhase::kCompute), 2);
  EXPECT_DOUBLE_EQ(seconds_of(path.waits, 1, PathPhase::kCompress), 1);
}

// Buckets that leave while compute goes on, which stands still while they are compressed.
StepTimeline overlapped(double ready0, double ready1, double compress, double exchange_ends0,
                        double exchange_ends1) {
  const double left0 = ready0 + compress, begin1 = ready1 + compress, left1 = begin1 + compress;
  return {
      0,
      exchange_ends1 + 0.5,
      {{Phase::kCompress, 0, ready0, left0},
       {Phase::kCompress, 1, begin1, left1},
       {Phase::kDecode, 0, std::max(left1, exchange_ends0), std::max(left1, exchange_ends0) + 0.2},
       {Phase::kDecode, 1, exchange_ends1, exchange_ends1 + 0.5},
       {Phase::kCompute, 0, 0, left1},
       {Phase::kExchange, 0, left0, exchange_ends0},
       {Phase::kExchange, 1, std::max(left1, exchange_ends0), exchange_ends1}}};
}

TEST(CriticalPath, OfBucketsThatAreLimitedByComputeIsTheLastOnes) {
  // The first bucket crossed the network long before the second bucket is ready at 4 s (and leaves
  // at 4.6 s).
  const StepPath path = critical_path(
      std::vector<StepTimeline>{overlapped(1, 4, 0.3, 2, 6), overlapped(1, 4, 0.3, 2, 6)});
  EXPECT_DOUBLE_EQ(path.length, 6.5);
  EXPECT_NEAR(seconds_of_both(path, PathPhase::kCompute), 4, 1e-9);
  EXPECT_NEAR(seconds_of_both(path, PathPhase::kCompress), 0.6, 1e-9);  // compute stood still
  EXPECT_NEAR(sum_of(path.pieces), 6.5, 1e-9);
}

TEST(CriticalPath, OfBucketsThatAreLimitedByTheLinkIsTheFirstOnes) {
  // The first exchange lasts from 1.3 to 6, the second follows at once.
  const StepPath path = critical_path(
      std::vector<StepTimeline>{overlapped(1, 4, 0.3, 6, 9), overlapped(1, 4, 0.3, 6, 9)});
  EXPECT_NEAR(seconds_of_both(path, PathPhase::kExchange), 7.7, 1e-9);
  EXPECT_NEAR(seconds_of_both(path, PathPhase::kCompute), 1, 1e-9);
  EXPECT_NEAR(sum_of(path.pieces), 9.5, 1e-9);
}

TEST(CriticalPath, ACodecBesideComputeHoldsItUpNowhere) {
  const StepPath path = critical_path(
      std::vector<StepTimeline>{overlapped(1, 4, 0.3, 2, 6), overlapped(1, 4, 0.3, 2, 6)}, true);
  // To where the second bucket's compression began.
  EXPECT_NEAR(seconds_of_both(path, PathPhase::kCompute), 4.3, 1e-9);
  EXPECT_NEAR(seconds_of_both(path, PathPhase::kCompress), 0.3, 1e-9);
  EXPECT_NEAR(sum_of(path.pieces), 6.5, 1e-9);
}

TEST(LinkUse, IsTheFullerDirectionsShareOfTheTime) {
  Topology star = parse_topology("star").plan(3, parse_link_spec("rate=80mbit"));
  star.hosts[1].link = parse_link_spec("up.rate=80mbit,down.rate=40mbit");
  star.hosts[2].link = LinkSpec{};
  WireCount count;
  count.sent_by = {10'000'000, 10'000'000, 10'000'000};
  count.received_by = {5'000'000, 10'000'000, 10'000'000};
  const auto uses = link_uses(count, star, rates_as_set(star), 4);
  ASSERT_EQ(uses.size(), 2U);  // the third is not throttled
  EXPECT_EQ(uses[0].name, "host1");
  EXPECT_DOUBLE_EQ(uses[0].busy, 0.5);  // 80 Mbit at 40 Mbit/s: 2 s of 4
  EXPECT_EQ(uses[1].name, "host0");
  EXPECT_DOUBLE_EQ(uses[1].busy, 0.25);
  count.counted = false;
  EXPECT_TRUE(link_uses(count, star, rates_as_set(star), 4).empty());
}

TEST(PathRecord, SharesAreOfAllStepsTogether) {
  const auto rank = [](double compute, double begun) {
    WorkerStep step;
    step.begun = begun;
    step.timeline = {{Phase::kCompute, 0, 0.0, compute},
                     {Phase::kCompress, 0, compute, compute},
                     {Phase::kExchange, 0, compute, 4.0},
                     {Phase::kDecode, 0, 4.0, 4.0}};
    return step;
  };
  const std::vector<std::vector<StepTimeline>> steps = {
      timelines_of({{rank(1, 50), rank(3, 50)}, {}}, true),
      timelines_of({{rank(1, 60), rank(2, 60)}, {}}, true)};
  EXPECT_DOUBLE_EQ(exchange_seconds(steps), 1 + 2);
  const std::vector<StepPath> paths = {critical_path(steps[0]), critical_path(steps[1])};
  const std::vector<LinkUse> uses = {{"host1", 0.9}, {"host0", 0.5}, {"host2", 0.3}};
  const json record = path_record(paths, uses, 2);
  // The two steps take 8 s in all. In these steps rank 1 computes for 3 s and 2 s, and rank 0 waits
  // for rank 1 for 2 s and 1 s.
  EXPECT_EQ(record["waits"], json({{{"host", 1}, {"phase", "compute"}, {"share", 3.0 / 8}}}));
  EXPECT_EQ(record["pieces"][0], json({{"host", 1}, {"phase", "compute"}, {"share", 5.0 / 8}}));
  EXPECT_EQ(record["steps"]["seconds"], json({2.0, 2.0}));  // half of 4
  EXPECT_EQ(record["steps"]["host"][0], 1);
  EXPECT_EQ(record["steps"]["phase"][0], "compute");
  EXPECT_EQ(record["steps"]["spent"][0], 1.5);
  EXPECT_EQ(record["steps"]["waited"], json({1.0, 0.5}));
  EXPECT_EQ(record["link"], json({{"name", "host1"}, {"busy", 0.9}, {"others", 0.4}}));
  EXPECT_FALSE(path_record(paths, {}, 1).contains("link"));
}

TEST(LongestPayload, IsNamedWithHowMuchLongerItIs) {
  const auto step = [](const std::vector<std::size_t>& bytes) {
    StepAnswers answers;
    for (const std::size_t one : bytes) answers.workers.emplace_back().payload_bytes = one;
    return answers;
  };
  // 100, 120, 700 and 300 over both steps: the others' median is 120.
  const std::vector<StepAnswers> steps = {step({50, 60, 600, 40}), step({50, 60, 100, 260})};
  const json longest = longest_payload(steps);
  EXPECT_EQ(longest.at("host"), 2);
  EXPECT_NEAR(longest.at("times").get<double>(), 700.0 / 120, 1e-12);
  const std::vector<StepAnswers> even = {step({7, 7, 7})}, none = {step({0, 0})},
                                 alone = {step({7})};
  EXPECT_TRUE(longest_payload(even).is_null());
  EXPECT_TRUE(longest_payload(none).is_null());
  EXPECT_TRUE(longest_payload(alone).is_null());
}

}  // namespace
}  // namespace thinpipe
