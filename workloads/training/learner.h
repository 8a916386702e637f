// One worker of a training run: its model, its share of the data, its optimiser. No libtorch in
// sight: it stays behind this header.
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

/// Seconds, as a trace has them, and the loss; `ready` is in the order of the parameters.
using LearnerTimes = TraceStepTimes;

/// Results of the model on the data that no worker learns from.
struct Evaluation {
  double loss = 0;      ///< mean cross-entropy, natural logarithm
  double accuracy = 0;  ///< share of images, or of places of the text, whose class is scored first
  double perplexity = 0;    ///< exp(loss)
  std::size_t samples = 0;  ///< images, or places of the text
};

/// The worker's loop is compute(), gradient() of every parameter, an exchange, apply() of the mean
/// that came of it. Workers that start from equal options and apply equal means have equal
/// parameters, bit for bit, at every step (digest() shows it). All is deterministic by the options'
/// seed on one machine; libtorch is set to one thread, for the whole process.
///
/// A loss that is not finite is no error here: compute() returns it.
class Learner {
 public:
  /// @throws InputError for options that parse_learner_options() would refuse, for a worker that is
  /// not below their workers, for data that cannot be read or are too few
  Learner(const LearnerOptions& options, std::size_t worker);
  ~Learner();
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  /// In the order of the forward pass, as in the catalogue of models.
  const std::vector<LearnerParameter>& parameters() const;
  /// The training data, in words.
  std::string data() const;
  /// In which this worker goes through its share of the data once.
  std::uint64_t steps_an_epoch() const;

  /// Forward and backward pass over the mini-batch of that step, which depends on seed, worker and
  /// step alone. @return the mini-batch's mean loss
  double compute(std::uint64_t step, LearnerTimes* times = nullptr);

  /// Gradient of the last compute(), contiguous, valid until the next one. Index as in
  /// parameters().
  std::span<const float> gradient(std::size_t parameter) const;

  /// q_i = sum over the samples z of the last compute()'s mini-batch of (grad_i f_z / |B|)^2
  /// (Tsuzuku et al. 2018, sec. 4), for options with `squares`. Each compute() then takes a
  /// backward pass for every sample more, outside of its times.
  std::span<const float> squares(std::size_t parameter) const;

  /// One update by the mean gradient, one span a parameter: clipped to the options' norm, decayed,
  /// through the optimiser at the schedule's rate of that step.
  /// @throws InputError for other sizes than the parameters'
  void apply(std::span<const std::span<const float>> mean, std::uint64_t step);

  /// Sets the factor on the schedule's rate in apply() from now on (RateSchedule::plateau); 1 at
  /// first, and no part of state().
  void set_rate_factor(double factor);

  /// The rate that apply() takes at a step.
  double learning_rate(std::uint64_t step) const;

  /// A parameter's present values; for workers that take steps of their own between exchanges.
  std::span<const float> values(std::size_t parameter) const;
  /// Sets all parameters; what the optimiser carries stays. @throws InputError as apply()
  void assign(std::span<const std::span<const float>> values);

  /// Evaluates the model on all data held out (or the first of it: LearnerOptions::held_out), in
  /// evaluation mode. Batch normalisation uses the running means of this worker's own mini-batches,
  /// in which workers differ: one worker's word counts (3LC, sec. 5.3, makes one responsible too).
  Evaluation evaluate();

  /// Digest of all parameters' bits. State that differs between workers (running means, carried
  /// state) is left out.
  std::uint64_t digest() const;

  /// Everything that the next steps depend on: parameters, batch normalisation's running means,
  /// the optimiser's buffers and count, a recurrent model's carried state.
  std::vector<std::byte> state() const;
  /// A learner of the same options and worker goes on from there bit for bit.
  /// @throws InputError for bytes that are damaged or of another worker or other options
  void restore(std::span<const std::byte> state);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace thinpipe
