// Patterns that are plans, and parameter servers, allocate nothing once they have run.

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/compressors/support/allocations.h"
#include "tests/exchange/plan_patterns.h"
#include "tests/exchange/thread_transport.h"
#include "workloads/exchange/patterns.h"
#include "workloads/exchange/push_pull_server.h"
#include "workloads/exchange/push_pull_worker.h"

namespace thinpipe {
namespace {

// What the mailboxes of this thread allocated.
thread_local std::size_t in_transport = 0;

class Uncounted {
 public:
  Uncounted() : before_(testing::allocations_of_thread()) {}
  ~Uncounted() { in_transport += testing::allocations_of_thread() - before_; }

 private:
  std::size_t before_;
};

class UncountedTransport : public Transport {
 public:
  explicit UncountedTransport(std::unique_ptr<ThreadTransport> inner) : inner_(std::move(inner)) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  void send(Request slot, int peer, int tag, std::span<const std::byte> data) override {
    const Uncounted here;
    inner_->send(slot, peer, tag, data);
  }
  void receive(Request slot, int peer, int tag, std::span<std::byte> data) override {
    const Uncounted here;
    inner_->receive(slot, peer, tag, data);
  }
  bool done(Request slot, std::size_t* received) override {
    const Uncounted here;
    return inner_->done(slot, received);
  }
  void pause() override { inner_->pause(); }
  void progressed() override {}
  double now() const override { return inner_->now(); }
  TransportCounters counters() const override { return inner_->counters(); }

 private:
  std::unique_ptr<ThreadTransport> inner_;
};

TEST(FlowAllocations, ThereAreNoneAfterTheFirstCall) {
  if (!testing::counts_allocations()) GTEST_SKIP() << "the sanitizer's operator new is in use";
  for (const std::string& pattern : plan_patterns()) {
    Mailboxes boxes;
    on_all_ranks(boxes, 5, [&](std::unique_ptr<ThreadTransport> inner) {
      const auto own = make_pattern(parse_spec(pattern),
                                    std::make_unique<UncountedTransport>(std::move(inner)), 100000);
      const std::vector<float> values(50000, 1);
      std::vector<float> result(values.size());
      const std::vector<std::byte> message(90000);
      std::size_t first = 0, second = 0;
      for (std::size_t* const allocated : {&first, &second}) {
        const std::size_t before = testing::allocations_of_thread() - in_transport;
        own->all_reduce(values, result, 0.5F);
        own->all_gather(message);
        own->all_reduce(std::span(values).first(70), std::span(result).first(70), 0.5F);
        *allocated = testing::allocations_of_thread() - in_transport - before;
      }
      EXPECT_GT(first, 0U) << pattern;  // or nothing is counted
      EXPECT_EQ(second, 0U) << pattern;
    });
  }
}

// Answers with what it was given last.
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
    UncountedTransport transport(std::move(inner));
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
        while (!worker->pull(first)) {
        }
        worker->run(std::span(pushed).subspan(12));
      }
      steps[step] = testing::allocations_of_thread() - in_transport - before;
    }
    EXPECT_GT(steps[0], 0U);  // or nothing is counted
    EXPECT_EQ(steps[1] + steps[2], 0U) << transport.rank();
  });
}

}  // namespace
}  // namespace thinpipe
