// The second optimiser of jobs whose workers take several local steps before they exchange.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace thinpipe {

struct OuterOptions {
  float momentum = 0.9F;  ///< of DiLoCo, as is the learning rate
  float learning_rate = 0.7F;
  bool operator==(const OuterOptions&) const = default;

  /// Parses `diloco`, or `momentum=0.9,rate=0.7` with either left out. @throws InputError
  static OuterOptions parse(const std::string& text);
  std::string to_string() const;
};

/// Consecutive elements of an array.
struct ElementRange {
  std::size_t begin = 0, end = 0;
};

/// Applies Nesterov's momentum to the workers' local steps (Douillard et al., DiLoCo, arXiv
/// 2311.08105, alg. 1 line 12 and section 3; as PyTorch's SGD with nesterov=True): v <- m v + x,
/// update = rate (x + m v), where v is the velocity and m the momentum. x is the outer gradient:
/// the mean over workers of the sum of their local updates since the last exchange. Every worker
/// applies the optimiser to the same aggregate, so all workers' models stay equal without another
/// exchange. The update is subtracted from the parameters.
class OuterOptimiser {
 public:
  OuterOptimiser(std::size_t elements, const OuterOptions& options)
      : options_(options), velocity_(elements, 0.0F) {}

  /// Computes the update from the aggregate, and the new velocity. Reads two arrays (aggregate,
  /// velocity) and writes two (velocity, update).
  /// @param turn  the elements that were exchanged. The velocity of all others stays as it is, and
  /// their update is 0 (Streaming DiLoCo: an optimiser for each fragment)
  /// @throws InputError for arrays of another size
  void apply(std::span<const float> aggregate, std::span<float> update, ElementRange turn);
  /// Does so for all elements.
  void apply(std::span<const float> aggregate, std::span<float> update) {
    apply(aggregate, update, {0, velocity_.size()});
  }

  /// Returns v, `elements` floats; zeros at first.
  std::span<const float> velocity() const { return velocity_; }
  std::span<float> velocity() { return velocity_; }
  void reset() { std::fill(velocity_.begin(), velocity_.end(), 0.0F); }

 private:
  OuterOptions options_;
  std::vector<float> velocity_;
};

}  // namespace thinpipe
