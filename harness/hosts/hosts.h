// The user's machines for a run, as named by options, hostfiles and Slurm.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {

class Machines;

/// Values of --hosts and of the options that depend on it: the real machines of a run, and what the
/// run may do on these machines.
struct HostsOptions {
  std::vector<std::string> names;  ///< of all machines, in the order of ranks
  bool slurm = false;              ///< the machines are this process's Slurm allocation
  std::string agent;          ///< command that runs a command on a host, instead of ssh; "" for ssh
  std::string mpi_interface;  ///< interfaces that MPI may use: names or CIDRs, with commas; "": all
  std::string shape;          ///< interface to throttle on every host; "" for none
  bool shape_anyway = false;  ///< even if it carries a default route or the route to this machine
  std::string shape_prefix;   ///< words before thinpipe-shape, such as `sudo -n`
  double lease = 15;          ///< s without contact after which a host restores its interface
};

/// Reads a hostfile of Open MPI: one machine on a line, then optionally `slots=N`, `max_slots=N` or
/// `max-slots=N`; `#` begins a comment. Slots are checked but not used, because every machine runs
/// one rank: two ranks would communicate through memory instead of the network.
/// @returns the names in the order of the file, each once.
/// @throws InputError naming file and line: an impossible name, a name that occurs twice, an
/// unknown word, no machine at all, a file that cannot be read.
std::vector<std::string> read_hostfile(const std::filesystem::path& file);

/// Expands a Slurm node list: `node[01-03,7],login1` gives node01, node02, node03, node7, login1. A
/// name with several brackets gives all combinations of their values. @throws InputError quoting
/// the text that cannot be read.
std::vector<std::string> expand_node_list(std::string_view text);

/// Returns the nodes of this process's Slurm allocation, from SLURM_JOB_NODELIST (or the older
/// SLURM_NODELIST). If SLURM_JOB_NUM_NODES is set, the list must agree with it.
/// @throws InputError outside an allocation, in a job step of several tasks, and if the two
/// variables disagree.
std::vector<std::string> slurm_nodes();

/// Returns the machines, reached through ssh or Slurm. Without Slurm, first logs in to each host
/// and checks that ranks can run there. If an interface is to be throttled, starts a guard on each
/// host, which throttles and restores the interface.
/// @param scratch  folder on this machine for the output of the connections
/// @param ranks  maximum number of ranks to be launched; machines beyond this number are left alone
/// @throws RunError naming the host that cannot be reached, or that refuses, with its reason.
std::unique_ptr<Machines> make_real_machines(HostsOptions options, const std::string& scratch,
                                             int ranks);

}  // namespace thinpipe
