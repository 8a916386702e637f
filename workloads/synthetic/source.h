// Makes the gradients of a synthetic trace, tensor by tensor, when they are asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "compressors/kernels/buffer.h"
#include "workloads/synthetic/correlation.h"
#include "workloads/synthetic/draw.h"
#include "workloads/synthetic/latents.h"
#include "workloads/trace/generated.h"

namespace thinpipe {

/// A distribution with the tables that draw it; tensors may share one.
struct DrawnDistribution {
  /// @param rho_step, rho_worker  correlations of the values
  DrawnDistribution(const ValueDistribution& distribution, double rho_step, double rho_worker);

  std::unique_ptr<const QuantileTable> quantiles;  ///< where values are independent; else
  std::unique_ptr<const CopulaTable> copula;
  double normal_rho_step = 0, normal_rho_worker = 0;  ///< of the normal numbers behind the values
};

class SyntheticSource final : public GradientSource {
 public:
  struct Tensor {
    std::string name;
    std::size_t elements = 0;
    std::shared_ptr<const DrawnDistribution> distribution;
    float scale = 1;
  };

  /// @param times  by rank, then step; both come again from the first one
  SyntheticSource(std::vector<Tensor> tensors, std::size_t ranks, std::size_t steps,
                  std::uint64_t seed, std::vector<std::vector<TraceStepTimes>> times);

  std::span<const float> gradient(std::size_t rank, std::size_t step, std::size_t tensor) override;
  const TraceStepTimes& times(std::size_t rank, std::size_t step) const override;
  void release(std::size_t rank) override;

 private:
  /// One tensor of one rank: the values of a step and, where they depend on the step before, the
  /// latents that they were made of.
  struct Slot {
    std::mutex mutex;
    Buffer<float> values;
    Buffer<std::int16_t> latents;
    std::size_t step = 0;
    bool filled = false;
  };

  void fill(const Tensor& tensor, std::size_t rank, std::size_t step, Slot& slot) const;

  std::vector<Tensor> tensors_;
  std::size_t ranks_, steps_;
  std::uint64_t seed_;
  std::vector<std::vector<TraceStepTimes>> times_;
  std::mutex mutex_;  ///< of slots_
  std::vector<std::vector<std::unique_ptr<Slot>>>
      slots_;  ///< by rank, tensor; none until asked for
};

}  // namespace thinpipe
