// Collectives by name, the wait of an idle rank, and the probe of a ring.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "base/error.h"
#include "tests/base/support.h"
#include "tests/collectives/thread_transport.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/ring_probe.h"
#include "workloads/collectives/transport.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> expanded(const std::string& text) {
  std::vector<std::string> specs;
  for (const Spec& spec : expand_collectives(text)) specs.push_back(spec.to_string());
  return specs;
}

std::string refusal(const std::string& text) {
  return input_error([&] { expand_collectives(text); });
}

TEST(Collectives, AreNamedOnceAndSaidWhatTheyAre) {
  for (const CollectiveInfo& collective : collectives()) {
    EXPECT_EQ(&find_collective(collective.name), &collective);
    EXPECT_FALSE(collective.summary.empty()) << collective.name;
    EXPECT_FALSE(collective.source.empty()) << collective.name;
    EXPECT_FALSE(collective.exchanges().empty()) << collective.name;
    check_collective({.name = collective.name, .values = {}});  // defaults are allowed
  }
}

TEST(Collectives, AlternativesAreWholeCollectives) {
  EXPECT_THAT(expanded("ring"), ElementsAre("ring"));
  EXPECT_THAT(expanded("openmpi|ring|openmpi"), ElementsAre("openmpi", "ring"));
  EXPECT_THAT(expanded("ring|hierarchical:group=2|4|tree"),
              ElementsAre("ring", "hierarchical:group=2", "hierarchical:group=4", "tree"));
}

TEST(Collectives, WhatIsNotOneIsNamed) {
  EXPECT_THAT(refusal("rign"), HasSubstr("unknown collective 'rign' (known: "));
  EXPECT_THAT(refusal("rign"), HasSubstr("; did you mean 'ring'?"));
  EXPECT_THAT(refusal("ring|tre"), HasSubstr("'tre'"));
  EXPECT_THAT(refusal("hierarchical:group=0"),
              HasSubstr("group=0 is not allowed; expected an integer"));
  EXPECT_THAT(refusal("hierarchical:group=2|tre"), HasSubstr("group=tre is not allowed"));
  EXPECT_THAT(refusal("ring:group=2"), HasSubstr("ring has no parameter 'group'"));
  EXPECT_THAT(refusal(""), HasSubstr("empty name"));
}

TEST(Collectives, SomeTakeSomeNumbersOfRanksOnly) {
  check_collective(parse_spec("qgz:group=4"), 8);
  check_collective(parse_spec("hierarchical:group=3"), 8);
  EXPECT_THROW(check_collective(parse_spec("qgz:group=3"), 8), InputError);
  EXPECT_THROW(check_collective(parse_spec("qgz:groups=4"), 8), InputError);
}

TEST(Collectives, WhatACompressorNeedsDecidesOnTheExchange) {
  const Spec ring = parse_spec("ring");
  EXPECT_EQ(exchange_of(ring, parse_spec("none")), Exchange::kAllReduce);
  EXPECT_EQ(exchange_of(ring, parse_spec("topk")), Exchange::kAllGather);
  EXPECT_EQ(exchange_of(ring, parse_spec("powersgd")), Exchange::kAllReduce);
  const Spec gtopk = parse_spec("gtopk");
  EXPECT_EQ(exchange_of(gtopk, parse_spec("topk")), Exchange::kSparseAllReduce);
  EXPECT_TRUE(serves(gtopk, parse_spec("sparseloco")));
  EXPECT_EQ(exchange_of(gtopk, parse_spec("none")), Exchange::kAllReduce);
  EXPECT_FALSE(serves(gtopk, parse_spec("terngrad")));
  EXPECT_EQ(exchange_of(gtopk, parse_spec("strom")), Exchange::kSparseAllReduce);
  EXPECT_FALSE(serves(parse_spec("qgz"), parse_spec("topk")));
  EXPECT_EQ(exchange_of(ring, parse_spec("fp16")), Exchange::kAllReduce);
  EXPECT_EQ(exchange_of(ring, parse_spec("bf16:exchange=allgather")), Exchange::kAllGather);
  EXPECT_EQ(exchange_of(gtopk, parse_spec("fp16")), Exchange::kAllReduce);
  EXPECT_FALSE(serves(parse_spec("qgz"), parse_spec("fp16")));
  const Spec servers = parse_spec("ps:servers=2");
  EXPECT_EQ(exchange_of(servers, parse_spec("none")), Exchange::kPushPull);
  EXPECT_EQ(exchange_of(servers, parse_spec("topk")), Exchange::kPushPull);
  EXPECT_EQ(servers_of(servers), 2);
  EXPECT_EQ(servers_of(ring), 0);
  EXPECT_THROW(exchange_of(parse_spec("square"), parse_spec("none")), InputError);
  EXPECT_THROW(exchange_of(ring, parse_spec("nothing")), InputError);
}

TEST(Collectives, AServerCompressesWhatItCan) {
  const auto why_not = [](const char* collective_text, const char* compressor_text) {
    const Spec collective = parse_spec(collective_text), compressor = parse_spec(compressor_text);
    const std::string why = input_error([&] { exchange_of(collective, compressor); });
    EXPECT_EQ(serves(collective, compressor), why.empty()) << why;
    return why;
  };
  EXPECT_EQ(why_not("ps", "sbc:delay=2"), "");
  EXPECT_THAT(why_not("ps", "variance"), HasSubstr("second moments"));
  EXPECT_EQ(why_not("ps:pull=none", "variance"), "");
  EXPECT_THAT(why_not("ps:pull=variance", "none"), HasSubstr("second moments"));
  EXPECT_THAT(why_not("ps:pull=(sbc:delay=2)", "none"), HasSubstr("delay=1"));
  EXPECT_THAT(refusal("ps:servers=0"), HasSubstr("servers=0"));
  EXPECT_THAT(refusal("ps:pull=topl"), HasSubstr("topl"));
  EXPECT_THAT(refusal("ps:pull=(topk:ratio=2)"), HasSubstr("ratio=2"));
  EXPECT_THAT(expanded("ps:pull=none|(topk:ratio=0.1)|ring"),
              ElementsAre("ps:pull=none", "ps:pull=(topk:ratio=0.1)", "ring"));
}

// A collective that can do nothing.
class Idle : public Collective {
 public:
  TransportCounters counters() const override { return {}; }
};

TEST(Collectives, WhatOneCannotDoOthersAreNamedFor) {
  Idle idle;
  EXPECT_THAT(input_error([&] { operation<AllReduce>(idle); }), HasSubstr("no allreduce; ring"));
  EXPECT_THAT(input_error([&] { operation<AllGather>(idle); }), HasSubstr("no allgather; ring"));
  EXPECT_THAT(input_error([&] { operation<SparseAllReduce>(idle); }),
              HasSubstr("no sparsereduce; gtopk"));
  EXPECT_THAT(input_error([&] { operation<PushPull>(idle); }), HasSubstr("no pushpull; ps"));
}

TEST(Collectives, OpenMpisOwnNeedsMpi) {
  Mailboxes boxes;
  EXPECT_THROW(over_threads("openmpi", boxes), InputError);
  EXPECT_NE(over_threads("ring", boxes), nullptr);
}

constexpr double kTurn = 1e-6;  // s from one question to the next, where the rank does not sleep

// Simulates a rank that waits `wait` seconds for each of `waits` messages. A sleep should end with
// the wait. Returns the sleeps of each wait, in ns.
std::vector<std::vector<long>> sleeps(IdleRank& rank, double wait, int waits) {
  std::vector<std::vector<long>> all;
  double now = 1000;
  for (int i = 0; i < waits; ++i) {
    std::vector<long>& slept = all.emplace_back();
    for (const double until = now + wait; now < until;) {
      const long sleep = rank.pause(now);
      if (sleep > 0) slept.push_back(sleep);
      now += sleep > 0 ? static_cast<double>(sleep) * 1e-9 : kTurn;
    }
    rank.progressed();
  }
  return all;
}

TEST(IdleRank, SleepsLongerAndLongerAndShortlyAgainAfterProgress) {
  IdleRank rank(false);
  const std::vector<long> doubling = {10'000, 20'000, 40'000, 80'000, 100'000, 100'000};
  EXPECT_EQ(sleeps(rank, 340e-6, 3), std::vector(3, doubling));
}

TEST(IdleRank, WithoutACoreOfItsOwnItNeverAsksAgainAtOnce) {
  IdleRank rank(false);
  for (const auto& slept : sleeps(rank, 5e-6, 100)) EXPECT_EQ(slept.size(), 1U);
}

TEST(IdleRank, AsksAgainWhileWaitsAreShort) {
  IdleRank rank(true);
  for (const auto& slept : sleeps(rank, 20e-6, 100)) EXPECT_TRUE(slept.empty());
}

// A segment at 1 Gbit/s.
TEST(IdleRank, GivesUpAskingWhereWaitsAreLong) {
  IdleRank rank(true);
  const auto first = sleeps(rank, 262e-6, 10);
  for (const auto& slept : first) EXPECT_FALSE(slept.empty());
  int asked = 0;
  for (const auto& slept : sleeps(rank, 25e-6, 15)) asked += slept.empty();
  EXPECT_LE(asked, 1);
}

TEST(IdleRank, FindsOutThatWaitsHaveBecomeShort) {
  IdleRank rank(true);
  sleeps(rank, 262e-6, 100);
  const auto later = sleeps(rank, 20e-6, 16 * 20 + 10);
  for (std::size_t i = later.size() - 10; i < later.size(); ++i) EXPECT_TRUE(later[i].empty()) << i;
}

TEST(RingProbe, TimesEveryExchangeAndLeavesNothingUnderWay) {
  for (const int ranks : {2, 3}) {
    Mailboxes boxes;
    std::vector<RingProbe> probes(static_cast<std::size_t>(ranks));
    on_all_ranks(boxes, ranks, [&](std::unique_ptr<ThreadTransport> transport) {
      probes[static_cast<std::size_t>(transport->rank())] = probe_ring(
          *transport, {.small_rounds = 4, .large_rounds = 2, .bytes = 100000, .pause = 1e-4});
    });
    for (const RingProbe& probe : probes) {
      EXPECT_EQ(probe.small.size(), 4U);
      EXPECT_EQ(probe.large.size(), 2U);
      for (const double seconds : probe.small) EXPECT_GT(seconds, 0);
      for (const double seconds : probe.large) EXPECT_GT(seconds, 0);
    }
    expect_no_message_left(boxes);
  }
}

// Every sent message must be received, even where a rank begins late; otherwise MPI would keep the
// message for the next exchange. A rank may stall for longer than the other ranks send, and so find
// all messages waiting. It must measure a time too.
void stream_with_a_late_rank(int ranks, std::chrono::milliseconds late) {
  Mailboxes boxes;
  on_all_ranks(boxes, ranks, [&](std::unique_ptr<ThreadTransport> transport) {
    if (transport->rank() == 0) std::this_thread::sleep_for(late);
    EXPECT_GT(stream_round_ring(*transport, {.settle = 0.002, .seconds = 0.01}), 0);
  });
  for (const auto& [way, queue] : boxes.messages) {
    EXPECT_TRUE(queue.empty());
    const auto [from, to, tag] = way;
    EXPECT_EQ((from + 1) % ranks, to);
  }
}

TEST(RingStream, EndsWithNothingUnderWay) {
  for (const int ranks : {2, 3})
    for (const int late : {5, 50}) stream_with_a_late_rank(ranks, std::chrono::milliseconds(late));
}

TEST(RingStream, OneRankHasNoNetwork) {
  Mailboxes boxes;
  ThreadTransport transport(boxes, 0, 1);
  EXPECT_EQ(stream_round_ring(transport, {}), 0);
}

}  // namespace

}  // namespace thinpipe
