#include "harness/commands/topology_options.h"

#include <fmt/format.h>

#include "netem/link/link_spec.h"
#include "netem/topology/kinds.h"

namespace thinpipe {

OptionInfo topology_option() {
  std::vector<std::string> names;
  for (const TopologyKind& kind : topology_kinds()) names.emplace_back(kind.name);
  return {.name = "topology",
          .value_name = "SPEC",
          .type = OptionInfo::Type::kText,
          .default_value = "star",
          .help =
              "star, racks, wan or ps with settings, such as "
              "racks:racks=2,host3=(rate=10mbit), or the path of a topology file",
          .suggestions = names};
}

OptionInfo hosts_option(const std::string& default_value, int fewest) {
  return {.name = "ranks",
          .letter = 'n',
          .value_name = "N",
          .type = OptionInfo::Type::kInteger,
          .default_value = default_value,
          .help = "number of hosts; a topology file defines its own number",
          .minimum = static_cast<double>(fewest),
          .maximum = 1000};
}

std::vector<std::string> link_suggestions() {
  std::vector<std::string> names;
  for (const LinkPreset& preset : link_presets()) names.emplace_back(preset.name);
  return names;
}

OptionInfo link_option(const std::string& help) {
  return {.name = "link",
          .letter = 'l',
          .value_name = "SPEC",
          .type = OptionInfo::Type::kText,
          .default_value = "rate=100mbit",
          .help = help,
          .suggestions = link_suggestions()};
}

OptionInfo tolerance_option(const std::string& help) {
  return {.name = "tolerance",
          .value_name = "PERCENT",
          .type = OptionInfo::Type::kReal,
          .default_value = "3",
          .help = help,
          .minimum = 0.01,
          .maximum = 100};
}

int hosts_of(const Arguments& arguments, const TopologySpec& spec) {
  return spec.fixed_hosts() > 0 && !arguments.given("ranks")
             ? spec.fixed_hosts()
             : static_cast<int>(arguments.integer("ranks"));
}

std::string topology_help() {
  std::string text;
  for (const TopologyKind& kind : topology_kinds()) {
    text += fmt::format("`{}`: {}. Settings:", kind.name, kind.help);
    for (const auto* settings : {&kind.values, &kind.links})
      for (const TopologySetting& setting : *settings)
        text += fmt::format(" `{}`{}, {};", setting.name,
                            *setting.default_value == '\0'
                                ? std::string()
                                : fmt::format(" ({})", setting.default_value),
                            setting.help);
    text.back() = '.';
    text += "\n\n";
  }
  return text +
         "`host3=(rate=10mbit)` sets the link of one host, `host4-7=(rate=0.1x)` the links of "
         "several hosts, `rack1=(...)` an uplink, `site0-site2=(...)` the link between two sites; "
         "0.1x is a tenth of --link. docs/topologies.md describes the settings and topology files.";
}

}  // namespace thinpipe
