#include "harness/commands/hosts_options.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "harness/hosts/hostfile.h"
#include "netem/real_nic/card_link.h"

namespace thinpipe {

std::vector<OptionInfo> hosts_options() {
  using Type = OptionInfo::Type;
  return {
      {.name = "hosts",
       .value_name = "FILE",
       .type = Type::kFile,
       .help = "run on these machines, one rank on each: a hostfile, or `slurm` for the allocation "
               "this runs in"},
      {.name = "agent",
       .value_name = "COMMAND",
       .type = Type::kText,
       .help = "what is put before a host and a command to run it there, instead of ssh"},
      {.name = "mpi-iface",
       .value_name = "IFACE",
       .type = Type::kText,
       .help = "names or CIDRs, with commas, of the interfaces that ranks exchange over; that of "
               "--shape by default"},
      {.name = "shape",
       .value_name = "IFACE",
       .type = Type::kText,
       .help = "throttle this interface on every host to --link, and give it back afterwards, "
               "whatever happens"},
      {.name = "shape-anyway",
       .help = "even if it carries the default route or the connection that controls the host"},
      {.name = "shape-prefix",
       .value_name = "WORDS",
       .type = Type::kText,
       .help = "put before the program that throttles, which needs CAP_NET_ADMIN: `sudo -n`"},
      {.name = "lease",
       .value_name = "S",
       .type = Type::kReal,
       .default_value = "15",
       .help = "seconds without a word from here after which a host gives its interface back",
       .minimum = 1,
       .maximum = 3600},
  };
}

std::optional<HostsOptions> hosts_of(const Arguments& arguments) {
  if (!arguments.given("hosts")) {
    for (const char* name :
         {"agent", "mpi-iface", "shape", "shape-anyway", "shape-prefix", "lease"})
      if (arguments.given(name))
        throw InputError(fmt::format("--{} is for real machines: it needs --hosts", name));
    return std::nullopt;
  }
  HostsOptions hosts;
  const std::string source = arguments.text("hosts");
  hosts.slurm = source == "slurm";
  hosts.names = hosts.slurm ? slurm_nodes() : read_hostfile(source);
  const auto optional_text = [&](const char* name) {
    return arguments.given(name) ? arguments.text(name) : std::string();
  };
  hosts.agent = optional_text("agent");
  hosts.mpi_interface = optional_text("mpi-iface");
  hosts.shape = optional_text("shape");
  hosts.shape_anyway = arguments.flag("shape-anyway");
  hosts.shape_prefix = optional_text("shape-prefix");
  hosts.lease = arguments.real("lease");
  if (hosts.slurm && !hosts.agent.empty())
    throw InputError("--agent has no use with --hosts slurm: srun starts what is needed");
  for (const char* name : {"shape-anyway", "shape-prefix", "lease"})
    if (arguments.given(name) && hosts.shape.empty())
      throw InputError(fmt::format("--{} says how to throttle: it needs --shape", name));
  return hosts;
}

void check_hosts(const HostsOptions& hosts, const SweepOptions& options, bool link_given,
                 bool schedule_given) {
  const int ranks = *std::max_element(options.ranks.begin(), options.ranks.end());
  const int most = host_counts(options).back();
  if (most > static_cast<int>(hosts.names.size()))
    throw InputError(fmt::format(
        "--ranks {}{}: --hosts names {} machines, and a machine gets one rank", ranks,
        most > ranks ? fmt::format(" and {} servers", most - ranks) : "", hosts.names.size()));
  if (!options.topology.is_star())
    throw InputError(
        "--topology is of emulated networks; on real machines each host's own interface is "
        "throttled");
  if (schedule_given)
    throw InputError("--schedule is played on emulated hosts only, not with --hosts");
  for (const LinkSpec& link : options.links)
    if (const std::string reason = why_not_on_a_card(link); !hosts.shape.empty() && !reason.empty())
      throw InputError(fmt::format("link '{}': {}", link.to_string(), reason));
  if (hosts.shape.empty() && (!link_given || options.links.size() != 1))
    throw InputError(
        "--hosts without --shape leaves the network as it is: say with one --link what it is (such "
        "as rate=10gbit), for figures are drawn against it");
}

}  // namespace thinpipe
