// An interface in a sandbox that stands for a real network card, and a guard of it.
#pragma once

#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/error.h"
#include "netem/file_descriptor.h"
#include "netem/link/netlink.h"
#include "netem/real_nic/nic.h"
#include "netem/real_nic/saved_qdiscs.h"
#include "netem/sandbox.h"
#include "tests/netem/helpers.h"

namespace thinpipe {

/// Runs `body` in a sandbox that has a /run of its own and the interfaces nic0 and nic1, up, with
/// 10.1.0.1/24 and 10.2.0.1/24, as expect_in_sandbox() does.
inline void with_nics(const std::function<void()>& body, int code = kExitGood) {
  const auto prepared = [&] {
    signal(SIGPIPE, SIG_IGN);  // a guard may have ended when it is asked
    require(mount("test", "/run", "tmpfs", 0, nullptr) == 0, "a /run of our own");
    Netlink netlink;
    const FileDescriptor here(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    for (const auto& [name, address] :
         {std::pair{"nic0", "10.1.0.1/24"}, std::pair{"nic1", "10.2.0.1/24"}}) {
      const std::string peer = std::string(name) + "-peer";
      netlink.add_veth(name, peer, here.get());
      netlink.add_address(name, address);
      netlink.set_up(name);
      netlink.set_up(peer);
    }
    body();
  };
  expect_in_sandbox(prepared, code);
}

inline void add_default_route(const std::string& interface, const char* gateway) {
  Netlink().add_route("0.0.0.0/0", interface, gateway);
}

/// Adds a qdisc by a message that the test builds itself. The settings that the code under test
/// reads and restores are compared with this message.
inline void add_qdisc(const std::string& interface, std::uint32_t parent, std::uint32_t handle,
                      const char* kind, const void* options, int size) {
  nl_msg* message = nlmsg_alloc_simple(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE);
  tcmsg header = {};
  header.tcm_ifindex = interface_index(interface);
  header.tcm_parent = parent;
  header.tcm_handle = handle;
  nlmsg_append(message, &header, sizeof(header), NLMSG_ALIGNTO);
  nla_put_string(message, TCA_KIND, kind);
  if (size > 0) nla_put(message, TCA_OPTIONS, size, options);
  const NetlinkSocket kernel = open_rtnetlink();
  check_netlink(nl_send_sync(kernel.get(), message), std::string("the test's ") + kind);
}

/// Calls `add`, which adds a qdisc. False if this kernel lacks the qdisc's kind.
inline bool kernel_can(const std::function<void()>& add) {
  const std::string error = run_error(add);
  if (error.empty()) return true;
  require_has(error, nl_geterror(NLE_OBJ_NOTFOUND));
  return false;
}

inline RawQdisc root_qdisc(const std::string& interface) {
  return read_qdiscs(interface_index(interface)).at(0);
}

/// A guard in a process of its own, as ssh would start it.
class RunningGuard {
 public:
  explicit RunningGuard(const GuardOptions& options) {
    int to[2], from[2];
    require(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0, "pipes");
    process_ = fork();
    if (process_ == 0) {
      close(to[1]);
      close(from[0]);
      _exit(run_guard(options, to[0], from[1]));
    }
    close(to[0]);
    close(from[1]);
    to_ = FileDescriptor(to[1]);
    from_ = FileDescriptor(from[0]);
    hello_ = line();
  }

  const std::string& hello() const { return hello_; }
  pid_t process() const { return process_; }
  /// The child that talks and holds the lease.
  pid_t keeper() const {
    const std::string path =
        "/proc/" + std::to_string(process_) + "/task/" + std::to_string(process_) + "/children";
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    char text[64] = {};
    require(read(file.get(), text, sizeof(text) - 1) > 0, "the guard has a keeper");
    return std::atoi(text);
  }
  std::string ask(const std::string& question) {
    const std::string text = question + "\n";
    // Fails where the guard has ended, whose last line may be unread.
    [[maybe_unused]] const ssize_t sent = write(to_.get(), text.data(), text.size());
    return line();
  }
  void hang_up() { to_.reset(); }
  /// A line of the guard; "" when it has closed its end. 20 s at most.
  std::string line() {
    std::string text;
    for (;;) {
      pollfd waiting = {from_.get(), POLLIN, 0};
      require(poll(&waiting, 1, 20000) == 1, "the guard sends something");
      char c;
      if (read(from_.get(), &c, 1) != 1 || c == '\n') return text;
      text += c;
    }
  }
  int wait() {
    int status = 0;
    waitpid(process_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t process_ = -1;
  FileDescriptor to_, from_;
  std::string hello_;
};

}  // namespace thinpipe
