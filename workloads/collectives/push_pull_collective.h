// A worker's side of an exchange with parameter servers: it pushes payloads and pulls the servers'
// answers. The collectives `ps` and `twoshot` on that side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "workloads/collectives/collective.h"
#include "workloads/collectives/push_pull_options.h"
#include "workloads/collectives/push_pull_server.h"
#include "workloads/collectives/segments.h"
#include "workloads/collectives/transport.h"
#include "workloads/collectives/unit_stream.h"

namespace thinpipe {

/// 3LC, figure 2: a worker pushes its payload of each unit to the unit's server, and pulls the one
/// payload that the server compressed for all workers. Units are pulled as soon as their server
/// answers them, while other units are still being pushed: each unit has its own barrier.
class PushPullWorker : public PushPull, private UnitSink {
 public:
  /// Allocates all buffers. The transport must outlive this.
  PushPullWorker(Transport& transport, PushPullLayout layout);
  virtual ~PushPullWorker() = default;

  std::size_t push(std::span<const UnitPayload> payloads) override;
  /// @throws PayloadError naming rank and unit for a malformed answer
  bool pull(std::size_t push) override;
  void progress() override { rest(advance()); }
  std::span<const std::byte> pulled(std::size_t unit) const override { return pulled_[unit]; }

  // pull() in several calls, for a rank that does other work meanwhile.
  /// Moves data in both directions. @returns whether any data moved @throws PayloadError as pull()
  bool advance();
  // For ranks that are worker and server:
  /// Sets a limit for all bytes that the worker sends.
  void share(SendBudget* budget) { streams_.share(budget); }
  /// Returns the bytes received so far.
  std::size_t received() const { return streams_.received(); }
  /// Returns whether all units of the push are pulled.
  bool here(std::size_t push) const {
    return push < first_push_ || left_of_[push - first_push_] == 0;
  }
  /// Returns whether all pushes are pulled and have been sent.
  bool idle() const { return left_ == 0 && streams_.idle(); }
  /// Returns the number of units that are pushed and not pulled.
  std::size_t left() const { return left_; }
  /// Takes the answer of this rank's own server, if servers are workers too. The caller must not
  /// change the answer until the unit is pulled again.
  void take_own(std::size_t unit, std::span<const std::byte> answer) {
    awaited_[unit] = false;
    end_unit(own_server_, static_cast<std::uint32_t>(unit), answer);
  }
  /// Returns how many of the transport's slots it uses, from 0 on.
  int slots() const { return slots_; }

 private:
  std::span<std::byte> begin_unit(int peer, std::uint32_t unit, std::uint32_t length) override;
  void end_unit(int peer, std::uint32_t unit, std::span<const std::byte> payload) override;
  void rest(bool moved) {
    if (moved)
      transport_.progressed();
    else
      transport_.pause();
  }

  Transport& transport_;
  PushPullLayout layout_;
  std::unique_ptr<std::byte[]> arena_;  ///< not initialised, so only received pages take memory
  std::vector<std::span<std::byte>> places_;
  std::vector<std::span<const std::byte>> pulled_;  ///< by unit
  std::vector<char> awaited_;                       ///< by unit
  std::vector<std::size_t> push_of_;                ///< by unit
  std::size_t first_push_ = 0;                      ///< all earlier pushes have been pulled
  std::vector<std::size_t> left_of_;                ///< by push from first_push_: units to pull
  std::size_t left_ = 0;                            ///< units to pull, of all pushes
  int own_server_, slots_ = 0;                      ///< own_server_: of this rank; -1: none
  UnitStreams streams_;                             ///< by server
};

/// A base class that is constructed before the worker, which uses the transport.
struct OwnedTransport {
  std::unique_ptr<Transport> owned;
};

/// The collective `ps`. The other ranks of the transport are workers and, after these, servers
/// (push_pull_server.h).
class PushPullCollective : private OwnedTransport, public Collective, public PushPullWorker {
 public:
  PushPullCollective(std::unique_ptr<Transport> transport, PushPullLayout layout)
      : OwnedTransport{std::move(transport)}, PushPullWorker(*owned, std::move(layout)) {}

  TransportCounters counters() const override { return owned->counters(); }
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
  static constexpr std::size_t kMaxLent = std::size_t{1} << 40;  // more than any exchange sends
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
      lent_ = std::min(2 * lent_ + kAhead, kMaxLent);
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
