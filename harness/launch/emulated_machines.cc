#include "harness/launch/emulated_machines.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "harness/programs.h"
#include "netem/verify.h"
#include "netem/verify_topology.h"

namespace thinpipe {

Boarding EmulatedMachines::board(int ranks) {
  namespace fs = std::filesystem;
  fs::remove(scratch_ + "/thinpipe-enter");
  fs::create_symlink(find_program("thinpipe-enter"), scratch_ + "/thinpipe-enter");
  setenv("THINPIPE_HOSTS", network_.enter_table().c_str(), 1);
  std::string hosts;
  for (int i = 0; i < ranks; ++i)
    hosts += fmt::format("{}{}:1", i > 0 ? "," : "", network_.control_address(i));
  Boarding boarding;
  boarding.shared_folder = scratch_;
  boarding.mpirun = {"--host", hosts};
  const auto set = [&](const char* name, const std::string& value) {
    boarding.mpirun.insert(boarding.mpirun.end(), {"--mca", name, value});
  };
  // The agent's path may hold blanks, which mpirun would split; this link's does not.
  set("plm_rsh_agent", scratch_ + "/thinpipe-enter");
  set("plm_rsh_no_tree_spawn", "1");
  set("orte_tmpdir_base", scratch_);
  set("oob_tcp_if_include", Network::kControlNetwork);
  set("btl_tcp_if_include", Network::kDataNetwork);
  return boarding;
}

std::optional<double> EmulatedMachines::goodput_ratio(const LinkSpec& link, Launch&) {
  if (size() < 2) return std::nullopt;
  if (star_) {
    VerifyOptions quick;
    quick.seconds = 1;
    quick.settle = 0.3;  // and what slow start takes on a long link
    quick.windows = 5;
    quick.pings = 20;
    return 1 + verify_link(network_, link, quick).deviation();
  }
  TopologyCheckOptions quick;
  quick.seconds = 1;
  quick.settle = 0.3;
  quick.pings = 20;
  double ratio = 1;
  for (const ProbeCheck& check : verify_topology(network_, link, quick))
    if (std::fabs(check.deviation()) >= std::fabs(ratio - 1)) ratio = 1 + check.deviation();
  return ratio;
}

}  // namespace thinpipe
