// What the kernel offers for emulating links.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/doctor/finding.h"
#include "netem/probe.h"

namespace thinpipe {

/// `proc_sys` is where the settings stand that may forbid user namespaces (/proc/sys).
std::vector<Finding> kernel_findings(const KernelFeatures& features,
                                     const std::filesystem::path& proc_sys = "/proc/sys");

}  // namespace thinpipe
