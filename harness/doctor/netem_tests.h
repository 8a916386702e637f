// Which kernel with netem the tests have: this one, or one that they boot.
#pragma once

#include <optional>
#include <string>

#include "harness/doctor/finding.h"
#include "netem/probe.h"

namespace thinpipe {

/// `netem` is what the running kernel offers; `guest_version` what `linux.uml --version` prints, or
/// nothing where it is not installed.
Finding netem_tests_finding(const KernelFeature& netem,
                            const std::optional<std::string>& guest_version);

}  // namespace thinpipe
