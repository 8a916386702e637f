// Settings of TCP in an emulated host that an emulation depends on: set, read back and recorded.
#pragma once

#include <map>
#include <string>

namespace thinpipe {

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
