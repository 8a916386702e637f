// A parameter server of a replayed job: averages what workers push, compresses the mean once for
// all of them, and keeps what that left out for the next step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compressors/wire/bytes.h"
#include "workloads/exchange/push_pull_server.h"
#include "workloads/replay/pace.h"
#include "workloads/replay/push_pull_units.h"

namespace thinpipe {

struct ParameterServerOptions {
  PushPullOptions exchange;
  std::uint64_t seed = 1;
  int threads = 1;                ///< that one encode or decode may use
  double time_scale = 1;          ///< as ReplayOptions has it; at least 1
  std::uint64_t local_steps = 1;  ///< as Feed has them
  double epoch = 0;
  double epochs_a_step = 0;  ///< by which training goes on from there
};

/// What a server did in one step. Times in seconds.
struct ServerReport {
  double decode = 0;           ///< of what was pushed
  double compress = 0;         ///< of what is pulled
  double total = 0;            ///< from the step's begin to its last answer's end: waiting, mostly
  std::size_t push_bytes = 0;  ///< payloads that came, of all workers
  std::size_t pull_bytes = 0;  ///< payloads compressed; each goes to every worker
};

/// Of a bucket's units that this server has, the one that it answered last.
struct ServedBucket {
  std::size_t bucket = 0;
  ServedUnit unit;
};

/// 3LC, figure 2b: every unit has a compression context of its own for what is pulled (its error
/// accumulation included), beside those of the workers for what is pushed. The model delta is the
/// mean gradient: one step of plain SGD, less the learning rate, which scales and no more.
class ParameterServer : private UnitAggregator {
 public:
  /// @param units  all of them; those of other servers are passed over
  /// @param transport  of ranks 0 to workers - 1 and the servers; must outlive this
  /// @throws InputError as make_compressor
  ParameterServer(Transport& transport, const std::vector<ReplayUnit>& units,
                  const ParameterServerOptions& options, int workers, int server);
  ~ParameterServer() override;

  /// Serves one step of the workers.
  /// @throws PayloadError naming rank and unit when a worker's payload is malformed.
  ServerReport step(std::uint64_t index);

  /// Checkpoint of what its compressors carry from step to step, appended; between steps.
  void save_state(std::vector<std::byte>& state) const;
  /// Takes it from the front. @throws InputError for bytes that are not of its units.
  void load_state(ByteReader& state);

  /// Of the last step, by bucket.
  const std::vector<ServedBucket>& served() const { return served_; }

  /// Floats of its units.
  std::size_t elements() const { return mean_.size(); }
  /// Of its units, one after the other: where each lies in the aggregate.
  const std::vector<ReplayUnit>& units() const { return units_; }
  /// Of the last step, unit by unit: the mean of what workers pushed, decoded.
  std::span<const float> mean() const { return mean_; }
  /// Likewise what workers must have decoded of its answers. `out` has elements() floats.
  void delta(std::span<float> out) const;
  /// |decoded - c| / |c| over its units in the step just run, with c the mean and what memory held.
  double relative_error() const;

 private:
  struct Unit;

  void add(std::size_t unit, int worker, std::span<const std::byte> payload) override;
  std::span<const std::byte> answer(std::size_t unit) override;
  Unit& unit_at(std::size_t index);
  void note_served();

  int workers_;
  std::uint64_t local_steps_;
  double epoch_, epochs_a_step_;
  GradientInput input_;  ///< of the step under way, without values
  ServerReport report_;
  Pace pace_;
  std::vector<ReplayUnit> units_;       ///< ours
  std::vector<Unit> contexts_;          ///< of ours
  std::vector<std::size_t> own_index_;  ///< by index in the layout
  std::vector<std::size_t> taking_part_;
  std::vector<ServedBucket> served_;
  std::vector<float> mean_;
  std::vector<std::byte> answers_;
  std::unique_ptr<PushPullServer> exchange_;
};

}  // namespace thinpipe
