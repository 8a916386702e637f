// `thinpipe net torchrun` and `net mpirun` run a job of the user, one rank on each emulated host.
#include <fmt/format.h>

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "harness/commands/program_options.h"
#include "harness/commands/verbs.h"
#include "harness/job/job.h"
#include "harness/job/program_network.h"
#include "harness/job/ranks.h"
#include "harness/launch/launch.h"
#include "harness/options/arguments.h"
#include "netem/network.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

constexpr int kDefaultPort = 29500;  // torchrun's

// The options of both verbs, `own` in front.
std::vector<OptionInfo> job_options(std::vector<OptionInfo> own) {
  const std::vector<OptionInfo> more = {
      {.name = "out",
       .letter = 'o',
       .value_name = "DIR",
       .type = Type::kFolder,
       .help =
           "append a record of the job to the records in this folder, for `thinpipe report` and "
           "`thinpipe gate`"},
      {.name = "compressor",
       .letter = 'c',
       .value_name = "NAME",
       .type = Type::kText,
       .help = "the job's compressor in the record; by default that of thinpipe.torch's hook, or "
               "`none`"},
      {.name = "warmup",
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = "2",
       .help = "steps at the beginning that the step time leaves out",
       .minimum = 0,
       .maximum = 1e6},
      {.name = "share-machine", .help = "accept a measurement beside other runs on this machine"}};
  own.insert(own.end(), more.begin(), more.end());
  return with_program_options(std::move(own), "print neither calibration, traffic nor verdict");
}

JobOptions job_of(const Arguments& arguments, std::vector<std::string> program) {
  return {.out = arguments.text("out"),
          .compressor = arguments.text("compressor"),
          .warmup = static_cast<std::size_t>(arguments.integer("warmup")),
          .share_machine = arguments.flag("share-machine"),
          .quiet = arguments.flag("quiet"),
          .command = arguments.command_line(),
          .program = std::move(program)};
}

// Starts the programs of a job.
using StartRanks = std::function<RankPrograms(EmulatedMachines&)>;

Action job_action(const Arguments& arguments, const std::string& program, const StartRanks& start) {
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
          return run_ranks(ranks);
        },
        [&](ScheduleLog& schedule, const ProgramTraffic& traffic, int code,
            const std::unique_ptr<Job>& job) { job->finish(schedule, traffic, code); },
        /*keyboard_to_programs=*/false);
  };
}

void set_variable(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

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
  return job_action(arguments, "SCRIPT", [=](EmulatedMachines& machines) {
    const Network& network = *machines.network();
    RankPrograms ranks;
    for (int rank = 0; rank < network.size(); ++rank) {
      set_environment(rank, network.size(), network.data_address(0), port);
      ranks.push_back(
          std::make_unique<RankProgram>(network.host(rank), words, fmt::format("[{}] ", rank)));
    }
    return ranks;
  });
}

// mpirun runs on host0, whose rank it starts itself; it reaches the other hosts over the control
// network, as the ranks of `thinpipe run` are started.
Action prepare_mpirun(const Arguments& arguments) {
  return job_action(arguments, "PROGRAM", [&arguments](EmulatedMachines& machines) {
    // Ranks inherit mpirun's environment, and host0 is the host of one rank only.
    std::vector<std::string> words = {"env", "-u", "THINPIPE_HOST"};
    const auto add = [&](const std::vector<std::string>& more) {
      words.insert(words.end(), more.begin(), more.end());
    };
    add(mpirun_command(machines.board(machines.size()), machines.size()));
    add({"--tag-output"});
    add(arguments.positionals("PROGRAM"));
    RankPrograms mpirun;
    mpirun.push_back(std::make_unique<RankProgram>(machines.network()->host(0), words, ""));
    return mpirun;
  });
}

constexpr const char* kAboutJobs =
    "Lines that a rank prints appear with its number in front. The first rank that fails ends the "
    "others, and its exit code is that of the command. All ranks share this machine's CPUs.\n\n"
    "Before the job, the links are calibrated. After it, traffic, step time and a verdict are "
    "printed to stderr: whether the links had the rates that were set, and whether the machine was "
    "too busy. --out also records them. Step times come from thinpipe.torch's hook, from "
    "thinpipe_capture, or from the program itself (docs/exec.md).";

}  // namespace

Verb net_torchrun_verb() {
  return {
      .name = "net torchrun",
      .summary = "Run a PyTorch job, one rank on each emulated host",
      .description =
          std::string("Builds a network of emulated hosts, throttles its links, and starts your "
                      "unchanged training script on every host. Each rank has torchrun's "
                      "environment: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, "
                      "ROLE_RANK, MASTER_ADDR and MASTER_PORT, and gloo's interface.\n\n") +
          kAboutJobs +
          "\n\n`thinpipe.torch.ddp_hook` compresses the job's gradients, and "
          "`thinpipe_capture` records them.",
      .options = job_options({
          {.name = "python",
           .value_name = "PROGRAM",
           .type = Type::kText,
           .default_value = "python3",
           .help = "interpreter of a SCRIPT whose name ends with .py"},
          {.name = "port",
           .value_name = "N",
           .type = Type::kInteger,
           .default_value = std::to_string(kDefaultPort),
           .help = "MASTER_PORT, on host0",
           .minimum = 1,
           .maximum = 65535},
      }),
      .positionals = {{.name = "SCRIPT",
                       .help = "script or program and its arguments, after `--`",
                       .repeatable = true}},
      .examples = {{.purpose = "Four ranks on links of 100 Mbit/s",
                    .command = "thinpipe net torchrun --ranks 4 --link rate=100mbit,delay=1ms -- "
                               "train.py"},
                   {.purpose = "A record, to be compared with those of other jobs",
                    .command = "thinpipe net torchrun --out jobs -- train.py topk:ratio=0.01"}},
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
      .examples = {{.purpose = "Four ranks on links of 1 Gbit/s",
                    .command = "thinpipe net mpirun --ranks 4 --link rate=1gbit -- ./program"}},
      .prepare = prepare_mpirun,
  };
}

}  // namespace thinpipe
