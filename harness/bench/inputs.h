// The gradients that bench compresses, and the arrays for decoded values.
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

/// Returns "laplace", "normal", "normal_product" (product of two normals) and "gpareto"
/// (generalised Pareto of shape 0.4, either sign): models of gradients with scale 1, from light
/// tails to heavy ones.
const std::vector<std::string>& distribution_names();

/// Draws values. @throws InputError for an unknown name.
void draw(const std::string& distribution, std::uint64_t seed, std::span<float> out);

/// Returns the bytes of the largest cache of this CPU; 32 MiB where the system does not report it.
std::size_t last_level_cache();

/// Copies the values of input `step`: those of input 0, rotated. Steps of the golden section spread
/// the begins evenly for any number of inputs.
void rotate_into(std::span<const float> values, std::size_t step, std::span<float> out);

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
  /// Makes synthetic gradients. Every input has the same values, rotated by a different number of
  /// elements. A method without memory therefore gives the same figures in every step.
  /// @param squares  also makes second moments, as of a batch of 32 samples; the variance of the
  /// batch's mean, averaged over elements, equals the mean square of the gradient
  Inputs(const BenchOptions& options, std::size_t elements, bool squares);

  /// Copies one tensor of a trace. Each input is the tensor's gradient in one step of one rank:
  /// first all steps of rank 0, then those of rank 1, and so on.
  /// @throws InputError when the trace lacks requested second moments, or has a value that is not
  /// finite.
  Inputs(const BenchOptions& options, const class Trace& trace, std::size_t tensor, bool squares);

  /// Returns the highest rate of drawing, in B/s, where a trace's gradients are drawn; else 0.
  double drawn_rate() const { return drawn_rate_; }

  const TensorInfo& tensor() const { return tensor_; }
  std::size_t elements() const { return tensor_.elements; }
  Residency residency() const { return residency_; }
  /// Returns the number of inputs until the first one is used again.
  std::size_t rotation() const { return residency_ == Residency::kCache ? 1 : gradients_.count(); }

  /// Returns the input of a call; `step` counts calls.
  std::span<const float> gradient(std::size_t step) const { return gradients_[at(step)]; }
  std::span<const float> squares(std::size_t step) const;
  std::span<float> output(std::size_t step) const { return outputs_[at(step)]; }
  /// Returns one of the arrays of output(), at least two, whose address does not change with the
  /// step: for untimed work and the roofline.
  std::span<float> spare_output(std::size_t i) const { return outputs_[i]; }
  /// Returns a second array next to gradient(step), for the roofline's triad.
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
