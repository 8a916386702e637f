#include "netem/probe.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/link/netlink.h"
#include "netem/link/shaping.h"
#include "netem/sandbox.h"

namespace thinpipe {

namespace {

// The sandboxed child's message to its parent, through shared memory.
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

// As a star sets its ports.
Shaping port_shaping(const char* link) { return shaping_of(parse_link_spec(link)).port; }

void probe_inside(Verdicts& found) {
  Netlink netlink;
  const int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  try_feature(found.veth, "a pair was made", "veth", [&] { netlink.add_veth("a0", "a1", here); });
  try_feature(found.bridge, "one was made", "bridge", [&] { netlink.add_bridge("b0"); });
  const std::string device = found.veth.available ? "a0" : "lo";
  try_feature(found.ifb, "frames were redirected to one", "ifb, cls_u32 or act_mirred", [&] {
    netlink.add_link("i0", "ifb");
    netlink.redirect_arrivals(device, "i0");
  });
  try_feature(found.tbf, "one was set and read back", "sch_tbf",
              [&] { install(netlink, device, port_shaping("rate=100mbit")); });
  try_feature(found.htb, "one was set and read back", "sch_htb",
              [&] { install(netlink, device, port_shaping("rate=100mbit,shaper=htb")); });
  try_feature(found.netem, "one was set and read back", "sch_netem",
              [&] { install(netlink, device, port_shaping("delay=1ms")); });
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

std::string missing_for(const LinkSpec& link, const KernelFeatures& features) {
  const auto text = [&](const char* feature, const char* keys, const KernelFeature& found,
                        const char* module, const char* without) {
    return fmt::format(
        "link '{}' needs {} ({}), which this kernel does not offer: {}. `modprobe {}` as root "
        "loads it where it was built as a module; without it, {}",
        link.to_string(), feature, keys, found.detail, module, without);
  };
  if (link.needs_netem() && !features.netem.available)
    return text("netem", "delay, jitter, loss, reorder, duplicate, corrupt and shaper=netem do",
                features.netem, "sch_netem",
                "links with rate, burst, queue, overhead, mtu, place and shaper=tbf or htb work");
  if (link.needs_ifb() && !features.ifb.available)
    return text("IFB", "place=switch and up.delay and its like do", features.ifb, "ifb",
                "links shaped at the sender (place=sender) and impaired on the way down work");
  if (link.needs_htb() && !features.htb.available)
    return text("HTB", "shaper=htb does", features.htb, "sch_htb",
                "links with shaper=tbf work, which holds the same rates");
  return "";
}

void require_kernel_features(const std::vector<LinkSpec>& links) {
  const bool plain = std::none_of(links.begin(), links.end(), [](const LinkSpec& link) {
    return link.needs_netem() || link.needs_ifb() || link.needs_htb();
  });
  if (plain) return;
  const KernelFeatures features = probe_kernel();
  for (const LinkSpec& link : links)
    if (const std::string missing = missing_for(link, features); !missing.empty())
      throw RunError(missing);
}

}  // namespace thinpipe
