// `thinpipe net exec` runs a program on one emulated host.
#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "harness/commands/program_options.h"
#include "harness/commands/verbs.h"
#include "harness/job/program_network.h"
#include "harness/options/arguments.h"
#include "netem/host_program.h"
#include "netem/sandbox.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

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

Action prepare_exec(const Arguments& arguments) {
  const ProgramNetwork programs = program_network_of(arguments);
  const int on = host_named(programs.planned(), arguments.text("on"), "--on");
  std::vector<std::pair<int, std::string>> services;
  for (const std::string& text : arguments.texts("serve")) {
    const Served served = parse_served(text);
    services.emplace_back(host_named(programs.planned(), served.host, "--serve"), served.command);
  }
  const auto run = [=, &arguments](EmulatedMachines& machines, int, const auto& begin) {
    const Network& network = *machines.network();
    std::vector<std::unique_ptr<HostProgram>> servers;
    for (const auto& [host, command] : services) {
      const std::size_t before = listening_sockets(network.host(host));
      servers.push_back(start_program(network.host(host), {"/bin/sh", "-c", command}));
      servers.back()->wait_until_listening(before, arguments.real("wait"));
    }
    if (stop_requested()) return 128 + stop_signal();
    begin();
    return start_program(network.host(on), arguments.positionals("COMMAND"))
        ->wait_and_pass_on_stops();
  };
  const auto finish = [=, &arguments](ScheduleLog&, const ProgramTraffic& traffic, int, int) {
    if (!arguments.flag("quiet")) print_traffic(programs, traffic);
  };
  return [=] {
    return programs.run([](EmulatedMachines&, const Sandbox&) { return 0; }, run, finish,
                        /*keyboard_to_programs=*/true);
  };
}

}  // namespace

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
      .options = with_program_options(
          {
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
          },
          "do not print the traffic"),
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

}  // namespace thinpipe
