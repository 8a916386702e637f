#include "netem/schedule/qdisc.h"

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/qdisc_htb.h"
#include "netem/schedule/gate.h"
#include "netem/traffic_control.h"

namespace thinpipe {

namespace {

constexpr std::uint32_t kOwnHandle = 0x10000;  // 1:
constexpr std::uint32_t kClass = 0x10001;      // 1:1
constexpr std::uint32_t kGate = 0x20000;       // 2:

// Larger than any GSO packet (64 KiB of payload, and the headers of each frame): cutting those up,
// in software, is most of what a link of 1 Gbit/s costs. The bucket may be larger still.
constexpr std::uint32_t kLargestCut = 80000;
// Of no effect with one class, but outside 1000 to 200000 the kernel notes it.
constexpr std::uint32_t kQuantum = 60000;

struct Answer {
  QueueReading reading;
  std::uint32_t packets = 0;
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
  answer->packets = basic.packets;
  answer->found = stats[TCA_STATS_BASIC] != nullptr && stats[TCA_STATS_QUEUE] != nullptr;
  return NL_OK;
}

TrafficPlace root_of(int index) { return {index, {TC_H_ROOT, kOwnHandle}, false}; }
TrafficPlace class_of(int index) { return {index, {kOwnHandle, kClass}, true}; }
TrafficPlace gate_of(int index) { return {index, {kClass, kGate}, false}; }

std::uint32_t burst_of(double rate, const ScheduleQdiscSettings& settings) {
  return settings.burst != 0 ? settings.burst : default_burst(rate, settings.frame_bytes);
}

QdiscRequest class_request(double rate, const ScheduleQdiscSettings& settings) {
  return htb_class_request({.rate = bytes_per_second(rate),
                            .burst = burst_of(rate, settings),
                            .quantum = kQuantum,
                            .overhead = settings.overhead});
}

}  // namespace

ScheduleQdisc::ScheduleQdisc(std::string interface, const ScheduleQdiscSettings& settings)
    : interface_(std::move(interface)),
      settings_(settings),
      socket_(nl_socket_alloc()),
      cut_(std::min(burst_of(settings.highest_rate, settings), kLargestCut)) {
  if (socket_ == nullptr) throw RunError("netlink socket: out of memory");
  const int result = nl_connect(socket_, NETLINK_ROUTE);
  // libnl counts answers by their acknowledgements, and read() asks for none.
  nl_socket_disable_seq_check(socket_);
  index_ = static_cast<int>(if_nametoindex(interface_.c_str()));
  try {
    require_gate();
    if (result < 0) throw RunError(fmt::format("connect to rtnetlink: {}", nl_geterror(result)));
    if (index_ == 0) throw SystemError("interface " + interface_);
    set_up();
  } catch (...) {
    nl_socket_free(socket_);
    throw;
  }
}

ScheduleQdisc::~ScheduleQdisc() { nl_socket_free(socket_); }

void ScheduleQdisc::set_up() {
  // Else a root of the same handle would be changed, or refused if of another kind.
  delete_root_qdisc(socket_, index_);
  const std::string attempt = "htb on " + interface_;
  set_traffic(socket_, root_of(index_), htb_request(), attempt);
  check_traffic(socket_, root_of(index_), htb_request(), attempt);
  set_class(settings_.highest_rate);
  set_gate(true);
  check();
}

void ScheduleQdisc::set_class(double rate) {
  set_traffic(socket_, class_of(index_), class_request(rate, settings_),
              fmt::format("htb class of {:.0f} bit/s on {}", rate, interface_));
  rate_ = rate;
}

void ScheduleQdisc::set_gate(bool open) {
  set_traffic(socket_, gate_of(index_),
              gate_request({.open = open, .cut = cut_, .limit = settings_.queue}),
              fmt::format("tbf, {}, on {}", open ? "open" : "shut", interface_));
  open_ = open;
}

void ScheduleQdisc::set_rate(double rate) {
  if (rate <= 0) {
    if (open_) set_gate(false);
    return;
  }
  set_class(rate);
  if (!open_) set_gate(true);
}

void ScheduleQdisc::check() {
  check_traffic(socket_, class_of(index_), class_request(rate_, settings_),
                fmt::format("htb class of {:.0f} bit/s on {}", rate_, interface_));
  check_traffic(socket_, gate_of(index_),
                gate_request({.open = open_, .cut = cut_, .limit = settings_.queue}),
                fmt::format("tbf, {}, on {}", open_ ? "open" : "shut", interface_));
}

std::string ScheduleQdisc::alteration() {
  std::string found =
      traffic_difference(socket_, root_of(index_), htb_request(), "htb on " + interface_);
  if (found.empty())
    found = traffic_difference(socket_, class_of(index_), class_request(rate_, settings_),
                               "htb class on " + interface_);
  if (found.empty())
    found = traffic_difference(socket_, gate_of(index_),
                               gate_request({.open = open_, .cut = cut_, .limit = settings_.queue}),
                               "tbf on " + interface_);
  return found;
}

QueueReading ScheduleQdisc::read() {
  // Without ECHO the kernel finds it and tells nobody.
  nl_msg* message = nlmsg_alloc_simple(RTM_GETQDISC, NLM_F_ECHO);
  if (message == nullptr) throw RunError("netlink message: out of memory");
  tcmsg header = {};
  header.tcm_family = AF_UNSPEC;
  header.tcm_ifindex = index_;
  header.tcm_parent = TC_H_ROOT;
  header.tcm_handle = kOwnHandle;
  nlmsg_append(message, &header, sizeof(header), NLMSG_ALIGNTO);
  Answer answer;
  nl_socket_modify_cb(socket_, NL_CB_VALID, NL_CB_CUSTOM, take_reading, &answer);
  nl_socket_disable_auto_ack(socket_);  // the answer is all there is to come
  const int sent = nl_send_auto(socket_, message);
  nlmsg_free(message);
  const int result = sent < 0 ? sent : nl_recvmsgs_default(socket_);
  nl_socket_enable_auto_ack(socket_);
  nl_socket_modify_cb(socket_, NL_CB_VALID, NL_CB_DEFAULT, nullptr, nullptr);
  if (result < 0)
    throw RunError(fmt::format("read the htb of {}: {}", interface_, nl_geterror(result)));
  if (!answer.found)
    throw RunError(
        fmt::format("read the htb of {}: the kernel's answer has no counters", interface_));
  // GSO packets count as the frames they are.
  charged_ += std::uint64_t{settings_.overhead} * (answer.packets - packets_);
  packets_ = answer.packets;
  answer.reading.bytes += charged_;
  return answer.reading;
}

}  // namespace thinpipe
