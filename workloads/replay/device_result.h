// What a step ends with on a device: the aggregate, and what an outer optimiser makes of it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "compressors/cuda/rank_device.h"
#include "workloads/exchange/outer_optimiser.h"

namespace thinpipe {

/// Of all buckets of a replay, one after the other. Both stay on the device until they are fetched,
/// and so does the optimiser's velocity.
class DeviceResult {
 public:
  /// @throws RunError when the device's memory does not suffice
  DeviceResult(const RankDevice& device, std::size_t elements,
               const std::optional<OuterOptions>& outer);

  /// On the device, `elements` of them.
  float* aggregate() const { return aggregate_; }

  /// Makes the update of the aggregate, as OuterOptimiser::apply(): the same bits. Returns when
  /// that is done. Only with an outer optimiser.
  void apply_outer();
  /// To the host's memory, outside of a step's time. @param update, velocity  of as many elements
  /// with an outer optimiser, else empty
  void fetch(std::span<float> aggregate, std::span<float> update, std::span<float> velocity);
  /// From a checkpoint.
  void set_velocity(std::span<const float> velocity);

 private:
  RankDevice device_;
  std::size_t elements_;
  std::optional<OuterOptions> outer_;
  float *aggregate_ = nullptr, *update_ = nullptr, *velocity_ = nullptr;
};

}  // namespace thinpipe
