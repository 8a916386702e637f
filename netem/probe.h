// Emulation features of this kernel, found by trying them in a throwaway sandbox.
#pragma once

#include <string>
#include <vector>

#include "netem/link/link_spec.h"

namespace thinpipe {

/// One thing the kernel may or may not offer.
struct KernelFeature {
  bool available = false;
  std::string detail;  ///< how it was found, or why it is absent and what to enable
};

/// Tried for real: each interface and qdisc was made in namespaces that are gone again.
struct KernelFeatures {
  KernelFeature namespaces;  ///< user (as an ordinary user), network, UTS, PID and mount namespaces
  KernelFeature veth, bridge, ifb;
  KernelFeature tbf, htb, netem;  ///< queueing disciplines
};

/// Never throws for an absent feature. Leaves nothing behind.
KernelFeatures probe_kernel();

/// Why a kernel with these features cannot make this link: what is missing, how to get it and which
/// links work without. "" when it can.
std::string missing_for(const LinkSpec& link, const KernelFeatures& features);

/// Says so before anything is built on it. Probes only when a link needs more than TBF.
/// @throws RunError with missing_for() of the first link that cannot be made.
void require_kernel_features(const std::vector<LinkSpec>& links);

}  // namespace thinpipe
