// Hand-made rtnetlink messages, for what libnl-route does not support.
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

/// An rtnetlink socket of the network namespace of the thread that creates it.
class NetlinkConversation {
 public:
  NetlinkConversation();
  ~NetlinkConversation();
  NetlinkConversation(const NetlinkConversation&) = delete;
  NetlinkConversation& operator=(const NetlinkConversation&) = delete;

  nl_sock* socket() const { return socket_; }
  /// Sends a message and waits for the acknowledgement. @throws RunError naming `attempt`.
  void request(const NetlinkMessage& message, const std::string& attempt) const;
  /// Sends a message and passes every message of the reply to `each`.
  void read(const NetlinkMessage& message, const std::string& attempt,
            const std::function<void(nlmsghdr*)>& each) const;

 private:
  nl_sock* socket_;
};

/// Returns a message about the qdiscs or filters of an interface.
/// @param type   such as RTM_NEWQDISC
/// @param flags  such as NLM_F_CREATE
/// @param parent, handle  in tc's numbers
NetlinkMessage traffic_message(int type, int flags, int interface, std::uint32_t parent,
                               std::uint32_t handle);

/// Returns the interface's index. @throws RunError when no interface has this name.
int interface_index(const std::string& name);

}  // namespace thinpipe
