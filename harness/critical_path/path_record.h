// The critical paths of a point's steps and the use of its links, as its record tells them.
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

/// A link of the network, and the share of some time for which its fuller direction was sending, by
/// the bytes that it counted and the rate that it has.
struct LinkUse {
  std::string name;  ///< "host3", "rack0-spine"
  double busy = 0;
};

/// bit/s that a link had in one direction, on average; 0 where nothing throttles it.
using RateOf = std::function<double(int link, bool up)>;

/// Use of every throttled link, busiest first.
/// @param seconds  in which `count` was counted, exchanges under way
std::vector<LinkUse> link_uses(const WireCount& count, const Topology& topology, const RateOf& rate,
                               double seconds);

/// The rates to which links were set.
RateOf rates_as_set(const Topology& topology);

/// A step of the workers, as critical_path() takes it.
/// @param one_clock  of all ranks
std::vector<StepTimeline> timelines_of(const StepAnswers& step, bool one_clock);

/// The exchanges that servers told of a step; empty where ranks have no clock in common.
std::vector<ServedExchange> served_by(const StepAnswers& step, bool one_clock);

/// s for which exchanges were under way in these steps, on the rank of each that waited least.
double exchange_seconds(std::span<const std::vector<StepTimeline>> steps);

/// The `critical_path` of docs/records.md.
/// @param paths       of every measured step
/// @param uses        busiest first
/// @param time_scale  by which seconds are divided
nlohmann::json path_record(std::span<const StepPath> paths, std::span<const LinkUse> uses,
                           double time_scale);

/// The host whose payloads were longest, and how many times as long as the others' (their median);
/// null where none was longer, or none but that sent anything.
/// @param steps  that were measured
nlohmann::json longest_payload(std::span<const StepAnswers> steps);

}  // namespace thinpipe
