#include "harness/sweep/samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

namespace thinpipe {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

WorkerStep stepped(double compute, double exchange, std::size_t payload) {
  WorkerStep step;
  step.compute = step.wanted = compute;
  step.compress = step.compress_cpu = step.decode = 0.001;
  step.exchange = step.exposed = exchange;
  step.total = compute + 0.001 + exchange + 0.001;
  step.link_idle = compute + 0.002;
  step.begun = 100.0;
  step.exchanged = payload > 0;
  step.payload_bytes = payload;
  step.target = 10;
  step.selected = 12;
  step.relative_error = 0.5;
  step.sent = {1, payload, 1};
  return step;
}

PointSamples good_point() {
  PointSamples samples;
  samples.goodput_ratio = 1;
  samples.idle_cpu = 0.5;
  samples.checked_steps = 1;
  // Two ranks with messages of 1000 bytes; rank 1 computes longer, rank 0 waits for it.
  samples.steps = {{{stepped(0.010, 0.021, 1000), stepped(0.030, 0.0008, 1000)}, {}}};
  samples.wire.sent = 2250;  // 1022 bytes and 66 of headers each, and some acks
  return samples;
}

TEST(WireBounds, AreFullFramesAndSingleMessages) {
  const WireBounds bounds = wire_bounds(good_point());
  // Two messages of 1000 bytes and 22 of header: at best 1514 / 1448 of 2044 bytes.
  EXPECT_NEAR(bounds.least, 2044 * 1514.0 / 1448, 1e-9);
  // At most each message takes a frame of its own and an acknowledgement frame (4 * 66 bytes of
  // headers), plus the slack of 2 hosts.
  EXPECT_NEAR(bounds.most, 2044 + 4 * 66 + 2 * 2000, 1e-9);
}

TEST(WireBounds, FollowTheLinksFrames) {
  PointSamples jumbo = good_point();
  jumbo.frame_bytes = 9014;
  jumbo.payload_bytes = 8948;
  EXPECT_NEAR(wire_bounds(jumbo).least, 2044 * 9014.0 / 8948, 1e-9);
  // Frames of a third as much data are three times as many.
  PointSamples small = good_point();
  small.frame_bytes = 548 + 66;
  small.payload_bytes = 548;
  EXPECT_NEAR(wire_bounds(small).most, 2044 + 4 * 66 * 1448.0 / 548 + 2 * 2000, 1e-9);
}

TEST(Metrics, StepIsTheSlowestRanksPartsAreTheLastToArrives) {
  const Metrics metrics = metrics_of(good_point(), 4000);
  EXPECT_DOUBLE_EQ(metrics.at("step_time"_metric).samples[0], 0.033);     // rank 0
  EXPECT_DOUBLE_EQ(metrics.at("compute_time"_metric).samples[0], 0.030);  // rank 1
  EXPECT_DOUBLE_EQ(metrics.at("exchange_time"_metric).samples[0], 0.0008);
  EXPECT_DOUBLE_EQ(metrics.at("payload_bytes"_metric).samples[0], 1000);
  EXPECT_DOUBLE_EQ(metrics.at("quality"_metric).samples[0], 1.2);
  EXPECT_DOUBLE_EQ(metrics.at("wire_bytes"_metric).samples[0], 1125);  // of two hosts in one step
  // (n-1)/n of 2000 bytes in 0.8 ms: 1000 * 8 / 0.0008.
  EXPECT_DOUBLE_EQ(metrics.at("bus_bandwidth"_metric).samples[0], 1e7);
}

TEST(BusBandwidth, OfAnAllReduceCountsBothPhases) {
  // 2 (n-1)/n S = 1 * 1000 bytes for two ranks.
  StepAnswers step = good_point().steps[0];
  for (WorkerStep& rank : step.workers) rank.summed_bytes = 1000;
  EXPECT_DOUBLE_EQ(bus_bandwidth(step, false), 1e7);
  // 600 of a rank's 1000 bytes are summed and the other 400 all-gathered: 600 * 2/2 and 400 * 2 *
  // 1/2 bytes in 0.8 ms.
  for (WorkerStep& rank : step.workers) rank.summed_bytes = 600;
  EXPECT_DOUBLE_EQ(bus_bandwidth(step, false), 1e7);
  // Under the rest of the step the one that waits least is the one that exchanges least.
  step.workers[1].compute = 0.001;
  EXPECT_DOUBLE_EQ(bus_bandwidth(step, true), 1e7);
}

// Each of two workers pushes 1000 bytes and pulls 700. The server receives 2000 bytes and sends 700
// bytes to each worker.
TEST(BusBandwidth, WithServersIsThatOfTheBusiestLink) {
  StepAnswers step = good_point().steps[0];
  for (WorkerStep& worker : step.workers) worker.pulled_bytes = 700;
  const auto with_server = [&](std::size_t push, std::size_t pull) {
    step.servers.resize(1);
    step.servers[0].push_bytes = push;
    step.servers[0].pull_bytes = pull;
    return bus_bandwidth(step, false);
  };
  EXPECT_DOUBLE_EQ(with_server(2000, 700), 2e7);
  EXPECT_DOUBLE_EQ(with_server(2000, 1100), 2.2e7);
  EXPECT_DOUBLE_EQ(with_server(600, 300), 1e7);
}

PointSamples point_with_a_server() {
  PointSamples samples = good_point();
  for (WorkerStep& worker : samples.steps[0].workers) worker.pulled_bytes = 700;
  ServerStep& server = samples.steps[0].servers.emplace_back();
  server.decode = 0.001;
  server.compress = 0.002;
  server.push_bytes = 2000;
  server.pull_bytes = 700;
  server.relative_error = 0.25;
  server.sent = {2, 1416, 2};
  samples.wire.sent = 4000;
  samples.wire.sent_by = {1100, 1100, 1800};
  return samples;
}

TEST(Servers, AreRecordedBesideTheRanks) {
  const PointSamples samples = point_with_a_server();
  EXPECT_DOUBLE_EQ(metrics_of(samples, 4000).at("pull_bytes"_metric).samples[0], 700);
  EXPECT_DOUBLE_EQ(metrics_of(samples, 4000).at("wire_bytes"_metric).samples[0],
                   2000);  // of two workers
  EXPECT_EQ(per_rank(samples.steps).size(), 2U);
  const json servers = per_server(samples);
  ASSERT_EQ(servers.size(), 1U);
  EXPECT_EQ(servers[0]["pull_bytes"], json({700}));
  EXPECT_EQ(servers[0]["relative_error"], json({0.25}));
}

TEST(Servers, TheirBytesAreToAddUpToo) {
  // (2 * 1000 + 1416) bytes and 22 for each of 4 messages, in full frames.
  EXPECT_NEAR(wire_bounds(point_with_a_server()).least, 3504 * 1514.0 / 1448, 1e-9);
  EXPECT_TRUE(wire_warnings(point_with_a_server()).empty());
  PointSamples astray = point_with_a_server();
  astray.wire.sent_by[2] = 1200;
  EXPECT_FALSE(wire_warnings(astray).empty());
}

TEST(Servers, AnAnswerThatWorkersDoNotEndWithIsAFault) {
  PointSamples samples = point_with_a_server();
  EXPECT_TRUE(errors_of(samples).empty());
  samples.servers_heard = false;
  EXPECT_FALSE(errors_of(samples).empty());
}

TEST(Metrics, OfOverlappedStepsSayWhatWasExposed) {
  PointSamples samples = good_point();
  samples.overlapped = true;
  samples.steps[0].workers[0].exposed = 0.002;  // rank 0 is the slowest
  samples.without_exchange = {0.0301, 0.0302, 0.0303};
  const Metrics metrics = metrics_of(samples, 4000);
  EXPECT_DOUBLE_EQ(metrics.at("exposed_time"_metric).samples[0], 0.002);
  EXPECT_DOUBLE_EQ(metrics.at("ideal_time"_metric).samples[0], 0.030);
  EXPECT_EQ(metrics.at("noop_time"_metric).samples.size(), 3U);
  EXPECT_DOUBLE_EQ(metrics.at("exchange_time"_metric).samples[0], 0.0008);
}

// With a period of 2, every other step only accumulates gradients. A sample is the mean over the
// steps of a whole period, as training has it.
TEST(Metrics, OfDelayedMethodsAreMeansOverWholePeriods) {
  PointSamples samples = good_point();
  samples.period = 2;
  const StepAnswers held{{stepped(0.010, 0, 0), stepped(0.010, 0, 0)}, {}};
  const StepAnswers sent{{stepped(0.010, 0.004, 1000), stepped(0.010, 0.004, 1000)}, {}};
  samples.steps = {held, sent, held, sent};
  const Metrics metrics = metrics_of(samples, 4000);
  ASSERT_EQ(metrics.at("step_time"_metric).samples.size(), 2U);
  EXPECT_DOUBLE_EQ(metrics.at("step_time"_metric).samples[1], 0.014);  // of 0.012 and 0.016
  EXPECT_DOUBLE_EQ(metrics.at("payload_bytes"_metric).samples[0], 500);
  EXPECT_DOUBLE_EQ(metrics.at("relative_error"_metric).samples[0], 0.5);
  EXPECT_DOUBLE_EQ(metrics.at("quality"_metric).samples[0], 1.2);
  EXPECT_DOUBLE_EQ(metrics.at("bus_bandwidth"_metric).samples[0], 1000 * 8 / 0.004);
  EXPECT_EQ(metrics.at("dense_bytes"_metric).samples.size(), 2U);
}

TEST(Timeline, IsOfTheMedianStepOnOneClock) {
  PointSamples samples = good_point();
  samples.steps = {{{stepped(0.010, 0.021, 1000), stepped(0.030, 0.0008, 1000)}, {}},
                   {{stepped(0.020, 0.021, 1000), stepped(0.020, 0.0008, 1000)}, {}},
                   {{stepped(0.050, 0.021, 1000), stepped(0.030, 0.0008, 1000)}, {}}};
  for (StepAnswers& step : samples.steps)
    for (WorkerStep& rank : step.workers) rank.timeline = {{Phase::kCompute, 0, 0.0, rank.compute}};
  samples.steps[1].workers[1].begun = 100.001;
  const auto begins = [&](bool one_clock) {
    Point point;
    put_timeline(samples, one_clock, point);
    EXPECT_EQ(point.timeline_step, 1U);
    std::vector<double> found;
    for (const RankTimeline& rank : point.timeline) {
      EXPECT_EQ(rank.size(), 1U);
      EXPECT_EQ(rank[0].phase, "compute");
      EXPECT_NEAR(rank[0].end - rank[0].begin, 0.02, 1e-12);
      found.push_back(rank[0].begin);
    }
    return found;
  };
  EXPECT_EQ(begins(true), (std::vector<double>{0, 0.001}));
  EXPECT_EQ(begins(false), (std::vector<double>{0, 0}));
}

TEST(PointWarnings, NoneAboutAGoodPoint) {
  EXPECT_TRUE(warnings_about(good_point()).empty());
  EXPECT_TRUE(errors_of(good_point()).empty());
}

// Returns the only warning about a good point after a change; of several or none, "N warnings".
std::string warning(const std::function<void(PointSamples&)>& spoil) {
  PointSamples samples = good_point();
  spoil(samples);
  const auto warnings = warnings_about(samples);
  return warnings.size() == 1 ? warnings[0] : std::to_string(warnings.size()) + " warnings";
}

TEST(PointWarnings, EachSignIsNamed) {
  EXPECT_THAT(warning([](auto& s) { s.goodput_ratio = 0.96; }), HasSubstr("TCP ceiling"));
  EXPECT_THAT(warning([](auto& s) { s.goodput_ratio = 1.04; }), HasSubstr("TCP ceiling"));
  EXPECT_THAT(warning([](auto& s) { s.idle_cpu = 0.01; }),
              HasSubstr("CPU idle time was 1.0 % (limit 2 %)"));
  EXPECT_THAT(warning([](auto& s) { s.steps[0].workers[0].late = 0.003; }),
              HasSubstr("5 % of timed waits overran by 3 ms or more (limit 2 ms)"));
  EXPECT_THAT(warning([](auto& s) {
                s.goodput_ratio = 0.96;
                s.goodput_of = "rack0-spine up";
              }),
              HasSubstr("rack0-spine up delivered 96.0 %"));
  // A link that delivers nothing, or no number, is no link that was not measured.
  EXPECT_THAT(warning([](auto& s) { s.goodput_ratio = 0; }), HasSubstr("TCP ceiling"));
  EXPECT_THAT(warning([](auto& s) { s.goodput_ratio = std::nan(""); }), HasSubstr("TCP ceiling"));
  EXPECT_THAT(warning([](auto& s) { s.wire.restarted = true; }), HasSubstr("counters restarted"));
  // Bytes that never crossed the links, as with a shared-memory shortcut.
  EXPECT_THAT(warning([](auto& s) { s.wire.sent = 1000; }), HasSubstr("bypassed"));
  // Bytes that crossed them twice.
  EXPECT_THAT(warning([](auto& s) { s.wire.sent = 20000; }), HasSubstr("twice"));
  EXPECT_THAT(warning([](auto& s) {
                s.steps[0].workers[0].sent = {1, 1000000, 700};
                s.wire.sent = 1060000;
                s.wire.switches = {{"spine", 2000000, 1990000}, {"rack1", 1060000, 900000}};
              }),
              HasSubstr("dropped"));
}

// Ranks that share cores end their waits at the same moment, so some waits end late. This delay is
// a small fraction of a long step.
TEST(PointWarnings, AWaitMayEndLateByAHundredthOfALongStep) {
  PointSamples samples = good_point();
  samples.steps = {{{stepped(1, 0.5, 1000), stepped(1, 0.5, 1000)}, {}}};  // 1.502 s
  samples.steps[0].workers[0].late = 0.0149;
  EXPECT_TRUE(warnings_about(samples).empty());
  samples.steps[0].workers[0].late = 0.0151;
  EXPECT_EQ(warnings_about(samples).size(), 1U);
}

// A sum of wire bytes over many ranks hides a rank whose messages bypass its link, because the
// other ranks' acknowledgements outweigh the missing bytes.
TEST(PointWarnings, OneRankWhoseBytesGoAnotherWayIsNamed) {
  PointSamples samples = good_point();
  samples.wire.sent = 0;
  samples.steps = {{std::vector<WorkerStep>(40, stepped(0.01, 0.001, 100000)), {}}};
  for (WorkerStep& rank : samples.steps[0].workers) rank.sent.frames = 70;
  for (int rank = 0; rank < 40; ++rank) samples.wire.sent_by.push_back(rank == 7 ? 500 : 108000);
  for (const std::uint64_t bytes : samples.wire.sent_by) samples.wire.sent += bytes;
  const auto warnings = warnings_about(samples);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], HasSubstr("rank 7"));
  samples.wire.sent_by[7] = 108000;
  EXPECT_TRUE(warnings_about(samples).empty());
}

// Frames that bypass the shaper of place=switch or up.delay.
TEST(PointWarnings, AShaperThatFramesGoRound) {
  EXPECT_THAT(warning([](auto& s) {
                s.wire.detours = {{"host3", 1000000, 100000, 0}};
              }),
              HasSubstr("host3 sent"));
  EXPECT_EQ(warning([](auto& s) {
              s.wire.detours = {{"host3", 1000000, 999000, 0}};
            }),
            "0 warnings");
}

// An interval too short for the kernel's ticks has no idle time.
TEST(PointWarnings, IdleTimeThatIsNotKnownIsNone) {
  EXPECT_EQ(warning([](auto& s) { s.idle_cpu.reset(); }), "0 warnings");
}

// Losses that a link is set to are no sign of an error, nor are retransmissions.
TEST(PointWarnings, ALinkThatLosesFramesMay) {
  PointSamples lossy = good_point();
  lossy.lossless = false;
  lossy.goodput_ratio.reset();
  lossy.steps[0].workers[0].sent.bytes = 1000000;
  lossy.steps[0].workers[0].sent.frames = 700;
  lossy.wire.sent = 2000000;
  lossy.wire.switches = {{"switch", 2000000, 1000000}};
  EXPECT_TRUE(warnings_about(lossy).empty());
  lossy.lossless = true;
  EXPECT_EQ(warnings_about(lossy).size(), 2U);
  // But frames that never crossed the link were not lost by it.
  lossy.lossless = false;
  lossy.wire.sent = 10000;
  EXPECT_EQ(warnings_about(lossy).size(), 1U);
}

TEST(PointErrors, AreAWrongAggregateAndRanksThatDiffer) {
  PointSamples wrong = good_point();
  wrong.worst_error = 1e-3;
  EXPECT_EQ(errors_of(wrong).size(), 1U);
  wrong.worst_error = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(errors_of(wrong).size(), 1U);
  PointSamples differing = good_point();
  differing.identical_ranks = false;
  EXPECT_EQ(errors_of(differing).size(), 1U);
}

}  // namespace
}  // namespace thinpipe
