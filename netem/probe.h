// What this kernel offers for emulation, found out by trying it in a throwaway sandbox.
#pragma once

#include <string>

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

}  // namespace thinpipe
