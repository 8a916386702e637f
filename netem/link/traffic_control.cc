// Traffic control by hand-made netlink messages, since libnl-route 3.7 supports neither 64-bit
// rates, a bucket depth in bytes, nor most of netem. Settings are read back.
#include "netem/link/traffic_control.h"

#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_mirred.h>
#include <netinet/in.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"

namespace thinpipe {
namespace {

constexpr TrafficHandle kIngress = {TC_H_INGRESS, 0xffff0000};
constexpr std::uint32_t kFilterPriority = 1;

using Message = NetlinkOwned<nl_msg>;

template <typename Header>
Message make_message(int type, int flags, const Header& header, const AttributeWriter& attributes) {
  // Netlink's header, our header, the attributes, and spare bytes for padding.
  constexpr std::size_t kSpare = 64;
  Message message(
      nlmsg_alloc_size(NLMSG_HDRLEN + sizeof(Header) + attributes.bytes().size() + kSpare));
  if (!message || nlmsg_put(message.get(), NL_AUTO_PORT, NL_AUTO_SEQ, type, 0, flags) == nullptr ||
      nlmsg_append(message.get(), const_cast<Header*>(&header), sizeof(Header), NLMSG_ALIGNTO) <
          0 ||
      nlmsg_append(message.get(), const_cast<std::byte*>(attributes.bytes().data()),
                   attributes.bytes().size(), NLMSG_ALIGNTO) < 0)
    throw RunError("netlink message: out of memory");
  return message;
}

// For a new qdisc, "object not found" means that the kernel lacks this kind.
std::string explain(int error, const std::string& kind) {
  if (error != -NLE_OBJ_NOTFOUND || kind.empty()) return nl_geterror(error);
  return fmt::format("this kernel has no {}", kind);
}

void send_and_wait(const NetlinkSocket& socket, Message message, const std::string& attempt,
                   const std::string& kind = "") {
  const int result = nl_send_sync(socket.get(), message.release());  // frees it in any case
  if (result < 0) throw RunError(fmt::format("{}: {}", attempt, explain(result, kind)));
}

using Consumer = std::function<void(std::span<const std::byte>)>;

// Context of receive_one(), which libnl calls for every message of the reply. Exceptions must not
// pass through libnl's C code, so the first exception is stored.
struct Receiving {
  const Consumer& consume;
  std::exception_ptr error;
};

int receive_one(nl_msg* message, void* context) {
  auto& receiving = *static_cast<Receiving*>(context);
  try {
    const nlmsghdr* header = nlmsg_hdr(message);
    if (header->nlmsg_len >= NLMSG_HDRLEN)
      receiving.consume(
          {static_cast<const std::byte*>(nlmsg_data(header)), header->nlmsg_len - NLMSG_HDRLEN});
  } catch (...) {
    receiving.error = std::current_exception();
    return NL_STOP;
  }
  return NL_OK;
}

// Sends a request and passes the body of every message of the reply to `consume`.
void ask(const NetlinkSocket& socket, const Message& message, const std::string& attempt,
         const Consumer& consume) {
  const NetlinkOwned<nl_cb> original(nl_socket_get_cb(socket.get()));
  const NetlinkOwned<nl_cb> callbacks(nl_cb_clone(original.get()));
  if (!callbacks) throw RunError(attempt + ": out of memory");
  Receiving receiving{consume, nullptr};
  nl_cb_set(callbacks.get(), NL_CB_VALID, NL_CB_CUSTOM, receive_one, &receiving);
  int result = nl_send_auto(socket.get(), message.get());
  if (result >= 0) result = nl_recvmsgs(socket.get(), callbacks.get());
  // A dump ends with its own message. A single reply is followed by an acknowledgement.
  const bool dump = (nlmsg_hdr(message.get())->nlmsg_flags & NLM_F_DUMP) != 0;
  if (result >= 0 && !dump) result = nl_wait_for_ack(socket.get());
  if (receiving.error) std::rethrow_exception(receiving.error);
  check_netlink(result, attempt);
}

// Returns a message's header and the attributes behind it.
template <typename Header>
std::pair<Header, AttributeReader> taken_apart(std::span<const std::byte> body,
                                               const std::string& attempt) {
  const auto header = AttributeReader::read_struct<Header>(body, attempt);
  return {header, AttributeReader(body.subspan(sizeof(Header)), attempt)};
}

struct Found {
  std::string kind;
  std::vector<std::byte> options;
};

ifinfomsg header_of(int interface) {
  ifinfomsg header = {};
  header.ifi_family = AF_UNSPEC;
  header.ifi_index = interface;
  return header;
}

tcmsg header_of(const TrafficPlace& place) {
  tcmsg header = {};
  header.tcm_family = AF_UNSPEC;
  header.tcm_ifindex = place.interface;
  header.tcm_parent = place.at.parent;
  header.tcm_handle = place.at.handle;
  return header;
}

// Reads one qdisc or class back from the kernel; empty if there is none. Does not request a dump,
// which would list the qdiscs of all switch ports. Sets NLM_F_ECHO, without which the kernel sends
// no reply.
std::optional<Found> read_back(const NetlinkSocket& socket, const TrafficPlace& place,
                               const std::string& attempt) {
  const int question = place.at.is_class() ? RTM_GETTCLASS : RTM_GETQDISC;
  std::optional<Found> found;
  ask(socket, make_message(question, NLM_F_REQUEST | NLM_F_ECHO, header_of(place), {}), attempt,
      [&](std::span<const std::byte> body) {
        const auto [got, attributes] = taken_apart<tcmsg>(body, attempt);
        if (got.tcm_ifindex != place.interface || got.tcm_handle != place.at.handle) return;
        Found& one = found.emplace();
        one.kind = attributes.text(TCA_KIND);
        if (attributes.has(TCA_OPTIONS)) {
          const std::span<const std::byte> options = attributes.bytes(TCA_OPTIONS);
          one.options.assign(options.begin(), options.end());
        }
      });
  return found;
}

std::string in_words(const std::vector<Mismatch>& mismatches) {
  std::string words;
  for (const Mismatch& mismatch : mismatches)
    words += fmt::format("{}{}: requested {}, got {}", words.empty() ? "" : "; ", mismatch.setting,
                         mismatch.asked, mismatch.got);
  return words;
}

void refuse_mismatches(const std::vector<Mismatch>& mismatches, const std::string& attempt) {
  if (!mismatches.empty())
    throw RunError(
        fmt::format("{}: the kernel applied other settings: {}", attempt, in_words(mismatches)));
}

std::string traffic_words(const std::string& interface, TrafficHandle at,
                          const QdiscRequest& request) {
  if (!at.is_class()) return fmt::format("qdisc {} on {}", request.kind, interface);
  return fmt::format("class {:x}:{:x} of {} on {}", at.handle >> 16, at.handle & 0xffff,
                     request.kind, interface);
}

std::string frame_limits_words(const std::string& interface, std::uint32_t mtu,
                               std::uint32_t segments) {
  return fmt::format("mtu {} and gso_max_segs {} on {}", mtu, segments, interface);
}

std::vector<Mismatch> compare_frame_limits(const NetlinkSocket& socket, int index,
                                           std::uint32_t mtu, std::uint32_t segments,
                                           const std::string& attempt) {
  Comparison comparison;
  ask(socket, make_message(RTM_GETLINK, NLM_F_REQUEST, header_of(index), {}), attempt,
      [&](std::span<const std::byte> body) {
        const AttributeReader got = taken_apart<ifinfomsg>(body, attempt).second;
        comparison.expect("mtu (IFLA_MTU)", mtu, got.get<std::uint32_t>(IFLA_MTU));
        comparison.expect("gso_max_segs (IFLA_GSO_MAX_SEGS)", segments,
                          got.get<std::uint32_t>(IFLA_GSO_MAX_SEGS));
      });
  return std::move(comparison).found();
}

}  // namespace

void set_traffic(const NetlinkSocket& socket, const TrafficPlace& place,
                 const QdiscRequest& request, const std::string& attempt) {
  AttributeWriter attributes;
  attributes.put_text(TCA_KIND, request.kind);
  if (!request.options.empty()) attributes.put_bytes(TCA_OPTIONS, request.options);
  send_and_wait(
      socket,
      make_message(place.at.is_class() ? RTM_NEWTCLASS : RTM_NEWQDISC,
                   NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE, header_of(place), attributes),
      attempt, request.mismatches ? request.kind : "");
}

void check_traffic(const NetlinkSocket& socket, const TrafficPlace& place,
                   const QdiscRequest& request, const std::string& attempt) {
  const std::optional<Found> now = read_back(socket, place, attempt);
  if (!now || now->kind != request.kind)
    throw RunError(fmt::format("{}: the kernel then reported {} at this handle", attempt,
                               now ? now->kind : "nothing"));
  refuse_mismatches(request.mismatches(now->options), attempt);
}

std::string traffic_difference(const NetlinkSocket& socket, const TrafficPlace& place,
                               const QdiscRequest& request, const std::string& what) {
  std::optional<Found> now;
  try {
    now = read_back(socket, place, what);
  } catch (const RunError&) {
    // The kernel reports a missing handle as an error.
  }
  if (!now || now->kind != request.kind)
    return fmt::format("{}: {}", what, now ? "replaced by " + now->kind : "deleted");
  const std::string words = in_words(request.mismatches(now->options));
  return words.empty() ? "" : fmt::format("{}: {}", what, words);
}

void delete_qdisc(const NetlinkSocket& socket, const TrafficPlace& place,
                  const std::string& attempt) {
  const int result = nl_send_sync(
      socket.get(), make_message(RTM_DELQDISC, NLM_F_REQUEST, header_of(place), {}).release());
  if (result != -NLE_OBJ_NOTFOUND && result != -NLE_INVAL) check_netlink(result, attempt);
}

void list_traffic(int question, const TrafficPlace& place, const std::string& attempt,
                  const std::function<void(const tcmsg&, const AttributeReader&)>& consume) {
  ask(open_rtnetlink(), make_message(question, NLM_F_REQUEST | NLM_F_DUMP, header_of(place), {}),
      attempt, [&](std::span<const std::byte> body) {
        const auto [header, attributes] = taken_apart<tcmsg>(body, attempt);
        consume(header, attributes);
      });
}

void Netlink::set_qdisc(const std::string& interface, TrafficHandle at,
                        const QdiscRequest& request) {
  const TrafficPlace place = {index_of(interface), at};
  const std::string attempt = traffic_words(interface, at, request);
  set_traffic(socket_, place, request, attempt);
  check_traffic(socket_, place, request, attempt);
}

std::string Netlink::qdisc_difference(const std::string& interface, TrafficHandle at,
                                      const QdiscRequest& request) {
  return traffic_difference(socket_, {index_of(interface), at}, request,
                            traffic_words(interface, at, request));
}

void Netlink::delete_root_qdisc(const std::string& interface) {
  // Handle 0 stands for any. If the root had another handle than the one named, the kernel would
  // refuse with EINVAL, as if there were nothing to delete.
  delete_qdisc(socket_, {index_of(interface), {TrafficHandle().parent, 0}},
               fmt::format("delete the qdisc of {}", interface));
}

void Netlink::redirect_arrivals(const std::string& interface, const std::string& target) {
  const std::string attempt = fmt::format("redirect ingress of {} to {}", interface, target);
  tcmsg header = header_of(TrafficPlace{index_of(interface), kIngress});
  AttributeWriter ingress;
  ingress.put_text(TCA_KIND, "ingress");
  send_and_wait(
      socket_,
      make_message(RTM_NEWQDISC, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL, header, ingress),
      attempt, "ingress");

  // A u32 filter without a mask matches every packet. Not every kernel has cls_matchall.
  tc_u32_sel selector = {};
  selector.flags = TC_U32_TERMINAL;
  selector.nkeys = 1;
  AttributeWriter match;
  match.put_struct(selector);
  match.put_struct(tc_u32_key{});
  tc_mirred mirred = {};
  mirred.action = TC_ACT_STOLEN;
  mirred.eaction = TCA_EGRESS_REDIR;
  mirred.ifindex = static_cast<std::uint32_t>(index_of(target));
  AttributeWriter parameters, action, actions, options, filter;
  parameters.put(TCA_MIRRED_PARMS, mirred);
  action.put_text(TCA_ACT_KIND, "mirred");
  action.put_nested(TCA_ACT_OPTIONS, parameters);
  actions.put_nested(1, action);
  options.put_bytes(TCA_U32_SEL, match.bytes());
  options.put_nested(TCA_U32_ACT, actions);
  filter.put_text(TCA_KIND, "u32");
  filter.put_nested(TCA_OPTIONS, options);
  header.tcm_parent = kIngress.handle;
  header.tcm_handle = 0;
  header.tcm_info = TC_H_MAKE(kFilterPriority << 16, htons(ETH_P_ALL));
  send_and_wait(
      socket_,
      make_message(RTM_NEWTFILTER, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL, header, filter),
      attempt + " (needs cls_u32 and act_mirred)");
}

void Netlink::stop_redirecting(const std::string& interface) {
  delete_qdisc(socket_, {index_of(interface), kIngress},
               fmt::format("stop redirecting ingress of {}", interface));
}

void Netlink::set_frame_limits(const std::string& interface, std::uint32_t mtu,
                               std::uint32_t segments) {
  const std::string attempt = frame_limits_words(interface, mtu, segments);
  const int index = index_of(interface);
  AttributeWriter attributes;
  attributes.put(IFLA_MTU, mtu);
  attributes.put(IFLA_GSO_MAX_SEGS, segments);
  send_and_wait(socket_, make_message(RTM_NEWLINK, NLM_F_REQUEST, header_of(index), attributes),
                attempt);
  refuse_mismatches(compare_frame_limits(socket_, index, mtu, segments, attempt), attempt);
}

std::string Netlink::frame_limits_difference(const std::string& interface, std::uint32_t mtu,
                                             std::uint32_t segments) {
  const std::string words = in_words(compare_frame_limits(
      socket_, index_of(interface), mtu, segments, frame_limits_words(interface, mtu, segments)));
  return words.empty() ? "" : fmt::format("interface {}: {}", interface, words);
}

}  // namespace thinpipe
