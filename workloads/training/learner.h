// One worker of a training run: model, slice of the data, optimiser. This header hides libtorch
// from its users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "workloads/capture/options.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

struct LearnerParameter {
  std::string name;
  std::vector<std::size_t> shape;  ///< row-major
  std::size_t elements = 0;        ///< product of shape
};

/// Duration of one step in seconds, with the fields that traces record, and the loss of the step.
/// `ready` has the time at which each gradient is ready, in the order of the parameters.
using LearnerTimes = TraceStepTimes;

/// Results of the model on the held-out data.
struct Evaluation {
  double loss = 0;        ///< mean cross-entropy, natural logarithm
  double accuracy = 0;    ///< fraction of images, or of text positions, with the best score correct
  double perplexity = 0;  ///< exp(loss)
  std::size_t samples = 0;  ///< images, or text positions
};

/// One worker of a training run. In each step the caller calls compute(), reads gradient() of every
/// parameter, exchanges the gradients between workers, and calls apply() with their mean. Workers
/// that start from equal options and apply equal means have equal parameters, bit for bit, at every
/// step; digest() verifies this. On one machine, the options' seed determines all results. libtorch
/// uses one thread in the whole process.
///
/// A loss that is not finite is not an error: compute() returns it.
class Learner {
 public:
  /// @throws InputError for options that parse_learner_options() refuses, for a `worker` that is
  /// not below the options' number of workers, and for data that cannot be read or are too few
  Learner(const LearnerOptions& options, std::size_t worker);
  ~Learner();
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  /// Returns the parameters in the order of the forward pass, as in the catalogue of models.
  const std::vector<LearnerParameter>& parameters() const;
  /// Returns a description of the training data.
  std::string data() const;
  /// Returns the number of steps in which this worker passes over its slice of the data once.
  std::uint64_t steps_an_epoch() const;

  /// Runs the forward and backward pass over the mini-batch of a step, which depends only on seed,
  /// worker and step. @return the mini-batch's mean loss
  double compute(std::uint64_t step, LearnerTimes* times = nullptr);

  /// Returns the gradient of the last compute(), clipped by the options' local_clip, contiguous,
  /// valid until the next compute(). The index is that of parameters().
  std::span<const float> gradient(std::size_t parameter) const;

  /// Returns the second moments of the last compute()'s mini-batch B, for options with `squares`:
  /// q_i = sum over the samples z of (grad_i f_z / |B|)^2 (Tsuzuku et al. 2018, sec. 4). With
  /// `squares`, each compute() runs one more backward pass for every sample. The reported times do
  /// not include these passes.
  std::span<const float> squares(std::size_t parameter) const;

  /// Updates the parameters by the mean gradient, one span a parameter: clips it to the options'
  /// norm, applies weight decay, and runs the optimiser at the schedule's rate of that step.
  /// @throws InputError for sizes other than the parameters'
  void apply(std::span<const std::span<const float>> mean, std::uint64_t step);

  /// Sets the optimiser's momentum (of adam: the first moment) to 0 at the elements of a parameter
  /// where `sent` is not 0 (momentum factor masking: DGC section 3.3; SBC).
  void mask_momentum(std::size_t parameter, std::span<const float> sent);

  /// Sets the factor on the schedule's rate in later apply() calls (RateSchedule::plateau). The
  /// initial factor is 1; state() does not contain it.
  void set_rate_factor(double factor);

  /// Returns a parameter's current values, for workers with local steps between exchanges.
  std::span<const float> values(std::size_t parameter) const;
  /// Sets all parameters and keeps the optimiser's state. The span of values() leaves a parameter
  /// as it is. @throws InputError as apply()
  void assign(std::span<const std::span<const float>> values);

  /// Evaluates the model on all held-out data (or the first of them: LearnerOptions::held_out), in
  /// evaluation mode. Batch normalisation uses the running means of this worker's mini-batches,
  /// which differ between workers. A run therefore uses one worker's evaluation, as 3LC does (sec.
  /// 5.3).
  Evaluation evaluate();

  /// Returns the best evaluation that a model can reach without looking at its input. Such a model
  /// uses only the frequency of each class or symbol in the data of evaluate(). For texts it is a
  /// unigram model.
  Evaluation chance() const;

  /// Returns a digest of all parameters' bits. State that differs between workers (running means,
  /// carried state) is left out.
  std::uint64_t digest() const;

  /// Returns everything that the next steps depend on: parameters, batch normalisation's running
  /// means, the optimiser's buffers and count, a recurrent model's carried state.
  std::vector<std::byte> state() const;
  /// Restores a state. A learner of the same options and worker continues with the same bits.
  /// @throws InputError for bytes that are damaged or of another worker or other options
  void restore(std::span<const std::byte> state);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace thinpipe
