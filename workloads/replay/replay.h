// One rank's part of a replayed training job: compute, compress, exchange, decode, step by step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "compressors/wire/bytes.h"
#include "workloads/collectives/collective.h"
#include "workloads/collectives/outer_optimiser.h"
#include "workloads/replay/parameter_server.h"
#include "workloads/replay/push_pull_units.h"
#include "workloads/replay/rank_buckets.h"
#include "workloads/replay/step_report.h"
#include "workloads/trace/trace.h"

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

class Replay {
 public:
  /// @throws InputError as RankBuckets
  Replay(const Trace& trace, const ReplayOptions& options, int rank, int ranks);

  /// Makes the collective of one bucket. @param capacity  the longest message it must carry, in
  /// bytes
  using MakeCollective = std::function<std::unique_ptr<Collective>(std::size_t capacity)>;
  /// Makes one collective for each bucket, before the first step. With overlap, a thread of the
  /// replay uses the collectives.
  void connect(const MakeCollective& make);
  /// Sets one collective for all buckets, of units() by layout(): with parameter servers, instead.
  void connect(std::unique_ptr<Collective> collective);
  /// Returns the traffic sent so far.
  TransportCounters counters() const;
  std::size_t buckets() const { return buckets_.size(); }
  const Collective& collective(std::size_t bucket) const {
    return *collectives_.at(layout_.servers > 0 ? 0 : bucket);
  }
  /// Returns the number of steps after which the schedule of sent and accumulated units repeats
  /// itself; 1 for most methods.
  std::uint64_t period() const;

  /// Returns the units that are pushed to parameter servers, and the server of each.
  const std::vector<ReplayUnit>& units() const { return units_; }
  const PushPullLayout& layout() const { return layout_; }
  /// Returns the averager of this rank's slices with the collective `twoshot`; else null.
  UnitAverager* averager() { return averager_.get(); }

  /// Loads and checks the gradients of steps [0, steps), so that timed steps read nothing from
  /// disk. @throws InputError naming tensor and element for a non-finite value (kError)
  void prepare(std::uint64_t steps) { buckets_.gradients().prepare(steps); }
  /// Returns whether every step must be loaded first.
  bool loads() const {
    return buckets_.options().device || buckets_.gradients().loads(buckets_.plan());
  }
  /// Loads a step's gradients (Gradients), onto the device if any. Called before a step, outside
  /// its time.
  void load(std::uint64_t index) { buckets_.load(index); }

  /// Runs one step with the other ranks. @throws PayloadError when a peer's payload is malformed.
  StepReport step(std::uint64_t index) {
    if (averager_) averager_->begin_step(index);
    return order_->run(index, true);
  }
  /// Runs the same step with hooks that do nothing: nothing is compressed or sent. Time beyond
  /// compute is the replay's own cost.
  StepReport step_without_exchange(std::uint64_t index) { return order_->run(index, false); }

  /// Copies the result from a device to the host, with the outer optimiser's update and velocity.
  /// Called after a step, outside its time.
  void fetch() { buckets_.fetch(); }
  /// Returns the last step's result, d elements: the mean over ranks of their decoded payloads.
  /// Elements are in the order of buckets, and within a bucket in the order of Bucket. Without
  /// overlap, rules and units of several tensors, this is the order of the trace.
  std::span<const float> aggregate() const { return buckets_.aggregate(); }
  /// Returns the outer optimiser's update; empty without one.
  std::span<const float> update() const { return buckets_.update(); }
  const OuterOptimiser* outer() const { return buckets_.outer(); }
  StepChecks checks() const { return StepChecks(buckets_); }

  /// Returns the elements of aggregate() and update() whose turn the step was, and, for each
  /// tensor, whether it is among them. Without fragments, those are all elements or none.
  ElementRange turn(std::uint64_t index) const { return buckets_.turn(index); }
  std::vector<bool> tensors_in_turn(std::uint64_t index) const;
  bool takes_turns() const { return buckets_.options().bucketing.takes_turns(); }
  /// Replaces a tensor's sum of local steps, without the granularities by which units have several
  /// tensors.
  void set_sum(std::size_t tensor, std::span<const float> values);

  /// Splits aggregate() or update() by tensor, in the order of the trace.
  std::vector<std::span<const float>> by_tensor(std::span<const float> all) const;
  /// Returns, for each tensor, whether a step's aggregate is only a change to the mean gradient.
  /// The tensor's mean gradient is then the sum of the changes of all steps
  /// (Compressor::incremental).
  std::vector<bool> incremental() const;

  /// Appends a checkpoint of the compressors' and the outer optimiser's state, and of the
  /// fragments' sums of local steps. Called between steps; with local steps or delays, after a
  /// whole period.
  void save_state(std::vector<std::byte>& state);
  /// Reads a checkpoint from the front. @throws InputError for the state of another replay
  void load_state(ByteReader& state);

 private:
  RankBuckets buckets_;
  std::vector<ReplayUnit> units_;                         ///< of all buckets, with servers
  PushPullLayout layout_;                                 ///< with servers
  std::unique_ptr<UnitAverager> averager_;                ///< where every rank averages
  std::vector<std::unique_ptr<Collective>> collectives_;  ///< by bucket; with servers one for all
  std::unique_ptr<StepOrder> order_;                      ///< ends before the members that it uses
};

}  // namespace thinpipe
