// The second optimiser of jobs that take several steps by themselves before they exchange.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace thinpipe {

struct OuterOptions {
  float momentum = 0.9F;  ///< of DiLoCo, as is the learning rate
  float learning_rate = 0.7F;
  bool operator==(const OuterOptions&) const = default;

  /// `diloco`, or `momentum=0.9,rate=0.7` with either left out. @throws InputError
  static OuterOptions parse(const std::string& text);
  std::string to_string() const;
};

/// Nesterov's momentum on what all workers' local steps came to (Douillard et al., DiLoCo, arXiv
/// 2311.08105, alg. 1 line 12 and section 3; as PyTorch's SGD with nesterov=True):
///   v <- m v + x,  update = rate (x + m v)
/// x being the outer gradient: the mean over workers of the sum of their local updates since the
/// last exchange. Every worker applies it to the same aggregate, so all stay the same without
/// another exchange; the update is what parameters then change by (with a minus sign).
class OuterOptimiser {
 public:
  OuterOptimiser(std::size_t elements, const OuterOptions& options);

  /// Makes the update of the aggregate: two passes read, two written.
  /// @throws InputError for another size.
  void apply(std::span<const float> aggregate, std::span<float> update);

  /// v, `elements` floats; zeros at first.
  std::span<const float> velocity() const { return velocity_; }
  std::span<float> velocity() { return velocity_; }
  void reset();

 private:
  OuterOptions options_;
  std::vector<float> velocity_;
};

}  // namespace thinpipe
