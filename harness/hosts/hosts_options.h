// Which machines of the user's a run takes, and what it may do there.
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

/// What --hosts and the options beside it say.
struct HostsOptions {
  std::vector<std::string> names;  ///< of all machines, in the order of ranks
  bool slurm = false;              ///< they are the allocation that this process runs in
  std::string agent;          ///< command that runs a command on a host, instead of ssh; "" for ssh
  std::string mpi_interface;  ///< names or CIDRs, with commas, of what MPI may use; "": its choice
  std::string shape;          ///< interface to throttle on every host; "" for none
  bool shape_anyway = false;  ///< although it carries a default route or the way to this machine
  std::string shape_prefix;   ///< words before thinpipe-shape, such as `sudo -n`
  double lease = 15;          ///< s after which a host gives its interface back by itself
};

}  // namespace thinpipe
