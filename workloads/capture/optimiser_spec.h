// How a training run updates its parameters: the optimiser and its figures, and how the learning
// rate changes over the run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {

/// An optimiser. With g the mean gradient, w a parameter, lr the learning rate times the schedule's
/// factor:
///
///   sgd:lr=0.1,momentum=0,nesterov=0,weight_decay=0
///     d = g + weight_decay w;  v <- momentum v + d (v = 0 at first);
///     w <- w - lr v, with nesterov=1 w <- w - lr (d + momentum v)
///   adam:lr=0.001,beta1=0.9,beta2=0.999,epsilon=1e-8,weight_decay=0  (Kingma and Ba 2015, alg. 1)
///     d as above;  m <- beta1 m + (1 - beta1) d;  u <- beta2 u + (1 - beta2) d^2;
///     w <- w - lr (m / (1 - beta1^t)) / (sqrt(u / (1 - beta2^t)) + epsilon), t = 1, 2, ...
///   adamw: as adam, but the decay is apart from the gradient (Loshchilov and Hutter 2019, alg. 2):
///     d = g;  w <- w - lr weight_decay w before the update
///
/// The rules and their defaults are PyTorch's; `lr` has no default but for adam and adamw.
struct OptimiserSpec {
  enum class Rule { kSgd, kAdam, kAdamW };
  Rule rule = Rule::kSgd;
  double learning_rate = 0;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;

  /// @throws InputError naming what was found and what was expected, also for nesterov without
  /// momentum.
  static OptimiserSpec parse(std::string_view text);
  /// Every figure of the rule; parses to the same.
  std::string to_string() const;
};

/// Rates that fall when the held-out loss no longer does (Mikolov et al. 2010 and the LSTMs since).
/// They are no function of the step alone: whoever evaluates tells all workers the factor.
struct Plateau {
  std::uint64_t after = 2;  ///< evaluations without a new best
  double factor = 0.25;
  double least = 0.001;  ///< that the factors come to together

  /// Returns the factor on the rate after evaluations with these losses, besides the schedule's
  /// own. Each further fall takes `after` more evaluations without a new best.
  double factor_after(std::span<const double> losses) const;
};

/// The factor on the optimiser's rate at a step:
///
///   constant                        1
///   step:at=0.5/0.75,factor=0.1     times `factor` from each of these moments on (He et al. 2016,
///                                   sec. 4.2: at 32,000 and 48,000 of 64,000 steps)
///   decay:every=0.1,factor=0.8,from=0   times `factor` after every so long from `from` on (the PTB
///                                   configuration "medium": 0.8 an epoch after six; Tsuzuku et al.
///                                   2018: halved every 25 of 300 epochs)
///   plateau:after=2,factor=0.25,least=0.001   times `factor`, and never less than `least`, when
///                                   the held-out loss was no better than the best so far in
///                                   `after` evaluations one after the other; see Plateau
///   cosine:end=0                    from 1 to `end` along half a cosine (Loshchilov and Hutter
///                                   2017, without restarts; 3LC: end=0.01)
///
/// Each takes `warmup=W,start=S` too: before, the rate grows in a straight line from S (0 by
/// default) to what the schedule has at its end (Goyal et al. 2017, sec. 2.2). Moments and lengths
/// are shares of the run where they are below 1, else steps.
class RateSchedule {
 public:
  /// @param steps  of the whole run; at least 1
  /// @throws InputError naming what was found and what was expected
  static RateSchedule parse(std::string_view text, std::uint64_t steps);

  /// @param step  counted from 0; from `steps` on the last one's factor holds
  double factor(std::uint64_t step) const;
  /// That factor() leaves out.
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
