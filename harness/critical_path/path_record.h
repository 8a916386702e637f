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

/// A link of the network, and the fraction of time for which its busier direction was sending. The
/// fraction is calculated from the direction's counted bytes and its rate.
struct LinkUse {
  std::string name;  ///< "host3", "rack0-spine"
  double busy = 0;
};

/// Returns the mean rate of a link in one direction, in bit/s; 0 if it is not throttled.
using RateOf = std::function<double(int link, bool up)>;

/// Returns the use of every throttled link, busiest first.
/// @param seconds  duration of the exchanges in which the bytes of `count` were counted
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

/// Returns the member `critical_path` of a record (docs/records.md).
/// @param paths  critical paths of every measured step
/// @param uses  use of the links, busiest first
/// @param time_scale  time dilation factor, by which all seconds are divided
nlohmann::json path_record(std::span<const StepPath> paths, std::span<const LinkUse> uses,
                           double time_scale);

/// Returns the host with the longest payloads, and the ratio of its payload bytes to the median of
/// the other hosts. Returns null if the host's payloads are not longer than this median, if the
/// median is 0, or if there is one host only.
/// @param steps  all measured steps
nlohmann::json longest_payload(std::span<const StepAnswers> steps);

}  // namespace thinpipe
