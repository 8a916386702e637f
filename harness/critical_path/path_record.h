// The critical paths of a point's steps and the use of its links, for its record.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "harness/critical_path/critical_path.h"
#include "harness/launch/machines.h"
#include "harness/worker/step_answer.h"
#include "netem/topology/topology.h"

namespace thinpipe {

/// A link of the network, and the fraction of time for which its busier direction was sending, by
/// its counted bytes and its rate.
struct LinkUse {
  std::string name;  ///< "host3", "rack0-spine"
  double busy = 0;
};

/// Returns the mean rate of a link in one direction, in bit/s; 0 if it is not throttled.
using RateOf = std::function<double(int link, bool up)>;

/// Returns the use of every throttled link, busiest first.
/// @param seconds  of exchanges during which `count` was counted
std::vector<LinkUse> link_uses(const WireCount& count, const Topology& topology, const RateOf& rate,
                               double seconds);

/// Returns the rates to which links were set.
RateOf rates_as_set(const Topology& topology);

/// Returns the workers' timelines of a step, for critical_path().
/// @param one_clock  all ranks share a clock
std::vector<StepTimeline> timelines_of(const StepAnswers& step, bool one_clock);

/// Returns the exchanges that servers reported for a step; empty where ranks share no clock.
std::vector<ServedExchange> served_by(const StepAnswers& step, bool one_clock);

/// Returns the s of exchanges in these steps, on the rank of each step that waited least.
double exchange_seconds(std::span<const std::vector<StepTimeline>> steps);

/// Returns the `critical_path` of docs/records.md.
/// @param paths       of every measured step
/// @param uses        busiest first
/// @param time_scale  divisor of all seconds
nlohmann::json path_record(std::span<const StepPath> paths, std::span<const LinkUse> uses,
                           double time_scale);

/// Returns the host with the longest payloads and their ratio to the median of the other hosts';
/// null where no payload is longer, or where no other host sent anything.
/// @param steps  all measured steps
nlohmann::json longest_payload(std::span<const StepAnswers> steps);

}  // namespace thinpipe
