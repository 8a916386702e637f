// Time dilation for links that are too fast for the machine, and results that have to agree.
#include "harness/sweep/time_scaling.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/sweep/samples.h"
#include "netem/topology/spec.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// TCP reaches 0.956 of a link's rate. Two ranks can receive 8 Gbit/s each; the links may use a
// quarter of this capacity.
constexpr Capacity kTwoCores = {.cores = 2, .ranks = 2, .threads = 1, .flow = 16e9};

TimeScaleChoice choose(const char* link, const Capacity& machine) {
  return choose_time_scale(parse_link_spec(link), machine);
}

TEST(ChooseTimeScale, IsOneWhereTheMachineKeepsUp) {
  const TimeScaleChoice choice = choose("rate=2gbit", kTwoCores);  // 1.91 of 2 Gbit/s
  EXPECT_EQ(choice.factor, 1);
  EXPECT_FALSE(choice.refused);
  EXPECT_NE(choice.why.find("16 Gbit/s"), std::string::npos) << choice.why;
}

TEST(ChooseTimeScale, FastLinksAreSlowedToAQuarterOfWhatTheMachineCarries) {
  EXPECT_EQ(choose("rate=4gbit", kTwoCores).factor, 2);              // 1.91
  EXPECT_EQ(choose("rate=25gbit", kTwoCores).factor, 20);            // 11.95
  const TimeScaleChoice choice = choose("rate=100gbit", kTwoCores);  // 47.8
  EXPECT_EQ(choice.factor, 50);
  EXPECT_NE(choice.why.find("100 Gbit/s"), std::string::npos) << choice.why;
}

TEST(ChooseTimeScale, MoreRanksThanCoresGetTheirShareOfOne) {
  Capacity machine = kTwoCores;
  machine.ranks = 4;
  EXPECT_EQ(choose("rate=10mbit", machine).factor, 2);
  machine.threads = 2;
  EXPECT_EQ(choose("rate=10mbit", machine).factor, 5);  // of 1, 2, 5: 4 or more
  EXPECT_NE(choose("rate=10mbit", machine).why.find("share 2 cores"), std::string::npos);
  machine.cores = 16;
  EXPECT_EQ(choose("rate=10mbit", machine).factor, 1);
}

TEST(ChooseTimeScale, RefusesWhereItWouldLie) {
  Capacity slow = kTwoCores;
  slow.flow = 4e8;
  EXPECT_TRUE(choose("rate=100gbit", slow).refused);  // 1912
  // TCP's timers do not slow down; where nothing must be slowed down they need not.
  const TimeScaleChoice lossy = choose("rate=25gbit,loss=1%", kTwoCores);
  EXPECT_TRUE(lossy.refused);
  EXPECT_NE(lossy.why.find("TCP's timers"), std::string::npos) << lossy.why;
  EXPECT_FALSE(choose("rate=1gbit,loss=1%", kTwoCores).refused);
  Capacity crowded = kTwoCores;
  crowded.ranks = 20;
  EXPECT_TRUE(choose("rate=5kbit", crowded).refused);
}

TEST(ChooseTimeScale, TheFastestLinkOfATopologyDecides) {
  const auto choose_of = [](const char* topology) {
    return choose_time_scale(parse_topology(topology).plan(2, parse_link_spec("rate=1gbit")),
                             kTwoCores);
  };
  EXPECT_EQ(choose_of("racks").factor, 1);
  EXPECT_EQ(choose_of("racks:uplink=(rate=25gbit)").factor, 20);
  EXPECT_EQ(choose_of("wan:sites=2,host1=(rate=4gbit)").factor, 2);
  // One link that must not be slowed down is enough.
  const TimeScaleChoice lossy = choose_of("racks:uplink=(rate=25gbit),host1=(loss=1%)");
  EXPECT_TRUE(lossy.refused);
  EXPECT_NE(lossy.why.find("but host1: "), std::string::npos) << lossy.why;
  const TimeScaleChoice slow = choose_of("racks:uplink=(rate=100gbit),host1=(rate=20kbit)");
  EXPECT_TRUE(slow.refused);
  EXPECT_NE(slow.why.find("host1 would be slower than 1 kbit/s"), std::string::npos) << slow.why;
}

TEST(ChooseTimeScale, FlowsShareTheCoresTwoToEach) {
  EXPECT_EQ(kTwoCores.per_rank(), 8e9);
  EXPECT_EQ((Capacity{.cores = 16, .ranks = 4, .threads = 1, .flow = 16e9}).per_rank(), 32e9);
  EXPECT_EQ((Capacity{.cores = 1, .ranks = 4, .threads = 1, .flow = 16e9}).per_rank(), 4e9);
}

TEST(ChooseTimeScale, ARankAloneNeedsNoNetwork) {
  EXPECT_EQ(choose("rate=100gbit", {.cores = 1, .ranks = 1, .threads = 1, .flow = 0}).factor, 1);
}

TEST(CeilingLink, IsTheSameLinkWithNothingThatSlowsItDown) {
  const LinkSpec fast =
      ceiling_link(parse_link_spec("rate=10mbit,delay=10ms,loss=1%,overhead=24,mtu=9000"));
  EXPECT_EQ(fast.rate(), 100e9);
  EXPECT_LE(fast.delay(), 1e-5);
  EXPECT_FALSE(fast.disturbs());
  EXPECT_TRUE(fast.needs_netem());  // it costs the time that it costs
  EXPECT_EQ(fast.down.overhead, 24U);
  EXPECT_EQ(fast.mtu, 9000U);
}

// Returns the measured times of a rank's step. The rank should begin its exchange when its dilated
// compute and codec times have passed, and begins it `lag` later. The exchange ends at `end`.
WorkerStep scaled_step(double factor, double compute, double codec, double lag, double end) {
  constexpr double kDecode = 0.004;  // wall time; its CPU time was half of it
  WorkerStep step;
  step.wanted = compute;
  step.codec = codec;
  step.codec_decode = kDecode / 2;
  step.arrived = factor * (compute + codec) + lag;
  step.lag = lag;
  step.late = 0.001;
  step.compute = factor * compute;
  step.compress = factor * codec + lag;
  step.exchange = end - step.arrived;
  step.decode = kDecode;
  step.total = end + kDecode;
  return step;
}

StepAnswers scaled(std::vector<WorkerStep> ranks, double factor, bool overlapped = false) {
  StepAnswers step{std::move(ranks), {}};
  scale_step(step, factor, overlapped);
  return step;
}

TEST(ScaleStep, TheTimelineEndsWithTheStep) {
  WorkerStep step = scaled_step(4, 0.010, 0.001, 0, 0.124);
  step.timeline = {{Phase::kExchange, 0, 0.044, 0.124}, {Phase::kDecode, 0, 0.124, 0.128}};
  const WorkerStep scaled_one = scaled({step}, 4).workers[0];
  EXPECT_NEAR(scaled_one.timeline[0].end / 4, 0.031, 1e-12);
  EXPECT_NEAR(scaled_one.timeline[1].begin / 4, 0.031, 1e-12);
  EXPECT_NEAR(scaled_one.timeline[1].end / 4, scaled_one.total, 1e-12);
}

TEST(ScaleStep, IsWhatASlowMachineTookDividedByTheFactor) {
  // At factor 4, 10 ms of compute and 1 ms of codec become 44 ms. The exchange takes 80 ms, which
  // is 20 ms in emulated time.
  const std::vector<WorkerStep> ranks =
      scaled({scaled_step(4, 0.010, 0.001, 0, 0.124), scaled_step(4, 0.008, 0.001, 0, 0.124)}, 4)
          .workers;
  EXPECT_NEAR(ranks[0].compute, 0.010, 1e-12);
  EXPECT_NEAR(ranks[0].compress, 0.001, 1e-12);
  EXPECT_NEAR(ranks[0].exchange, 0.020, 1e-12);
  EXPECT_NEAR(ranks[0].decode, 0.002, 1e-12);
  EXPECT_NEAR(ranks[0].total, 0.033, 1e-12);
  EXPECT_NEAR(ranks[0].exposed, 0.020, 1e-12);
  EXPECT_NEAR(ranks[0].link_idle, 0.013, 1e-12);
  EXPECT_NEAR(ranks[1].exchange, 0.022, 1e-12);  // its waiting for rank 0 too
  EXPECT_NEAR(ranks[0].late, 0.00025, 1e-12);
  EXPECT_NEAR(ranks[0].skew, 0, 1e-12);
  // As it happened.
  EXPECT_NEAR(ranks[0].raw->compute, 0.040, 1e-12);
  EXPECT_NEAR(ranks[0].raw->exchange, 0.080, 1e-12);
  EXPECT_NEAR(ranks[0].raw->total, 0.128, 1e-12);
}

// At factor 0.1, 100 ms of compute become 10 ms, and a codec of 50 ms does not fit into this time.
// Ranks begin their exchange at 50 ms instead of 15 ms, 35 ms late. The emulated step excludes this
// delay: it is 150 ms plus 10 times the exchange.
TEST(ScaleStep, CodecsThatTakeTooLongForAFastLinkAreAccountedApart) {
  const StepAnswers step = scaled(std::vector(2, scaled_step(0.1, 0.1, 0.05, 0.035, 0.070)), 0.1);
  const std::vector<WorkerStep>& ranks = step.workers;
  EXPECT_NEAR(ranks[0].compute, 0.1, 1e-12);
  EXPECT_NEAR(ranks[0].compress, 0.05, 1e-12);
  EXPECT_NEAR(ranks[0].exchange, 0.2, 1e-12);  // 20 ms as measured
  EXPECT_NEAR(ranks[0].total, 0.352, 1e-12);
  EXPECT_NEAR(ranks[0].skew, 0, 1e-12);
  EXPECT_TRUE(scale_warnings({step}, 0.1).empty());
}

// Only one rank is late, and it alone delays the exchange. On the emulated machines it would not
// delay the exchange.
TEST(ScaleStep, RanksThatBeginApartAreDoubted) {
  const StepAnswers step =
      scaled({scaled_step(2, 0.010, 0.010, 0, 0.1), scaled_step(2, 0.010, 0.010, 0.006, 0.1)}, 2);
  const std::vector<WorkerStep>& ranks = step.workers;
  // From 46 ms, when the exchange began, to 100 ms.
  EXPECT_NEAR(ranks[1].exchange, 0.027, 1e-12);
  EXPECT_NEAR(ranks[0].exchange, 0.027, 1e-12);
  EXPECT_NEAR(ranks[0].skew, 0.003, 1e-12);
  EXPECT_EQ(scale_warnings({step}, 2).size(), 1U);
}

TEST(ScaleStep, CodecWorkBetweenExchangesThatTakesTooLongIsDoubted) {
  std::vector<WorkerStep> ranks(2, scaled_step(2, 0.010, 0.010, 0, 0.1));
  ranks[1].overrun = 0.01;
  const StepAnswers step = scaled(ranks, 2);
  EXPECT_NEAR(step.workers[1].skew, 0.005, 1e-12);
  EXPECT_EQ(scale_warnings({step}, 2).size(), 1U);
}

// A step that only accumulates exchanges nothing; a rank that was done early has not been early.
TEST(ScaleStep, NoPartIsNegative) {
  const WorkerStep early =
      scaled({scaled_step(0.1, 0.1, 0.05, 0.035, 0.05), scaled_step(0.1, 0.1, 0.02, 0.012, 0.024)},
             0.1)
          .workers[1];
  EXPECT_EQ(early.exchange, 0);
  EXPECT_NEAR(early.total, 0.122, 1e-12);
}

// With overlap the whole step was dilated, so the times of overlapping phases are divided by the
// factor. A codec's time is not dilated again: `compress` measured three times the codec's own
// time.
TEST(ScaleOverlappedStep, DividesAllThatRanBesideEachOther) {
  WorkerStep rank = scaled_step(3, 0.010, 0.002, 0, 0.060);
  rank.decode = 0.006;  // dilated too: 0.002 is its own
  rank.overrun = 0.0003;
  rank.exposed = 0.021;
  rank.link_idle = 0.012;
  rank.exchange = 0.048;
  const StepAnswers step = scaled({rank}, 3, true);
  const std::vector<WorkerStep>& ranks = step.workers;
  EXPECT_NEAR(ranks[0].compute, 0.010, 1e-12);
  EXPECT_NEAR(ranks[0].compress, 0.002, 1e-12);
  EXPECT_NEAR(ranks[0].decode, 0.002, 1e-12);
  EXPECT_NEAR(ranks[0].exchange, 0.016, 1e-12);
  EXPECT_NEAR(ranks[0].exposed, 0.007, 1e-12);
  EXPECT_NEAR(ranks[0].link_idle, 0.004, 1e-12);
  EXPECT_NEAR(ranks[0].total, 0.064 / 3, 1e-12);
  EXPECT_NEAR(ranks[0].skew, 0.0001, 1e-12);
  EXPECT_NEAR(ranks[0].raw->compress, 0.006, 1e-12);
  EXPECT_NEAR(ranks[0].raw->total, 0.064, 1e-12);
  EXPECT_TRUE(scale_warnings({step}, 3).empty());
}

// A late timer is most of such a step, and nothing of the steps whose times count.
TEST(ScaleOverlappedStep, WithoutComputeOrAnExchangeIsNotJudged) {
  WorkerStep rank;
  rank.wanted = rank.total = 0.060;
  rank.skew = 0.0001;
  const StepAnswers whole{.workers = {rank}, .servers = {}};
  rank.exchanged = false;
  rank.wanted = 0;
  rank.total = 0.0002;
  const StepAnswers sums{.workers = {rank}, .servers = {}};
  EXPECT_TRUE(scale_warnings({whole, sums, sums}, 3).empty());
  EXPECT_TRUE(scale_warnings({sums}, 3).empty());
}

TEST(RawTimes, OfOverlappedExchangesAreOfTheShortest) {
  std::vector<WorkerStep> ranks(2, scaled_step(3, 0.010, 0.002, 0, 0.060));
  for (WorkerStep& rank : ranks) rank.exposed = rank.link_idle = 0.001;
  ranks[0].exchange = 0.030;
  ranks[1].exchange = 0.027;
  const StepAnswers step = scaled(ranks, 3, true);
  EXPECT_NEAR(raw_times({step}, true).at("exchange_time")[0].get<double>(), 0.027, 1e-12);
}

TEST(RawTimes, AreOfTheSlowestRankAndOfTheLastToArrive) {
  const StepAnswers step =
      scaled({scaled_step(4, 0.010, 0.001, 0, 0.125), scaled_step(4, 0.008, 0.001, 0, 0.126)}, 4);
  const json raw = raw_times({step, step}, false);
  EXPECT_EQ(raw.at("step_time").size(), 2U);
  EXPECT_NEAR(raw.at("step_time")[0].get<double>(), 0.130, 1e-12);      // rank 1
  EXPECT_NEAR(raw.at("exchange_time")[1].get<double>(), 0.081, 1e-12);  // rank 0
}

using Answers = std::vector<json>;

// Two workers' answers that agree, and the effect of a change to one field.
PointSamples compared(const std::function<void(Answers&)>& change, Answers more = {}) {
  PointSamples samples;
  Answers answers = {{{"digest", "a"}, {"error", 1e-8}}, {{"digest", "a"}, {"error", 2e-8}}};
  change(answers);
  answers.insert(answers.end(), more.begin(), more.end());
  add_comparison({json::object(), json::object()}, answers, 2, samples);
  return samples;
}

TEST(Comparison, OfRanksThatAgreeFindsNothing) {
  const PointSamples samples = compared([](Answers&) {});
  EXPECT_EQ(samples.checked_steps, 1U);
  EXPECT_EQ(samples.reference, "elements");
  EXPECT_EQ(samples.worst_error, 2e-8);
  EXPECT_TRUE(samples.identical_ranks);
  EXPECT_TRUE(errors_of(samples).empty());
}

TEST(Comparison, FindsWhatDiffers) {
  EXPECT_FALSE(errors_of(compared([](Answers& all) { all[1]["error"] = 1e-3; })).empty());
  // JSON writes NaN as null.
  EXPECT_FALSE(errors_of(compared([](Answers& all) { all[1]["error"] = nullptr; })).empty());
  EXPECT_FALSE(errors_of(compared([](Answers& all) { all[0]["outer_error"] = 1e-3; })).empty());
  EXPECT_FALSE(errors_of(compared([](Answers& all) { all[0]["outer_error"] = nullptr; })).empty());
  EXPECT_FALSE(errors_of(compared([](Answers& all) { all[1]["digest"] = "b"; })).empty());
}

TEST(Comparison, HoldsWorkersAgainstWhatServersAnswered) {
  const Answers server = {{{"error", 1e-9}, {"delta", "d"}}};
  const auto heard = [](const char* what) {
    return [what](Answers& all) {
      for (json& one : all) {
        one.erase("error");
        one["parts"] = json::array({what});
      }
    };
  };
  EXPECT_TRUE(errors_of(compared(heard("d"), server)).empty());
  EXPECT_FALSE(errors_of(compared(heard("e"), server)).empty());
  EXPECT_FALSE(errors_of(compared(heard("d"), {{{"error", 1.0}, {"delta", "d"}}})).empty());
}

// Machines without common memory: linear functions of contributions and results.
TEST(Comparison, TakesProjectionsWhereNoElementsAreShared) {
  const auto of = [](double result) {
    PointSamples samples;
    const auto projected = [](double value) {
      return json{{"projections", json::array({json::array({value})})}};
    };
    json answer = projected(result);
    answer["digest"] = "a";
    answer["largest"] = json::array({2.0});
    add_comparison({projected(1), projected(3)}, {answer, answer}, 2, samples);
    return samples;
  };
  EXPECT_EQ(of(2).reference, "projections");
  EXPECT_TRUE(errors_of(of(2)).empty());
  EXPECT_FALSE(errors_of(of(2.5)).empty());
}

}  // namespace
}  // namespace thinpipe
