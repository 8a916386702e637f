// Patterns that are plans: an all-reduce and an all-gather carried out segment by segment.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "workloads/exchange/all_gather_flow.h"
#include "workloads/exchange/all_reduce_flow.h"
#include "workloads/exchange/pattern.h"
#include "workloads/exchange/plan_sum.h"

namespace thinpipe {

class FlowPattern : public Pattern {
 public:
  /// The plan of one of so many ranks.
  using ReducePlanner = AllReducePlanner;
  using GatherPlanner = std::function<AllGatherPlan(int ranks, int rank)>;

  /// @param capacity  the longest message all_gather may carry, in bytes
  FlowPattern(std::unique_ptr<Transport> transport, const ReducePlanner& reduce,
              const GatherPlanner& gather, std::size_t capacity)
      : transport_(std::move(transport)),
        reduce_plan_(reduce),
        reduce_(reduce(transport_->size(), transport_->rank())),
        gather_(gather(transport_->size(), transport_->rank()), transport_->size(), capacity) {}

  using Pattern::all_reduce;
  void all_reduce(ElementType type, std::span<const std::byte> own, std::span<std::byte> result,
                  float factor) override {
    reduce_.run(*transport_, type, own, result, factor);
  }
  void expected_all_reduce(ElementType type, std::span<const std::span<const float>> arrays,
                           float factor, std::span<float> out) const override {
    if (type == ElementType::kFloat32)
      Pattern::expected_all_reduce(type, arrays, factor, out);
    else
      sum_by_plan(reduce_plan_, type, arrays, factor, out);
  }
  const std::vector<std::span<const std::byte>>& all_gather(
      std::span<const std::byte> own) override {
    return gather_.run(*transport_, own);
  }
  const std::vector<std::span<const std::byte>>& gather_staged(StagedGather& staged) override {
    return gather_.run(*transport_, staged);
  }
  TransportCounters counters() const override { return transport_->counters(); }

 private:
  std::unique_ptr<Transport> transport_;
  ReducePlanner reduce_plan_;
  AllReduceFlow reduce_;
  AllGatherFlow gather_;
};

}  // namespace thinpipe
