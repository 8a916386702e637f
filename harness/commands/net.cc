// `thinpipe net show` draws the network of a topology. `net exec` runs any program between emulated
// hosts. `net restore` restores real interfaces whose guards died.
#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/output_file.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/commands/topology_options.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "netem/host_program.h"
#include "netem/link/link_spec.h"
#include "netem/network.h"
#include "netem/probe.h"
#include "netem/real_nic/state_file.h"
#include "netem/sandbox.h"
#include "netem/schedule/links.h"
#include "netem/schedule/player.h"
#include "netem/topology/drawing.h"
#include "netem/topology/flows.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;
using Type = OptionInfo::Type;

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

// Value of --serve.
struct Served {
  std::string host, command;
};

// "host1:iperf3 -s"
Served parse_served(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == 0 || colon == std::string::npos || colon + 1 == text.size())
    throw InputError(fmt::format(
        "--serve: found {}, expected HOST:COMMAND, such as 'host1:iperf3 -s'", in_quotes(text)));
  return {text.substr(0, colon), text.substr(colon + 1)};
}

int host_named(const Topology& topology, const std::string& name, const char* option) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < topology.hosts.size(); ++i) {
    if (topology.hosts[i].name == name) return static_cast<int>(i);
    names.push_back(topology.hosts[i].name);
  }
  throw InputError(fmt::format("{}: there is no host {}; hosts are {} to {}{}", option,
                               in_quotes(name), names.front(), names.back(),
                               did_you_mean(name, names)));
}

// Starts a program with this process's streams and the host's name in its environment.
std::unique_ptr<HostProgram> start(const Host& host, const std::vector<std::string>& words) {
  setenv("THINPIPE_HOST", host.name().c_str(), 1);
  try {
    return std::make_unique<HostProgram>(host, words, HostProgram::Streams::kOurs);
  } catch (const SystemError& error) {
    if (error.error() == ENOENT || error.error() == EACCES) throw InputError(error.what());
    throw;
  }
}

// Returns a sentence on the uplink or downlink that carried the most traffic.
// @param changes  whether a schedule changes the links, so that their rates are not constant
std::string busiest_direction(const Network& network, const Topology& planned, double seconds,
                              bool changes) {
  double most = 0, rate = 0;
  std::string text;
  for (int i = 0; i < network.size(); ++i) {
    const LinkCounters counters = network.counters(i);
    const LinkSpec& link = planned.hosts[static_cast<std::size_t>(i)].link;
    for (const bool sent : {true, false}) {
      const auto bytes = static_cast<double>(sent ? counters.up.bytes : counters.down.bytes);
      if (bytes <= most) continue;
      most = bytes;
      rate = (sent ? link.up : link.down).rate;
      text = fmt::format("Busiest: {} of {}", sent ? "uplink" : "downlink", network.host(i).name());
    }
  }
  if (most == 0 || seconds <= 0) return "No traffic.\n";
  text += fmt::format(", {} on average", format_rate(8 * most / seconds));
  if (rate > 0 && !changes)
    text += fmt::format(", {:.0f} % of {}", 100 * 8 * most / seconds / rate, format_rate(rate));
  return wrap(text + ".", 0) + "\n";
}

// Prints the links' counters to stderr, because stdout belongs to the command.
void print_traffic(const Network& network, const Topology& planned, double seconds, bool changes) {
  std::string text = fmt::format("thinpipe: traffic after {}\n", format_time(seconds));
  constexpr int kMaxLines = 16;
  for (int i = 0; i < network.size() && i < kMaxLines; ++i) {
    const LinkCounters counters = network.counters(i);
    text += fmt::format("  {:<8} sent {:>9}, received {:>9}, dropped {} packets\n",
                        network.host(i).name(), format_bytes(counters.up.bytes),
                        format_bytes(counters.down.bytes), counters.drops());
  }
  if (network.size() > kMaxLines)
    text += fmt::format("  and {} more\n", network.size() - kMaxLines);
  text += busiest_direction(network, planned, seconds, changes);
  std::fputs(text.c_str(), stderr);
}

Action prepare_exec(const Arguments& arguments) {
  const TopologySpec spec = parse_topology(arguments.text("topology"));
  const LinkSpec link = parse_link_spec(arguments.text("link"));
  const int size = hosts_of(arguments, spec);
  const Topology planned = spec.plan(size, link);
  const int on = host_named(planned, arguments.text("on"), "--on");
  std::vector<std::pair<int, std::string>> services;
  for (const std::string& text : arguments.texts("serve")) {
    const Served served = parse_served(text);
    services.emplace_back(host_named(planned, served.host, "--serve"), served.command);
  }
  std::optional<ScheduleSpec> schedule;
  if (arguments.given("schedule")) {
    schedule = parse_schedule(arguments.text("schedule"));
    scheduled_links(planned, *schedule);  // reports errors before the sandbox starts
  }
  const auto body = [=, &arguments](const Sandbox& sandbox) {
    Network network(size, spec);
    std::unique_ptr<SchedulePlayer> player;
    if (schedule) {
      player = std::make_unique<SchedulePlayer>(network, network.plan(link), *schedule);
    } else {
      network.set_links(link);
    }
    if (!name_hosts(network, sandbox.scratch))
      std::fputs("thinpipe: cannot replace /etc/hosts: hosts have addresses but no names\n",
                 stderr);
    setenv("THINPIPE_HOST_ADDRESSES", host_addresses(network).c_str(), 1);
    std::vector<std::unique_ptr<HostProgram>> servers;
    for (const auto& [host, command] : services) {
      const std::size_t before = listening_sockets(network.host(host));
      servers.push_back(start(network.host(host), {"/bin/sh", "-c", command}));
      servers.back()->wait_until_listening(before, arguments.real("wait"));
    }
    if (stop_requested()) return 128 + stop_signal();
    const auto begin = std::chrono::steady_clock::now();
    if (player) player->start();
    const int code =
        start(network.host(on), arguments.positionals("COMMAND"))->wait_and_pass_on_stops();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (player) {
      player->stop();
      player->check();
    }
    if (!arguments.flag("quiet")) print_traffic(network, planned, spent.count(), player != nullptr);
    return code;
  };
  return [planned, body] {
    require_kernel_features(links_as_set(planned));
    return run_in_sandbox(body, true);
  };
}

// Restores an interface. If the interface's guard is alive, leaves the interface alone, which is no
// failure. Returns false if restoring failed. Appends the result to `text`.
bool restore(const std::string& interface, std::string& text) {
  try {
    const auto file = StateFile::hold(interface);
    if (!file) {
      text += fmt::format("{}: its guard (process {}) is alive and will restore it\n", interface,
                          guard_of(interface));
      return true;
    }
    text += fmt::format("{}: {}\n", interface, finish(*file));
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

}  // namespace

Verb net_show_verb() {
  return {
      .name = "net show",
      .summary = "Draw the network of a topology",
      .description =
          "Prints hosts, switches and links, and the maximum TCP goodput: from one host to "
          "another, and with all hosts sending at once. Creates and measures nothing; `thinpipe "
          "net verify` measures.\n\n" +
          topology_help(),
      .options =
          {
              topology_option(),
              link_option("link of each host as for `thinpipe run`, without alternatives"),
              hosts_option(),
              {.name = "svg",
               .value_name = "FILE",
               .type = Type::kFile,
               .help = "also write the drawing to this SVG file"},
              {.name = "json", .help = "print JSON instead of the drawing"},
          },
      .examples = {{.purpose = "Two racks with an oversubscription of four",
                    .command = "thinpipe net show --topology racks:oversubscription=4 --ranks 8 "
                               "--link rate=1gbit"},
                   {.purpose = "Three datacentres and a slow host, also as SVG",
                    .command = "thinpipe net show --topology 'wan:sites=3,host3=(rate=10mbit)' "
                               "--ranks 6 --svg wan.svg"}},
      .prepare = prepare_show,
  };
}

Verb net_exec_verb() {
  return {
      .name = "net exec",
      .summary = "Run any program between emulated hosts",
      .description =
          "Builds a network of emulated hosts, throttles its links, and runs a program on one of "
          "the hosts: a copy, a client, a test suite, a shell. --serve starts programs on other "
          "hosts before it and ends them after it. Hosts reach each other by name (host0, host1, "
          "...) and by address (host0 is 198.18.0.1, host1 198.18.0.2, ...). Nothing outside the "
          "network is reachable. The file system is this machine's.\n\n"
          "The environment of every program has THINPIPE_HOST, the name of its host, and "
          "THINPIPE_HOST_ADDRESSES, the addresses of all hosts. At the end, the traffic of each "
          "host is printed to stderr. The exit code is the program's.",
      .options =
          {
              link_option("one link, as for `thinpipe run`, or a preset of `thinpipe list links`"),
              topology_option(),
              hosts_option("2"),
              {.name = "schedule",
               .value_name = "SPEC",
               .type = Type::kText,
               .help = "changes of the links over time, as for `thinpipe net play`; starts with "
                       "the command"},
              {.name = "on",
               .value_name = "HOST",
               .type = Type::kText,
               .default_value = "host0",
               .help = "host that runs the command"},
              {.name = "serve",
               .value_name = "HOST:COMMAND",
               .type = Type::kText,
               .help = "run this command on this host with /bin/sh, from before the program until "
                       "after it",
               .repeatable = true},
              {.name = "wait",
               .value_name = "S",
               .type = Type::kReal,
               .default_value = "5",
               .help = "timeout for each --serve command to listen on a TCP or UDP port, in "
                       "seconds; commands that end are not waited for",
               .minimum = 0,
               .maximum = 3600},
              {.name = "quiet", .letter = 'q', .help = "do not print the traffic"},
          },
      .positionals = {{.name = "COMMAND",
                       .help = "program and its arguments, after `--`",
                       .repeatable = true}},
      .examples = {{.purpose = "A download over a slow link",
                    .command = "thinpipe net exec --link rate=5mbit --serve 'host1:python3 -m "
                               "http.server' -- curl -O http://host1:8000/file"},
                   {.purpose = "A shell behind a link with an outage of 1 s every 10 s",
                    .command = "thinpipe net exec --schedule 'outage:every=10s,lasts=1s' -- bash"}},
      .prepare = prepare_exec,
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
      .examples = {{.purpose = "As root, on the host", .command = "thinpipe net restore"}},
      .prepare = [](const Arguments&) -> Action { return restore_all; },
  };
}

}  // namespace thinpipe
