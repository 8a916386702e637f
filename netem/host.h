// An emulated host: a network and a UTS namespace held by descriptors, with no name outside; and
// the settings of TCP that an emulation depends on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "netem/file_descriptor.h"

namespace thinpipe {

class Host {
 public:
  /// Makes both namespaces; its hostname is `name`. Must run in a sandbox.
  explicit Host(std::string name);

  const std::string& name() const { return name_; }
  int network_namespace() const { return network_.get(); }
  /// Where another process of the sandbox finds the namespaces, as in /proc/1/fd/7.
  std::string network_path() const;
  std::string uts_path() const;

  /// Runs `action` with the calling thread in the host's namespaces, then returns to those it was
  /// in, also when `action` throws.
  void inside(const std::function<void()>& action) const;

  /// Counters that the host's kernel keeps of a protocol since the host was made, by the names of
  /// /proc/net/snmp: "Tcp" has OutSegs and RetransSegs, "Udp" has RcvbufErrors.
  std::map<std::string, std::int64_t> protocol_counters(const std::string& protocol) const;

 private:
  std::string name_;
  FileDescriptor network_, uts_;
};

/// Sets what a host needs in the network namespace of the calling thread and returns every setting
/// with the value that is in force afterwards. A value the kernel refuses is left as it is: the
/// record tells.
std::map<std::string, std::string> tune_tcp();

/// Lets TCP's buffers grow to windows of so many bytes, in the network namespace of the calling
/// thread, and notes in `in_force` what they may grow to now. They are never made smaller.
/// Connections made before have a window scale of their own and may stay below.
void widen_tcp_buffers(double window, std::map<std::string, std::string>& in_force);

/// Makes the network namespace of the calling thread a router, silent but for the errors of IP.
/// @throws RunError when the kernel refuses.
void forward_packets();

}  // namespace thinpipe
