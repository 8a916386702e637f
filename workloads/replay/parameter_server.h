// Aggregation of all workers' payloads on the rank that averages a unit, a parameter server or one
// of the workers: payloads are decoded and averaged, and the mean is compressed once for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compressors/wire/bytes.h"
#include "workloads/collectives/push_pull_server.h"
#include "workloads/replay/pace.h"
#include "workloads/replay/push_pull_units.h"

namespace thinpipe {

struct UnitAveragerOptions {
  PushPullOptions exchange;
  std::uint64_t seed = 1;
  int threads = 1;                ///< that one encode or decode may use
  double time_scale = 1;          ///< as ReplayOptions has it; at least 1
  std::uint64_t local_steps = 1;  ///< as Bucketing has them
  double epoch = 0;
  double epochs_a_step = 0;  ///< by which training advances from `epoch`
};

/// Computes the change of the model that servers compress and send in place of the mean gradient.
/// The servers then have the model and the optimiser (3LC, figure 2b).
class UnitUpdate {
 public:
  /// Updates the model by the mean gradient of a unit and writes the model's change.
  /// @param unit  as UnitAverager::units() counts them
  /// @param step  of the training, from 0
  virtual void change_of(std::size_t unit, std::span<const float> mean, std::uint64_t step,
                         std::span<float> change) = 0;

 protected:
  ~UnitUpdate() = default;
};

/// The averaging work of one step. Times in seconds.
struct AveragedStep {
  double decode = 0;           ///< of pushed payloads
  double compress = 0;         ///< of answers, without UnitUpdate
  std::size_t push_bytes = 0;  ///< of all workers' payloads
  std::size_t pull_bytes = 0;  ///< of answers; each goes to every worker
};

/// Decodes and averages the payloads that the workers push for each unit, and answers with the
/// compressed mean gradient or, with a UnitUpdate, the compressed change of the model. Each unit
/// has a compressor of its own for the answers, with its own residual (3LC, figure 2b).
class UnitAverager : public UnitAggregator {
 public:
  /// @param units  of all servers, in the order of `layout`; other servers' units are skipped
  /// @throws InputError as make_compressor
  UnitAverager(const std::vector<ReplayUnit>& units, const PushPullLayout& layout,
               const UnitAveragerOptions& options, int server);

  /// Sets what answers are made of in all later steps. `update` must outlive this.
  void set_update(UnitUpdate& update);

  /// Begins a step, and determines which units the workers push in it. Workers hand over gradients
  /// every local_steps steps, and delayed methods accumulate several of them before a push. Workers
  /// compute the same schedule.
  /// @returns the averager's units that take part in the step, as the layout counts them
  std::span<const std::size_t> begin_step(std::uint64_t index);

  void add(std::size_t unit, int worker, std::span<const std::byte> payload) override;
  std::span<const std::byte> answer(std::size_t unit) override;

  // The current step.
  const AveragedStep& report() const { return report_; }
  std::span<const std::size_t> taking_part() const { return taking_part_; }

  /// Appends a checkpoint of the compressors' state; between steps.
  void save_state(std::vector<std::byte>& state) const;
  /// Reads a checkpoint from the front. @throws InputError for the state of other units
  void load_state(ByteReader& state);

  /// Returns the number of floats of the averager's units.
  std::size_t elements() const { return mean_.size(); }
  /// Returns the averager's units, in order, with the offset of each in the aggregate.
  const std::vector<ReplayUnit>& units() const { return units_; }
  const ReplayUnit& unit(std::size_t of_layout) const { return units_[own_index_[of_layout]]; }
  /// Returns the last step's mean of the decoded pushes, unit by unit.
  std::span<const float> mean() const { return mean_; }
  /// Computes, for a check, the values that workers get when they decode the last step's answers
  /// rightly, unit by unit. `out` has elements() floats.
  void delta(std::span<float> out) const;
  /// Returns the relative error |decoded - c| / |c| of the last step's answers, over the averager's
  /// units. c is the sum of the mean (or change) and the residual.
  double relative_error() const;

 private:
  /// The compression contexts of a unit.
  struct Unit {
    std::unique_ptr<Compressor> push;  ///< decodes payloads
    std::unique_ptr<Compressor> pull;  ///< encodes answers; null: `push` does
    std::span<float> mean;
    std::vector<float> estimate;   ///< the sum of all means, where answers are changes of it
    std::vector<float> change;     ///< of the model, with a UnitUpdate
    std::span<const float> input;  ///< of the answer's encoder
    std::span<std::byte> place;    ///< buffer of the answer
    std::size_t size = 0;          ///< of the answer
    bool taking_part = false;      ///< in the last step

    Compressor& answering() const { return pull ? *pull : *push; }
  };
  Unit& context(std::size_t of_layout) { return contexts_[own_index_[of_layout]]; }

  int workers_;
  std::uint64_t local_steps_;
  double epoch_, epochs_a_step_;
  UnitUpdate* update_ = nullptr;
  GradientInput input_;  ///< of the current step, without values
  AveragedStep report_;
  Pace pace_;
  std::vector<ReplayUnit> units_;       ///< this averager's
  std::vector<Unit> contexts_;          ///< by index in units_
  std::vector<std::size_t> own_;        ///< units_, as the layout counts them
  std::vector<std::size_t> own_index_;  ///< by index in the layout
  std::vector<std::size_t> taking_part_;
  std::vector<float> mean_;
  std::vector<std::byte> answers_;
};

/// A server's work in one step.
struct ServerReport : AveragedStep {
  double total = 0;  ///< s from the step's begin to the end of its last answer, mostly waiting
};

/// The unit of a bucket that this server answered last.
struct ServedBucket {
  std::size_t bucket = 0;
  ServedUnit unit;
};

/// A parameter server of a replayed job: averages the workers' payloads, compresses the mean once
/// for all workers, and keeps the compression error for the next step.
class ParameterServer {
 public:
  /// @param units  of all servers; other servers' units are skipped
  /// @param transport  of ranks 0 to workers - 1 and the servers; must outlive this
  /// @throws InputError as make_compressor
  ParameterServer(Transport& transport, const std::vector<ReplayUnit>& units,
                  const UnitAveragerOptions& options, int workers, int server);

  /// Serves one step of the workers.
  /// @throws PayloadError naming rank and unit when a worker's payload is malformed.
  ServerReport step(std::uint64_t index);

  /// Returns each bucket's unit that was answered last in the last step.
  const std::vector<ServedBucket>& served() const { return served_; }
  const UnitAverager& averager() const { return averager_; }
  UnitAverager& averager() { return averager_; }

 private:
  void note_served();

  PushPullLayout layout_;
  UnitAverager averager_;
  PushPullServer exchange_;
  std::vector<ServedBucket> served_;
};

}  // namespace thinpipe
