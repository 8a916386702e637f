#include "workloads/capture/optimiser_spec.h"

#include <fmt/format.h>

#include "base/error.h"
#include "workloads/capture/spec_values.h"

namespace thinpipe {

namespace {

// Beyond it every update overflows; below, none shows.
constexpr double kMostRate = 1e30;
constexpr double kLeastRate = 1e-30;
constexpr double kMostBeta = 0.9999999;

}  // namespace

OptimiserSpec OptimiserSpec::parse(std::string_view text) {
  const SpecValues values(text, "optimiser");
  values.expect_name({"sgd", "adam", "adamw"});
  OptimiserSpec spec;
  spec.weight_decay = values.number("weight_decay", 0, 0, kMostRate);
  if (values.name() == "sgd") {
    values.expect_keys({"lr", "momentum", "nesterov", "weight_decay"});
    if (!values.has("lr")) {
      throw InputError("optimiser 'sgd': lr is missing; expected sgd:lr=RATE");
    }
    spec.momentum = values.number("momentum", 0, 0, kMostBeta);
    spec.nesterov = values.flag("nesterov", false);
    if (spec.nesterov && spec.momentum == 0) {
      throw InputError("optimiser 'sgd': nesterov=1 without momentum; expected momentum=0.9 or so");
    }
  } else {
    values.expect_keys({"lr", "beta1", "beta2", "epsilon", "weight_decay"});
    spec.rule = values.name() == "adam" ? Rule::kAdam : Rule::kAdamW;
    spec.beta1 = values.number("beta1", spec.beta1, 0, kMostBeta);
    spec.beta2 = values.number("beta2", spec.beta2, 0, kMostBeta);
    spec.epsilon = values.number("epsilon", spec.epsilon, kLeastRate, 1);
  }
  spec.learning_rate = values.number("lr", 1e-3, kLeastRate, kMostRate);
  return spec;
}

std::string OptimiserSpec::to_string() const {
  if (rule == Rule::kSgd) {
    return fmt::format("sgd:lr={},momentum={},nesterov={},weight_decay={}", learning_rate, momentum,
                       nesterov ? 1 : 0, weight_decay);
  }
  return fmt::format("{}:beta1={},beta2={},epsilon={},lr={},weight_decay={}",
                     rule == Rule::kAdam ? "adam" : "adamw", beta1, beta2, epsilon, learning_rate,
                     weight_decay);
}

}  // namespace thinpipe
