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

  std::span<const std::span<const std::byte>> push_pull(
      std::span<const UnitPayload> payloads) override {
    return worker_.run(payloads);
  }
  TransportCounters counters() const override { return transport_->counters(); }

 private:
  std::unique_ptr<Transport> transport_;
  PushPullWorker worker_;
};

}  // namespace thinpipe
