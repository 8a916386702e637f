// The pattern `ps` as a worker sees it.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "workloads/exchange/pattern.h"
#include "workloads/exchange/push_pull_worker.h"

namespace thinpipe {

/// The other ranks of the transport are workers and, after these, servers (push_pull_server.h).
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

}  // namespace thinpipe
