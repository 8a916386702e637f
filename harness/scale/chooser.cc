#include "harness/scale/chooser.h"

#include <sched.h>

#include <algorithm>

#include "netem/verify.h"

namespace thinpipe {

namespace {

// Cores that this process may use: all, unless somebody gave it fewer.
int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

}  // namespace

const TimeScaleChoice& ScaleChooser::choose(Network& network, int ranks, const LinkSpec& link) {
  const auto [found, inserted] = choices_.try_emplace(key(link, ranks));
  if (!inserted) return found->second;
  Capacity machine{.cores = usable_cores(), .ranks = ranks, .threads = threads_};
  if (ranks > 1) {
    VerifyOptions quick;
    quick.seconds = 1;
    quick.settle = 0.3;
    quick.windows = 5;
    quick.pings = 5;
    machine.flow = verify_link(network, ceiling_link(link), quick).goodput;
  }
  found->second = choose_time_scale(link, machine);
  return found->second;
}

}  // namespace thinpipe
