#include "harness/doctor/cards.h"

#include <signal.h>

#include <cerrno>

#include <fmt/format.h>

#include "netem/real_nic/state_file.h"

namespace thinpipe {

std::vector<Finding> card_findings() {
  std::vector<Finding> findings;
  for (const std::string& interface : shaped_interfaces()) {
    const pid_t guard = guard_of(interface);
    const bool lives = guard > 0 && (kill(guard, 0) == 0 || errno == EPERM);
    findings.push_back(
        {.group = "machine",
         .name = interface,
         .state = Finding::State::kNote,
         .found = lives
                      ? fmt::format("throttled for a run of thinpipe, guarded by process {}", guard)
                      : "was throttled for a run of thinpipe, and its guard is dead",
         .cost = lives ? "everything that uses it is as slow as that run's links"
                       : "it may still be throttled",
         .remedy = lives ? "" : "thinpipe net restore"});
  }
  return findings;
}

}  // namespace thinpipe
