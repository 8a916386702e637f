#include "netem/real_nic/messages.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/link/netlink.h"

namespace thinpipe {

namespace {

int hand_over(nl_msg* message, void* each) {
  (*static_cast<const std::function<void(nlmsghdr*)>*>(each))(nlmsg_hdr(message));
  return NL_OK;
}

}  // namespace

void NetlinkMessageDeleter::operator()(nl_msg* message) const { nlmsg_free(message); }

NetlinkConversation::NetlinkConversation() : socket_(open_rtnetlink()) {}

NetlinkConversation::~NetlinkConversation() { nl_socket_free(socket_); }

void NetlinkConversation::request(const NetlinkMessage& message, const std::string& attempt) const {
  check_netlink(nl_send_auto(socket_, message.get()), attempt);
  check_netlink(nl_wait_for_ack(socket_), attempt);
}

void NetlinkConversation::read(const NetlinkMessage& message, const std::string& attempt,
                               const std::function<void(nlmsghdr*)>& each) const {
  // Exceptions must not cross the C callback, so the messages are stored and passed on afterwards.
  std::vector<std::vector<std::byte>> answers;
  const std::function<void(nlmsghdr*)> keep = [&](nlmsghdr* header) {
    const auto* bytes = reinterpret_cast<const std::byte*>(header);
    answers.emplace_back(bytes, bytes + header->nlmsg_len);
  };
  nl_socket_modify_cb(socket_, NL_CB_VALID, NL_CB_CUSTOM, hand_over,
                      const_cast<std::function<void(nlmsghdr*)>*>(&keep));
  check_netlink(nl_send_auto(socket_, message.get()), attempt);
  const int result = nl_recvmsgs_default(socket_);
  nl_socket_modify_cb(socket_, NL_CB_VALID, NL_CB_DEFAULT, nullptr, nullptr);
  check_netlink(result, attempt);
  for (std::vector<std::byte>& answer : answers) each(reinterpret_cast<nlmsghdr*>(answer.data()));
}

NetlinkMessage traffic_message(int type, int flags, int interface, std::uint32_t parent,
                               std::uint32_t handle) {
  NetlinkMessage message(nlmsg_alloc_simple(type, flags));
  tcmsg header = {};
  header.tcm_family = AF_UNSPEC;
  header.tcm_ifindex = interface;
  header.tcm_parent = parent;
  header.tcm_handle = handle;
  if (!message || nlmsg_append(message.get(), &header, sizeof(header), NLMSG_ALIGNTO) != 0)
    throw RunError("netlink message: out of memory");
  return message;
}

int interface_index(const std::string& name) {
  const unsigned index = if_nametoindex(name.c_str());
  if (index == 0) throw RunError(fmt::format("there is no interface '{}'", name));
  return static_cast<int>(index);
}

}  // namespace thinpipe
