#include "netem/schedule/throttle.h"

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/link/attributes.h"
#include "netem/link/traffic_control.h"

namespace thinpipe {
namespace {

constexpr std::uint64_t kOpenRate = 50'000'000'000;  // bytes/s: an open gate does not throttle
constexpr double kPollSeconds = 1e-3;                // a shut gate's time between retries
// Bytes: a shut gate's `mpu` (the largest possible), and its bucket depth, which must be smaller.
constexpr std::uint32_t kShutSize = 65535, kShutBucket = 60000;

struct Throttle {
  std::uint64_t rate = 0;      // bytes/s
  std::uint32_t bucket = 0;    // token-bucket depth in bytes
  std::uint16_t smallest = 0;  // mpu: least bytes that a packet is charged
};

Throttle throttle_of(const GateSettings& settings) {
  if (settings.open) return {kOpenRate, settings.cut, 0};
  const std::uint32_t bucket = std::min(settings.cut, kShutBucket);
  // A packet at a shut gate is charged more tokens than the bucket holds. At this rate, TBF expects
  // the missing tokens after kPollSeconds and then retries. With a rate near 0, TBF would retry
  // hours later.
  return {static_cast<std::uint64_t>((kShutSize - bucket) / kPollSeconds), bucket, kShutSize};
}

std::vector<Mismatch> compare(const Throttle& asked, std::uint32_t limit,
                              std::span<const std::byte> options) {
  const AttributeReader attributes(options, "gate");
  const auto got = attributes.get<tc_tbf_qopt>(TCA_TBF_PARMS);
  Comparison comparison;
  comparison.expect<std::uint64_t>("gate rate in bytes/s (TCA_TBF_RATE64)", asked.rate,
                                   attributes.get_or<std::uint64_t>(TCA_TBF_RATE64, got.rate.rate));
  comparison.expect<std::uint64_t>("gate limit (TCA_TBF_PARMS)", limit, got.limit);
  comparison.expect<std::uint64_t>("gate mpu (TCA_TBF_PARMS)", asked.smallest, got.rate.mpu);
  const std::uint32_t ticks = transmit_ticks(asked.bucket, static_cast<double>(asked.rate));
  if (got.buffer + 2 < ticks || got.buffer > ticks + 2)  // kept as transmit time, rounded twice
    comparison.expect<std::uint64_t>("gate bucket in 64 ns of transmit time (TCA_TBF_PARMS)", ticks,
                                     got.buffer);
  return std::move(comparison).found();
}

constexpr TrafficHandle kHtb = {TC_H_ROOT, 0x10000}, kClass = {0x10000, 0x10001},
                        kGate = {0x10001, 0x20000};

// Upper limit of the size in bytes above which the gate segments GSO packets. It exceeds any GSO
// packet (64 KiB of payload plus the headers of each frame), because segmenting in software is most
// of the CPU cost of a 1 Gbit/s link. The token bucket may be deeper.
constexpr std::uint32_t kLargestCut = 80000;
// Without effect for a single class, but outside 1000 to 200000 the kernel logs a warning.
constexpr std::uint32_t kQuantum = 60000;

struct Answer {
  QueueReading reading;
  std::uint32_t packets = 0;
  bool found = false;
};

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

std::uint32_t burst_of(double rate, const ScheduleQdiscSettings& settings) {
  return settings.burst != 0 ? settings.burst : default_burst(rate, settings.frame_bytes);
}

QdiscRequest class_request(double rate, const ScheduleQdiscSettings& settings) {
  return htb_class_request({.rate = bytes_per_second(rate),
                            .burst = burst_of(rate, settings),
                            .quantum = kQuantum,
                            .overhead = settings.overhead});
}

// bit/s; lower means count as 0. Schedules have no rate below 1 kbit/s, apart from rounding.
constexpr double kMinRate = 0.99e3;
// Bounds of the set rate relative to the scheduled rate, while the set rate makes up for a
// difference between traffic and schedule. The lower bound is close to 1, since a packet sent at a
// low rate blocks the link for long.
constexpr double kMinFactor = 0.75, kMaxFactor = 4;
constexpr double kMinFree = 0.25;  // fraction of an interval
constexpr double kSame = 1e-3;     // relative change of a rate that is not worth setting

// @throws RunError on a kernel in which a shut gate would pass frames.
void require_gate() {
  utsname kernel = {};
  int major = 0, minor = 0;
  if (uname(&kernel) != 0 || std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2 ||
      major < 5 || (major == 5 && minor < 17))
    throw RunError(fmt::format("schedules need Linux 5.17 or later; this is {}", kernel.release));
}

}  // namespace

QdiscRequest gate_request(const GateSettings& settings) {
  const Throttle throttle = throttle_of(settings);
  tc_tbf_qopt parameters = {};
  parameters.rate.rate =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(throttle.rate, UINT32_MAX));
  parameters.rate.mpu = throttle.smallest;
  parameters.rate.linklayer = TC_LINKLAYER_ETHERNET;  // avoids the need for a rate table
  parameters.limit = settings.limit;
  parameters.buffer = transmit_ticks(throttle.bucket, static_cast<double>(throttle.rate));
  AttributeWriter options;
  options.put(TCA_TBF_PARMS, parameters);
  // Only for the open gate, since TCA_TBF_BURST would make the bucket deep enough for `mpu`.
  if (settings.open) {
    options.put(TCA_TBF_RATE64, throttle.rate);
    options.put(TCA_TBF_BURST, throttle.bucket);
  }
  return {"tbf", options.bytes(),
          [throttle, limit = settings.limit](std::span<const std::byte> got) {
            return compare(throttle, limit, got);
          }};
}

ScheduleQdisc::ScheduleQdisc(std::string interface, const ScheduleQdiscSettings& settings)
    : interface_(std::move(interface)),
      settings_(settings),
      socket_(open_rtnetlink()),
      cut_(std::min(burst_of(settings.highest_rate, settings), kLargestCut)) {
  // libnl checks sequence numbers by acknowledgements, which read() does not request.
  nl_socket_disable_seq_check(socket_.get());
  index_ = static_cast<int>(if_nametoindex(interface_.c_str()));
  require_gate();
  if (index_ == 0) throw SystemError("interface " + interface_);
  // Otherwise a root of the same handle would be changed, or refused if of another kind.
  delete_qdisc(socket_, {index_, {TC_H_ROOT, 0}},
               fmt::format("delete the qdisc of interface {}", index_));
  const std::string attempt = "htb on " + interface_;
  set_traffic(socket_, {index_, kHtb}, htb_request(), attempt);
  check_traffic(socket_, {index_, kHtb}, htb_request(), attempt);
  set_class(settings_.highest_rate);
  set_gate(true);
  check();
}

void ScheduleQdisc::set_class(double rate) {
  set_traffic(socket_, {index_, kClass}, class_request(rate, settings_),
              fmt::format("htb class of {:.0f} bit/s on {}", rate, interface_));
  rate_ = rate;
}

void ScheduleQdisc::set_gate(bool open) {
  set_traffic(socket_, {index_, kGate},
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
  check_traffic(socket_, {index_, kClass}, class_request(rate_, settings_),
                fmt::format("htb class of {:.0f} bit/s on {}", rate_, interface_));
  check_traffic(socket_, {index_, kGate},
                gate_request({.open = open_, .cut = cut_, .limit = settings_.queue}),
                fmt::format("tbf, {}, on {}", open_ ? "open" : "shut", interface_));
}

std::string ScheduleQdisc::drift() {
  std::string found =
      traffic_difference(socket_, {index_, kHtb}, htb_request(), "htb on " + interface_);
  if (found.empty())
    found = traffic_difference(socket_, {index_, kClass}, class_request(rate_, settings_),
                               "htb class on " + interface_);
  if (found.empty())
    found = traffic_difference(socket_, {index_, kGate},
                               gate_request({.open = open_, .cut = cut_, .limit = settings_.queue}),
                               "tbf on " + interface_);
  return found;
}

QueueReading ScheduleQdisc::read() {
  // Without NLM_F_ECHO the kernel sends no reply.
  nl_msg* message = nlmsg_alloc_simple(RTM_GETQDISC, NLM_F_ECHO);
  if (message == nullptr) throw RunError("netlink message: out of memory");
  tcmsg header = {};
  header.tcm_family = AF_UNSPEC;
  header.tcm_ifindex = index_;
  header.tcm_parent = kHtb.parent;
  header.tcm_handle = kHtb.handle;
  nlmsg_append(message, &header, sizeof(header), NLMSG_ALIGNTO);
  Answer answer;
  nl_sock* const socket = socket_.get();
  nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_CUSTOM, take_reading, &answer);
  nl_socket_disable_auto_ack(socket);  // no message follows the reply
  const int sent = nl_send_auto(socket, message);
  nlmsg_free(message);
  const int result = sent < 0 ? sent : nl_recvmsgs_default(socket);
  nl_socket_enable_auto_ack(socket);
  nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_DEFAULT, nullptr, nullptr);
  check_netlink(result, fmt::format("read the htb of {}", interface_));
  if (!answer.found)
    throw RunError(
        fmt::format("read the htb of {}: the kernel's reply has no counters", interface_));
  // The kernel counts a GSO packet as its number of frames.
  charged_ += std::uint64_t{settings_.overhead} * (answer.packets - packets_);
  packets_ = answer.packets;
  answer.reading.bytes += charged_;
  return answer.reading;
}

void RateKeeper::settle(double now, const QueueReading& reading) {
  const double span = now - last_;
  const double sent = 8 * static_cast<double>(reading.bytes - counted_.bytes);
  if (reading.packets_waiting == 0) {
    owed_ = blocked_ = 0;
    return;
  }
  if (rate_ > 0 && sent > 0)
    blocked_ = std::clamp(blocked_ + sent / rate_ - span, 0.0, packet_ / rate_);
  else
    blocked_ = std::max(0.0, blocked_ - span);
  // owed_ is the traffic that is behind the schedule, or ahead of it if negative. It is at most the
  // last plan's remainder plus the effect of a late change. A larger value means that the queue was
  // empty for a while. The excess is at most two packets, a bucket of about two packets after a
  // pause, and the effect of a late change.
  const double due = schedule_.bits(last_, now), late = rate_ * span - due;
  owed_ =
      std::clamp(owed_ + due - sent, std::min(0.0, postponed_) - 4 * packet_ - std::max(0.0, late),
                 std::max(0.0, postponed_) + std::max(0.0, -late));
}

void RateKeeper::begin_anew() {
  begun_ = false;
  owed_ = blocked_ = postponed_ = 0;
}

double RateKeeper::plan(double now, double until, const QueueReading& reading) {
  if (begun_) settle(now, reading);
  begun_ = true;
  const double span = until - now;
  const double scheduled = schedule_.bits(now, until), mean = scheduled / span;
  const double wanted = scheduled + owed_;
  // A blocked link is free again within the interval; otherwise the rate has no effect.
  const double free = std::max(span - blocked_, kMinFree * span);
  double rate = std::clamp(std::max(wanted, packet_) / free, kMinFactor * mean,
                           std::max(kMaxFactor * mean, packet_ / free));
  // Without a backlog, the next packet leaves at once and its tokens accumulate afterwards.
  if (reading.packets_waiting == 0) rate = mean;
  // While less than half a packet is due, no packet leaves.
  if (mean < kMinRate || (reading.packets_waiting > 0 && wanted < packet_ / 2)) rate = 0;
  if (std::fabs(rate - rate_) <= kSame * rate_) rate = rate_;
  postponed_ = wanted - rate * std::max(0.0, span - blocked_);
  last_ = now;
  rate_ = rate;
  counted_ = reading;
  return rate;
}

}  // namespace thinpipe
