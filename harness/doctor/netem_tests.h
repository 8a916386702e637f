// Which kernel with netem the tests have: this one, or one that they boot.
#pragma once

#include <string>
#include <vector>

#include "harness/doctor/finding.h"
#include "netem/probe.h"

namespace thinpipe {

/// `netem` is what the running kernel offers; `guests` what is installed to boot one that has it, as
/// "user-mode Linux 6.1.176" (tests/kernel/in_guest.py says if it boots).
Finding netem_tests_finding(const KernelFeature& netem, const std::vector<std::string>& guests);

}  // namespace thinpipe
