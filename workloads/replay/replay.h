// One rank's part of a replayed training job: compute, compress, exchange, decode, step by step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/cuda/rank_device.h"
#include "compressors/wire/bytes.h"
#include "workloads/exchange/outer_optimiser.h"
#include "workloads/exchange/pattern.h"
#include "workloads/exchange/push_pull_options.h"
#include "workloads/replay/bucket.h"
#include "workloads/replay/exchange_thread.h"
#include "workloads/replay/feed.h"
#include "workloads/replay/gradients.h"
#include "workloads/replay/pace.h"
#include "workloads/replay/parameter_server.h"
#include "workloads/replay/push_pull_units.h"
#include "workloads/replay/step_report.h"
#include "workloads/replay/stragglers.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

class DeviceResult;

struct ReplayOptions {
  CompressorRules compressor = kUncompressed;
  Feed feed;
  std::uint64_t seed = 1;
  int threads = 1;           ///< that one encode or decode may use
  double compute_scale = 1;  ///< times the captured compute time; 0: as fast as the network allows
  Stragglers stragglers;     ///< ranks are hosts
  double epochs_a_step = 0;  ///< by which training goes on from the feed's epoch
  NonFinite non_finite = NonFinite::kError;
  /// The links are so many times slower than those that are emulated: compute times are stretched
  /// by it and, where it is above 1, so is what the codec takes. Below 1 the codec works while the
  /// compute time passes, so that the exchange begins when it should. docs/time-scaling.md.
  double time_scale = 1;
  /// The patterns have a sparse all-reduce, which is used where compressors give out elements.
  bool sparse_sums = false;
  std::optional<PushPullOptions> servers;  ///< payloads go to parameter servers; else to all ranks
  /// Where gradients lie and compressors run; else in the host's memory, on the processor. Then
  /// every step is loaded before it runs, and its result fetched where it is wanted.
  std::optional<RankDevice> device;
};

class Replay {
 public:
  /// @throws InputError for specs or a trace that do not fit, a time scale below 1 and a method
  /// whose codec works between exchanges, or beside them (overlap): they cannot be told apart; and
  /// for what is not done on a device.
  Replay(const Trace& trace, const ReplayOptions& options, int rank, int ranks);
  ~Replay();

  /// Makes the pattern of one bucket. @param capacity  the longest message it must carry, in bytes
  using MakePattern = std::function<std::unique_ptr<Pattern>(std::size_t capacity)>;
  /// Before the first step. With overlap, patterns are used by a thread of the replay's own.
  void connect(const MakePattern& make);
  /// Instead, with parameter servers: one pattern for all buckets, of units() by layout().
  void connect(std::unique_ptr<Pattern> pattern);
  /// Traffic sent so far.
  TransportCounters counters() const;
  std::size_t buckets() const { return buckets_.size(); }
  /// Steps after which what is sent and what is held back repeats itself; 1 for most methods.
  std::uint64_t period() const;
  const Pattern& pattern(std::size_t bucket) const {
    return *patterns_.at(options_.servers ? 0 : bucket);
  }
  /// With parameter servers: what is pushed, and to whom.
  const std::vector<ReplayUnit>& units() const { return units_; }
  const PushPullLayout& layout() const { return layout_; }
  /// The averager of this rank's slices, where every rank averages some; else null.
  UnitAverager* averager() { return averager_.get(); }

  /// Loads and checks the gradients of steps [0, steps): nothing is left to be read from disk when
  /// the clock runs. @throws InputError naming tensor and element for a non-finite value (kError).
  void prepare(std::uint64_t steps) { gradients_.prepare(steps); }
  /// Whether every step must be loaded first.
  bool loads() const { return options_.device || gradients_.loads(plan_); }
  /// Before a step, outside its time: see Gradients. Onto the device where there is one.
  void load(std::uint64_t index);

  /// Runs one step with the other ranks. @throws PayloadError when a peer's payload is malformed.
  StepReport step(std::uint64_t index);
  /// The same step with hooks that do nothing: nothing is compressed and nothing moves. Time beyond
  /// compute is the replay's own cost.
  StepReport step_without_exchange(std::uint64_t index);

  /// After a step, outside its time: brings the result to the host where it is on a device, the
  /// outer optimiser's update and velocity included.
  void fetch();
  /// The last step's result: mean over ranks of what each sent, decoded. d elements: bucket after
  /// bucket, in each as Bucket says; without overlap, rules and units of several tensors in the
  /// order of the trace.
  std::span<const float> aggregate() const { return aggregate_; }
  /// The outer optimiser's update; empty without one.
  std::span<const float> update() const { return update_; }
  const OuterOptimiser* outer() const { return outer_ ? &*outer_ : nullptr; }

  /// Splits aggregate() or update() by tensor, in the order of the trace.
  std::vector<std::span<const float>> by_tensor(std::span<const float> all) const;
  /// By tensor: what is aggregated of it is a change of what was aggregated before, and its mean
  /// gradient is the sum of all of them (Compressor::incremental).
  std::vector<bool> incremental() const;

  /// Checkpoint of what compressors and the outer optimiser carry from step to step; appended to
  /// `state`. Between steps; with local steps or delays, after one that has exchanged.
  void save_state(std::vector<std::byte>& state);
  /// Takes it from the front. @throws InputError for bytes that are not of such a replay.
  void load_state(ByteReader& state);

  /// |decoded - c| / |c| over all units of the step just run, `index`. Takes processor time that
  /// ranks still in their exchange would miss: call it when all ranks have ended the step.
  double relative_error(std::uint64_t index) const;

  /// This rank's part of what the last step brought, for a reference that does not cross the
  /// network: its own payloads decoded (d elements), then the floats it sent in every round where
  /// the method takes several. `out` has contribution_size() elements; what is not used is 0.
  void own_contribution(std::span<float> out) const;
  std::size_t contribution_size() const;

  /// Whether results() are the mean over ranks of own_contribution(), within rounding: not where
  /// elements are selected again or arrays quantised on the way.
  bool takes_mean() const;
  /// The elements of aggregate() that the step just run summed in 16 bits.
  std::vector<RoundedSum> rounded_sums() const;
  /// Computes results(), one after the other, from all ranks' contributions to the last step. `out`
  /// has contribution_size() elements; unused ones are 0.
  void expected(std::span<const std::span<const float>> contributions, std::span<float> out) const;

  /// Data that the network brought, piece by piece: the aggregate, then the mean of every round
  /// where the method takes several. Each is, where takes_mean(), the mean over ranks of the same
  /// place of own_contribution().
  std::vector<std::span<const float>> results() const;

 private:
  void check_time_scale() const;
  void check_device() const;
  void check_local_steps() const;
  std::unique_ptr<Bucket> make_bucket(const PlannedBucket& plan, const CompressorSettings& settings,
                                      std::size_t offset, std::size_t first_unit) const;
  void start_thread();
  Pattern& pattern_of(std::size_t bucket) { return *patterns_[options_.servers ? 0 : bucket]; }
  RoundsTime exchange(std::size_t bucket);
  std::span<float> part(std::size_t bucket);
  double compute_seconds(std::uint64_t index) const;
  double scaled_ready(std::size_t bucket, std::uint64_t index) const;
  bool sends(std::size_t bucket, std::uint64_t index) const;
  void add_payloads(StepReport& report) const;
  void note(StepReport& report, Phase phase, std::size_t bucket, double begin) const;

  StepReport step_together(std::uint64_t index);
  void share_scales(std::uint64_t index, StepReport& report);
  template <typename Work>
  void compress(const Work& work, StepReport& report);
  void add_local_step(std::size_t bucket, std::uint64_t index, StepReport& report);
  void encode(std::size_t bucket, std::uint64_t index, StepReport& report);
  void decode(std::size_t bucket, StepReport& report);
  void apply_outer(StepReport& report);

  /// Buckets of a step on their way (replay_overlap.cc).
  struct UnderWay;
  StepReport step_by_bucket(std::uint64_t index, bool moves);
  void pass_until(double moment, bool decodes, UnderWay& way, StepReport& report);
  void submit_exchange(std::size_t bucket, UnderWay& way);
  void submit_push_pull(std::size_t bucket);
  void decode_next(UnderWay& way, StepReport& report);
  void leave(std::size_t bucket, std::uint64_t index, UnderWay& way, StepReport& report);
  void finish(UnderWay& way, StepReport& report);
  void add_paces(const UnderWay& way, StepReport& report) const;

  const Trace& trace_;
  ReplayOptions options_;
  int rank_, ranks_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
  std::vector<PlannedBucket> plan_;   ///< of the buckets
  std::vector<std::size_t> offsets_;  ///< of their parts in the aggregate
  Gradients gradients_;
  std::vector<ReplayUnit> units_;                   ///< of all buckets
  PushPullLayout layout_;                           ///< where there are servers
  std::unique_ptr<UnitAverager> averager_;          ///< where every rank is one
  std::vector<std::unique_ptr<Pattern>> patterns_;  ///< by bucket; with servers one for all
  std::vector<double> pushed_at_;                   ///< by bucket, of the step under way
  std::vector<RoundsTime> exchange_times_;          ///< by bucket, of the step under way
  std::vector<PhaseSpan> exchange_spans_;           ///< likewise; two a bucket: scales, payloads
  Pace pace_, decode_pace_;                         ///< of encoding and of decoding
  std::vector<float> aggregate_, update_;
  std::optional<OuterOptimiser> outer_;      ///< with a device a copy, after fetch()
  std::unique_ptr<DeviceResult> on_device_;  ///< where there is a device
  std::optional<std::uint64_t> loaded_;      ///< step that was last, there
  std::unique_ptr<ExchangeThread> thread_;   ///< with overlap; ends before what it works on
};

}  // namespace thinpipe
