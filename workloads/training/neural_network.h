// A model, the gradients of its mini-batches, and when each was ready.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/trace/trace.h"
#include "workloads/training/batch.h"
#include "workloads/training/model.h"

namespace thinpipe {

/// Lets libtorch and the BLAS below it use one thread, as one emulated worker has.
void use_one_thread();

class NeuralNetwork {
 public:
  /// Seeds libtorch's generator and draws the weights: equal names, widths and seeds give equal
  /// bits.
  NeuralNetwork(std::string_view model, double width, std::uint64_t seed);
  NeuralNetwork(const NeuralNetwork&) = delete;  // the hooks hold `this`
  NeuralNetwork& operator=(const NeuralNetwork&) = delete;

  TrainableModel& model() { return *model_; }
  const std::vector<std::string>& names() const { return names_; }
  /// One a name, contiguous float; writing into them (without autograd) trains the model.
  const std::vector<torch::Tensor>& parameters() const { return parameters_; }

  /// Forward and backward pass.
  /// @param gradients  one a parameter, contiguous float, of the mini-batch's mean loss
  TraceStepTimes compute(const Batch& batch, Carry& carry, std::vector<torch::Tensor>& gradients);

  /// q_i = sum over the samples z of (grad_i f_z / |B|)^2, one tensor a parameter, at the present
  /// parameters (Tsuzuku et al. 2018, sec. 4); a backward pass for every sample. For models whose
  /// samples are independent.
  std::vector<torch::Tensor> squares(const Batch& batch);

 private:
  std::shared_ptr<TrainableModel> model_;
  std::vector<std::string> names_;
  std::vector<torch::Tensor> parameters_;
  // Written by the hooks while a backward pass runs.
  std::chrono::steady_clock::time_point backward_start_;
  std::vector<double> ready_;
};

}  // namespace thinpipe
