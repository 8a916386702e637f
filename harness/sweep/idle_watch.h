// How much of the machines' processors the steps left unused.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "base/machine_load.h"

namespace thinpipe {

/// Share of the machines' time that their processors idled during steps: of the busiest machine
/// where ranks have machines of their own, else of this one.
class IdleWatch {
 public:
  explicit IdleWatch(bool own_machines) : own_machines_(own_machines) {}
  void before_step() { before_ = processor_time(); }
  /// @param answers  `stepped` by rank
  void after_step(const std::vector<nlohmann::json>& answers);
  /// Nothing where the kernel's ticks are too coarse for such short steps.
  std::optional<double> idle() const;

 private:
  bool own_machines_;
  ProcessorTime before_;
  std::vector<ProcessorTime> spent_;
};

}  // namespace thinpipe
