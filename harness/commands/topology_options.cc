#include "harness/commands/topology_options.h"

#include "netem/link/link_spec.h"

namespace thinpipe {

OptionInfo topology_option() {
  std::vector<std::string> names;
  for (const TopologyKind& kind : topology_kinds()) names.emplace_back(kind.name);
  return text_option("topology", "SPEC", "star",
                     "star, racks, wan or ps with settings, such as "
                     "racks:racks=2,host3=(rate=10mbit), or the path of a topology file",
                     names);
}

OptionInfo hosts_option(const std::string& default_value, int fewest) {
  return integer_option("ranks,n", "N", default_value, {static_cast<double>(fewest), 1000},
                        "number of hosts; a topology file defines its own number");
}

std::vector<std::string> link_suggestions() {
  std::vector<std::string> names;
  for (const LinkPreset& preset : link_presets()) names.emplace_back(preset.name);
  return names;
}

OptionInfo link_option(const std::string& help) {
  return text_option("link,l", "SPEC", "rate=100mbit", help, link_suggestions());
}

OptionInfo tolerance_option(const std::string& help) {
  return real_option("tolerance", "PERCENT", "3", {0.01, 100}, help);
}

int hosts_of(const Arguments& arguments, const TopologySpec& spec) {
  return spec.fixed_hosts() > 0 && !arguments.given("ranks")
             ? spec.fixed_hosts()
             : static_cast<int>(arguments.integer("ranks"));
}

}  // namespace thinpipe
