// A trace whose gradients no file holds: they are made when they are asked for.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "workloads/trace/trace.h"

namespace thinpipe {

class GradientSource {
 public:
  virtual ~GradientSource() = default;

  /// Finite values, the same whenever they are asked for. The span holds until another step of the
  /// same rank and tensor is asked for, or the rank is released. Safe to call from several threads
  /// for different ranks or tensors.
  virtual std::span<const float> gradient(std::size_t rank, std::size_t step,
                                          std::size_t tensor) = 0;
  /// Second moments likewise, or empty where there are none.
  virtual std::span<const float> squares(std::size_t rank, std::size_t step, std::size_t tensor);
  virtual const TraceStepTimes& times(std::size_t rank, std::size_t step) const = 0;
  /// Gives back the memory of a rank's gradients.
  virtual void release(std::size_t rank) = 0;
};

struct GeneratedTrace {
  std::string text;      ///< stands for the trace where a folder's path could
  std::string identity;  ///< names what it holds in records
  std::string model;
  std::vector<TraceTensor> tensors;
  std::size_t ranks = 0;
  std::size_t steps = 0;
  std::size_t bytes_per_rank = 0;  ///< that the source keeps of every rank asked for
  nlohmann::json metadata;
  std::unique_ptr<GradientSource> source;
};

}  // namespace thinpipe
