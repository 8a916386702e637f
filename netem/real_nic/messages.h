// rtnetlink messages made and read by hand, where libnl-route has no words for what is in them.
#pragma once

#include <functional>
#include <memory>
#include <string>

struct nl_msg;
struct nl_sock;
struct nlmsghdr;

namespace thinpipe {

struct NetlinkMessageDeleter {
  void operator()(nl_msg* message) const;
};
using NetlinkMessage = std::unique_ptr<nl_msg, NetlinkMessageDeleter>;

/// A conversation with the kernel in the network namespace of the thread that made it.
class NetlinkConversation {
 public:
  NetlinkConversation();
  ~NetlinkConversation();
  NetlinkConversation(const NetlinkConversation&) = delete;
  NetlinkConversation& operator=(const NetlinkConversation&) = delete;

  nl_sock* socket() const { return socket_; }
  /// Sends and waits for the kernel's consent. @throws RunError naming `attempt`.
  void request(const NetlinkMessage& message, const std::string& attempt) const;
  /// Sends and hands every message of the answer to `each`.
  void read(const NetlinkMessage& message, const std::string& attempt,
            const std::function<void(nlmsghdr*)>& each) const;

 private:
  nl_sock* socket_;
};

/// A message about the qdiscs or filters of an interface: `type` as RTM_NEWQDISC, `flags` as
/// NLM_F_CREATE; `parent` and `handle` as tc_sched.h has them.
NetlinkMessage traffic_message(int type, int flags, int interface, std::uint32_t parent,
                               std::uint32_t handle);

/// The interface's number; @throws RunError when there is none of this name.
int interface_index(const std::string& name);

}  // namespace thinpipe
