// How a training run updates its parameters: a name and its figures.
#pragma once

#include <string>
#include <string_view>

namespace thinpipe {

/// With g the mean gradient, w a parameter, lr the learning rate times the schedule's factor:
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

}  // namespace thinpipe
