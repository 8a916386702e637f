// Which kernel with netem the tests have: this one, or one that they boot.
#include "harness/doctor/netem_tests.h"

namespace thinpipe {

Finding netem_tests_finding(const KernelFeature& netem,
                            const std::optional<std::string>& guest_version) {
  Finding finding{.group = "programs", .name = "netem tests"};
  const std::string guest =
      guest_version ? "in a guest, user-mode-linux " + *guest_version : "no user-mode-linux in PATH";
  if (netem.available) {
    finding.found = "on this kernel; " + guest;
    return finding;
  }
  finding.found = guest + "; this kernel has no netem";
  if (!guest_version) {
    finding.state = Finding::State::kAbsent;
    finding.cost = "tests of delay, jitter and loss are skipped; nothing else";
    finding.remedy = "load module sch_netem, or install user-mode-linux and busybox-static (Debian)";
  }
  return finding;
}

}  // namespace thinpipe
