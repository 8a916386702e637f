// A transport between threads of one process, so that collectives can be tested without MPI.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/push_pull_collective.h"
#include "workloads/collectives/transport.h"

namespace thinpipe {

/// Mailboxes of all pairs of ranks and tags, shared by the transports of one test.
struct Mailboxes {
  /// Wakes a rank that has nothing to do; `count` messages have arrived so far.
  struct Arrivals {
    std::condition_variable another;
    std::size_t count = 0;
  };
  std::mutex mutex;
  std::map<std::tuple<int, int, int>, std::deque<std::vector<std::byte>>> messages;
  std::map<int, Arrivals> arrivals;  ///< by the receiving rank
};

class ThreadTransport : public Transport {
 public:
  ThreadTransport(Mailboxes& boxes, int rank, int size) : boxes_(boxes), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void send(Request slot, int peer, int tag, std::span<const std::byte> data) override {
    const std::lock_guard lock(boxes_.mutex);
    boxes_.messages[{rank_, peer, tag}].emplace_back(data.begin(), data.end());
    Mailboxes::Arrivals& arrivals = boxes_.arrivals[peer];
    ++arrivals.count;
    arrivals.another.notify_one();
    pending_[slot] = {};
    counters_.messages += 1;
    counters_.bytes += data.size();
  }
  void receive(Request slot, int peer, int tag, std::span<std::byte> data) override {
    pending_[slot] = {peer, tag, data};
  }
  // MPI matches receives in the order they were posted; the collectives wait in that order too.
  bool done(Request slot, std::size_t* received = nullptr) override {
    Pending& pending = pending_[slot];
    if (pending.peer < 0) return true;
    const std::lock_guard lock(boxes_.mutex);
    auto& queue = boxes_.messages[{pending.peer, rank_, pending.tag}];
    if (queue.empty()) return false;
    if (queue.front().size() > pending.data.size()) throw InputErrorInTest();
    std::copy(queue.front().begin(), queue.front().end(), pending.data.begin());
    if (received != nullptr) *received = queue.front().size();
    received_.messages += 1;
    received_.bytes += queue.front().size();
    queue.pop_front();
    pending.peer = -1;
    return true;
  }
  // Waits for a message that came after the last pause. Ranks also wait for their own threads, so
  // not for long. (ThreadSanitizer does not know the function by which wait_for() waits.)
  void pause() override {
    std::unique_lock lock(boxes_.mutex);
    Mailboxes::Arrivals& arrivals = boxes_.arrivals[rank_];
    arrivals.another.wait_until(lock,
                                std::chrono::system_clock::now() + std::chrono::milliseconds(1),
                                [&] { return arrivals.count != seen_; });
    seen_ = arrivals.count;
  }
  void progressed() override {}
  double now() const override { return now_seconds(); }
  TransportCounters counters() const override { return counters_; }

  /// As counters(), of received messages.
  TransportCounters received() const { return received_; }

  struct InputErrorInTest {};

 private:
  struct Pending {
    int peer = -1, tag = 0;
    std::span<std::byte> data;
  };
  Mailboxes& boxes_;
  int rank_, size_;
  std::size_t seen_ = 0;  // messages that had arrived at the end of the last pause
  std::map<Request, Pending> pending_;
  TransportCounters counters_, received_;
};

/// Runs body(transport), which may keep it, for every rank in a thread of its own.
template <typename Body>
void on_all_ranks(Mailboxes& boxes, int ranks, Body body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back(
        [&, rank] { body(std::make_unique<ThreadTransport>(boxes, rank, ranks)); });
  for (std::thread& thread : threads) thread.join();
}

/// Runs body(transport) for every rank in a thread of its own.
template <typename Body>
void on_all_ranks(int ranks, Body body) {
  Mailboxes boxes;
  on_all_ranks(boxes, ranks, [&](std::unique_ptr<ThreadTransport> transport) { body(*transport); });
}

/// Checks that every message was received.
inline void expect_no_message_left(const Mailboxes& boxes) {
  for (const auto& [way, queue] : boxes.messages) EXPECT_TRUE(queue.empty()) << "left over";
}

/// Makes a collective over threads, for one rank.
inline std::unique_ptr<Collective> over_threads(const std::string& spec, Mailboxes& boxes,
                                                int rank = 0, int size = 1,
                                                std::size_t capacity = 0) {
  return make_collective(parse_spec(spec), std::make_unique<ThreadTransport>(boxes, rank, size),
                         capacity);
}

/// Runs body(collective, rank) for every rank in a thread of its own.
template <typename Body>
void on_all_ranks(const std::string& spec, int ranks, Body body, std::size_t capacity = 0) {
  Mailboxes boxes;
  on_all_ranks(boxes, ranks, [&](std::unique_ptr<ThreadTransport> transport) {
    const int rank = transport->rank();
    const auto collective = make_collective(parse_spec(spec), std::move(transport), capacity);
    body(*collective, rank);
  });
  expect_no_message_left(boxes);
}

/// Waits until all units of a push are pulled.
inline void pull_all(PushPullWorker& worker, std::size_t push) {
  while (!worker.pull(push)) {
  }
}

/// Pushes these payloads and waits until all of their units are pulled.
inline void push_and_pull(PushPullWorker& worker, std::span<const UnitPayload> payloads) {
  pull_all(worker, worker.push(payloads));
}

}  // namespace thinpipe
