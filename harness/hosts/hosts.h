// Machines of the user's that a run takes, as options, hostfiles and Slurm name them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {

/// Values of --hosts and the options beside it: the machines, and what a run may do there.
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

/// Reads a hostfile as Open MPI knows it: one machine a line, `#` begins a comment, and after the
/// name may stand `slots=N`, `max_slots=N` or `max-slots=N`. Every machine gets one rank: two would
/// meet in memory instead of on the network, so slots are checked and not used.
/// @returns the names in the order of the file, each once.
/// @throws InputError naming file and line: a name that cannot be one, a name that is there twice,
/// a word that is none of these, no machine at all, a file that cannot be read.
std::vector<std::string> read_hostfile(const std::filesystem::path& file);

/// Expands a Slurm node list: `node[01-03,7],login1` gives node01, node02, node03, node7, login1;
/// several brackets in one name multiply. @throws InputError quoting what cannot be read.
std::vector<std::string> expand_node_list(std::string_view text);

/// The nodes of the Slurm allocation that this process runs in, from SLURM_JOB_NODELIST (or the
/// older SLURM_NODELIST), checked against SLURM_JOB_NUM_NODES where that is set.
/// @throws InputError outside an allocation and for a contradiction.
std::vector<std::string> slurm_nodes();

}  // namespace thinpipe
