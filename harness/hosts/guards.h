// The guards of the interfaces that a sweep throttles on real hosts, one a host.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "netem/file_descriptor.h"
#include "netem/netlink.h"

namespace thinpipe {

/// How to start a guard on a host.
struct GuardCommand {
  std::string host;
  std::vector<std::string> words;  ///< the program first; found by PATH
};

/// What a guard said when it began.
struct GuardedCard {
  int mtu = 0;
  std::string had;  ///< the qdisc it will be given back
};

/// One guard: a child process (ssh, say) at whose far end thinpipe-shape answers.
class GuardLine {
 public:
  /// @param log  file for what the child says on its standard error
  /// @throws RunError naming the host when it cannot be started or refuses.
  GuardLine(const GuardCommand& command, const std::string& log);
  ~GuardLine();
  GuardLine(const GuardLine&) = delete;
  GuardLine& operator=(const GuardLine&) = delete;

  const std::string& host() const { return host_; }
  const GuardedCard& card() const { return card_; }
  /// Sends a line and waits for its answer, which must begin with `expected`.
  /// @returns what comes after that. @throws RunError naming the host.
  std::string ask(const std::string& line, const std::string& expected, double seconds);
  /// Prolongs the lease, if the line takes it at once; waits for nothing.
  void renew();

 private:
  std::string read_line(double seconds);
  [[noreturn]] void fail(const std::string& what);

  std::string host_, log_, received_;
  GuardedCard card_;
  FileDescriptor socket_;
  pid_t child_ = -1;
};

/// All of them. A thread of their own renews the leases while this process lives.
class Guards {
 public:
  /// @param lease  s, as the commands have it
  Guards(const std::vector<GuardCommand>& commands, const std::string& scratch, double lease);
  /// Asks for all interfaces back and says on stderr which host did not confirm.
  ~Guards();
  Guards(const Guards&) = delete;
  Guards& operator=(const Guards&) = delete;

  /// @param link  as parse_link_spec() reads it
  void set_links(const std::string& link);
  /// Of the qdiscs of the first `hosts` hosts, added up.
  QdiscCounters count(int hosts);
  /// What of the links is not as it was set any more, host by host in words.
  std::vector<std::string> alterations();
  std::vector<GuardedCard> cards() const;

 private:
  std::vector<std::unique_ptr<GuardLine>> lines_;
  std::mutex mutex_;  // of the lines
  std::condition_variable end_;
  bool ending_ = false;
  std::thread renewals_;
};

}  // namespace thinpipe
