// Finds this kernel's emulation features by trying them in a throwaway sandbox.
#pragma once

#include <string>
#include <vector>

#include "netem/link/link_spec.h"

namespace thinpipe {

/// A feature that the kernel may or may not offer.
struct KernelFeature {
  bool available = false;
  std::string detail;  ///< how it was tested, or why it is absent and what to enable
};

/// Results of probe_kernel(), which creates each interface and qdisc in temporary namespaces.
struct KernelFeatures {
  KernelFeature namespaces;  ///< user (as an ordinary user), network, UTS, PID and mount namespaces
  KernelFeature veth, bridge, ifb;
  KernelFeature tbf, htb, netem;  ///< queueing disciplines
};

/// Tries every feature. Never throws for an absent feature. Leaves nothing behind.
KernelFeatures probe_kernel();

/// Returns why a kernel with these features cannot set this link: the missing feature, how to get
/// it, and which links work without it. "" if the link can be set.
std::string missing_for(const LinkSpec& link, const KernelFeatures& features);

/// Checks that the links can be set: that the files of their distributions can be read, and that
/// this kernel has the features. Probes only if a link needs more than TBF.
/// @throws InputError as table_of() does; RunError with missing_for() of the first link that cannot
/// be set.
void require_kernel_features(const std::vector<LinkSpec>& links);

}  // namespace thinpipe
