#include "workloads/exchange/outer_optimiser.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace thinpipe {

OuterOptimiser::OuterOptimiser(std::size_t elements, const OuterOptions& options)
    : options_(options), velocity_(elements, 0.0F) {}

void OuterOptimiser::apply(std::span<float> aggregate) {
  if (aggregate.size() != velocity_.size())
    throw InputError("outer optimiser: " + std::to_string(aggregate.size()) +
                     " elements; expected " + std::to_string(velocity_.size()));
  const float momentum = options_.momentum, rate = options_.learning_rate;
  float* const x = aggregate.data();
  float* const v = velocity_.data();
  for (std::size_t i = 0; i < aggregate.size(); ++i) {
    v[i] = momentum * v[i] + x[i];
    x[i] = rate * (x[i] + momentum * v[i]);
  }
}

void OuterOptimiser::reset() { std::fill(velocity_.begin(), velocity_.end(), 0.0F); }

}  // namespace thinpipe
