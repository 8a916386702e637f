// `thinpipe net show`: what network a topology makes, drawn.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/output_file.h"
#include "harness/commands/output.h"
#include "harness/commands/topology_options.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "netem/topology/drawing.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Topology& topology) {
  Json hosts = Json::array(), trunks = Json::array();
  for (const TopologyHost& host : topology.hosts) {
    hosts.push_back({{"name", host.name},
                     {"switch", topology.switches[static_cast<std::size_t>(host.at)]},
                     {"link", host.link.to_string()}});
    if (!host.role.empty()) hosts.back()["role"] = host.role;
  }
  for (const Trunk& trunk : topology.trunks)
    trunks.push_back({{"from", topology.switches[static_cast<std::size_t>(trunk.a)]},
                      {"to", topology.switches[static_cast<std::size_t>(trunk.b)]},
                      {"link", trunk.link.to_string()}});
  return {{"topology", topology.text},
          {"switches", topology.switches},
          {"hosts", hosts},
          {"switch_links", trunks}};
}

Action prepare_show(const Arguments& arguments) {
  const TopologySpec spec = parse_topology(arguments.text("topology"));
  const Topology topology =
      spec.plan(hosts_of(arguments, spec), parse_link_spec(arguments.text("link")));
  return [&arguments, topology] {
    const std::string& file = arguments.text("svg");
    if (!file.empty()) write_output(file, draw_as_svg(topology));
    arguments.flag("json") ? write_stdout(to_json(topology).dump(2) + "\n")
                           : write_text(draw_as_text(topology));
    return kExitGood;
  };
}

}  // namespace

Verb net_show_verb() {
  using Type = OptionInfo::Type;
  return {
      .name = "net show",
      .summary = "Draw the network that a topology makes",
      .description =
          "Prints hosts, switches and links, and what TCP can get at most from one host to another "
          "and when all send at once. Makes nothing and measures nothing: `thinpipe net verify` "
          "does.\n\n" +
          topology_help(),
      .options =
          {
              topology_option(),
              link_option("as for `thinpipe run`, without alternatives"),
              hosts_option(),
              {.name = "svg",
               .value_name = "FILE",
               .type = Type::kFile,
               .help = "also draw it into this file, as SVG"},
              {.name = "json", .help = "print JSON instead of the drawing"},
          },
      .examples = {{.purpose = "Two racks, their uplinks four times too slow for all hosts",
                    .command = "thinpipe net show --topology racks:oversubscription=4 --ranks 8 "
                               "--link rate=1gbit"},
                   {.purpose = "Three datacentres and a straggler, also as SVG",
                    .command = "thinpipe net show --topology 'wan:sites=3,host3=(rate=10mbit)' "
                               "--ranks 6 --svg wan.svg"}},
      .prepare = prepare_show,
  };
}

}  // namespace thinpipe
