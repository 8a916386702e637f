// The gradients that a bench compresses, and the arrays that it decodes into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/kernels/buffer.h"
#include "harness/bench/options.h"

namespace thinpipe {

/// "laplace", "normal", "normal_product" (product of two normals), "gpareto" (generalised Pareto of
/// shape 0.4, either sign): what gradients are likened to, from light tails to heavy ones. Scale 1.
const std::vector<std::string>& distribution_names();

/// @throws InputError for an unknown name.
void draw(const std::string& distribution, std::uint64_t seed, std::span<float> out);

/// Bytes of the largest cache of this CPU; 32 MiB where the system does not say.
std::size_t last_level_cache();

/// Same-sized arrays, aligned to cache lines, one after the other.
class Arrays {
 public:
  Arrays() = default;
  Arrays(std::size_t count, std::size_t elements);
  std::size_t count() const { return count_; }
  std::span<float> operator[](std::size_t i) const {
    return {first_ + (i % count_) * stride_, elements_};
  }

 private:
  Buffer<float> memory_;
  float* first_ = nullptr;
  std::size_t count_ = 0, elements_ = 0, stride_ = 0;
};

/// Inputs of one tensor. Indices wrap around.
class Inputs {
 public:
  /// Synthetic gradients: the same values in every input, each time elsewhere, so that every step
  /// of a method without memory gives the same figures.
  /// @param squares  also second moments, as of a batch of 32 whose samples scatter so much that
  ///                 the mean variance of the batch's mean is the mean square of the gradient
  Inputs(const BenchOptions& options, std::size_t elements, bool squares);

  /// One tensor of a trace, its steps and ranks in turn.
  /// @throws InputError when the trace lacks it, or squares, or holds a value that is not finite.
  Inputs(const BenchOptions& options, const class Trace& trace, std::size_t tensor, bool squares);

  /// Rate of the fastest drawing in bytes a second, where a trace's gradients are drawn; else 0.
  double drawn_rate() const { return drawn_rate_; }

  const TensorInfo& tensor() const { return tensor_; }
  std::size_t elements() const { return tensor_.elements; }
  Residency residency() const { return residency_; }
  /// How many inputs a bench goes through before the first one comes again.
  std::size_t rotation() const { return residency_ == Residency::kCache ? 1 : gradients_.count(); }

  /// `step` counts calls; which array that is, is the residency's business.
  std::span<const float> gradient(std::size_t step) const { return gradients_[at(step)]; }
  std::span<const float> squares(std::size_t step) const;
  std::span<float> output(std::size_t step) const { return outputs_[at(step)]; }
  /// One of the arrays of output(), of which there are two at least: for what is not timed.
  std::span<float> spare_output(std::size_t i) const { return outputs_[i]; }
  /// A second array beside gradient(step), for the roofline's triad.
  std::span<const float> neighbour(std::size_t step) const { return gradients_[at(step) + 1]; }

 private:
  void allocate(bool squares);
  std::size_t at(std::size_t step) const { return residency_ == Residency::kCache ? 0 : step; }

  double drawn_rate_ = 0;
  TensorInfo tensor_;
  Residency residency_;
  Arrays gradients_, squares_, outputs_;
};

}  // namespace thinpipe
