// Jobs in which every rank averages slices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compressors/registry.h"
#include "tests/collectives/push_pull_traffic.h"
#include "tests/replay/replay_ranks.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/push_pull_collective.h"
#include "workloads/collectives/traffic.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;

using Floats = std::vector<float>;

class TwoShotTest : public SampleTraceTest {
 protected:
  TwoShotTest()
      : SampleTraceTest({.shapes = {{120, 40}, {20}, {7000}}, .ranks = 3, .compute_seconds = 0}) {}

  ReplayOptions options_of(const std::string& spec, const std::string& collective, int ranks,
                           const Bucketing& bucketing = {}) const {
    ReplayOptions options = replay_options(spec, bucketing);
    options.servers = push_pull_options(parse_spec(collective), ranks);
    return options;
  }

  // Every rank's replay in a thread of its own.
  void on_ranks(const ReplayOptions& options, int ranks,
                const std::function<void(Replay&, int)>& body) {
    Mailboxes boxes;
    on_all_ranks(boxes, ranks, [&](std::unique_ptr<ThreadTransport> transport) {
      const int rank = transport->rank();
      Replay replay(trace_, options, rank, ranks);
      replay.connect(std::make_unique<TwoShotCollective>(std::move(transport), replay.layout(),
                                                         *replay.averager()));
      body(replay, rank);
    });
    expect_no_message_left(boxes);
  }

  // aggregates[step] of all ranks, which end alike.
  std::vector<Floats> run(const ReplayOptions& options, int ranks, std::uint64_t steps) {
    std::vector<std::vector<Floats>> all(static_cast<std::size_t>(ranks));
    on_ranks(options, ranks, [&](Replay& replay, int rank) {
      for (std::uint64_t step = 0; step < steps; ++step) {
        replay.load(step);
        replay.step(step);
        const auto aggregate = replay.aggregate();
        all[static_cast<std::size_t>(rank)].emplace_back(aggregate.begin(), aggregate.end());
      }
    });
    for (const auto& one : all) EXPECT_EQ(one, all[0]);
    return all[0];
  }

  // Computes the expected two-shot results on one thread: each slice's payloads are decoded in the
  // order of ranks, averaged, compressed once more and decoded.
  std::vector<Floats> expected(const ReplayOptions& options, int ranks, std::uint64_t steps) {
    const Replay plan(trace_, options, 0, ranks);
    struct Slice {
      std::vector<std::unique_ptr<Compressor>> first;
      std::unique_ptr<Compressor> second;
    };
    std::vector<Slice> slices;
    for (std::size_t i = 0; i < plan.units().size(); ++i) {
      const ReplayUnit& unit = plan.units()[i];
      Slice& slice = slices.emplace_back();
      CompressorSettings settings;
      for (settings.rank = 0; settings.rank < ranks; ++settings.rank)
        slice.first.push_back(make_compressor(unit.compressor, unit.tensor, settings));
      settings.rank = ranks + plan.layout().units[i].server;
      slice.second =
          make_compressor(options.servers->pull_of(unit.compressor), unit.tensor, settings);
    }
    std::vector<Floats> aggregates;
    for (std::uint64_t step = 0; step < steps; ++step) {
      Floats& aggregate = aggregates.emplace_back(trace_.elements());
      for (std::size_t i = 0; i < slices.size(); ++i) {
        const ReplayUnit& unit = plan.units()[i];
        Floats mean(unit.tensor.elements);
        std::vector<std::byte> payload(
            std::max(slices[i].first[0]->max_encoded_size(), slices[i].second->max_encoded_size()));
        const auto encoded = [&](Compressor& by, std::span<const float> values) {
          const GradientInput input{.values = values, .squares = {}, .step = step};
          return std::span(payload).first(by.encode(input, payload).encoded_bytes);
        };
        for (int rank = 0; rank < ranks; ++rank) {
          const Floats gradient = gradient_of(rank, step);
          Compressor& own = *slices[i].first[static_cast<std::size_t>(rank)];
          own.decode_add(
              encoded(own, std::span(gradient).subspan(unit.offset, unit.tensor.elements)),
              1.0F / static_cast<float>(ranks), mean);
        }
        Compressor& second = *slices[i].second;
        second.decode_add(encoded(second, mean), 1.0F,
                          std::span(aggregate).subspan(unit.offset, unit.tensor.elements));
      }
    }
    return aggregates;
  }

  Floats gradient_of(int rank, std::uint64_t step) const {
    const Replayed source = replayed(trace_, rank, step);
    Floats all;
    for (std::size_t i = 0; i < trace_.tensors().size(); ++i) {
      const auto values = trace_.gradient(source.rank, source.step, i);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
};

TEST_F(TwoShotTest, EveryMethodsAggregateIsExpectedToTheBit) {
  int served = 0;
  for (const MethodInfo& method : methods()) {
    const Spec spec{.name = method.name, .values = {}};
    if (!serves(parse_spec("twoshot"), spec)) continue;
    const auto one = make_compressor(spec, {"t", {8}, 8}, {});
    if (one->incremental() || one->period() > 1) continue;  // expected() covers neither
    SCOPED_TRACE(method.name);
    ++served;
    const ReplayOptions options = options_of(method.name, "twoshot", 3);
    EXPECT_EQ(run(options, 3, 3), expected(options, 3, 3));
  }
  EXPECT_GT(served, 30);
}

TEST_F(TwoShotTest, AnyNumberOfRanks) {
  for (const int ranks : {1, 2, 4, 5, 7, 8}) {
    SCOPED_TRACE(ranks);
    for (const char* spec : {"int8", "blockint4:memory=residual", "fp16", "topk:ratio=0.05"}) {
      const ReplayOptions options = options_of(spec, "twoshot", ranks);
      EXPECT_EQ(run(options, ranks, 2), expected(options, ranks, 2)) << spec;
    }
  }
}

TEST_F(TwoShotTest, TheSecondCompressionIsAnotherAndHasAMemoryOfItsOwn) {
  for (const char* collective :
       {"twoshot:second=none", "twoshot:second=(int8:bucket=512)",
        "twoshot:second=blockint8,second-memory=residual", "twoshot:second-memory=residual"}) {
    SCOPED_TRACE(collective);
    const ReplayOptions options = options_of("onebit", collective, 3);
    EXPECT_EQ(run(options, 3, 3), expected(options, 3, 3));
  }
  const auto with = [&](const char* collective) {
    return run(options_of("int8:memory=none", collective, 3), 3, 3);
  };
  const auto plain = with("twoshot"), kept = with("twoshot:second-memory=residual");
  EXPECT_EQ(plain[0], kept[0]);
  EXPECT_NE(plain[1], kept[1]);
  EXPECT_EQ(plain, with("twoshot:second-memory=none"));
}

TEST_F(TwoShotTest, FeedingDoesNotChangeWhatTensorsEndWith) {
  const auto reference = run(options_of("blockint8", "twoshot", 3), 3, 2);
  Bucketing bucketing = overlapped("first=1kb,rest=10kb");
  for (const bool beside : {false, true}) {
    bucketing.codec_beside = beside;
    std::vector<std::vector<Floats>> ended(3);
    on_ranks(options_of("blockint8", "twoshot", 3, bucketing), 3, [&](Replay& replay, int rank) {
      for (std::uint64_t step = 0; step < 2; ++step) {
        replay.load(step);
        replay.step(step);
        Floats& all = ended[static_cast<std::size_t>(rank)].emplace_back();
        for (const auto part : replay.by_tensor(replay.aggregate()))
          all.insert(all.end(), part.begin(), part.end());
      }
    });
    for (const auto& one : ended) EXPECT_EQ(one, reference);
  }
}

TEST_F(TwoShotTest, LocalStepsDelaysAndTheWholeModel) {
  on_ranks(options_of("int8", "twoshot", 2, with_local_steps(2)), 2, [&](Replay& replay, int) {
    EXPECT_FALSE(replay.step(0).exchanged);
    EXPECT_TRUE(replay.step(1).exchanged);
  });
  on_ranks(options_of("sbc:p=0.01,delay=2", "twoshot:second=none", 2), 2, [&](Replay& replay, int) {
    EXPECT_FALSE(replay.step(0).exchanged);
    const StepReport report = replay.step(1);
    EXPECT_TRUE(report.exchanged);
    EXPECT_EQ(report.pulled_bytes, 4 * trace_.elements());
  });
  const ReplayOptions options = options_of("int8", "twoshot", 3, in_units_of(Granularity::kModel));
  EXPECT_EQ(run(options, 3, 2), expected(options, 3, 2));
}

TEST_F(TwoShotTest, ACheckpointHasBothMemories) {
  const ReplayOptions options =
      options_of("onebit", "twoshot:second=int8,second-memory=residual", 2);
  const auto reference = run(options, 2, 4);
  std::vector<std::vector<std::byte>> states(2);
  on_ranks(options, 2, [&](Replay& replay, int rank) {
    for (std::uint64_t step = 0; step < 2; ++step) replay.step(step);
    replay.save_state(states[static_cast<std::size_t>(rank)]);
  });
  on_ranks(options, 2, [&](Replay& replay, int rank) {
    ByteReader state(states[static_cast<std::size_t>(rank)]);
    replay.load_state(state);
    for (std::uint64_t step = 2; step < 4; ++step) {
      replay.step(step);
      const auto aggregate = replay.aggregate();
      EXPECT_EQ(Floats(aggregate.begin(), aggregate.end()), reference[step]);
    }
  });
}

// Uses `none`, whose payloads are as long as they may be.
TEST_F(TwoShotTest, SendsWhatTheClosedFormSays) {
  for (const int ranks : {1, 2, 5})
    on_ranks(options_of("none", "twoshot", ranks), ranks, [&](Replay& replay, int rank) {
      std::vector<std::size_t> bytes;
      for (const ExchangeUnit& unit : replay.layout().units) bytes.push_back(unit.push_capacity);
      const std::vector<std::vector<std::size_t>> pushed(static_cast<std::size_t>(ranks), bytes);
      const Traffic traffic =
          push_pull_traffic(replay.layout(), pushed, bytes)[static_cast<std::size_t>(rank)];
      const TransportCounters before = replay.counters();
      replay.step(0);
      const TransportCounters after = replay.counters();
      EXPECT_EQ(after.bytes - before.bytes, traffic.sent.bytes);
      EXPECT_EQ(after.messages - before.messages, traffic.sent.messages);
      // All ranks together send every float, behind a head a unit, n-1 times in either shot.
      std::uint64_t all = 0;
      for (const Traffic& one : push_pull_traffic(replay.layout(), pushed, bytes))
        all += one.sent.bytes;
      EXPECT_EQ(all, 2 * static_cast<std::uint64_t>(ranks - 1) *
                         (4 * trace_.elements() + 8 * bytes.size()));
    });
}

// Answers of a size of their own, for any push.
class Sized : public UnitAggregator {
 public:
  explicit Sized(std::vector<std::size_t> sizes) : sizes_(std::move(sizes)) {}
  void add(std::size_t, int, std::span<const std::byte> payload) override {
    bytes += payload.size();
  }
  std::span<const std::byte> answer(std::size_t unit) override {
    answers_[unit].assign(sizes_[unit], static_cast<std::byte>(unit + 1));
    return answers_[unit];
  }

  std::size_t bytes = 0;

 private:
  std::vector<std::size_t> sizes_;
  std::map<std::size_t, std::vector<std::byte>> answers_;
};

// Some ranks have megabytes to send and receive almost nothing; others the reverse. No rank may
// wait for ever for incoming data before it sends.
TEST(TwoShot, EndsHoweverUnevenPayloadsAre) {
  constexpr int kRanks = 3;
  constexpr std::size_t kMany = 3'000'000, kFew = 5;
  PushPullLayout layout{.workers = kRanks, .servers = kRanks, .colocated = true, .units = {}};
  for (const int owner : {0, 1, 1}) {
    ExchangeUnit& unit = layout.units.emplace_back();
    unit.name = "unit";
    unit.push_capacity = unit.pull_capacity = kMany;
    unit.server = owner;
  }
  // By rank and unit.
  const std::size_t pushed[kRanks][3] = {
      {kFew, kMany, kFew}, {kMany, kFew, kFew}, {kFew, kFew, kMany}};
  const std::vector<std::size_t> answered = {kFew, kMany, kFew};
  on_all_ranks(kRanks, [&](ThreadTransport& transport) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    Sized aggregator(answered);
    TwoShotCollective collective(std::make_unique<ThreadTransport>(transport), layout, aggregator);
    for (int step = 0; step < 2; ++step) {
      std::vector<std::vector<std::byte>> payloads;
      std::vector<UnitPayload> push;
      for (std::size_t unit = 0; unit < 3; ++unit) {
        payloads.emplace_back(pushed[rank][unit], std::byte{1});
        push.push_back({unit, payloads.back()});
      }
      aggregator.bytes = 0;
      const std::size_t number = collective.push(push);
      while (!collective.pull(number)) {
      }
      for (std::size_t unit = 0; unit < 3; ++unit) {
        ASSERT_EQ(collective.pulled(unit).size(), answered[unit]);
        EXPECT_EQ(collective.pulled(unit)[0], static_cast<std::byte>(unit + 1));
      }
      EXPECT_EQ(aggregator.bytes, rank == 0   ? kMany + 2 * kFew
                                  : rank == 1 ? 2 * kMany + 4 * kFew
                                              : 0);
    }
  });
}

TEST(TwoShot, RefusesWhatCannotBeSliced) {
  const auto why = [](const std::string& collective, const std::string& compressor) {
    return input_error([&] { exchange_of(parse_spec(collective), parse_spec(compressor)); });
  };
  EXPECT_THAT(why("twoshot", "powersgd"), HasSubstr("needs tensors as a whole"));
  EXPECT_THAT(why("twoshot", "demo"), HasSubstr("needs tensors as a whole"));
  EXPECT_THAT(why("twoshot:second=demo", "int8"), HasSubstr("needs tensors as a whole"));
  EXPECT_THAT(why("twoshot", "dgc:clip=1"), HasSubstr("norm of a whole tensor"));
  EXPECT_THAT(why("twoshot", "variance"), HasSubstr("second=none"));
  EXPECT_THAT(why("twoshot:second=(topk:delay=2)", "int8"), HasSubstr("delay=1 in second"));
  EXPECT_THAT(why("twoshot:second-memory=residual", "none"), HasSubstr("'none' has no memory"));
  EXPECT_THAT(why("twoshot:second=topl", "int8"), HasSubstr("topl"));
  EXPECT_EQ(servers_of(parse_spec("twoshot")), 0);
}

}  // namespace
}  // namespace thinpipe
