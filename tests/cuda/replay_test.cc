// Replays whose gradients lie on a device, which a processor plays, beside those of the processor:
// the same payloads, aggregates and states, bit for bit.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "tests/cuda/played/played_device.h"
#include "tests/exchange/thread_transport.h"
#include "tests/trace/sample_trace.h"
#include "tests/trace/temporary_folder.h"
#include "workloads/exchange/patterns.h"
#include "workloads/exchange/push_pull_pattern.h"
#include "workloads/exchange/ring_pattern.h"
#include "workloads/replay/parameter_server.h"
#include "workloads/replay/replay.h"

namespace thinpipe {
namespace {

// What came of one step on one rank.
struct Stepped {
  std::vector<float> aggregate, update, contribution;
  std::vector<std::byte> state;
  StepReport report;
  double relative_error = 0;
  TransportCounters sent;
};

// A ring that plays a library which takes addresses on devices: these lie in the host's memory.
class RingBetweenDevices : public RingPattern, private DeviceAllGather {
 public:
  RingBetweenDevices(std::unique_ptr<Transport> transport, std::size_t capacity, std::size_t rank)
      : RingPattern(std::move(transport), capacity), rank_(rank) {}
  DeviceAllGather* on_devices() override { return this; }

 private:
  void gather_words(std::span<const std::uint32_t> own, std::span<std::uint32_t> all) override {
    std::size_t at = 0;
    for (const auto message : all_gather(std::as_bytes(own))) {
      std::memcpy(all.data() + at, message.data(), message.size());
      at += own.size();
    }
  }
  void gather_on_device(const std::byte* device_own, std::span<const std::size_t> sizes,
                        std::byte* device_all) override {
    for (const auto message : all_gather({device_own, sizes[rank_]})) {
      std::memcpy(device_all, message.data(), message.size());
      device_all += message.size();
    }
  }

  std::size_t rank_;
};

// By rank and step.
using AllSteps = std::vector<std::vector<Stepped>>;

constexpr const char* kBetweenDevices = "between devices";

bool is_pattern_sparse(const std::string& pattern) {
  return pattern.rfind("gtopk", 0) == 0 || pattern.rfind("oktopk", 0) == 0;
}

class DeviceReplayTest : public testing::Test {
 protected:
  void SetUp() override {
    SampleTrace what;
    // A tensor of several stretches of copies, one of one element, and small ones.
    what.shapes = {{20, 25}, {20}, {1}, {300, 400}, {300}};
    what.ranks = 2;
    what.steps = 3;
    what.compute_seconds = 0;
    what.squares = true;
    write_sample_trace(folder_ / "trace", what);
  }

  // Runs what a rank does in a thread for each, servers after workers where there are some.
  AllSteps run(const ReplayOptions& options, bool on_device, int ranks, std::uint64_t steps,
               const std::string& pattern) {
    const Trace trace(folder_ / "trace");
    Mailboxes boxes;
    AllSteps all(static_cast<std::size_t>(ranks));
    const int servers = options.servers ? options.servers->servers : 0;
    std::vector<std::thread> threads;
    for (int server = 0; server < servers; ++server)
      threads.emplace_back([&, server] {
        ThreadTransport transport(boxes, ranks + server, ranks + servers);
        const auto plan = plan_buckets(trace.tensors(), options.compressor, options.feed);
        ParameterServer own(transport, replay_units(plan, *options.servers),
                            {.exchange = *options.servers, .local_steps = options.feed.local_steps},
                            ranks, server);
        for (std::uint64_t step = 0; step < steps; ++step) own.step(step);
      });
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        ReplayOptions own = options;
        if (is_pattern_sparse(pattern)) own.sparse_sums = true;
        if (on_device)
          own.device = cuda::play_rank_device(static_cast<std::uint64_t>(rank) + 7, rank);
        Replay replay(trace, own, rank, ranks);
        replay.prepare(steps);
        auto transport = std::make_unique<ThreadTransport>(boxes, rank, ranks + servers);
        if (servers > 0)
          replay.connect(std::make_unique<PushPullPattern>(std::move(transport), replay.layout()));
        else
          replay.connect([&](std::size_t capacity) -> std::unique_ptr<Pattern> {
            auto own_transport = std::make_unique<ThreadTransport>(boxes, rank, ranks);
            if (pattern == kBetweenDevices)
              return std::make_unique<RingBetweenDevices>(std::move(own_transport), capacity,
                                                          static_cast<std::size_t>(rank));
            return make_pattern(parse_spec(pattern), std::move(own_transport), capacity);
          });
        EXPECT_TRUE(!on_device || replay.loads());
        for (std::uint64_t step = 0; step < steps; ++step)
          all[static_cast<std::size_t>(rank)].push_back(
              stepped(replay, step, saves_each_step_ || step + 1 == steps));
      });
    for (std::thread& thread : threads) thread.join();
    return all;
  }

  static Stepped stepped(Replay& replay, std::uint64_t step, bool saves) {
    Stepped stepped;
    replay.load(step);
    stepped.report = replay.step(step);
    replay.fetch();
    stepped.aggregate.assign(replay.aggregate().begin(), replay.aggregate().end());
    stepped.update.assign(replay.update().begin(), replay.update().end());
    stepped.relative_error = replay.relative_error(step);
    stepped.contribution.resize(replay.contribution_size());
    replay.own_contribution(stepped.contribution);
    if (saves && stepped.report.exchanged) replay.save_state(stepped.state);
    stepped.sent = replay.counters();
    return stepped;
  }

  static bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
  }

  void expect_same(const ReplayOptions& options, int ranks, const std::string& pattern = "ring",
                   std::uint64_t steps = 4) {
    const bool direct = pattern == kBetweenDevices;
    const AllSteps here = run(options, false, ranks, steps, direct ? "ring" : pattern);
    const AllSteps there = run(options, true, ranks, steps, pattern);
    for (std::size_t rank = 0; rank < here.size(); ++rank) {
      ASSERT_EQ(here[rank].size(), steps);
      ASSERT_EQ(there[rank].size(), steps);
      for (std::size_t step = 0; step < steps; ++step) {
        SCOPED_TRACE("rank " + std::to_string(rank) + ", step " + std::to_string(step));
        const Stepped &a = here[rank][step], &b = there[rank][step];
        EXPECT_TRUE(same_bits(a.aggregate, b.aggregate)) << "aggregates differ";
        EXPECT_TRUE(same_bits(a.update, b.update)) << "updates differ";
        EXPECT_TRUE(same_bits(a.contribution, b.contribution)) << "payloads differ";
        EXPECT_TRUE(a.state == b.state) << "states differ";
        EXPECT_DOUBLE_EQ(a.relative_error, b.relative_error);
        EXPECT_EQ(a.report.payload_bytes, b.report.payload_bytes);
        EXPECT_EQ(a.report.summed_bytes, b.report.summed_bytes);
        EXPECT_EQ(a.report.pulled_bytes, b.report.pulled_bytes);
        EXPECT_EQ(a.report.target, b.report.target);
        EXPECT_EQ(a.report.selected, b.report.selected);
        EXPECT_EQ(a.report.exchanged, b.report.exchanged);
        if (!direct) {  // which tells lengths in a message of their own
          EXPECT_EQ(a.sent.bytes, b.sent.bytes);
          EXPECT_EQ(a.sent.messages, b.sent.messages);
        }
        EXPECT_EQ(a.report.copy_down, 0);
        EXPECT_EQ(a.report.copy_up, 0);
        EXPECT_TRUE(!direct || b.report.summed_bytes > 0 || b.report.copy_up == 0);
        if (!b.report.exchanged || direct) continue;
        EXPECT_GT(b.report.copy_down, 0);
        EXPECT_TRUE(b.report.copy_up > 0 || (ranks == 1 && !options.servers));
      }
    }
  }

  TemporaryFolder folder_;
  bool saves_each_step_ = true;
};

TEST_F(DeviceReplayTest, EndsWithTheSameBits) {
  for (const char* spec :
       {"none", "topk:ratio=0.01", "dgc:ratio=0.01", "sidco:ratio=0.01", "3lc", "int8", "onebit",
        "topk:ratio=0.01,positions=golomb", "variance", "threshold:tau=0.001", "strom:tau=0.001",
        "fedavg:delay=2", "sbc:p=0.01,delay=2", "ef21:ratio=0.01"}) {
    SCOPED_TRACE(spec);
    ReplayOptions options;
    options.compressor = parse_spec(spec);
    expect_same(options, 3);
  }
}

TEST_F(DeviceReplayTest, EndsWithTheSameBitsOfSharedScales) {
  for (const char* spec : {"terngrad", "terngrad:memory=residual,delay=2", "thc"}) {
    SCOPED_TRACE(spec);
    ReplayOptions options;
    options.compressor = parse_spec(spec);
    expect_same(options, 2);
    options.feed.overlap = Overlap::kBucket;
    options.feed.limits = BucketLimits::parse("first=1kb,rest=10kb");
    expect_same(options, 2);
  }
}

TEST_F(DeviceReplayTest, OfSeveralCompressorsEachHasItsTensors) {
  ReplayOptions options;
  for (const char* rules :
       {"tensor-0:topk:ratio=0.1;tensor-3:3lc;*:none", "tensor-3:none;*:fedavg:delay=1",
        "tensor-0:sbc:p=0.1,delay=2;*:topk:ratio=0.01"}) {
    SCOPED_TRACE(rules);
    options.compressor = CompressorRules::parse(rules);
    expect_same(options, 3);
  }
}

TEST_F(DeviceReplayTest, RoundsOfAllReducesEndWithTheSameBits) {
  ReplayOptions options;
  for (const char* rules :
       {"powersgd", "powersgd:rank=2,memory=ef21,delay=2", "powersgd:rank=1,warm=false,memory=none",
        "tensor-3:powersgd;tensor-0:powersgd:rank=2;*:none",
        "tensor-3:powersgd;*:topk:ratio=0.1"}) {
    SCOPED_TRACE(rules);
    options.compressor = CompressorRules::parse(rules);
    expect_same(options, 3);
  }
  options.compressor = parse_spec("powersgd:rank=2");
  for (const char* pattern : {"recursive-doubling", "tree"}) expect_same(options, 4, pattern, 2);
  expect_same(options, 1);
  options.feed.local_steps = 2;
  options.feed.outer = OuterOptions{};
  expect_same(options, 2, "ring", 5);
  options.feed = {};
  options.feed.granularity = Granularity::kModel;
  expect_same(options, 2);  // a vector, of one round
}

TEST_F(DeviceReplayTest, CopiesBetweenRoundsAreSlowedDown) {
  ReplayOptions options;
  options.time_scale = 20;
  options.compressor = parse_spec("powersgd");
  expect_same(options, 2, "ring", 2);
  for (const std::vector<Stepped>& steps : run(options, true, 2, 3, "ring"))
    for (std::size_t step = 1; step < steps.size(); ++step) {
      const StepReport& report = steps[step].report;
      EXPECT_GT(report.codec, 0);
      // One after the other, unlike those of payloads.
      EXPECT_GE(report.total,
                options.time_scale * (report.codec + report.copy_down + report.copy_up) * 0.999);
      EXPECT_GE(report.compress, options.time_scale * report.codec * 0.999);
    }
}

TEST_F(DeviceReplayTest, BucketsAreEncodedWhileOthersAreOnTheirWay) {
  Feed inline_codec, beside, joined, model;
  inline_codec.overlap = beside.overlap = joined.overlap = Overlap::kBucket;
  inline_codec.limits = beside.limits = BucketLimits::parse("first=1kb,rest=10kb");
  joined.limits = beside.limits;
  joined.granularity = Granularity::kBucket;
  beside.codec_beside = true;
  model.granularity = Granularity::kModel;
  for (const Feed& feed : {inline_codec, beside, joined, model})
    for (const char* spec : {"topk:ratio=0.05", "int8", "none", "sbc:p=0.01,delay=2"}) {
      SCOPED_TRACE(feed.to_string() + " " + spec);
      ReplayOptions options;
      options.feed = feed;
      options.compressor = parse_spec(spec);
      expect_same(options, 3);
    }
}

TEST_F(DeviceReplayTest, ByAnyPatternThatGathers) {
  for (const char* pattern :
       {"recursive-doubling", "halving-doubling", "tree", "hierarchical:group=2"})
    for (const char* spec : {"none", "int8"}) {
      SCOPED_TRACE(std::string(pattern) + " " + spec);
      ReplayOptions options;
      options.compressor = parse_spec(spec);
      expect_same(options, 4, pattern, 2);
    }
  ReplayOptions alone;
  alone.compressor = parse_spec("topk:ratio=0.01");
  expect_same(alone, 1);
}

TEST_F(DeviceReplayTest, LocalStepsAreAddedUpThere) {
  ReplayOptions options;
  options.feed.local_steps = 2;
  for (const char* spec : {"none", "topk:ratio=0.05", "terngrad", "sbc:p=0.01,delay=2"}) {
    SCOPED_TRACE(spec);
    options.compressor = parse_spec(spec);
    options.feed.overlap = Overlap::kNone;
    expect_same(options, 3, "ring", 5);
    options.feed.overlap = Overlap::kBucket;
    options.feed.limits = BucketLimits::parse("first=1kb,rest=10kb");
    expect_same(options, 2, "ring", 5);
  }
}

TEST_F(DeviceReplayTest, AnOuterOptimiserTakesWhatLiesThere) {
  ReplayOptions options;
  options.feed.outer = OuterOptions{};
  for (const std::uint64_t local_steps : {1, 2})
    for (const Overlap overlap : {Overlap::kNone, Overlap::kBucket})
      for (const char* spec : {"none", "int8"}) {
        SCOPED_TRACE(spec);
        options.compressor = parse_spec(spec);
        options.feed.local_steps = local_steps;
        options.feed.overlap = overlap;
        options.feed.limits = BucketLimits::parse("first=1kb,rest=10kb");
        expect_same(options, 2);
      }
}

TEST_F(DeviceReplayTest, SlowMotionChangesTimesAndNothingElse) {
  ReplayOptions options;
  options.time_scale = 3;
  for (const Overlap overlap : {Overlap::kNone, Overlap::kBucket})
    for (const char* spec : {"none", "topk:ratio=0.05", "terngrad"}) {
      SCOPED_TRACE(spec);
      options.compressor = parse_spec(spec);
      options.feed.overlap = overlap;
      expect_same(options, 2);
    }
}

TEST_F(DeviceReplayTest, CopiesAreSlowedDownAsLinksAre) {
  ReplayOptions options;
  options.time_scale = 50;
  for (const char* spec : {"none", "fp16"}) {
    SCOPED_TRACE(spec);
    options.compressor = parse_spec(spec);
    for (const std::vector<Stepped>& steps : run(options, true, 2, 3, "ring"))
      for (std::size_t step = 1; step < steps.size(); ++step) {  // room was made in the first
        const StepReport& report = steps[step].report;
        // Both ways go on at a time; what is summed goes up when it is decoded.
        const double copies = std::string(spec) == "none"
                                  ? report.copy_down
                                  : std::max(report.copy_down, report.copy_up);
        EXPECT_GT(copies, 0);
        EXPECT_GE(report.total, options.time_scale * (report.codec + copies) * 0.999);
        EXPECT_GE(report.compress, options.time_scale * report.codec * 0.999);
      }
  }
}

TEST_F(DeviceReplayTest, ElementsThatAreSelectedAgainOnTheirWay) {
  Feed bucketed, local;
  bucketed.overlap = local.overlap = Overlap::kBucket;
  bucketed.limits = local.limits = BucketLimits::parse("first=1kb,rest=10kb");
  local.local_steps = 2;
  for (const char* pattern : {"gtopk", "gtopk:putback=sender", "oktopk:thresholds=2,regions=2"})
    for (const char* spec :
         {"topk:ratio=0.01", "dgc:ratio=0.01", "sidco:ratio=0.01", "ef21:ratio=0.01",
          "topk:ratio=0.01,memory=none", "topk:ratio=0.01,memory=clear,delay=2",
          "topk:ratio=0.02,memory=momentum,clip=0.5", "topk:ratio=0.01,values=exp4",
          "threshold:tau=0.001,positions=golomb", "variance",
          "tensor-3:none;tensor-0:threshold:tau=0.001;*:topk:ratio=0.1"}) {
      SCOPED_TRACE(std::string(pattern) + " " + spec);
      for (const Feed& feed : {Feed{}, bucketed, local}) {
        ReplayOptions options;
        options.compressor = CompressorRules::parse(spec);
        options.feed = feed;
        if (feed.local_steps > 1 && std::string(spec) == "variance") continue;  // of one step each
        // What is dropped goes back before a checkpoint, else with the next step.
        saves_each_step_ = feed.overlap == Overlap::kBucket && feed.local_steps == 1;
        expect_same(options, 3, pattern, feed.local_steps == 1 ? 3 : 4);
      }
    }
}

TEST_F(DeviceReplayTest, WhatAPatternQuantisesFirstIsQuantisedThere) {
  Feed bucketed, local;
  bucketed.overlap = local.overlap = Overlap::kBucket;
  bucketed.limits = local.limits = BucketLimits::parse("first=1kb,rest=10kb");
  local.local_steps = 2;
  for (const char* pattern : {"qgz", "qgz:group=4,gather=int4", "qgz:group=1,block=32,gather=fp32"})
    for (const char* spec : {"none", "fedavg:delay=2"})
      for (const Feed& feed : {Feed{}, bucketed, local}) {
        SCOPED_TRACE(std::string(pattern) + " " + spec);
        ReplayOptions options;
        options.compressor = parse_spec(spec);
        options.feed = feed;
        expect_same(options, 4, pattern);
      }
}

TEST_F(DeviceReplayTest, WhatWasSelectedGoesUpInSlowMotion) {
  ReplayOptions options;
  options.compressor = parse_spec("topk:ratio=0.1,memory=none");  // nothing to be put back
  options.time_scale = 50;
  for (const std::vector<Stepped>& steps : run(options, true, 2, 3, "gtopk"))
    for (std::size_t step = 1; step < steps.size(); ++step) {  // room was made in the first
      const StepReport& report = steps[step].report;
      EXPECT_GT(report.copy_up, 0);
      EXPECT_GE(report.total,
                options.time_scale * (report.codec + report.copy_down + report.copy_up) * 0.999);
    }
}

TEST_F(DeviceReplayTest, ServersAnswersAreDecodedThere) {
  Feed bucketed, local;
  bucketed.overlap = local.overlap = Overlap::kBucket;
  bucketed.limits = local.limits = BucketLimits::parse("first=1kb,rest=10kb");
  local.local_steps = 2;
  for (const char* servers : {"ps:servers=2", "ps:pull=int8", "ps:pull=fp16", "ps:pull=powersgd"})
    for (const char* spec :
         {"none", "3lc", "terngrad", "tensor-0:topk:ratio=0.1;*:fedavg:delay=2"}) {
      SCOPED_TRACE(std::string(servers) + " " + spec);
      for (const Feed& feed : {Feed{}, bucketed, local}) {
        ReplayOptions options;
        options.servers = push_pull_options(parse_spec(servers));
        options.compressor = CompressorRules::parse(spec);
        options.feed = feed;
        expect_same(options, 2);
      }
    }
}

TEST_F(DeviceReplayTest, ServersAnswersGoUpInSlowMotion) {
  ReplayOptions options;
  options.servers = PushPullOptions{};
  options.compressor = parse_spec("fp16");
  options.time_scale = 50;
  for (const std::vector<Stepped>& steps : run(options, true, 2, 3, ""))
    for (std::size_t step = 1; step < steps.size(); ++step) {  // room was made in the first
      const StepReport& report = steps[step].report;
      EXPECT_GT(report.copy_up, 0);
      // An answer waits for what was pushed.
      EXPECT_GE(report.total,
                options.time_scale * (report.codec + report.copy_down + report.copy_up) * 0.999);
    }
}

TEST_F(DeviceReplayTest, PayloadsGoFromDeviceToDeviceWhereThePatternCan) {
  ReplayOptions options;
  for (const char* rules : {"topk:ratio=0.05", "fp16", "terngrad", "none",
                            "tensor-3:none;*:topk:ratio=0.1", "sbc:p=0.01,delay=2"})
    for (const Overlap overlap : {Overlap::kNone, Overlap::kBucket}) {
      SCOPED_TRACE(rules);
      options.compressor = CompressorRules::parse(rules);
      options.feed.overlap = overlap;
      options.feed.limits = BucketLimits::parse("first=1kb,rest=10kb");
      options.time_scale = 1;
      expect_same(options, 3, kBetweenDevices);
      options.time_scale = 2;  // by copies that can be slowed down
      for (const std::vector<Stepped>& steps : run(options, true, 2, 2, kBetweenDevices))
        EXPECT_GT(steps[1].report.copy_down, 0);
    }
}

TEST_F(DeviceReplayTest, GoesOnFromAStateOfTheProcessors) {
  const Trace trace(folder_ / "trace");
  ReplayOptions options;
  options.compressor = parse_spec("dgc:ratio=0.01");
  options.feed.outer = OuterOptions{};
  Mailboxes boxes;
  const auto connect = [&](Replay& replay) {
    replay.connect([&](std::size_t capacity) {
      return make_pattern(parse_spec("ring"), std::make_unique<ThreadTransport>(boxes, 0, 1),
                          capacity);
    });
  };
  Replay here(trace, options, 0, 1);
  connect(here);
  here.step(0);
  std::vector<std::byte> state;
  here.save_state(state);
  options.device = cuda::play_rank_device(3);
  Replay there(trace, options, 0, 1);
  connect(there);
  ByteReader reader(state);
  there.load_state(reader);
  here.step(1);
  there.load(1);
  there.step(1);
  there.fetch();
  const auto a = here.aggregate(), b = there.aggregate();
  EXPECT_TRUE(same_bits({a.begin(), a.end()}, {b.begin(), b.end()}));
  const auto c = here.update(), d = there.update();
  EXPECT_TRUE(same_bits({c.begin(), c.end()}, {d.begin(), d.end()}));
  std::vector<std::byte> after, after_there;
  here.save_state(after);
  there.save_state(after_there);
  EXPECT_TRUE(after == after_there);
}

TEST_F(DeviceReplayTest, WhatIsNotDoneThereIsRefused) {
  const Trace trace(folder_ / "trace");
  const auto refused = [&](const ReplayOptions& options) {
    ReplayOptions own = options;
    own.device = cuda::play_rank_device(1);
    EXPECT_THROW(Replay(trace, own, 0, 2), InputError);
  };
  ReplayOptions options;
  options.compressor = parse_spec("powersgd:rank=2");
  options.feed.overlap = Overlap::kBucket;
  refused(options);
  options.feed.overlap = Overlap::kNone;
  options.compressor = parse_spec("int8");  // no elements with positions
  options.sparse_sums = true;
  refused(options);
  options.compressor = parse_spec("topk");
  options.sparse_sums = false;
  options.time_scale = 0.5;
  refused(options);
}

}  // namespace
}  // namespace thinpipe
