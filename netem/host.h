// An emulated host: a network namespace and a UTS namespace. Open file descriptors keep both
// namespaces alive, so they need no name in the file system. Also sets TCP's sysctls of a host.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "netem/file_descriptor.h"

namespace thinpipe {

class Host {
 public:
  /// Creates both namespaces and sets the hostname to `name`. Must run in a sandbox.
  /// @throws SystemError when the kernel refuses.
  explicit Host(std::string name);

  const std::string& name() const { return name_; }
  int network_namespace() const { return network_.get(); }
  /// Return the paths by which other processes of the sandbox open the namespaces: /proc/1/fd/7.
  std::string network_path() const;
  std::string uts_path() const;

  /// Runs `action` with the calling thread in the host's namespaces. Afterwards the thread returns
  /// to its own namespaces, also when `action` throws.
  void inside(const std::function<void()>& action) const;

  /// Returns a protocol's counters since the host's creation, by the names of /proc/net/snmp: "Tcp"
  /// has OutSegs and RetransSegs, "Udp" has RcvbufErrors.
  std::map<std::string, std::int64_t> protocol_counters(const std::string& protocol) const;

 private:
  std::string name_;
  FileDescriptor network_, uts_;
};

/// Sets a host's TCP sysctls and disables IPv6, in the network namespace of the calling thread. If
/// the kernel refuses a value, the setting stays as before. Returns the values afterwards, of these
/// settings and of others that influence TCP (buffer sizes, timestamps).
std::map<std::string, std::string> tune_tcp();

/// Raises TCP's buffer limits for windows of `window` bytes, in the network namespace of the
/// calling thread, and writes the new limits to `in_force`. Never lowers a limit. Existing
/// connections keep their window scale and may stay below the new limit.
void widen_tcp_buffers(double window, std::map<std::string, std::string>& in_force);

/// Makes the network namespace of the calling thread an IPv4 router.
/// @throws RunError when the kernel refuses.
void forward_packets();

}  // namespace thinpipe
