// An emulated host: a network and a UTS namespace held by descriptors, with no name outside.
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

}  // namespace thinpipe
