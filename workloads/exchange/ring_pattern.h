// The pattern `ring`: both of our pipelined rings over one transport.
#pragma once

#include <memory>

#include "workloads/exchange/flow_pattern.h"
#include "workloads/exchange/ring.h"

namespace thinpipe {

class RingPattern : public FlowPattern {
 public:
  /// @param capacity  the longest message all_gather may carry, in bytes
  RingPattern(std::unique_ptr<Transport> transport, std::size_t capacity)
      : FlowPattern(std::move(transport), ring_all_reduce, ring_all_gather, capacity) {}
};

}  // namespace thinpipe
