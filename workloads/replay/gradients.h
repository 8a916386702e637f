// The gradients that one rank replays, as its compressors take them; and those that a trainer hands
// over in place of a trace's files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "workloads/replay/plan.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Treatment of a gradient that holds a NaN or an infinity.
enum class NonFinite {
  kError,  ///< refuse the steps before any is run, naming tensor and element
  kZero,   ///< replace them by 0, as a mixed-precision trainer that skips bad values
};

/// Which recorded gradient a rank replays: rank r of more ranks than the trace has plays trace rank
/// r mod R, r / R steps later, so that no two ranks send the same; steps wrap round at the end.
struct Replayed {
  std::size_t rank, step;
};
Replayed replayed(const Trace& trace, int rank, std::uint64_t step);

class Gradients {
 public:
  /// @param epochs_a_step  by which training goes on from the feed's epoch
  Gradients(const Trace& trace, int rank, NonFinite policy, const Feed& feed, int threads,
            double epochs_a_step = 0);

  std::uint64_t local_steps() const { return local_steps_; }

  /// Loads and checks the gradients of steps [0, steps): nothing is left to be read from disk when
  /// the clock runs. @throws InputError naming tensor and element for a non-finite value (kError).
  void prepare(std::uint64_t steps);

  /// Whether load() has anything to do for these buckets.
  bool loads(std::span<const PlannedBucket> buckets) const;

  /// Before a step, outside its time: makes gradients where no file holds them, and lays those of
  /// units of several tensors one after the other, where a framework has them so already (DDP's
  /// gradients are views of its buckets).
  void load(std::span<const PlannedBucket> buckets, std::uint64_t index);

  /// Adds the step's gradient of a unit to its sum, which begins anew every local_steps() steps.
  /// Only with more than one of them.
  void add(std::size_t bucket, std::size_t unit, const PlannedUnit& planned, std::uint64_t index);

  /// The unit's gradient in that step alone, whatever is added up. After load().
  GradientInput of_step(std::size_t bucket, std::size_t unit, const PlannedUnit& planned,
                        std::uint64_t index) const;
  /// The unit's gradient in that step: its sum where several are added up. After load().
  GradientInput input(std::size_t bucket, std::size_t unit, const PlannedUnit& planned,
                      std::uint64_t index) const;

 private:
  struct Joined {
    std::vector<float> values, squares;  // of a unit of several tensors
    std::vector<float> sum;              // of local steps
  };

  std::span<const float> values_of(std::size_t tensor, std::uint64_t index) const;
  Joined& joined(std::size_t bucket, std::size_t unit);

  const Trace& trace_;
  int rank_;
  NonFinite policy_;
  std::uint64_t local_steps_;
  double epoch_, epochs_a_step_;
  int threads_;
  std::vector<std::vector<float>> repaired_;  ///< per (step, tensor): rid of non-finites
  std::vector<std::vector<Joined>> joined_;   ///< by bucket and unit
};

/// Description of a training job before its first step.
struct GivenDescription {
  std::string model;
  std::string identity;              ///< names it in records
  std::vector<TraceTensor> tensors;  ///< parameters, in the model's order
  TraceStepTimes times;              ///< of every step, of every worker; `ready` by tensor
  std::size_t ranks = 1;
  bool squares = false;  ///< second moments are handed over as well
};

/// Gradients that a trainer hands over before each step: one worker's of the step to come, one
/// tensor after the other in memory, behind the face of a trace: what replays a trace then trains.
/// All ranks and steps of the trace are this worker's present one.
class GivenGradients {
 public:
  explicit GivenGradients(GivenDescription description);

  const Trace& trace() const { return trace_; }
  bool has_squares() const;

  /// To be filled before each step: by tensor, or all of them one after the other.
  std::span<float> values(std::size_t tensor);
  std::span<float> values();
  /// Likewise second moments; only with has_squares().
  std::span<float> squares(std::size_t tensor);
  std::span<float> squares();

 private:
  struct Source;
  Source* source_;  ///< the trace has it
  Trace trace_;
};

}  // namespace thinpipe
