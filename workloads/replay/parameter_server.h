// Aggregation of all workers' payloads on the rank that has a unit: decoded, averaged, compressed
// once for all of them; on a parameter server, or on each of the workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compressors/wire/bytes.h"
#include "workloads/exchange/push_pull_server.h"
#include "workloads/replay/pace.h"
#include "workloads/replay/push_pull_units.h"

namespace thinpipe {

struct UnitAveragerOptions {
  PushPullOptions exchange;
  std::uint64_t seed = 1;
  int threads = 1;                ///< that one encode or decode may use
  double time_scale = 1;          ///< as ReplayOptions has it; at least 1
  std::uint64_t local_steps = 1;  ///< as Feed has them
  double epoch = 0;
  double epochs_a_step = 0;  ///< by which training goes on from there
};

/// Its work in one step. Times in seconds.
struct AveragedStep {
  double decode = 0;           ///< of what was pushed
  double compress = 0;         ///< of what is pulled
  std::size_t push_bytes = 0;  ///< payloads that came, of all workers
  std::size_t pull_bytes = 0;  ///< payloads compressed; each goes to every worker
};

/// 3LC, figure 2b: every unit has a compression context of its own for what is pulled (its error
/// accumulation included), beside those of the workers for what is pushed. The model delta is the
/// mean gradient: one step of plain SGD, less the learning rate, which scales and no more.
class UnitAverager : public UnitAggregator {
 public:
  /// @param units  all of them, as `layout` has them; those of other servers are passed over
  /// @throws InputError as make_compressor
  UnitAverager(const std::vector<ReplayUnit>& units, const PushPullLayout& layout,
               const UnitAveragerOptions& options, int server);
  ~UnitAverager() override;

  /// Its units that take part in a step of the workers, as the layout counts them: as these know it
  /// too, gradients are handed over every local_steps steps, and delayed methods hold some of them
  /// back.
  std::span<const std::size_t> begin_step(std::uint64_t index);

  void add(std::size_t unit, int worker, std::span<const std::byte> payload) override;
  std::span<const std::byte> answer(std::size_t unit) override;

  /// The step under way.
  const AveragedStep& report() const { return report_; }
  std::span<const std::size_t> taking_part() const { return taking_part_; }

  /// Checkpoint of what its compressors carry from step to step, appended; between steps.
  void save_state(std::vector<std::byte>& state) const;
  /// Takes it from the front. @throws InputError for bytes that are not of its units.
  void load_state(ByteReader& state);

  /// Floats of its units.
  std::size_t elements() const { return mean_.size(); }
  /// Its units, one after the other, with the place of each in the aggregate.
  const std::vector<ReplayUnit>& units() const { return units_; }
  const ReplayUnit& unit(std::size_t of_layout) const { return units_[own_index_[of_layout]]; }
  /// The last step's mean of the decoded pushes, unit by unit.
  std::span<const float> mean() const { return mean_; }
  /// Likewise what workers must have decoded of its answers. `out` has elements() floats.
  void delta(std::span<float> out) const;
  /// |decoded - c| / |c| over its units in the step just run, with c the mean and what memory held.
  double relative_error() const;

 private:
  struct Unit;
  Unit& context(std::size_t of_layout);

  int workers_;
  std::uint64_t local_steps_;
  double epoch_, epochs_a_step_;
  GradientInput input_;  ///< of the step under way, without values
  AveragedStep report_;
  Pace pace_;
  std::vector<ReplayUnit> units_;       ///< ours
  std::vector<Unit> contexts_;          ///< of ours
  std::vector<std::size_t> own_;        ///< ours, as the layout counts them
  std::vector<std::size_t> own_index_;  ///< by index in the layout
  std::vector<std::size_t> taking_part_;
  std::vector<float> mean_;
  std::vector<std::byte> answers_;
};

/// A server's work in one step.
struct ServerReport : AveragedStep {
  double total = 0;  ///< s from the step's begin to its last answer's end: waiting, mostly
};

/// The unit of a bucket that this server answered last.
struct ServedBucket {
  std::size_t bucket = 0;
  ServedUnit unit;
};

/// A parameter server of a replayed job: averages what workers push, compresses the mean once for
/// all of them, and keeps what that left out for the next step.
class ParameterServer {
 public:
  /// @param units  all of them; those of other servers are passed over
  /// @param transport  of ranks 0 to workers - 1 and the servers; must outlive this
  /// @throws InputError as make_compressor
  ParameterServer(Transport& transport, const std::vector<ReplayUnit>& units,
                  const UnitAveragerOptions& options, int workers, int server);

  /// Serves one step of the workers.
  /// @throws PayloadError naming rank and unit when a worker's payload is malformed.
  ServerReport step(std::uint64_t index);

  /// Units answered last in the last step, by bucket.
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
