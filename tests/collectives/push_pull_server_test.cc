// Workers and servers together, over threads.

#include "workloads/collectives/push_pull_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compressors/compressor.h"
#include "tests/base/support.h"
#include "tests/collectives/push_pull_traffic.h"
#include "tests/collectives/thread_transport.h"
#include "workloads/collectives/push_pull_collective.h"
#include "workloads/collectives/push_pull_options.h"
#include "workloads/collectives/traffic.h"

namespace thinpipe {
namespace {

// Around the edges of a segment, whose first 8 bytes are the head, and none at all.
const std::vector<std::size_t> kUnitSizes = {0, 1, 32759, 32760, 32761, 65528, 65529, 300001};

// Mixes a payload into the answer. Unlike a sum, the result depends on the order of the workers:
// each byte becomes 3 times its value plus the payload's byte. The answer is as long as the longest
// payload.
void mix_payload(std::vector<std::byte>& answer, std::span<const std::byte> payload) {
  if (answer.size() < payload.size()) answer.resize(payload.size());
  for (std::size_t i = 0; i < payload.size(); ++i)
    answer[i] = static_cast<std::byte>(3 * std::to_integer<unsigned>(answer[i]) +
                                       std::to_integer<unsigned>(payload[i]));
}

class PayloadMixer : public UnitAggregator {
 public:
  explicit PayloadMixer(std::size_t units) : answers_(units) {}
  void add(std::size_t unit, int worker, std::span<const std::byte> payload) override {
    if (worker == 0) answers_[unit].clear();
    mix_payload(answers_[unit], payload);
  }
  std::span<const std::byte> answer(std::size_t unit) override { return answers_[unit]; }

 private:
  std::vector<std::vector<std::byte>> answers_;
};

PushPullLayout unit_layout(int workers, int servers, std::size_t units, std::size_t least = 1) {
  std::vector<std::size_t> elements(units);
  for (std::size_t i = 0; i < units; ++i) elements[i] = least + i;
  const std::vector<int> server_of = partition_units(elements, servers, Partition::kBalanced);
  PushPullLayout layout{.workers = workers, .servers = servers, .units = {}};
  for (std::size_t i = 0; i < units; ++i)
    layout.units.push_back({.name = "unit" + std::to_string(i),
                            .elements = elements[i],
                            .push_capacity = kUnitSizes.back(),
                            .pull_capacity = kUnitSizes.back(),
                            .server = server_of[i]});
  return layout;
}

using Bytes = std::vector<std::byte>;

Bytes payload_of(std::size_t unit, int worker, std::size_t step) {
  std::mt19937 generator(static_cast<unsigned>(1000 * step + 10 * unit) +
                         static_cast<unsigned>(worker));
  Bytes payload(kUnitSizes[(unit + static_cast<std::size_t>(worker) + step) % kUnitSizes.size()]);
  for (std::byte& value : payload) value = static_cast<std::byte>(generator());
  return payload;
}

// Volumes that every rank must have sent in these steps.
std::vector<Volume> expected_volumes(const PushPullLayout& layout, std::size_t steps) {
  std::vector<Volume> sent(static_cast<std::size_t>(layout.ranks()));
  for (std::size_t step = 0; step < steps; ++step) {
    std::vector<std::vector<std::size_t>> push(static_cast<std::size_t>(layout.workers));
    std::vector<std::size_t> pull(layout.units.size());
    for (std::size_t unit = 0; unit < pull.size(); ++unit)
      for (int worker = 0; worker < layout.workers; ++worker) {
        const std::size_t size = payload_of(unit, worker, step).size();
        push[static_cast<std::size_t>(worker)].push_back(size);
        pull[unit] = std::max(pull[unit], size);  // as mix_payload() answers
      }
    const std::vector<Traffic> traffic = push_pull_traffic(layout, push, pull);
    for (std::size_t rank = 0; rank < sent.size(); ++rank)
      sent[rank] = sent[rank] + traffic[rank].sent;
  }
  return sent;
}

struct PushPullCase {
  int workers, servers;
  std::size_t units, at_once;  // units that a worker pushes in one call
  std::size_t elements = 1;    // of a unit: from some on a thread beside decodes
};

class PushPullTest : public ::testing::TestWithParam<PushPullCase> {};

TEST_P(PushPullTest, EveryWorkerPullsWhatServersMadeOfAllPayloads) {
  const PushPullCase& what = GetParam();
  constexpr std::size_t kSteps = 3;
  const PushPullLayout layout = unit_layout(what.workers, what.servers, what.units, what.elements);
  const std::vector<Volume> volumes = expected_volumes(layout, kSteps);
  const auto check_sent = [&](const ThreadTransport& transport) {
    const Volume& expected = volumes[static_cast<std::size_t>(transport.rank())];
    EXPECT_EQ(transport.counters().messages, expected.messages);
    EXPECT_EQ(transport.counters().bytes, expected.bytes);
  };
  on_all_ranks(layout.ranks(), [&](ThreadTransport& transport) {
    const int rank = transport.rank();
    if (rank >= what.workers) {
      PushPullServer server(transport, layout, rank - what.workers);
      PayloadMixer mixer(what.units);
      for (std::size_t step = 0; step < kSteps; ++step) server.step(mixer, server.units());
      check_sent(transport);
      return;
    }
    PushPullWorker worker(transport, layout);
    for (std::size_t step = 0; step < kSteps; ++step) {
      std::vector<Bytes> payloads;
      for (std::size_t unit = 0; unit < what.units; ++unit)
        payloads.push_back(payload_of(unit, rank, step));
      std::vector<UnitPayload> pushed;
      for (std::size_t unit = 0; unit < what.units; ++unit)
        pushed.push_back({unit, payloads[unit]});
      for (std::size_t first = 0; first < what.units; first += what.at_once) {
        const std::size_t count = std::min(what.at_once, what.units - first);
        push_and_pull(worker, std::span(pushed).subspan(first, count));
        for (std::size_t i = 0; i < count; ++i) {
          const auto pulled = worker.pulled(first + i);
          Bytes expected;
          for (int other = 0; other < what.workers; ++other)
            mix_payload(expected, payload_of(first + i, other, step));
          ASSERT_TRUE(std::equal(pulled.begin(), pulled.end(), expected.begin(), expected.end()))
              << "rank " << rank << " step " << step << " unit " << first + i;
        }
      }
    }
    check_sent(transport);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, PushPullTest,
                         ::testing::Values(PushPullCase{1, 1, 8, 8}, PushPullCase{4, 1, 8, 8},
                                           PushPullCase{3, 3, 8, 8}, PushPullCase{2, 5, 3, 3},
                                           PushPullCase{1, 2, 1, 1}, PushPullCase{4, 2, 8, 3},
                                           PushPullCase{2, 1, 0, 1}, PushPullCase{20, 2, 4, 4},
                                           PushPullCase{4, 1, 8, 8, 1 << 20},
                                           PushPullCase{3, 2, 8, 3, 1 << 20}));

TEST(PushPullTraffic, OfTwoWorkersAndAServer) {
  const PushPullLayout layout = unit_layout(2, 1, 2);
  const std::vector<std::vector<std::size_t>> push = {{100, 32768}, {50, 0}};
  const std::vector<std::size_t> pull = {70, 40000};
  const std::vector<Traffic> traffic = push_pull_traffic(layout, push, pull);
  // Each payload with 8 bytes before it, in messages of 32768.
  EXPECT_EQ(traffic[0].sent, (Volume{3, 108 + 32776}));
  EXPECT_EQ(traffic[1].sent, (Volume{2, 58 + 8}));
  EXPECT_EQ(traffic[0].received, (Volume{3, 78 + 40008}));
  EXPECT_EQ(traffic[2].sent, traffic[0].received * 2);
  EXPECT_EQ(traffic[2].received, traffic[0].sent + traffic[1].sent);
}

void serve_once(ThreadTransport& transport, const PushPullLayout& layout) {
  PushPullServer server(transport, layout, 0);
  PayloadMixer mixer(layout.units.size());
  server.step(mixer, server.units());
}

// The second worker pushes unit 0 only after it has pulled unit 1. A server that waited for all
// payloads of a step would wait for ever. So would a server that wanted the units in their order.
TEST(PushPull, AUnitIsAnsweredWhileOthersAreStillMissing) {
  const PushPullLayout layout = unit_layout(2, 1, 2);
  on_all_ranks(3, [&](ThreadTransport& transport) {
    if (transport.rank() == 2) {
      serve_once(transport, layout);
      return;
    }
    PushPullWorker worker(transport, layout);
    const Bytes payload(40000);
    const std::vector<UnitPayload> both = {{0, payload}, {1, payload}};
    if (transport.rank() == 0) {
      push_and_pull(worker, both);
    } else {
      push_and_pull(worker, std::span(both).last(1));
      push_and_pull(worker, std::span(both).first(1));
    }
    for (const std::size_t unit : {0U, 1U})
      EXPECT_EQ(worker.pulled(unit).size(), payload.size()) << unit;
  });
}

// The second worker pushes unit 0 only after it has pulled unit 1. So the first worker's push of
// unit 1 must not wait for the answer to unit 0.
TEST(PushPull, UnitsArePushedWhileOthersArePulled) {
  const PushPullLayout layout = unit_layout(2, 1, 2);
  on_all_ranks(3, [&](ThreadTransport& transport) {
    if (transport.rank() == 2) {
      PushPullServer server(transport, layout, 0);
      PayloadMixer mixer(2);
      server.step(mixer, server.units());
      EXPECT_LE(server.served(1).answered, server.served(0).arrived);
      EXPECT_EQ(server.served(0).last, 1);
      for (const std::size_t unit : {0U, 1U}) {
        EXPECT_LE(server.served(unit).arrived, server.served(unit).averaged);
        EXPECT_LE(server.served(unit).averaged, server.served(unit).answered);
      }
      return;
    }
    PushPullWorker worker(transport, layout);
    const Bytes payload(70000);
    const std::vector<UnitPayload> both = {{0, payload}, {1, payload}};
    if (transport.rank() == 1) {
      push_and_pull(worker, std::span(both).last(1));
      push_and_pull(worker, std::span(both).first(1));
      return;
    }
    const std::size_t first = worker.push(std::span(both).first(1));
    const std::size_t second = worker.push(std::span(both).last(1));
    pull_all(worker, first);
    EXPECT_TRUE(worker.pull(second));  // it was here before
    EXPECT_EQ(worker.pulled(0).size(), payload.size());
    EXPECT_EQ(worker.pulled(1).size(), payload.size());
  });
}

// Two have been answered when a third begins, and only the first answer was requested.
TEST(PushPull, APushThatWasAnsweredStaysSoWhenTheNextBegins) {
  const PushPullLayout layout = unit_layout(1, 1, 3);
  on_all_ranks(2, [&](ThreadTransport& transport) {
    if (transport.rank() == 1) {
      serve_once(transport, layout);
      return;
    }
    PushPullWorker worker(transport, layout);
    const Bytes payload(1000);
    std::vector<std::size_t> pushes;
    for (const std::size_t unit : {0U, 1U}) {
      const UnitPayload one{unit, payload};
      pushes.push_back(worker.push({&one, 1}));
    }
    pull_all(worker, pushes[1]);
    pull_all(worker, pushes[0]);
    const UnitPayload last{2, payload};
    const std::size_t third = worker.push({&last, 1});
    EXPECT_NE(third, pushes[0]);
    EXPECT_TRUE(worker.here(pushes[1]));
    pull_all(worker, third);
    EXPECT_TRUE(worker.here(pushes[1]));
  });
}

// Messages that workers and servers refuse from each other.

// Stands in for a rank that a test does not run itself.
class Peer {
 public:
  Peer(Mailboxes& boxes, int rank, int size) : transport_(boxes, rank, size) {}
  void send(int to, int tag, std::uint32_t unit, std::uint32_t length, std::size_t bytes) {
    Bytes message(kUnitHeadBytes + bytes);
    const std::uint32_t head[] = {unit, length};
    std::memcpy(message.data(), head, kUnitHeadBytes);
    transport_.send(0, to, tag, message);
  }
  void send_bytes(int to, int tag, std::size_t bytes) { transport_.send(0, to, tag, Bytes(bytes)); }

 private:
  ThreadTransport transport_;
};

template <typename Aggregator = PayloadMixer>
std::string error_of_server(const std::function<void(Peer&)>& lie) {
  const PushPullLayout layout = unit_layout(2, 2, 3);  // units 0 and 1 are with server 1
  Mailboxes boxes;
  Peer honest(boxes, 0, 4), liar(boxes, 1, 4);
  honest.send(3, kPushTag, 1, 3, 3);
  lie(liar);
  ThreadTransport transport(boxes, 3, 4);
  PushPullServer server(transport, layout, 1);
  Aggregator aggregator(3);
  return error_text<PayloadError>([&] { server.step(aggregator, server.units()); });
}

using ::testing::HasSubstr;

TEST(PushPullServer, RefusesWhatAWorkerMayNotPush) {
  EXPECT_EQ(error_of_server([](Peer& liar) { liar.send_bytes(3, kPushTag, 7); }),
            "rank 1 sent 7 bytes; expected at least the 8 bytes of a unit's head");
  for (const std::uint32_t unit : {2U, 3U, 0xffffffffU})
    EXPECT_EQ(
        error_of_server([&](Peer& liar) { liar.send(3, kPushTag, unit, 4, 4); }),
        "rank 1 pushed unit " + std::to_string(unit) +
            "; expected those of this server's 2 units that take part in the step, each once");
  EXPECT_THAT(error_of_server([](Peer& liar) {
                liar.send(3, kPushTag, 1, 4, 4);
                liar.send(3, kPushTag, 1, 4, 4);
              }),
              HasSubstr("rank 1 pushed unit 1; expected"));
  EXPECT_EQ(error_of_server([](Peer& liar) { liar.send(3, kPushTag, 1, 300002, 4); }),
            "rank 1, unit 'unit1': 300002 bytes; expected at most 300001");
  EXPECT_EQ(error_of_server([](Peer& liar) { liar.send(3, kPushTag, 0, 4, 5); }),
            "rank 1, unit 0: a segment of 5 bytes; expected 4 (4 bytes are left)");
}

TEST(PushPullServer, NamesWhosePayloadIsMalformed) {
  class Refuses : public PayloadMixer {
   public:
    using PayloadMixer::PayloadMixer;
    void add(std::size_t unit, int worker, std::span<const std::byte> payload) override {
      if (worker == 1) throw PayloadError("of 3 bytes");
      PayloadMixer::add(unit, worker, payload);
    }
  };
  EXPECT_EQ(error_of_server<Refuses>([](Peer& liar) { liar.send(3, kPushTag, 1, 3, 3); }),
            "payload of rank 1, unit 'unit1': of 3 bytes");
}

TEST(PushPullWorker, RefusesWhatAServerMayNotAnswer) {
  const auto error_of = [](const std::function<void(Peer&)>& lie) {
    const PushPullLayout layout = unit_layout(1, 2, 3);  // units 0 and 1 are with server 1, rank 2
    Mailboxes boxes;
    Peer liar(boxes, 2, 3);
    lie(liar);
    ThreadTransport transport(boxes, 0, 3);
    PushPullWorker worker(transport, layout);
    const std::vector<UnitPayload> payloads = {{0, {}}, {1, {}}};
    return error_text<PayloadError>([&] { push_and_pull(worker, payloads); });
  };
  EXPECT_THAT(error_of([](Peer& liar) { liar.send_bytes(0, kPullTag, 0); }),
              HasSubstr("rank 2 sent 0 bytes"));
  for (const std::uint32_t unit : {2U, 3U})
    EXPECT_EQ(error_of([&](Peer& liar) { liar.send(0, kPullTag, unit, 1, 1); }),
              "server rank 2 answered unit " + std::to_string(unit) +
                  "; expected one that was pushed to it and not pulled yet");
  EXPECT_THAT(error_of([](Peer& liar) {
                liar.send(0, kPullTag, 1, 1, 1);
                liar.send(0, kPullTag, 1, 1, 1);
              }),
              HasSubstr("answered unit 1"));
  EXPECT_EQ(error_of([](Peer& liar) { liar.send(0, kPullTag, 0, 300002, 1); }),
            "server rank 2, unit 'unit0': 300002 bytes; expected at most 300001");
}

/// Rank 0 of two. Nothing arrives, and its sends end only when they may.
class StuckTransport : public ThreadTransport {
 public:
  explicit StuckTransport(Mailboxes& boxes) : ThreadTransport(boxes, 0, 2) {}
  void send(Request slot, int, int, std::span<const std::byte> data) override {
    under_way_.insert(slot);
    sent += data.size();
  }
  void receive(Request, int, int, std::span<std::byte>) override {}
  bool done(Request slot, std::size_t*) override { return !stuck && under_way_.erase(slot) > 0; }
  double now() const override { return seconds_ += 1; }

  bool stuck = true;
  std::size_t sent = 0;

 private:
  std::set<Request> under_way_;
  mutable double seconds_ = 0;
};

// The limit of a rank that waits for others doubles with every timeout.
TEST(TwoShot, ALongWaitDoesNotEndTheLimitsGrowth) {
  constexpr std::size_t kBytes = 2'000'000;
  Mailboxes boxes;
  auto owned = std::make_unique<StuckTransport>(boxes);
  StuckTransport& transport = *owned;
  PushPullLayout layout{.workers = 2, .servers = 2, .colocated = true, .units = {}};
  for (int server : {0, 1})
    layout.units.push_back({.name = "unit",
                            .elements = 1000,
                            .push_capacity = kBytes,
                            .pull_capacity = kBytes,
                            .server = server});
  PayloadMixer mixer(2);
  TwoShotCollective collective(std::move(owned), layout, mixer);
  const std::vector<std::byte> payload(kBytes);
  const std::vector<UnitPayload> pushed = {{0, payload}, {1, payload}};
  collective.push(pushed);
  for (int i = 0; i < 200; ++i) collective.progress();
  EXPECT_LT(transport.sent, kBytes);
  transport.stuck = false;
  for (int i = 0; i < 200; ++i) collective.progress();
  EXPECT_EQ(transport.sent, kBytes + kUnitHeadBytes);
}

}  // namespace
}  // namespace thinpipe
