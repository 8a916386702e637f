// `thinpipe net exec` runs a program on one emulated host. `net torchrun` and `net mpirun` run a
// job of the user, one rank on each emulated host.
#include <fmt/format.h>

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "harness/commands/shared_options.h"
#include "harness/commands/verbs.h"
#include "harness/job/job.h"
#include "harness/job/program_network.h"
#include "harness/launch/launch.h"
#include "harness/options/arguments.h"
#include "netem/host_program.h"
#include "netem/link/link_spec.h"
#include "netem/network.h"
#include "netem/sandbox.h"
#include "netem/schedule/schedule.h"
#include "netem/topology/spec.h"

namespace thinpipe {
namespace {

// Returns --link, --topology, --ranks and --schedule, then `own`, then --quiet.
std::vector<OptionInfo> with_program_options(const std::vector<OptionInfo>& own,
                                             const std::string& quiet_help) {
  std::vector<OptionInfo> options = {
      link_option("one link, as for `thinpipe run`, or a preset of `thinpipe list links`"),
      topology_option(), hosts_option("2"),
      text_option("schedule", "SPEC", "",
                  "changes of the links over time, as for `thinpipe net play`; starts with the "
                  "program")};
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

// Parses "host1:iperf3 -s" into the host's number and the command.
std::pair<int, std::string> parse_served(const Topology& topology, const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == 0 || colon == std::string::npos || colon + 1 == text.size())
    throw InputError(fmt::format(
        "--serve: found {}, expected HOST:COMMAND, such as 'host1:iperf3 -s'", in_quotes(text)));
  return {host_named(topology, text.substr(0, colon), "--serve"), text.substr(colon + 1)};
}

Action prepare_exec(const Arguments& arguments) {
  const ProgramNetwork programs = program_network_of(arguments);
  const int on = host_named(programs.planned(), arguments.text("on"), "--on");
  std::vector<std::pair<int, std::string>> services;
  for (const std::string& text : arguments.texts("serve"))
    services.push_back(parse_served(programs.planned(), text));
  const auto run = [=, &arguments](EmulatedMachines& machines, int, const auto& begin) {
    const Network& network = *machines.network();
    std::vector<std::unique_ptr<HostProgram>> servers;
    for (const auto& [host, command] : services) {
      const std::size_t before = listening_sockets(network.host(host));
      servers.push_back(start_program(network.host(host), {"/bin/sh", "-c", command},
                                      HostProgram::Streams::kOursButInput));
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

// The options of both verbs, `own` in front.
std::vector<OptionInfo> job_options(std::vector<OptionInfo> own) {
  const std::vector<OptionInfo> more = {
      folder_option("out,o", "DIR", "",
                    "append a record of the job to the records in this folder, for `thinpipe "
                    "report` and `thinpipe gate`"),
      text_option("compressor,c", "NAME", "",
                  "compressor that the record names (the job does not change); by default that of "
                  "thinpipe.torch's hook, or `none`"),
      integer_option("warmup", "N", "2", {0, 1e6},
                     "steps at the beginning that the step time leaves out"),
      {.name = "no-calibration", .help = "do not calibrate the links before the job"},
      {.name = "share-machine", .help = "accept a measurement beside other runs on this machine"}};
  own.insert(own.end(), more.begin(), more.end());
  return with_program_options(own, "print neither calibration, traffic nor verdict");
}

JobOptions job_of(const Arguments& arguments, std::vector<std::string> program) {
  return {.out = arguments.text("out"),
          .compressor = arguments.text("compressor"),
          .warmup = static_cast<std::size_t>(arguments.integer("warmup")),
          .calibrate = !arguments.flag("no-calibration"),
          .share_machine = arguments.flag("share-machine"),
          .quiet = arguments.flag("quiet"),
          .command = arguments.command_line(),
          .program = std::move(program)};
}

// Starts the programs of a job.
using StartRanks = std::function<RankPrograms(EmulatedMachines&)>;

Action job_action(const Arguments& arguments, const std::string& program, double end_timeout,
                  const StartRanks& start) {
  const ProgramNetwork programs = program_network_of(arguments);
  const JobOptions options = job_of(arguments, arguments.positionals(program));
  if (!options.out.empty() && !(programs.point().link.rate() > 0))
    throw InputError("--out needs a link with a rate, because reports plot results over rates");
  return [=] {
    return programs.run(
        [&](EmulatedMachines& machines, const Sandbox& sandbox) {
          return std::make_unique<Job>(options, programs, machines, sandbox);
        },
        [&](EmulatedMachines& machines, const std::unique_ptr<Job>& job, const auto& begin) {
          begin();
          job->begin();
          RankPrograms ranks = start(machines);
          return run_ranks(ranks, end_timeout, [&job] { job->look_for_other_runs(); });
        },
        [&](ScheduleLog& schedule, const ProgramTraffic& traffic, int code,
            const std::unique_ptr<Job>& job) { job->finish(schedule, traffic, code); },
        /*keyboard_to_programs=*/false);
  };
}

void set_variable(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

// By default NCCL would take the hosts' control network, which is not throttled. With `=`, it takes
// the interface of this very name, and no other that begins so.
void keep_nccl_on_link() {
  set_variable("NCCL_SOCKET_IFNAME", std::string("=") + Network::kDataInterface);
}

// Sets the environment that torchrun gives to a rank, one process on each host.
void set_environment(int rank, int ranks, const std::string& master, int port) {
  for (const char* name : {"RANK", "GROUP_RANK", "ROLE_RANK"})
    set_variable(name, std::to_string(rank));
  for (const char* name : {"WORLD_SIZE", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE"})
    set_variable(name, std::to_string(ranks));
  set_variable("LOCAL_RANK", "0");
  set_variable("LOCAL_WORLD_SIZE", "1");
  set_variable("MASTER_ADDR", master);
  set_variable("MASTER_PORT", std::to_string(port));
  // Without it gloo looks for the interface by the host's name, which is not always in /etc/hosts.
  for (const char* name : {"GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"})
    set_variable(name, Network::kDataInterface);
  keep_nccl_on_link();
  // A torchrun around this command sets it, and rank 0 would then wait for torchrun's store.
  unsetenv("TORCHELASTIC_USE_AGENT_STORE");
  // Ranks share this machine's cores; torchrun sets it too.
  setenv("OMP_NUM_THREADS", "1", 0);
}

// A Python script is run by --python; any other program by itself.
std::vector<std::string> torch_command(const Arguments& arguments) {
  std::vector<std::string> words = arguments.positionals("SCRIPT");
  if (words.front().ends_with(".py"))
    words.insert(words.begin(), {arguments.text("python"), "-u"});  // -u: lines come at once
  return words;
}

Action prepare_torchrun(const Arguments& arguments) {
  const std::vector<std::string> words = torch_command(arguments);
  const auto port = static_cast<int>(arguments.integer("port"));
  const auto start = [=](EmulatedMachines& machines) {
    const Network& network = *machines.network();
    RankPrograms ranks;
    for (int rank = 0; rank < network.size(); ++rank) {
      set_environment(rank, network.size(), network.data_address(0), port);
      ranks.push_back(
          std::make_unique<RankProgram>(network.host(rank), words, fmt::format("[{}] ", rank)));
    }
    return ranks;
  };
  return job_action(arguments, "SCRIPT", arguments.real("end-timeout"), start);
}

// mpirun runs on host0, whose rank it starts itself; it reaches the other hosts over the control
// network, as the ranks of `thinpipe run` are started.
Action prepare_mpirun(const Arguments& arguments) {
  const auto start = [&arguments](EmulatedMachines& machines) {
    // Ranks inherit mpirun's environment, and host0 is the host of one rank only.
    std::vector<std::string> words = {"env", "-u", "THINPIPE_HOST"};
    const auto add = [&](const std::vector<std::string>& more) {
      words.insert(words.end(), more.begin(), more.end());
    };
    add(mpirun_command(machines.board(machines.size()), machines.size()));
    keep_nccl_on_link();
    add({"-x", "NCCL_SOCKET_IFNAME", "--tag-output"});
    add(arguments.positionals("PROGRAM"));
    RankPrograms mpirun;
    mpirun.push_back(std::make_unique<RankProgram>(machines.network()->host(0), words, ""));
    return mpirun;
  };
  // mpirun is the only program, so no other one can end before it.
  return job_action(arguments, "PROGRAM", /*end_timeout=*/0, start);
}

constexpr const char* kAboutJobs =
    "Lines that a rank prints appear with its number in front. The first rank that fails ends the "
    "others, and its exit code is that of the command. All ranks share this machine's CPUs.\n\n"
    "Before the job, the links are calibrated. After it, traffic, step time and a verdict are "
    "printed to stderr: whether the links had the rates that were set, and whether the machine was "
    "too busy. --out also records them. Step times come from thinpipe.torch's hook, from "
    "thinpipe_capture, or from the program itself (docs/exec.md).";

}  // namespace

Verb net_exec_verb() {
  return {
      .name = "net exec",
      .summary = "Run any program between emulated hosts",
      .description =
          "Builds a network of emulated hosts, throttles its links, and runs a program on one of "
          "the hosts: a copy, a client, a test suite, a shell. --serve starts other programs on "
          "the hosts before the program, and ends them after the program. Hosts reach each other "
          "by name (host0, host1, ...) and by address (host0 is 198.18.0.1, host1 198.18.0.2, "
          "...). Nothing outside the network is reachable. The file system is this machine's.\n\n"
          "The environment of every program has THINPIPE_HOST, the name of its host, and "
          "THINPIPE_HOST_ADDRESSES, the addresses of all hosts. At the end, the traffic of each "
          "host is printed to stderr. The exit code is the program's.",
      .options = with_program_options(
          {
              text_option("on", "HOST", "host0", "host that runs the command"),
              repeatable(text_option("serve", "HOST:COMMAND", "",
                                     "run this command on this host with /bin/sh, from before the "
                                     "program's start until after its end")),
              real_option("wait", "S", "5", {0, 3600},
                          "timeout for each --serve command to listen on a TCP or UDP port, in "
                          "seconds; commands that end are not waited for"),
          },
          "do not print the traffic"),
      .positionals = {{.name = "COMMAND",
                       .help = "program and its arguments, after `--`",
                       .repeatable = true}},
      .examples = {{"A download over a slow link",
                    "thinpipe net exec --link rate=5mbit --serve 'host1:python3 -m http.server' -- "
                    "curl -O http://host1:8000/file"},
                   {"A shell behind a link with an outage of 1 s every 10 s",
                    "thinpipe net exec --schedule 'outage:every=10s,lasts=1s' -- bash"}},
      .prepare = prepare_exec,
  };
}

Verb net_torchrun_verb() {
  return {
      .name = "net torchrun",
      .summary = "Run a PyTorch job, one rank on each emulated host",
      .description =
          std::string("Builds a network of emulated hosts, throttles its links, and starts your "
                      "unchanged training script on every host. Each rank has torchrun's "
                      "environment: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, "
                      "ROLE_RANK, MASTER_ADDR and MASTER_PORT. GLOO_SOCKET_IFNAME and "
                      "NCCL_SOCKET_IFNAME name the throttled interface.\n\n") +
          kAboutJobs +
          "\n\n`thinpipe.torch.ddp_hook` compresses the job's gradients, and "
          "`thinpipe_capture` records them.",
      .options = job_options({
          text_option("python", "PROGRAM", "python3",
                      "interpreter of a SCRIPT whose name ends with .py"),
          // torchrun's port
          integer_option("port", "N", "29500", {1, 65535}, "MASTER_PORT, on host0"),
          // Rank 0 often evaluates or saves after the others have ended. torchrun's agents wait
          // for each other for 300 s, too (exit_barrier_timeout).
          real_option("end-timeout", "S", "300", {0, 1e6},
                      "timeout for the other ranks to end after the first, in seconds; 0 waits "
                      "for ever"),
      }),
      .positionals = {{.name = "SCRIPT",
                       .help = "script or program and its arguments, after `--`",
                       .repeatable = true}},
      .examples = {{"Four ranks on links of 100 Mbit/s",
                    "thinpipe net torchrun --ranks 4 --link rate=100mbit,delay=1ms -- train.py"},
                   {"A record, to be compared with those of other jobs",
                    "thinpipe net torchrun --out jobs -- train.py topk:ratio=0.01"}},
      .prepare = prepare_torchrun,
  };
}

Verb net_mpirun_verb() {
  return {
      .name = "net mpirun",
      .summary = "Run an MPI job, one rank on each emulated host",
      .description =
          std::string("Builds a network of emulated hosts, throttles its links, and starts your "
                      "program on every host by Open MPI's mpirun. Messages between ranks cross "
                      "the links over TCP; no rank shares memory with another.\n\n") +
          kAboutJobs,
      .options = job_options({}),
      .positionals = {{.name = "PROGRAM",
                       .help = "program and its arguments, after `--`",
                       .repeatable = true}},
      .examples = {{"Four ranks on links of 1 Gbit/s",
                    "thinpipe net mpirun --ranks 4 --link rate=1gbit -- ./program"}},
      .prepare = prepare_mpirun,
  };
}

}  // namespace thinpipe
