#include "compressors/select/sidco_stages.h"

#include <gtest/gtest.h>

#include <vector>

namespace thinpipe {
namespace {

constexpr int kMost = 4;

TEST(SidcoStages, PaperRuleMovesEveryQthTime) {
  SidcoStages stages({.every = 3, .tolerance = 0.2, .climb = false});
  std::vector<int> seen;
  for (int i = 0; i < 9; ++i) {
    seen.push_back(stages.stages(kMost));
    stages.note(50, 100, kMost);  // too few: one more stage
  }
  EXPECT_EQ(seen, (std::vector<int>{1, 1, 1, 2, 2, 2, 3, 3, 3}));
  for (int i = 0; i < 3; ++i) stages.note(150, 100, kMost);  // 4 by now; too many: one fewer
  EXPECT_EQ(stages.stages(kMost), 3);
  for (int i = 0; i < 3; ++i)
    stages.note(i == 0 ? 160 : 80, 100, kMost);  // mean 106.7: in the band
  EXPECT_EQ(stages.stages(kMost), 3);
}

TEST(SidcoStages, StaysBetweenOneAndTheMost) {
  SidcoStages stages({.every = 1, .tolerance = 0.2, .climb = false});
  for (int i = 0; i < 10; ++i) stages.note(1000, 100, kMost);
  EXPECT_EQ(stages.stages(kMost), 1);
  for (int i = 0; i < 10; ++i) stages.note(1, 100, kMost);
  EXPECT_EQ(stages.stages(kMost), kMost);
  EXPECT_EQ(stages.stages(2), 2);  // a warm-up's greater ratio allows fewer
}

TEST(SidcoStages, BandIsInclusive) {
  SidcoStages stages({.every = 1, .tolerance = 0.25, .climb = false});
  stages.note(75, 100, kMost);  // exactly k (1 - eps): not fewer
  EXPECT_EQ(stages.stages(kMost), 1);
  stages.note(74, 100, kMost);
  EXPECT_EQ(stages.stages(kMost), 2);
  stages.note(125, 100, kMost);
  EXPECT_EQ(stages.stages(kMost), 2);
}

TEST(SidcoStages, ClimbingFindsTheFitWhereMoreStagesSelectFewer) {
  // Counts of a heavy tail: 1 stage 1350, 2: 400, 3: 130, 4: 105 for a target of 100.
  const std::vector<std::size_t> counts = {1350, 400, 130, 105};
  SidcoStages climb({.every = 1, .tolerance = 0.2, .climb = true});
  SidcoStages paper({.every = 1, .tolerance = 0.2, .climb = false});
  for (int i = 0; i < 12; ++i) {
    for (SidcoStages* stages : {&climb, &paper}) {
      stages->note(counts[static_cast<std::size_t>(stages->stages(kMost)) - 1], 100, kMost);
    }
  }
  EXPECT_EQ(climb.stages(kMost), 4);
  EXPECT_EQ(paper.stages(kMost), 1);
}

TEST(SidcoStages, ClimbingFollowsThePaperWhereThatIsRight) {
  // Light tails: 1 stage selects 20, 2: 60, 3: 95 of 100; the first direction is the right one.
  const std::vector<std::size_t> counts = {20, 60, 95, 140};
  SidcoStages climb({.every = 1, .tolerance = 0.2, .climb = true});
  for (int i = 0; i < 6; ++i) {
    climb.note(counts[static_cast<std::size_t>(climb.stages(kMost)) - 1], 100, kMost);
  }
  EXPECT_EQ(climb.stages(kMost), 3);
}

TEST(SidcoStages, AResidualReleasedAtOnceIsNoReasonToTurnRound) {
  // One and two stages send nothing; the third sends first what was held back, then what it should.
  SidcoStages climb({.every = 1, .tolerance = 0.2, .climb = true});
  for (int i = 0; i < 2; ++i) climb.note(1, 100, kMost);
  EXPECT_EQ(climb.stages(kMost), 3);
  climb.note(400, 100, kMost);  // |400 - 100| is more than |1 - 100|, but past k
  EXPECT_EQ(climb.stages(kMost), 2);
  climb.note(1, 100, kMost);
  EXPECT_EQ(climb.stages(kMost), 3);
  for (int i = 0; i < 10; ++i) climb.note(100, 100, kMost);
  EXPECT_EQ(climb.stages(kMost), 3);
}

TEST(SidcoStages, AReversedDirectionMustProveItself) {
  // One stage selects a little too many, more stages select more still: the rule's own direction is
  // right, and the bound in its way.
  SidcoStages climb({.every = 1, .tolerance = 0.2, .climb = true});
  std::vector<int> seen;
  for (int i = 0; i < 15; ++i) {
    seen.push_back(climb.stages(kMost));
    climb.note(seen.back() == 1 ? 125 : 140, 100, kMost);
  }
  // The fourth time at the bound another stage is tried, and given up at once.
  EXPECT_EQ(seen, (std::vector<int>{1, 1, 1, 1, 2, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2}));
}

TEST(SidcoStages, SmallChangesDoNotTurnTheDirection) {
  SidcoStages climb({.every = 1, .tolerance = 0.2, .climb = true});
  climb.note(50, 100, kMost);
  climb.note(41, 100, kMost);  // a little worse: less than eps / 2
  EXPECT_EQ(climb.stages(kMost), 3);
  climb.note(30, 100, kMost);  // worse
  EXPECT_EQ(climb.stages(kMost), 2);
}

TEST(SidcoStages, OneStageIsOneStage) {
  for (bool reversing : {false, true}) {
    SidcoStages stages({.every = 1, .tolerance = 0.2, .climb = reversing});
    for (int i = 0; i < 20; ++i) stages.note(i % 3 == 0 ? 1000 : 1, 100, 1);
    EXPECT_EQ(stages.stages(1), 1);
  }
}

TEST(SidcoStages, StateRoundTrips) {
  SidcoStages stages({.every = 4, .tolerance = 0.2, .climb = true});
  for (int i = 0; i < 6; ++i) stages.note(10, 100, kMost);
  std::vector<std::byte> state(SidcoStages::kStateSize);
  ByteWriter out(state);
  stages.save(out);
  EXPECT_EQ(out.size(), state.size());
  SidcoStages copy({.every = 4, .tolerance = 0.2, .climb = true});
  ByteReader in(state);
  copy.load(in);
  for (int i = 0; i < 10; ++i) {
    const auto count = static_cast<std::size_t>(50 * i);
    stages.note(count, 100, kMost);
    copy.note(count, 100, kMost);
    EXPECT_EQ(copy.stages(kMost), stages.stages(kMost));
  }
}

}  // namespace
}  // namespace thinpipe
