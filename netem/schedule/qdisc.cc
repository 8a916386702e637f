#include "netem/schedule/qdisc.h"

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/attributes.h"
#include "netem/link_spec.h"

namespace thinpipe {

namespace {

constexpr std::uint32_t kRoot = 0x10000;   // 1:
constexpr std::uint32_t kClass = 0x10001;  // 1:1
constexpr std::uint32_t kGate = 0x20000;   // 2:

constexpr double kTicksPerSecond = 1e9 / 64;  // PSCHED_SHIFT is 6: a tick is 64 ns
constexpr double kOpenRate = 50e9;            // bytes/s: the gate is no throttle
constexpr double kPollSeconds = 1e-3;  // a closed gate looks again so often; so late it opens
// A closed gate takes every packet for as large as this (the widest `mpu` there is), which is more
// than its bucket holds.
constexpr std::uint32_t kClosedSize = 65535;
constexpr std::uint32_t kLargestCut = 60000;  // must be less

tc_ratespec ratespec(double bytes_per_second, std::uint32_t least_size) {
  tc_ratespec spec = {};
  // With the link layer named, the kernel asks for no table of 256 transmit times.
  spec.linklayer = 1;  // TC_LINKLAYER_ETHERNET
  spec.mpu = static_cast<unsigned short>(least_size);
  spec.rate = bytes_per_second >= 4294967295.0
                  ? 4294967295U
                  : static_cast<std::uint32_t>(std::llround(bytes_per_second));
  return spec;
}

std::uint32_t ticks(double seconds) {
  return static_cast<std::uint32_t>(std::min(std::ceil(seconds * kTicksPerSecond), 4294967295.0));
}

nl_msg* new_message(int type, int flags, int index, std::uint32_t parent, std::uint32_t handle,
                    const char* kind) {
  nl_msg* message = nlmsg_alloc_simple(type, flags);
  if (message == nullptr) throw RunError("netlink message: out of memory");
  tcmsg header = {};
  header.tcm_family = AF_UNSPEC;
  header.tcm_ifindex = index;
  header.tcm_parent = parent;
  header.tcm_handle = handle;
  nlmsg_append(message, &header, sizeof(header), NLMSG_ALIGNTO);
  if (kind != nullptr) nla_put_string(message, TCA_KIND, kind);
  return message;
}

struct Answer {
  QueueReading reading;
  bool found = false;
};

// A kernel's message about one qdisc: its counters.
int take_reading(nl_msg* message, void* into) {
  nlattr* attributes[TCA_MAX + 1];
  nlattr* stats[TCA_STATS_MAX + 1];
  if (nlmsg_parse(nlmsg_hdr(message), sizeof(tcmsg), attributes, TCA_MAX, nullptr) < 0 ||
      attributes[TCA_STATS2] == nullptr ||
      nla_parse_nested(stats, TCA_STATS_MAX, attributes[TCA_STATS2], nullptr) < 0)
    return NL_SKIP;
  auto* answer = static_cast<Answer*>(into);
  gnet_stats_basic basic = {};
  gnet_stats_queue queue = {};
  if (stats[TCA_STATS_BASIC] != nullptr) nla_memcpy(&basic, stats[TCA_STATS_BASIC], sizeof(basic));
  if (stats[TCA_STATS_QUEUE] != nullptr) nla_memcpy(&queue, stats[TCA_STATS_QUEUE], sizeof(queue));
  answer->reading = {basic.bytes, queue.qlen};
  answer->found = stats[TCA_STATS_BASIC] != nullptr && stats[TCA_STATS_QUEUE] != nullptr;
  return NL_OK;
}

// Where `mpu` does nothing, a closed gate would let frames through.
void require_gate() {
  utsname kernel = {};
  int major = 0, minor = 0;
  if (uname(&kernel) != 0 || std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2 ||
      major < 5 || (major == 5 && minor < 17))
    throw RunError(fmt::format("schedules need Linux 5.17 or later; this is {}", kernel.release));
}

}  // namespace

ScheduleQdisc::ScheduleQdisc(std::string interface, double highest_rate, std::uint32_t burst,
                             std::uint32_t queue)
    : interface_(std::move(interface)),
      socket_(nl_socket_alloc()),
      burst_(burst),
      cut_(std::min(burst != 0 ? burst : default_burst(highest_rate), kLargestCut)),
      queue_(queue) {
  if (socket_ == nullptr) throw RunError("netlink socket: out of memory");
  const int result = nl_connect(socket_, NETLINK_ROUTE);
  // libnl counts answers by their acknowledgements, and read() asks for none.
  nl_socket_disable_seq_check(socket_);
  index_ = static_cast<int>(if_nametoindex(interface_.c_str()));
  try {
    require_gate();
    if (result < 0) throw RunError(fmt::format("connect to rtnetlink: {}", nl_geterror(result)));
    if (index_ == 0) throw SystemError("interface " + interface_);
    set_root();
    set_class(highest_rate, true);
    set_gate(true, true);
  } catch (...) {
    nl_socket_free(socket_);
    throw;
  }
}

ScheduleQdisc::~ScheduleQdisc() { nl_socket_free(socket_); }

void ScheduleQdisc::send(nl_msg* message, const std::string& attempt) {
  const int result = nl_send_sync(socket_, message);  // frees it, waits for the kernel's answer
  if (result < 0)
    throw RunError(fmt::format("{} on {}: {}", attempt, interface_, nl_geterror(result)));
}

void ScheduleQdisc::set_root() {
  // Else a root of the same handle would be changed, or refused if of another kind.
  nl_send_sync(socket_, new_message(RTM_DELQDISC, 0, index_, TC_H_ROOT, 0, nullptr));  // if any
  nl_msg* message =
      new_message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, index_, TC_H_ROOT, kRoot, "htb");
  nlattr* options = nla_nest_start(message, TCA_OPTIONS);
  tc_htb_glob glob = {};
  glob.version = 3;
  glob.rate2quantum = 10;
  glob.defcls = 1;  // everything goes to 1:1
  nla_put(message, TCA_HTB_INIT, sizeof(glob), &glob);
  nla_nest_end(message, options);
  send(message, "htb");
}

void ScheduleQdisc::set_class(double rate, bool create) {
  const double bytes = rate / 8;
  const std::uint32_t burst = burst_ != 0 ? burst_ : default_burst(rate);
  nl_msg* message = new_message(RTM_NEWTCLASS, create ? NLM_F_CREATE | NLM_F_EXCL : 0, index_,
                                kRoot, kClass, "htb");
  nlattr* options = nla_nest_start(message, TCA_OPTIONS);
  tc_htb_opt parameters = {};
  parameters.rate = parameters.ceil = ratespec(bytes, 0);
  parameters.buffer = parameters.cbuffer = ticks(burst / bytes);
  parameters.quantum = 60000;  // of no effect with one class, but outside 1000..200000 it is logged
  nla_put(message, TCA_HTB_PARMS, sizeof(parameters), &parameters);
  const auto exact = static_cast<std::uint64_t>(std::llround(bytes));
  nla_put_u64(message, TCA_HTB_RATE64, exact);
  nla_put_u64(message, TCA_HTB_CEIL64, exact);
  nla_nest_end(message, options);
  send(message, fmt::format("htb class rate {:.0f}bit burst {}", rate, burst));
  rate_ = rate;
}

void ScheduleQdisc::set_gate(bool open, bool create) {
  nl_msg* message = new_message(RTM_NEWQDISC, create ? NLM_F_CREATE | NLM_F_EXCL : 0, index_,
                                kClass, kGate, "tbf");
  nlattr* options = nla_nest_start(message, TCA_OPTIONS);
  tc_tbf_qopt parameters = {};
  parameters.limit = queue_;
  // Closed: waiting for `kClosedSize - cut_` bytes to come in, which the bucket cannot hold, takes
  // kPollSeconds; then it looks again. A rate near 0 would do too, but look again hours later.
  const double rate = open ? kOpenRate : (kClosedSize - cut_) / kPollSeconds;
  parameters.rate = ratespec(rate, open ? 0 : kClosedSize);
  parameters.buffer = ticks(cut_ / rate);
  nla_put(message, TCA_TBF_PARMS, sizeof(parameters), &parameters);
  if (open) {
    nla_put_u64(message, TCA_TBF_RATE64, static_cast<std::uint64_t>(rate));
    nla_put_u32(message, TCA_TBF_BURST, cut_);
  }
  nla_nest_end(message, options);
  send(message, open ? "tbf, open" : "tbf, closed");
  open_ = open;
}

void ScheduleQdisc::set_rate(double rate) {
  if (rate <= 0) {
    if (open_) set_gate(false, false);
    return;
  }
  set_class(rate, false);
  if (!open_) set_gate(true, false);
}

QueueReading ScheduleQdisc::read() {
  // Without ECHO the kernel finds it and tells nobody.
  nl_msg* message = new_message(RTM_GETQDISC, NLM_F_ECHO, index_, TC_H_ROOT, kRoot, nullptr);
  Answer answer;
  nl_socket_modify_cb(socket_, NL_CB_VALID, NL_CB_CUSTOM, take_reading, &answer);
  nl_socket_disable_auto_ack(socket_);  // the answer is all there is to come
  const int sent = nl_send_auto(socket_, message);
  nlmsg_free(message);
  const int result = sent < 0 ? sent : nl_recvmsgs_default(socket_);
  nl_socket_enable_auto_ack(socket_);
  if (result < 0)
    throw RunError(fmt::format("read the htb of {}: {}", interface_, nl_geterror(result)));
  if (!answer.found)
    throw RunError(
        fmt::format("read the htb of {}: the kernel's answer has no counters", interface_));
  return answer.reading;
}

std::string ScheduleQdisc::alteration() {
  const auto anything = [](std::span<const std::byte>) { return std::vector<Mismatch>{}; };
  const auto expect_rate = [](Comparison& comparison, const char* setting, double asked,
                              const AttributeReader& got, std::uint16_t wide,
                              std::uint32_t narrow) {
    comparison.expect(setting, static_cast<std::uint64_t>(std::llround(asked)),
                      got.has(wide) ? got.get<std::uint64_t>(wide) : std::uint64_t{narrow});
  };
  const auto compare_class = [&](std::span<const std::byte> options) {
    const AttributeReader got(options, "htb class");
    Comparison comparison;
    expect_rate(comparison, "htb rate in bytes/s (TCA_HTB_RATE64)", rate_ / 8, got, TCA_HTB_RATE64,
                got.get<tc_htb_opt>(TCA_HTB_PARMS).rate.rate);
    return std::move(comparison).found();
  };
  const auto compare_gate = [&](std::span<const std::byte> options) {
    const AttributeReader got(options, "tbf");
    const auto parameters = got.get<tc_tbf_qopt>(TCA_TBF_PARMS);
    const double rate = open_ ? kOpenRate : (kClosedSize - cut_) / kPollSeconds;
    Comparison comparison;
    expect_rate(comparison, "tbf rate in bytes/s (TCA_TBF_RATE64)", rate, got, TCA_TBF_RATE64,
                parameters.rate.rate);
    comparison.expect("tbf limit in bytes (TCA_TBF_PARMS)", queue_, parameters.limit);
    return std::move(comparison).found();
  };
  std::string one =
      netlink_.qdisc_difference(interface_, {TC_H_ROOT, kRoot}, {"htb", {}, anything});
  if (one.empty())
    one = netlink_.class_difference(interface_, {kRoot, kClass}, {"htb", {}, compare_class});
  if (one.empty())
    one = netlink_.qdisc_difference(interface_, {kClass, kGate}, {"tbf", {}, compare_gate});
  return one;
}

}  // namespace thinpipe
