// Updates a model's parameters by a mean gradient.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "workloads/capture/optimiser_spec.h"

namespace thinpipe {

/// The rules that OptimiserSpec writes down, in libtorch's arithmetic and its order: bit for bit
/// what torch::optim does.
class ParameterOptimiser {
 public:
  /// @param parameters  written by step(); contiguous float
  ParameterOptimiser(const OptimiserSpec& spec, std::vector<at::Tensor> parameters);

  /// One update. @param gradients  one a parameter, of its shape; overwritten
  /// @param rate_factor  what the learning rate is multiplied by
  void step(const std::vector<at::Tensor>& gradients, double rate_factor = 1);

  /// What the next updates depend on beside the parameters: buffers, each one tensor a parameter,
  /// under their names ("momentum"), and the number of updates so far. Both may be written.
  std::vector<std::pair<std::string, std::vector<at::Tensor>>>& buffers() { return buffers_; }
  std::int64_t updates() const { return updates_; }
  void set_updates(std::int64_t updates) { updates_ = updates; }

 private:
  void sgd(std::size_t index, at::Tensor gradient, double rate);
  void adam(std::size_t index, at::Tensor gradient, double rate);

  OptimiserSpec spec_;
  std::vector<at::Tensor> parameters_;
  std::vector<std::pair<std::string, std::vector<at::Tensor>>> buffers_;
  std::int64_t updates_ = 0;
};

/// Scales the gradients so that their norm, all taken together, is at most `most` (Pascanu et al.
/// 2013). Norms that are not finite are left alone.
void clip_norm(std::vector<at::Tensor>& gradients, double most);

}  // namespace thinpipe
