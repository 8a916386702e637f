// The gradients that one rank replays, in the form that its compressors take; and gradients that a
// trainer hands over in place of a trace's files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/wire/bytes.h"
#include "workloads/replay/plan.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Treatment of a gradient with a NaN or an infinity.
enum class NonFinite {
  kError,  ///< refuse all steps before any is run, naming tensor and element
  kZero,   ///< replace such values by 0, as a mixed-precision trainer that skips bad values
};

/// The recorded gradient that a rank replays in a step. If there are more ranks than the R ranks of
/// the trace, rank r replays trace rank r mod R. It begins r / R steps (rounded down) further on in
/// the trace. So no two ranks send the same gradient in a step, unless there are more than R ranks
/// for each step of the trace. Steps wrap round at the trace's end.
struct Replayed {
  std::size_t rank, step;
};
Replayed replayed(const Trace& trace, int rank, std::uint64_t step);

class Gradients {
 public:
  /// @param epochs_a_step  by which training advances from the bucketing's epoch
  Gradients(const Trace& trace, int rank, NonFinite policy, const Bucketing& bucketing, int threads,
            double epochs_a_step = 0);

  std::uint64_t local_steps() const { return bucketing_.local_steps; }

  /// Loads and checks the gradients of steps [0, steps), so that timed steps read nothing from
  /// disk. @throws InputError naming tensor and element for a non-finite value (kError)
  void prepare(std::uint64_t steps);

  /// Returns whether load() has anything to do for these buckets.
  bool loads(std::span<const PlannedBucket> buckets) const;

  /// Generates gradients that are in no file, and copies the tensors of a unit of several tensors
  /// into one array. Called before a step, and not part of the step's time, since a framework's
  /// gradients are contiguous already (DDP's gradients are views of its buckets).
  void load(std::span<const PlannedBucket> buckets, std::uint64_t index);

  /// Adds the step's gradient of a unit to its sum (Bucketing::begins_sum). The sum of a delayed
  /// fragment leaves in the step before it begins anew. Only with more than one local step.
  void add(std::size_t bucket, std::size_t unit, const PlannedUnit& planned, std::uint64_t index);

  /// Returns the unit's gradient in one step, without any sum. After load().
  GradientInput of_step(std::size_t bucket, std::size_t unit, const PlannedUnit& planned,
                        std::uint64_t index) const;
  /// Returns the compressor's input in a step: the gradient, or the sum over local steps. For a
  /// delayed fragment it is the sum that left last, also before this step's add(). After load().
  GradientInput input(std::size_t bucket, std::size_t unit, const PlannedUnit& planned,
                      std::uint64_t index) const;

  /// Replaces a unit's sum of local steps.
  void set_sum(std::size_t bucket, std::size_t unit, std::span<const float> values);
  /// Appends the sums of local steps to a checkpoint; reads them from the front.
  void save_sums(std::span<const PlannedBucket> buckets, std::vector<std::byte>& state);
  void load_sums(std::span<const PlannedBucket> buckets, ByteReader& state);

 private:
  struct Joined {
    std::vector<float> values, squares;  // of a unit of several tensors
    std::vector<float> sum;              // of local steps
    std::vector<float> left;             // the sum whose exchange is delayed
  };

  std::span<const float> values_of(std::size_t tensor, std::uint64_t index) const;
  Joined& joined(std::size_t bucket, std::size_t unit);

  const Trace& trace_;
  int rank_;
  NonFinite policy_;
  Bucketing bucketing_;
  double epochs_a_step_;
  int threads_;
  std::vector<std::vector<float>> repaired_;  ///< by (step, tensor), with non-finite values as 0
  std::vector<std::vector<Joined>> joined_;   ///< by bucket and unit
};

/// Description of a training job before its first step.
struct GivenDescription {
  std::string model;
  std::string identity;              ///< of the job, in records
  std::vector<TraceTensor> tensors;  ///< parameters, in the model's order
  TraceStepTimes times;              ///< the same for every step and worker; `ready` by tensor
  std::size_t ranks = 1;
  bool squares = false;  ///< second moments are handed over as well
};

/// Gradients that a trainer hands over before each step, with the interface of a trace, so that
/// code which replays a trace can train. They are one worker's gradients of the next step, one
/// tensor after the other in memory. All ranks and steps of the trace return this one gradient.
class GivenGradients {
 public:
  explicit GivenGradients(GivenDescription description);

  const Trace& trace() const { return trace_; }
  bool has_squares() const;

  /// Returns the gradients for the trainer to fill before each step: one tensor's, or all tensors'
  /// one after the other.
  std::span<float> values(std::size_t tensor);
  std::span<float> values();
  /// Returns the second moments to fill likewise; only with has_squares().
  std::span<float> squares(std::size_t tensor);
  std::span<float> squares();

 private:
  struct Source;
  Source* source_;  ///< owned by the trace
  Trace trace_;
};

}  // namespace thinpipe
