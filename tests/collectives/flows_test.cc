// Collectives over a transport, and parameter servers, allocate nothing once they have run; their
// segments.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/collectives/collective_inputs.h"
#include "tests/collectives/thread_transport.h"
#include "tests/compressors/support/allocations.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/push_pull_collective.h"
#include "workloads/collectives/push_pull_server.h"
#include "workloads/collectives/segments.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;

// Allocations by the mailboxes of this thread.
thread_local std::size_t in_transport = 0;

class Uncounted {
 public:
  Uncounted() : before_(testing::allocations_of_thread()) {}
  ~Uncounted() { in_transport += testing::allocations_of_thread() - before_; }

 private:
  std::size_t before_;
};

class UncountedTransport : public ThreadTransport {
 public:
  explicit UncountedTransport(const ThreadTransport& counted) : ThreadTransport(counted) {}
  void send(Request slot, int peer, int tag, std::span<const std::byte> data) override {
    const Uncounted here;
    ThreadTransport::send(slot, peer, tag, data);
  }
  void receive(Request slot, int peer, int tag, std::span<std::byte> data) override {
    const Uncounted here;
    ThreadTransport::receive(slot, peer, tag, data);
  }
  bool done(Request slot, std::size_t* received = nullptr) override {
    const Uncounted here;
    return ThreadTransport::done(slot, received);
  }
};

TEST(FlowAllocations, ThereAreNoneAfterTheFirstCall) {
  if (!testing::counts_allocations()) GTEST_SKIP() << "the sanitizer's operator new is in use";
  for (const std::string& collective : transport_collectives()) {
    Mailboxes boxes;
    on_all_ranks(boxes, 5, [&](std::unique_ptr<ThreadTransport> inner) {
      const auto own = make_collective(parse_spec(collective),
                                       std::make_unique<UncountedTransport>(*inner), 100000);
      const std::vector<float> values(50000, 1);
      std::vector<float> result(values.size());
      const std::vector<std::byte> message(90000);
      std::size_t first = 0, second = 0;
      for (std::size_t* const allocated : {&first, &second}) {
        const std::size_t before = testing::allocations_of_thread() - in_transport;
        operation<AllReduce>(*own).all_reduce(values, result, 0.5F);
        operation<AllGather>(*own).all_gather(message);
        operation<AllReduce>(*own).all_reduce(std::span(values).first(70),
                                              std::span(result).first(70), 0.5F);
        *allocated = testing::allocations_of_thread() - in_transport - before;
      }
      EXPECT_GT(first, 0U) << collective;  // or nothing is counted
      EXPECT_EQ(second, 0U) << collective;
    });
  }
}

// Answers with the last payload that was added.
class LastPayload : public UnitAggregator {
 public:
  void add(std::size_t, int, std::span<const std::byte> payload) override { last_ = payload; }
  std::span<const std::byte> answer(std::size_t) override { return last_; }

 private:
  std::span<const std::byte> last_;
};

TEST(FlowAllocations, ThereAreNoneInWorkersAndServersAfterTheFirstStep) {
  if (!testing::counts_allocations()) GTEST_SKIP() << "the sanitizer's operator new is in use";
  constexpr int kWorkers = 3, kServers = 2;
  constexpr std::size_t kUnits = 20, kBytes = 90000;
  PushPullLayout layout{.workers = kWorkers, .servers = kServers, .units = {}};
  for (std::size_t unit = 0; unit < kUnits; ++unit)
    layout.units.push_back({.name = "unit",
                            .elements = 1000,
                            .push_capacity = kBytes,
                            .pull_capacity = kBytes,
                            .server = static_cast<int>(unit % kServers)});
  Mailboxes boxes;
  on_all_ranks(boxes, kWorkers + kServers, [&](std::unique_ptr<ThreadTransport> inner) {
    UncountedTransport transport(*inner);
    std::optional<PushPullWorker> worker;
    std::optional<PushPullServer> server;
    LastPayload last;
    const std::vector<std::byte> payload(kBytes);
    std::vector<UnitPayload> pushed;
    std::size_t steps[3] = {};
    for (std::size_t step = 0; step < 3; ++step) {
      const std::size_t before = testing::allocations_of_thread() - in_transport;
      if (step == 0 && transport.rank() < kWorkers) {
        worker.emplace(transport, layout);
        for (std::size_t unit = 0; unit < kUnits; ++unit)
          pushed.push_back({unit, std::span(payload).first(kBytes - unit)});
      }
      if (step == 0 && transport.rank() >= kWorkers)
        server.emplace(transport, layout, transport.rank() - kWorkers);
      if (server) server->step(last, server->units());
      if (worker) {
        const std::size_t first = worker->push(std::span(pushed).first(7));
        worker->push(std::span(pushed).subspan(7, 5));
        pull_all(*worker, first);
        push_and_pull(*worker, std::span(pushed).subspan(12));
      }
      steps[step] = testing::allocations_of_thread() - in_transport - before;
    }
    EXPECT_GT(steps[0], 0U);  // or nothing is counted
    EXPECT_EQ(steps[1] + steps[2], 0U) << transport.rank();
  });
}

TEST(Parts, AreAsEvenAsCanBeAndFollowEachOther) {
  for (const std::size_t elements : {0, 1, 7, 8192, 8193, 100003})
    for (const std::size_t count : {1, 2, 3, 8}) {
      const Parts parts{elements, count};
      std::size_t at = 0, segment = 0;
      for (std::size_t part = 0; part < count; ++part) {
        const std::size_t size = elements / count + (part < elements % count ? 1 : 0);
        EXPECT_EQ(parts.begin(part), at);
        EXPECT_EQ(parts.size(part), size);
        EXPECT_EQ(parts.first_segment(part), segment);
        at += size;
        // 8192 floats are 32 kB.
        segment += size / 8192 + (size % 8192 > 0 ? 1 : 0);
      }
      EXPECT_EQ(at, elements);
      EXPECT_EQ(parts.segments(0, count), segment);
      EXPECT_EQ(parts.size(0, count), elements);
    }
}

TEST(Parts, OfSixteenBitElementsHaveTwiceAsManyInASegment) {
  const Parts parts{3 * 16384 + 1, 2, 2};
  EXPECT_EQ(parts.segment(), 16384U);
  EXPECT_EQ(parts.first_segment(1), 2U);  // 24577 elements, then 24576
  EXPECT_EQ(parts.segments(0, 2), 4U);
}

TEST(Segments, OfBytes) {
  EXPECT_EQ(segments_of_bytes(0), 0U);
  EXPECT_EQ(segments_of_bytes(1), 1U);
  EXPECT_EQ(segments_of_bytes(32768), 1U);
  EXPECT_EQ(segments_of_bytes(32769), 2U);
}

/// Records what is sent; a slot is done when the test marks it.
class HeldTransport : public ThreadTransport {
 public:
  explicit HeldTransport(Mailboxes& boxes) : ThreadTransport(boxes, 0, 2) {}
  void send(Request slot, int peer, int tag, std::span<const std::byte> data) override {
    EXPECT_EQ(peer, 1);
    EXPECT_EQ(tag, 3);
    EXPECT_EQ(under_way.count(slot), 0U) << "slot " << slot << " is in use";
    under_way.insert(slot);
    slots.push_back(slot);
    sizes.push_back(data.size());
  }
  void receive(Request, int, int, std::span<std::byte>) override { FAIL(); }
  bool done(Request slot, std::size_t*) override { return under_way.count(slot) == 0; }

  std::set<Request> under_way;
  std::vector<Request> slots;
  std::vector<std::size_t> sizes;
};

TEST(SendWindow, TakesItsSlotsInTurnAndWaitsForTheOldest) {
  Mailboxes boxes;
  HeldTransport transport(boxes);
  SendWindow window(transport, 1, 10, 3, 3);
  const std::vector<std::byte> data(5);
  EXPECT_TRUE(window.empty());
  EXPECT_FALSE(window.collect());
  for (std::size_t size : {1, 2, 3}) window.send(std::span(data).first(size));
  EXPECT_TRUE(window.full());
  EXPECT_FALSE(window.collect());
  transport.under_way.erase(11);  // not the oldest: no slot is free yet
  EXPECT_FALSE(window.collect());
  EXPECT_TRUE(window.full());
  transport.under_way.erase(10);
  EXPECT_TRUE(window.collect());  // both
  EXPECT_FALSE(window.full());
  window.send(std::span(data).first(4));
  window.send(data);
  EXPECT_TRUE(window.full());
  EXPECT_EQ(window.sent(), 5U);
  transport.under_way.clear();
  EXPECT_TRUE(window.collect());
  EXPECT_TRUE(window.empty());
  EXPECT_THAT(transport.slots, ElementsAre(10, 11, 12, 10, 11));
  EXPECT_THAT(transport.sizes, ElementsAre(1, 2, 3, 4, 5));
}

}  // namespace

}  // namespace thinpipe
