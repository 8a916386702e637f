// Returns the results of a step, and computes the expected results without the network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "workloads/replay/rank_buckets.h"

namespace thinpipe {

/// A view of the step that a rank ran last (Replay::checks()).
class StepChecks {
 public:
  explicit StepChecks(const RankBuckets& buckets) : buckets_(buckets) {}

  /// Returns the relative error |decoded - c| / |c| over all units of the last step, whose number
  /// is `index`. c is the compressed array, gradient plus memory. The call takes CPU time that
  /// other ranks need for their exchange, so make it when all ranks have ended the step.
  double relative_error(std::uint64_t index) const;

  /// Returns the results that crossed the network. The first result is the aggregate. For methods
  /// that exchange in rounds (powersgd), one result per bucket and round follows: the mean over
  /// ranks of the floats sent in that round. Laid end to end, the results have the order of
  /// own_contribution(). If takes_mean() is true, each element of the results is the mean over
  /// ranks of the element of own_contribution() at the same index.
  std::vector<std::span<const float>> results() const;

  /// Writes this rank's contribution to the results: first the rank's own payloads, decoded (d
  /// elements), then the floats that the rank sent in every round. `out` has contribution_size()
  /// elements; unused elements become 0.
  void own_contribution(std::span<float> out) const;
  std::size_t contribution_size() const;

  /// Returns whether results() are the mean over ranks of own_contribution(), within rounding.
  /// Returns false if elements are selected again or arrays are quantised between ranks.
  bool takes_mean() const;
  /// Returns the elements of the aggregate that the last step summed in 16 bits.
  std::vector<RoundedSum> rounded_sums() const;
  /// Computes the expected results(), laid end to end, from all ranks' contributions to the last
  /// step. `out` has contribution_size() elements; unused elements become 0.
  void expected(std::span<const std::span<const float>> contributions, std::span<float> out) const;

 private:
  const RankBuckets& buckets_;
};

}  // namespace thinpipe
