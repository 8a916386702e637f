#include "harness/commands/program_options.h"

#include "harness/commands/topology_options.h"
#include "netem/link/link_spec.h"
#include "netem/schedule/schedule.h"
#include "netem/topology/spec.h"

namespace thinpipe {

std::vector<OptionInfo> with_program_options(std::vector<OptionInfo> own,
                                             const std::string& quiet_help) {
  std::vector<OptionInfo> options = {
      link_option("one link, as for `thinpipe run`, or a preset of `thinpipe list links`"),
      topology_option(),
      hosts_option("2"),
      {.name = "schedule",
       .value_name = "SPEC",
       .type = OptionInfo::Type::kText,
       .help =
           "changes of the links over time, as for `thinpipe net play`; starts with the program"}};
  options.insert(options.end(), own.begin(), own.end());
  options.push_back({.name = "quiet", .letter = 'q', .help = quiet_help});
  return options;
}

ProgramNetwork program_network_of(const Arguments& arguments) {
  const TopologySpec topology = parse_topology(arguments.text("topology"));
  return {
      topology, hosts_of(arguments, topology), parse_link_spec(arguments.text("link")),
      arguments.given("schedule") ? parse_schedule(arguments.text("schedule")) : ScheduleSpec()};
}

}  // namespace thinpipe
