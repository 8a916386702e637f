#include "netem/probe.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>

#include <cstring>
#include <new>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/netlink.h"
#include "netem/sandbox.h"

namespace thinpipe {

namespace {

// What the sandboxed child tells its parent through shared memory.
struct Verdict {
  bool available;
  char detail[160];
};

struct Verdicts {
  Verdict veth, bridge, ifb, tbf, htb, netem;
};

template <typename Attempt>
void try_feature(Verdict& verdict, const char* success, const char* module, Attempt attempt) {
  std::string detail = success;
  try {
    attempt();
    verdict.available = true;
  } catch (const std::exception& error) {
    detail = fmt::format("not in this kernel, nor as a module {} ({})", module, error.what());
  }
  detail.resize(std::min(detail.size(), sizeof(verdict.detail) - 1));
  std::memcpy(verdict.detail, detail.c_str(), detail.size() + 1);
}

void probe_inside(Verdicts& found) {
  Netlink netlink;
  const int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  try_feature(found.veth, "a pair was made", "veth", [&] { netlink.add_veth("a0", "a1", here); });
  try_feature(found.bridge, "one was made", "bridge", [&] { netlink.add_bridge("b0"); });
  try_feature(found.ifb, "one was made", "ifb", [&] { netlink.add_link("i0", "ifb"); });
  const std::string device = found.veth.available ? "a0" : "lo";
  try_feature(found.tbf, "one was set and read back", "sch_tbf",
              [&] { netlink.set_tbf(device, 100e6, 16000, 262144); });
  netlink.delete_root_qdisc(device);
  try_feature(found.htb, "one was set", "sch_htb", [&] { netlink.add_htb(device); });
  netlink.delete_root_qdisc(device);
  try_feature(found.netem, "one was set", "sch_netem", [&] { netlink.add_netem(device); });
}

KernelFeature to_feature(const Verdict& verdict) { return {verdict.available, verdict.detail}; }

}  // namespace

KernelFeatures probe_kernel() {
  KernelFeatures features;
  void* memory =
      mmap(nullptr, sizeof(Verdicts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw SystemError("map shared memory");
  auto* verdicts = new (memory) Verdicts{};
  try {
    const int result = run_in_sandbox([&](const Sandbox&) {
      probe_inside(*verdicts);
      return 0;
    });
    features.namespaces.available = result == 0;
    features.namespaces.detail = result == 0
                                     ? "user, network, UTS, PID and mount namespaces were made"
                                     : "namespaces were made but could not be set up";
  } catch (const RunError& error) {
    features.namespaces.detail = error.what();
  }
  if (features.namespaces.available) {
    features.veth = to_feature(verdicts->veth);
    features.bridge = to_feature(verdicts->bridge);
    features.ifb = to_feature(verdicts->ifb);
    features.tbf = to_feature(verdicts->tbf);
    features.htb = to_feature(verdicts->htb);
    features.netem = to_feature(verdicts->netem);
  } else {
    for (KernelFeature* feature : {&features.veth, &features.bridge, &features.ifb, &features.tbf,
                                   &features.htb, &features.netem})
      feature->detail = "could not be tried without namespaces";
  }
  munmap(memory, sizeof(Verdicts));
  return features;
}

}  // namespace thinpipe
