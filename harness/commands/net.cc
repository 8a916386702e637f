// `thinpipe net show` draws the network of a topology. `net restore` restores real interfaces whose
// guards died.
#include <fmt/format.h>

#include <cstddef>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/output_file.h"
#include "harness/commands/shared_options.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "netem/link/link_spec.h"
#include "netem/real_nic/saved_qdiscs.h"
#include "netem/topology/drawing.h"
#include "netem/topology/spec.h"

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
    if (!file.empty() && names_stdout(file)) return kExitGood;
    arguments.flag("json") ? write_json(to_json(topology)) : write_text(draw_as_text(topology));
    return kExitGood;
  };
}

// Restores an interface. If the interface's guard is alive, leaves the interface alone, which is no
// failure. Returns false if restoring failed. Appends the result to `text`.
bool restore(const std::string& interface, std::string& text) {
  try {
    const auto file = StateFile::hold(interface);
    text += file ? fmt::format("{}: {}\n", interface, finish(*file))
                 : fmt::format("{}: its guard (process {}) is alive and will restore it\n",
                               interface, guard_of(interface));
    return true;
  } catch (const std::exception& error) {
    text += fmt::format("{}: {}\n", interface, error.what());
    return false;
  }
}

int restore_all() {
  std::string text;
  bool good = true;
  for (const std::string& interface : shaped_interfaces()) good = restore(interface, text) && good;
  write_text(text.empty() ? "no interface of this host is throttled by thinpipe\n" : text);
  return good ? kExitGood : kExitFailed;
}

// Returns paragraphs for the description: every kind of topology with its settings.
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

}  // namespace

Verb net_show_verb() {
  return {
      .name = "net show",
      .summary = "Draw the network of a topology",
      .description =
          "Prints hosts, switches and links, and the maximum TCP goodput: from one host to "
          "another, and with all hosts sending at once. Creates and measures nothing; `thinpipe "
          "net verify` measures. Below, the default of a setting is in parentheses after its "
          "name.\n\n" +
          topology_help(),
      .options =
          {
              topology_option(),
              link_option("link of each host as for `thinpipe run`, without alternatives"),
              hosts_option(),
              file_option("svg", "FILE", "", "also write the drawing to this SVG file"),
              {.name = "json", .help = "print JSON instead of the drawing"},
          },
      .examples = {{"Two racks with an oversubscription of four",
                    "thinpipe net show --topology racks:oversubscription=4 --ranks 8 --link "
                    "rate=1gbit"},
                   {"Three datacentres and a slow host, also as SVG",
                    "thinpipe net show --topology 'wan:sites=3,host3=(rate=10mbit)' --ranks 6 "
                    "--svg wan.svg"}},
      .prepare = prepare_show,
  };
}

Verb net_restore_verb() {
  return {
      .name = "net restore",
      .summary = "Restore real interfaces that a killed run left throttled",
      .description =
          "`thinpipe run --hosts ... --shape IFACE` starts a guard on every host, which restores "
          "the interface when the run ends, however it ends. An interface stays throttled only if "
          "the guard and its parent are both killed by SIGKILL. Its original settings are then "
          "still in /run/thinpipe, and this command, run on that host, restores them. Interfaces "
          "with a live guard, and interfaces that were reconfigured since, are left alone.\n\n"
          "Exits with 4 if an interface could not be restored.",
      .options = {},
      .examples = {{"As root, on the host", "thinpipe net restore"}},
      .prepare = [](const Arguments&) -> Action { return restore_all; },
  };
}

}  // namespace thinpipe
