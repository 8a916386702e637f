// One point of the sweep, measured: from setting the links to a record.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/launch/launch.h"
#include "harness/launch/machines.h"
#include "harness/sweep/options.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Measures points on machines, whose links it calibrates when it first meets them.
class Meter {
 public:
  Meter(Machines& machines, const Trace& trace, const SweepOptions& options)
      : machines_(machines), trace_(trace), options_(options) {}

  /// A record of the point with status ok, invalid or failed. `stepped` is told of every step.
  /// A refusal of the workers (bad gradient, say) is a failed point.
  /// @throws RunError when the launch is broken and must be made anew.
  nlohmann::json measure(const SweepPoint& point, Launch& launch,
                         const std::function<void()>& stepped);

  /// A failed point's record.
  nlohmann::json failure(const SweepPoint& point, const std::string& reason) const;

 private:
  nlohmann::json describe(const SweepPoint& point) const;
  std::optional<double> goodput_ratio(const LinkSpec& link, Launch& launch);

  Machines& machines_;
  const Trace& trace_;
  const SweepOptions& options_;
  std::map<std::string, std::optional<double>> goodput_ratios_;  ///< by link, measured once a sweep
};

}  // namespace thinpipe
