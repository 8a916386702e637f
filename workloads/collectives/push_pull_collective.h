// The collectives `ps` and `twoshot` on the side of a worker.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "workloads/collectives/collective.h"
#include "workloads/collectives/push_pull_server.h"
#include "workloads/collectives/push_pull_worker.h"
#include "workloads/collectives/segments.h"

namespace thinpipe {

/// The collective `ps`. The other ranks of the transport are workers and, after these, servers
/// (push_pull_server.h).
class PushPullCollective : public Collective, public PushPull {
 public:
  PushPullCollective(std::unique_ptr<Transport> transport, PushPullLayout layout)
      : transport_(std::move(transport)), worker_(*transport_, std::move(layout)) {}

  std::size_t push(std::span<const UnitPayload> payloads) override {
    return worker_.push(payloads);
  }
  bool pull(std::size_t push) override { return worker_.pull(push); }
  void progress() override { worker_.progress(); }
  std::span<const std::byte> pulled(std::size_t unit) const override {
    return worker_.pulled(unit);
  }
  TransportCounters counters() const override { return transport_->counters(); }

 private:
  std::unique_ptr<Transport> transport_;
  PushPullWorker worker_;
};

/// The collective `twoshot`: every rank averages a slice of every array and sends the mean to all
/// ranks. Each rank is both a worker and a server, and does the work of both in turn. The units of
/// exchange are slices, and one rank averages each slice (PushPullLayout::colocated). A rank's
/// payloads of its own slices do not cross the network.
///
/// Every rank sends to the next rank first, then to the rank after it, and so on. It sends at most
/// kAhead bytes more than it has received. So at any time all ranks send over about the same
/// distance, and they do not send more to one port than it can queue. A rank that has nothing left
/// to receive sends everything. If ranks wait for each other, each raises its limit after kTimeout
/// without progress.
class TwoShotCollective : public Collective, public PushPull {
 public:
  /// @param aggregator  of this rank's slices; must outlive this
  TwoShotCollective(std::unique_ptr<Transport> transport, const PushPullLayout& layout,
                    UnitAggregator& aggregator)
      : transport_(std::move(transport)),
        aggregator_(aggregator),
        layout_(layout),
        worker_(*transport_, layout),
        server_(*transport_, layout, transport_->rank(), worker_.slots()) {
    worker_.share(&pushes_);
    server_.share(&answers_);
    server_.on_answer = [this](std::size_t unit, std::span<const std::byte> answer) {
      worker_.take_own(unit, answer);
    };
  }

  std::size_t push(std::span<const UnitPayload> payloads) override {
    own_.clear();
    for (const UnitPayload& one : payloads)
      if (layout_.units.at(one.unit).server == transport_->rank()) own_.push_back(one.unit);
    if (server_.idle()) {
      server_.begin(aggregator_);
      pushes_.used = answers_.used = lent_ = 0;
      moved_at_ = transport_->now();
      pushed_before_ = server_.received();
      answered_before_ = worker_.received();
    }
    server_.await(own_);
    const std::size_t push = worker_.push(payloads);
    for (const auto& [unit, payload] : payloads)
      if (layout_.units[unit].server == transport_->rank()) server_.take_own(unit, payload);
    return push;
  }

  /// Other ranks wait for this rank's answers, so the last push ends when these have been sent.
  bool pull(std::size_t push) override {
    const bool moved = advance();
    if (worker_.here(push) && (worker_.left() > 0 || (worker_.idle() && server_.idle())))
      return true;
    rest(moved);
    return false;
  }

  void progress() override { rest(advance()); }
  std::span<const std::byte> pulled(std::size_t unit) const override {
    return worker_.pulled(unit);
  }
  TransportCounters counters() const override { return transport_->counters(); }

 private:
  // Bytes that a rank may send ahead of the bytes received: one or two segments to each of a few
  // peers. This is less than the default queue of a port, 256 kB.
  static constexpr std::size_t kAhead = 4 * kSegmentBytes;
  static constexpr double kTimeout = 0.1;  // s: a segment of 32 kB at 2.6 Mbit/s

  bool advance() {
    constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
    const std::size_t ahead = kAhead + lent_;
    pushes_.allowed = server_.answered() ? kAll : server_.received() - pushed_before_ + ahead;
    answers_.allowed = worker_.left() == 0 ? kAll : worker_.received() - answered_before_ + ahead;
    const bool served = server_.advance();
    const bool moved = worker_.advance() || served;
    if (moved) moved_at_ = transport_->now();
    if (!moved && transport_->now() - moved_at_ > kTimeout) {
      lent_ = 2 * lent_ + kAhead;
      moved_at_ = transport_->now();
    }
    return moved;
  }
  void rest(bool moved) {
    if (moved) return transport_->progressed();
    // Testing requests takes time for each peer: ranks that outnumber cores would do nothing else.
    for (int peers = 0; peers < layout_.workers; peers += 4) transport_->pause();
  }

  std::unique_ptr<Transport> transport_;
  UnitAggregator& aggregator_;
  PushPullLayout layout_;
  PushPullWorker worker_;
  PushPullServer server_;
  std::vector<std::size_t> own_;
  SendBudget pushes_, answers_;
  std::size_t pushed_before_ = 0, answered_before_ = 0;  ///< bytes received before this step
  std::size_t lent_ = 0;                                 ///< beyond kAhead, after timeouts
  double moved_at_ = 0;
};

}  // namespace thinpipe
