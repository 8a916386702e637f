#include "harness/scale/chooser.h"

#include <sched.h>

#include <algorithm>

#include "netem/measure_flows.h"

namespace thinpipe {

namespace {

// Cores that this process may use: all, unless somebody gave it fewer.
int own_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

}  // namespace

const TimeScaleChoice& ScaleChooser::choose(Network& network, const std::string& key, int ranks,
                                            const Topology& busiest) {
  const auto [found, inserted] = choices_.try_emplace(Key{key, ranks});
  if (!inserted) return found->second;
  Capacity machine{.cores = own_cores(), .ranks = ranks, .threads = threads_};
  if (ranks > 1) {
    Topology fast = busiest;
    for (int i = 0; i < fast.links(); ++i) fast.link(i) = ceiling_link(fast.link(i));
    network.set_topology(std::move(fast));
    const MeasuredFlows measured =
        measure_flows(network, {{0, ranks - 1}}, {.settle = 0.3, .seconds = 1});
    machine.flow = measured.flows.at(0).goodput;
  }
  found->second = choose_time_scale(busiest, machine);
  return found->second;
}

}  // namespace thinpipe
