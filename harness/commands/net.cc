// `thinpipe net show`, which draws the network that a topology makes; `net exec`, which runs any
// program between its hosts; and `net restore`, which gives back real interfaces whose guards died.
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

// With this process's streams; its own name is in its environment.
std::unique_ptr<HostProgram> start(const Host& host, const std::vector<std::string>& words) {
  setenv("THINPIPE_HOST", host.name().c_str(), 1);
  try {
    return std::make_unique<HostProgram>(host, words, HostProgram::Streams::kOurs);
  } catch (const SystemError& error) {
    if (error.error() == ENOENT || error.error() == EACCES) throw InputError(error.what());
    throw;
  }
}

// The way that carried most, as a sentence. @param changes  rates are those of the beginning only
std::string busiest_way(const Network& network, const Topology& planned, double seconds,
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
      text = network.host(i).name() + (sent ? " sent" : " was sent");
    }
  }
  if (most == 0 || seconds <= 0) return "Nothing crossed.\n";
  text += fmt::format(" most, {} on average", format_rate(8 * most / seconds));
  if (rate > 0 && !changes)
    text += fmt::format(": {:.0f} % of its link's {}", 100 * 8 * most / seconds / rate,
                        format_rate(rate));
  return wrap(text + ".", 0) + "\n";
}

// Prints the links' counters at the end: to stderr, for stdout is the command's.
void say_what_crossed(const Network& network, const Topology& planned, double seconds,
                      bool changes) {
  std::string text = fmt::format("thinpipe: after {}\n", format_time(seconds));
  constexpr int kMostLines = 16;
  for (int i = 0; i < network.size() && i < kMostLines; ++i) {
    const LinkCounters counters = network.counters(i);
    text += fmt::format("  {:<8} sent {:>9}, was sent {:>9}, dropped {} packets\n",
                        network.host(i).name(), format_bytes(counters.up.bytes),
                        format_bytes(counters.down.bytes), counters.drops());
  }
  if (network.size() > kMostLines)
    text += fmt::format("  and {} more\n", network.size() - kMostLines);
  text += busiest_way(network, planned, seconds, changes);
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
    scheduled_links(planned, *schedule);  // says now, not in the sandbox, what does not fit
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
      std::fputs("thinpipe: /etc/hosts cannot be covered here: hosts have addresses, no names\n",
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
    if (!arguments.flag("quiet"))
      say_what_crossed(network, planned, spent.count(), player != nullptr);
    return code;
  };
  return [planned, body] {
    require_kernel_features(links_as_set(planned));
    return run_in_sandbox(body, true);
  };
}

// Whether the interface is as it should be: given back, or with a guard that will see to it.
bool restore(const std::string& interface, std::string& text) {
  try {
    const auto file = StateFile::hold(interface);
    if (!file) {
      text += fmt::format("{}: its guard lives (process {}) and will give it back\n", interface,
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

Verb net_exec_verb() {
  return {
      .name = "net exec",
      .summary = "Run any program between emulated hosts",
      .description =
          "Builds a network of emulated hosts, throttles its links, and runs a program of yours on "
          "one of them: a copy, a server's client, a test suite, a shell. Programs on other hosts "
          "can be started before it and are ended after it. Hosts know each other by name (host0, "
          "host1, ...) and by address (host0 is 198.18.0.1, host1 198.18.0.2, ...); nothing else "
          "can be reached from there, and files are this machine's.\n\nEvery program has "
          "THINPIPE_HOST, the name of its host, and THINPIPE_HOST_ADDRESSES, the others', in its "
          "environment. Afterwards stderr says what crossed. The exit code is the program's.",
      .options =
          {
              link_option("one link, as for `thinpipe run`, or a name of `thinpipe list links`"),
              topology_option(),
              hosts_option("2"),
              {.name = "schedule",
               .value_name = "SPEC",
               .type = Type::kText,
               .help = "what the links do over time, as for `thinpipe net play`; begins with the "
                       "command"},
              {.name = "on",
               .value_name = "HOST",
               .type = Type::kText,
               .default_value = "host0",
               .help = "where the command runs"},
              {.name = "serve",
               .value_name = "HOST:COMMAND",
               .type = Type::kText,
               .help = "started on that host before, by /bin/sh, and ended afterwards",
               .repeatable = true},
              {.name = "wait",
               .value_name = "S",
               .type = Type::kReal,
               .default_value = "5",
               .help = "at most so long for each of those to listen on a TCP or UDP port, in "
                       "seconds; those that end are not waited for",
               .minimum = 0,
               .maximum = 3600},
              {.name = "quiet", .letter = 'q', .help = "do not say what crossed"},
          },
      .positionals = {{.name = "COMMAND",
                       .help = "the program and its arguments, after `--`",
                       .repeatable = true}},
      .examples = {{.purpose = "A download over a slow line",
                    .command = "thinpipe net exec --link rate=5mbit --serve 'host1:python3 -m "
                               "http.server' -- curl -O http://host1:8000/file"},
                   {.purpose = "A shell behind a link that fails for a second in every ten",
                    .command = "thinpipe net exec --schedule 'outage:every=10s,lasts=1s' -- bash"}},
      .prepare = prepare_exec,
  };
}

Verb net_restore_verb() {
  return {
      .name = "net restore",
      .summary = "Give back real interfaces that a dead guard left throttled",
      .description =
          "On every host that `thinpipe run --hosts ... --shape IFACE` throttles, a guard gives "
          "the interface back what it had, whatever becomes of the run. Only when the guard and "
          "its parent are both killed outright does it stay throttled; /run/thinpipe then still "
          "says what it had. This command, run on that host, gives it back. Interfaces whose "
          "guards live, and those that somebody else has set since, are left alone.\n\n"
          "Exits with 4 when an interface could not be given back.",
      .options = {},
      .examples = {{.purpose = "As root, on the host", .command = "thinpipe net restore"}},
      .prepare = [](const Arguments&) -> Action { return restore_all; },
  };
}

}  // namespace thinpipe
