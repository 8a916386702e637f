// The pattern `twoshot`: every rank averages a slice of every array, and all get it back.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "workloads/exchange/pattern.h"
#include "workloads/exchange/push_pull_server.h"
#include "workloads/exchange/push_pull_worker.h"

namespace thinpipe {

/// A worker and a server of the same rank, who take turns. Units are slices, each of which one rank
/// has (PushPullLayout::colocated). Payloads of one's own slices do not cross the network.
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
    server_.on_answer = [this](std::size_t unit, std::span<const std::byte> answer) {
      worker_.take_own(unit, answer);
    };
  }

  std::size_t push(std::span<const UnitPayload> payloads) override {
    own_.clear();
    for (const UnitPayload& one : payloads)
      if (layout_.units.at(one.unit).server == transport_->rank()) own_.push_back(one.unit);
    if (server_.idle()) server_.begin(aggregator_);
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
  bool advance() {
    const bool served = server_.advance();
    return worker_.advance() || served;
  }
  void rest(bool moved) {
    if (moved)
      transport_->progressed();
    else
      transport_->pause();
  }

  std::unique_ptr<Transport> transport_;
  UnitAggregator& aggregator_;
  PushPullLayout layout_;
  PushPullWorker worker_;
  PushPullServer server_;
  std::vector<std::size_t> own_;
};

}  // namespace thinpipe
