// The pattern `ring`: both of our pipelined rings over one transport.
#pragma once

#include <memory>

#include "workloads/exchange/pattern.h"
#include "workloads/exchange/ring_all_gather.h"
#include "workloads/exchange/ring_all_reduce.h"

namespace thinpipe {

class RingPattern : public Pattern {
 public:
  /// @param capacity  the longest message all_gather may carry, in bytes
  RingPattern(std::unique_ptr<Transport> transport, std::size_t capacity)
      : transport_(std::move(transport)), gather_(transport_->size(), capacity) {}

  void all_reduce(std::span<const float> own, std::span<float> result, float factor) override {
    reduce_.run(*transport_, own, result, factor);
  }
  const std::vector<std::span<const std::byte>>& all_gather(
      std::span<const std::byte> own) override {
    return gather_.run(*transport_, own);
  }
  TransportCounters counters() const override { return transport_->counters(); }

 private:
  std::unique_ptr<Transport> transport_;
  RingAllReduce reduce_;
  RingAllGather gather_;
};

}  // namespace thinpipe
