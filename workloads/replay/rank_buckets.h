// A rank's buckets with their gradients and results, and the parts of a step for each bucket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compressors/cuda/rank_device.h"
#include "workloads/collectives/outer_optimiser.h"
#include "workloads/collectives/push_pull_options.h"
#include "workloads/replay/bucket.h"
#include "workloads/replay/bucketing.h"
#include "workloads/replay/gradients.h"
#include "workloads/replay/pace.h"
#include "workloads/replay/step_report.h"
#include "workloads/replay/stragglers.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

class DeviceResult;

struct ReplayOptions {
  CompressorRules compressor = kUncompressed;
  Bucketing bucketing;
  std::uint64_t seed = 1;
  int threads = 1;           ///< that one encode or decode may use
  double compute_scale = 1;  ///< times the captured compute time; 0: as fast as the network allows
  /// Compute phases use as much CPU time as the captured compute time, as in a job whose ranks
  /// share the machine's CPUs. Otherwise they are waits, and leave the CPUs to the codec. Only with
  /// a time scale of 1 and without a device.
  bool compute_works = false;
  Stragglers stragglers;     ///< ranks are hosts
  double epochs_a_step = 0;  ///< by which training advances from the bucketing's epoch
  NonFinite non_finite = NonFinite::kError;
  /// The time dilation factor, by which the links are slower than the emulated links. Compute times
  /// are multiplied by the factor. If the factor is above 1, codec times are multiplied by it as
  /// well. If it is below 1, the codec works while the compute time passes, so that the exchange
  /// begins on time. docs/time-scaling.md.
  double time_scale = 1;
  /// The collectives have a SparseAllReduce, which is used for compressors that select elements.
  bool sparse_sums = false;
  std::optional<PushPullOptions> servers;  ///< payloads go to parameter servers; else to all ranks
  /// The device that has the gradients and runs the compressors; without one, the host's memory and
  /// CPU. With a device every step is loaded before it runs, and results are fetched on demand.
  std::optional<RankDevice> device;
};

/// A rank's part of a replay, except for the collectives and for the order of a step's parts.
/// Functions that take a StepReport add their durations and spans to it.
class RankBuckets {
 public:
  /// @throws InputError for specs or a trace that do not fit; for a time scale below 1 with a codec
  /// that works between exchanges or beside them (overlap), whose time cannot be separated; and for
  /// options that a device does not support
  RankBuckets(const Trace& trace, const ReplayOptions& options, int rank, int ranks);
  ~RankBuckets();

  const ReplayOptions& options() const { return options_; }
  std::size_t size() const { return buckets_.size(); }
  Bucket& operator[](std::size_t bucket) { return *buckets_[bucket]; }
  const Bucket& operator[](std::size_t bucket) const { return *buckets_[bucket]; }
  const std::vector<PlannedBucket>& plan() const { return plan_; }
  const Trace& trace() const { return trace_; }
  Gradients& gradients() { return gradients_; }
  const Gradients& gradients() const { return gradients_; }
  /// Returns the first element of the bucket in the aggregate.
  std::size_t offset(std::size_t bucket) const { return offsets_[bucket]; }

  /// Copies the gradients to the memory where they are encoded. Called before a step, outside its
  /// time.
  void load(std::uint64_t index);
  /// Copies the result from the device to the host. Called after a step, outside its time.
  void fetch();
  std::span<const float> aggregate() const { return aggregate_; }
  std::span<const float> update() const { return update_; }
  const OuterOptimiser* outer() const { return outer_ ? &*outer_ : nullptr; }
  void save_outer(std::vector<std::byte>& state);
  void load_outer(ByteReader& state);

  /// Returns this rank's compute time (the captured one, scaled, with stragglers) in seconds,
  /// without the time scale.
  double compute_seconds(std::uint64_t index) const;
  /// Returns when the last of the bucket's gradients is ready under the time scale, in seconds
  /// after the step's begin.
  double scaled_ready(std::size_t bucket, std::uint64_t index) const;
  /// Returns whether anything of the bucket is sent in the step.
  bool sends(std::size_t bucket, std::uint64_t index) const {
    return options_.bucketing.has_turn(bucket, index) &&
           buckets_[bucket]->sends(index / options_.bucketing.local_steps);
  }
  /// Returns the elements of the aggregate that have their turn in the step: all, those of one
  /// fragment, or none.
  ElementRange turn(std::uint64_t index) const;

  void begin_step() {
    pace_.reset();
    decode_pace_.reset();
  }
  /// Returns the report of a step that only passes its compute time.
  StepReport compute_alone(std::uint64_t index) const;
  /// Returns the bucket that is sent in the step; size() for none. Without overlap, at most one is.
  std::size_t sent_in(std::uint64_t index) const;
  /// Passes compute time that began at `begin`: waits, or works (compute_works).
  void pass_compute(double begin, double seconds, StepReport& report) const;
  void add_local_step(std::size_t bucket, std::uint64_t index, StepReport& report);
  /// Computes this rank's scales, before Bucket::share_scales().
  void take_scales(std::size_t bucket, std::uint64_t index, StepReport& report);
  /// Encodes, or accumulates gradients that a delayed method does not send yet; starts the copies.
  void encode(std::size_t bucket, std::uint64_t index, StepReport& report);
  /// Shares the scales of a bucket that has any. The time in the collective counts as exchange, the
  /// rest as compression.
  void share_scales(std::size_t bucket, std::uint64_t index, StepReport& report);
  /// Adds the durations of an exchange that has ended.
  void add_exchange(std::size_t bucket, StepReport& report) const;
  void start_exchange(std::size_t bucket) {
    buckets_[bucket]->start_exchange(
        std::span(aggregate_).subspan(offsets_[bucket], buckets_[bucket]->elements()));
  }
  void decode(std::size_t bucket, StepReport& report);
  /// Decodes the bucket that was sent, and then all others, to which nothing is added. A decoding
  /// waits for earlier work and for its own bucket's exchange (harness/critical_path).
  /// @param sent  size() if nothing was sent
  void decode_all(std::size_t sent, StepReport& report) {
    if (sent < buckets_.size()) decode(sent, report);
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      if (b != sent) decode(b, report);
  }
  /// Applies the outer optimiser after an exchange, to the elements of turn(). The time counts as
  /// decoding, since both end a step.
  void apply_outer(std::uint64_t index, StepReport& report);
  void add_payloads(StepReport& report) const;
  void note(StepReport& report, Phase phase, std::size_t bucket, double begin) const {
    report.timeline.push_back({phase, bucket, begin - report.begun, now_seconds() - report.begun});
  }

  const Pace& pace() const { return pace_; }
  const Pace& decode_pace() const { return decode_pace_; }

 private:
  void check_device() const;
  void check_time_scale() const;
  void check_local_steps() const;
  void check_fragments() const;
  void make_buckets(int ranks);
  template <typename Work>
  void compress(const Work& work, StepReport& report);

  const Trace& trace_;
  ReplayOptions options_;
  int rank_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
  std::vector<PlannedBucket> plan_;   ///< of the buckets
  std::vector<std::size_t> offsets_;  ///< of the buckets in the aggregate
  Gradients gradients_;
  Pace pace_, decode_pace_;  ///< of encoding and of decoding
  std::vector<float> aggregate_, update_;
  std::optional<OuterOptimiser> outer_;      ///< with a device a copy, after fetch()
  std::unique_ptr<DeviceResult> on_device_;  ///< with a device
  std::optional<std::uint64_t> loaded_;      ///< the step loaded last, with a device
};

/// The order of a step's parts.
class StepOrder {
 public:
  virtual ~StepOrder() = default;
  /// Runs a step. @param exchanges  false: hooks do nothing, nothing is compressed or sent
  virtual StepReport run(std::uint64_t index, bool exchanges) = 0;
};

/// Returns the order for one bucket, or for fragments: compute, encode, exchange and decode
/// (together_step.cc).
std::unique_ptr<StepOrder> together_step(RankBuckets& buckets);
/// Returns the order for delayed fragments: a fragment is exchanged by a thread while the compute
/// time of the steps of its delay passes, all in the last of these steps (delayed_step.cc).
std::unique_ptr<StepOrder> delayed_step(RankBuckets& buckets);
/// Returns the order with overlap: buckets are sent as their gradients become ready, by a thread
/// (overlapped_step.cc).
std::unique_ptr<StepOrder> overlapped_step(RankBuckets& buckets);

}  // namespace thinpipe
