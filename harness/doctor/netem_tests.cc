// Which kernel with netem the tests have: this one, or one that they boot.
#include "harness/doctor/netem_tests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace thinpipe {

Finding netem_tests_finding(const KernelFeature& netem, const std::vector<std::string>& guests) {
  Finding finding{.group = "programs", .name = "netem tests"};
  const std::string guest = guests.empty() ? "no user-mode Linux or QEMU in PATH"
                                           : fmt::format("in a guest, {}", fmt::join(guests, " or "));
  if (netem.available) {
    finding.found = "on this kernel; " + guest;
    return finding;
  }
  finding.found = guest + "; this kernel has no netem";
  if (guests.empty()) {
    finding.state = Finding::State::kAbsent;
    finding.cost = "tests of delay, jitter and loss are skipped; nothing else";
    finding.remedy = "load module sch_netem, or run ./setup (user-mode Linux) or ./setup --qemu";
  }
  return finding;
}

}  // namespace thinpipe
