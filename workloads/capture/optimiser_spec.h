// The optimiser of a training run and its parameters, and the learning-rate schedule.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {

/// An optimiser and its parameters. In the formulas below, g is the mean gradient, w is a parameter
/// of the model, and lr is the learning rate times the schedule's factor:
///
///   sgd:lr=0.1,momentum=0,nesterov=0,weight_decay=0
///     d = g + weight_decay w;  v <- momentum v + d (v = 0 at first);
///     w <- w - lr v, with nesterov=1 w <- w - lr (d + momentum v)
///   adam:lr=0.001,beta1=0.9,beta2=0.999,epsilon=1e-8,weight_decay=0  (Kingma and Ba 2015, alg. 1)
///     d as above;  m <- beta1 m + (1 - beta1) d;  u <- beta2 u + (1 - beta2) d^2;
///     w <- w - lr (m / (1 - beta1^t)) / (sqrt(u / (1 - beta2^t)) + epsilon), t = 1, 2, ...
///   adamw: as adam, with decay decoupled from the gradient (Loshchilov and Hutter 2019, alg. 2):
///     d = g;  w <- w - lr weight_decay w before the update
///
///   signum:lr=0.001,momentum=0,weight_decay=0  (Bernstein et al. 2018, alg. 2; DeMo's update)
///     v <- momentum v + (1 - momentum) g;  w <- w - lr (sign(v) + weight_decay w); sign(0) = 0
///
/// The rules and defaults of sgd, adam and adamw are PyTorch's. Only adam and adamw have a default
/// `lr`.
struct OptimiserSpec {
  enum class Rule { kSgd, kAdam, kAdamW, kSignum };
  Rule rule = Rule::kSgd;
  double learning_rate = 0;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;

  /// Parses a text.
  /// @throws InputError naming what was found and what was expected, also for nesterov without
  /// momentum.
  static OptimiserSpec parse(std::string_view text);
  /// Returns the text with every parameter of the rule. It parses to an equal spec.
  std::string to_string() const;
};

/// Lowers the learning rate when the held-out loss stops falling (Mikolov et al. 2010 and LSTMs
/// since). The rate does not follow from the step alone, so the worker that evaluates the loss
/// sends the factor to all workers.
struct Plateau {
  std::uint64_t after = 2;  ///< evaluations without a new best
  double factor = 0.25;
  double least = 0.001;  ///< lower bound of the product of all factors

  /// Returns the product of this rule's factors after evaluations with these losses, without the
  /// factor of the learning-rate schedule. The rule applies `factor` after `after` evaluations in a
  /// row without a new best loss, and then counts from zero.
  double factor_after(std::span<const double> losses) const;
};

/// The factor on the optimiser's rate at a step:
///
///   constant                        1
///   step:at=0.5/0.75,factor=0.1     times `factor` from each of these steps on (He et al. 2016,
///                                   sec. 4.2: at 32,000 and 48,000 of 64,000 steps)
///   decay:every=0.1,factor=0.5,from=0   times `factor` after every interval of length `every` from
///                                   `from` on (the PTB configuration "medium": 0.8 an epoch after
///                                   six; Tsuzuku et al. 2018: halved every 25 of 300 epochs)
///   plateau:after=2,factor=0.25,least=0.001   times `factor` (the product of all factors is at
///                                   least `least`), when `after` consecutive evaluations were no
///                                   better than the best held-out loss so far; see Plateau
///   cosine:end=0                    from 1 to `end` along half a cosine (Loshchilov and Hutter
///                                   2017, without restarts; 3LC: end=0.01)
///
/// Every schedule also takes `warmup=W,start=S`: during the first W the rate grows linearly from S
/// (0 by default) to the schedule's factor at W (Goyal et al. 2017, sec. 2.2). Positions and
/// lengths below 1 are fractions of the run; others are steps.
class RateSchedule {
 public:
  /// @param steps  steps of the whole run; at least 1
  /// @throws InputError naming what was found and what was expected
  static RateSchedule parse(std::string_view text, std::uint64_t steps);

  /// Returns the factor at a step, counted from 0. Steps from `steps` on have the last step's
  /// factor.
  double factor(std::uint64_t step) const;
  /// Returns the plateau rule, which factor() does not include.
  const std::optional<Plateau>& plateau() const { return plateau_; }

 private:
  enum class Form { kConstant, kStep, kDecay, kCosine };
  double without_warmup(double step) const;

  Form form_ = Form::kConstant;
  double steps_ = 1;
  std::vector<double> at_;  ///< steps
  double factor_ = 1;
  double every_ = 1;  ///< steps
  double from_ = 0;   ///< steps
  double end_ = 0;
  double warmup_ = 0;  ///< steps
  double start_ = 0;
  std::optional<Plateau> plateau_;
};

}  // namespace thinpipe
