// The model of a parameter server, with its optimiser. This header hides libtorch from its users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "workloads/capture/options.h"

namespace thinpipe {

/// The model of a parameter server, cut into parts, each with its own optimiser. All rules of
/// OptimiserSpec treat every element independently of the other elements. An update of the parts
/// therefore has the same result as an update of a Learner's parameters: bit for bit where a part
/// is a whole parameter, and but for rounding where a parameter is cut.
class ServerModel {
 public:
  /// Elements of the model, whose parameters are one array.
  struct Part {
    std::size_t begin = 0, elements = 0;
  };

  /// Starts from the parameters of a Learner of these options.
  /// @param order  order of the parameters in the array, as indices of Learner::parameters()
  /// @param options  must not limit the gradient's norm, because a part does not have the whole
  /// gradient
  ServerModel(const LearnerOptions& options, std::span<const std::size_t> order,
              std::span<const Part> parts);
  ~ServerModel();
  ServerModel(const ServerModel&) = delete;
  ServerModel& operator=(const ServerModel&) = delete;

  /// Sets the factor on the schedule's rate (Learner::set_rate_factor).
  void set_rate_factor(double factor);

  /// Updates a part by its mean gradient, at the schedule's rate of the step, and writes the
  /// difference between new and old values.
  void update(std::size_t part, std::span<const float> mean, std::uint64_t step,
              std::span<float> change);

  /// Returns a part's current values.
  std::span<const float> values(std::size_t part) const;

  /// Returns everything that later updates depend on; assigning restores it.
  struct State {
    std::vector<std::span<float>> arrays;  ///< values and the optimisers' buffers, of all parts
    std::vector<std::int64_t> updates;     ///< by part
  };
  State state();
  void set_updates(std::span<const std::int64_t> updates);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace thinpipe
