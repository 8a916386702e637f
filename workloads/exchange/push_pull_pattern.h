// The patterns `ps` and `twoshot` as a worker sees them.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "workloads/exchange/pattern.h"
#include "workloads/exchange/push_pull_server.h"
#include "workloads/exchange/push_pull_worker.h"
#include "workloads/exchange/segments.h"

namespace thinpipe {

/// The pattern `ps`. The other ranks of the transport are workers and, after these, servers
/// (push_pull_server.h).
class PushPullPattern : public Pattern {
 public:
  PushPullPattern(std::unique_ptr<Transport> transport, PushPullLayout layout)
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

/// The pattern `twoshot`: every rank averages a slice of every array, and all get it back. A worker
/// and a server of the same rank, who take turns. Units are slices, each of which one rank has
/// (PushPullLayout::colocated). Payloads of one's own slices do not cross the network.
///
/// Every rank begins with the next one, then the one after it, and sends no more than kAhead bytes
/// beyond what has come to it: so all are at the same distance, and no port gets from several ranks
/// at a time more than it can queue. Ranks to which nothing more is to come send all they have;
/// where ranks wait for each other, they go on after kPatience without anything moving.
class TwoShotPattern : public Pattern {
 public:
  /// @param aggregator  of this rank's slices; must outlive this
  TwoShotPattern(std::unique_ptr<Transport> transport, const PushPullLayout& layout,
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

  /// Others wait for this rank's answers: the last push has not ended before they have left.
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
  // A segment or two to each of some peers: less than the queue of a port, 256 kB unless it is set.
  static constexpr std::size_t kAhead = 4 * kSegmentBytes;
  static constexpr double kPatience = 0.1;  // s: a segment of 32 kB at 2.6 Mbit/s

  bool advance() {
    constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
    const std::size_t ahead = kAhead + lent_;
    pushes_.allowed = server_.answered() ? kAll : server_.received() - pushed_before_ + ahead;
    answers_.allowed = worker_.left() == 0 ? kAll : worker_.received() - answered_before_ + ahead;
    const bool served = server_.advance();
    const bool moved = worker_.advance() || served;
    if (moved) moved_at_ = transport_->now();
    if (!moved && transport_->now() - moved_at_ > kPatience) {
      lent_ = 2 * lent_ + kAhead;
      moved_at_ = transport_->now();
    }
    return moved;
  }
  void rest(bool moved) {
    if (moved) return transport_->progressed();
    // Asking takes as long as there are peers: ranks that outnumber cores would do nothing else.
    for (int peers = 0; peers < layout_.workers; peers += 4) transport_->pause();
  }

  std::unique_ptr<Transport> transport_;
  UnitAggregator& aggregator_;
  PushPullLayout layout_;
  PushPullWorker worker_;
  PushPullServer server_;
  std::vector<std::size_t> own_;
  SendBudget pushes_, answers_;
  std::size_t pushed_before_ = 0, answered_before_ = 0;  ///< bytes that came before this step
  std::size_t lent_ = 0;                                 ///< beyond kAhead, where nothing moved
  double moved_at_ = 0;
};

}  // namespace thinpipe
