// `thinpipe net exec` runs a program on one emulated host. `net torchrun` runs a PyTorch job, one
// rank on each emulated host.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/commands/topology_options.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "netem/file_descriptor.h"
#include "netem/host_program.h"
#include "netem/link/link_spec.h"
#include "netem/network.h"
#include "netem/probe.h"
#include "netem/sandbox.h"
#include "netem/schedule/links.h"
#include "netem/schedule/player.h"
#include "netem/topology/spec.h"

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

// An emulated network from the options of a command line, in which programs run.
class ProgramNetwork {
 public:
  explicit ProgramNetwork(const Arguments& arguments)
      : spec_(parse_topology(arguments.text("topology"))),
        link_(parse_link_spec(arguments.text("link"))),
        planned_(spec_.plan(hosts_of(arguments, spec_), link_)),
        quiet_(arguments.flag("quiet")) {
    if (!arguments.given("schedule")) return;
    schedule_ = parse_schedule(arguments.text("schedule"));
    scheduled_links(planned_, *schedule_);  // reports errors before the sandbox starts
  }

  const Topology& planned() const { return planned_; }

  // Builds the network in a sandbox and runs `prepare`, which may start programs, and then `body`,
  // during which the schedule runs. Prints the traffic and returns the result of `body`.
  // @param keyboard_to_programs  see run_in_sandbox()
  template <class Prepare, class Body>
  int run(const Prepare& prepare, const Body& body, bool keyboard_to_programs) const {
    require_kernel_features(links_as_set(planned_));
    return run_in_sandbox(
        [&](const Sandbox& sandbox) {
          Network network(static_cast<int>(planned_.hosts.size()), spec_);
          std::unique_ptr<SchedulePlayer> player;
          if (schedule_) {
            player = std::make_unique<SchedulePlayer>(network, network.plan(link_), *schedule_);
          } else {
            network.set_links(link_);
          }
          if (!name_hosts(network, sandbox.scratch))
            std::fputs("thinpipe: cannot replace /etc/hosts: hosts have addresses but no names\n",
                       stderr);
          setenv("THINPIPE_HOST_ADDRESSES", host_addresses(network).c_str(), 1);
          [[maybe_unused]] const auto kept = prepare(network);  // until `body` has returned
          if (stop_requested()) return 128 + stop_signal();
          const auto begin = std::chrono::steady_clock::now();
          if (player) player->start();
          const int code = body(network);
          const double seconds = seconds_since(begin);
          if (player) {
            player->stop();
            player->check();
          }
          if (!quiet_) print_traffic(network, planned_, seconds, player != nullptr);
          return code;
        },
        keyboard_to_programs);
  }

 private:
  TopologySpec spec_;
  LinkSpec link_;
  Topology planned_;
  bool quiet_;
  std::optional<ScheduleSpec> schedule_;
};

// Starts a program with the host's name in its environment.
// @param output  receives the program's output; -1: this process's streams
std::unique_ptr<HostProgram> start(const Host& host, const std::vector<std::string>& words,
                                   int output = -1) {
  setenv("THINPIPE_HOST", host.name().c_str(), 1);
  try {
    return std::make_unique<HostProgram>(host, words, HostProgram::Streams::kOurs, output);
  } catch (const SystemError& error) {
    if (error.error() == ENOENT || error.error() == EACCES) throw InputError(error.what());
    throw;
  }
}

Action prepare_exec(const Arguments& arguments) {
  const ProgramNetwork programs(arguments);
  const int on = host_named(programs.planned(), arguments.text("on"), "--on");
  std::vector<std::pair<int, std::string>> services;
  for (const std::string& text : arguments.texts("serve")) {
    const Served served = parse_served(text);
    services.emplace_back(host_named(programs.planned(), served.host, "--serve"), served.command);
  }
  const auto serve = [=, &arguments](const Network& network) {
    std::vector<std::unique_ptr<HostProgram>> servers;
    for (const auto& [host, command] : services) {
      const std::size_t before = listening_sockets(network.host(host));
      servers.push_back(start(network.host(host), {"/bin/sh", "-c", command}));
      servers.back()->wait_until_listening(before, arguments.real("wait"));
    }
    return servers;
  };
  const auto run = [=, &arguments](const Network& network) {
    return start(network.host(on), arguments.positionals("COMMAND"))->wait_and_pass_on_stops();
  };
  return [=] { return programs.run(serve, run, true); };
}

// `net torchrun`.

constexpr int kDefaultPort = 29500;  // torchrun's
// Time that ranks have to end after a signal, in seconds. They may be in a system call of MPI or
// gloo.
constexpr double kGraceSeconds = 10;

// A rank's process and its output, which is printed line by line with the rank in front.
class RankProgram {
 public:
  RankProgram(const Host& host, const std::vector<std::string>& words, int rank)
      : prefix_(fmt::format("[{}] ", rank)) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw SystemError("pipe");
    reading_ = FileDescriptor(ends[0]);
    const FileDescriptor writing(ends[1]);
    program_ = start(host, words, writing.get());
  }

  // The descriptor of the output; -1 at its end.
  int descriptor() const { return reading_.valid() ? reading_.get() : -1; }

  // Prints the lines that can be read without waiting.
  void print_output() {
    char text[4096];
    const ssize_t got = read(reading_.get(), text, sizeof(text));
    if (got < 0 && errno == EINTR) return;
    for (ssize_t i = 0; i < got; ++i) {
      line_ += text[i];
      if (text[i] == '\n' || text[i] == '\r') print_line();
    }
    if (got > 0) return;
    reading_ = FileDescriptor();
    if (!line_.empty()) line_ += '\n';
    print_line();
  }

  std::optional<int> exit_code() { return program_->exit_code(); }
  void signal(int number) { program_->signal(number); }

 private:
  void print_line() {
    if (!line_.empty()) std::fputs((prefix_ + line_).c_str(), stdout);
    std::fflush(stdout);
    line_.clear();
  }

  std::string prefix_;
  std::string line_;
  FileDescriptor reading_;
  std::unique_ptr<HostProgram> program_;
};

// Waits for output of the ranks, at most 50 ms, and prints it.
void print_outputs(std::vector<std::unique_ptr<RankProgram>>& ranks) {
  std::vector<pollfd> waiting;
  for (const auto& rank : ranks) waiting.push_back({rank->descriptor(), POLLIN, 0});
  if (poll(waiting.data(), waiting.size(), 50) <= 0) return;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (waiting[i].fd >= 0 && waiting[i].revents != 0) ranks[i]->print_output();
}

// Runs the ranks until all have ended. The first rank that fails, or a requested stop, ends the
// others. Returns the first failure's exit code, 128 plus the number of a stop signal, or 0.
int run_ranks(std::vector<std::unique_ptr<RankProgram>>& ranks) {
  std::optional<int> result;  // set once the ranks are told to end
  auto told = std::chrono::steady_clock::now();
  const auto end_all = [&](int code, int signal_number) {
    result = code;
    told = std::chrono::steady_clock::now();
    for (const auto& rank : ranks) rank->signal(signal_number);
  };
  bool killed = false, all_exited = false;
  while (true) {
    print_outputs(ranks);
    // First: a terminal sends SIGINT to the ranks too, which fail by it.
    if (!result && stop_requested()) end_all(128 + stop_signal(), stop_signal());
    bool all_ended = true, exited = true;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const std::optional<int> code = ranks[i]->exit_code();
      exited = exited && code.has_value();
      all_ended = all_ended && code.has_value() && ranks[i]->descriptor() < 0;
      if (!code || *code == 0 || result) continue;
      std::fprintf(stderr, "thinpipe: rank %zu ended with exit code %d; ending the others\n", i,
                   *code);
      end_all(*code, SIGTERM);
    }
    if (all_ended) return result.value_or(0);
    if (exited && !all_exited) {
      all_exited = true;
      if (!result) told = std::chrono::steady_clock::now();
    }
    if (!result && !all_exited) continue;
    if (!killed && seconds_since(told) > kGraceSeconds) {
      for (const auto& rank : ranks) rank->signal(SIGKILL);
      killed = true;
    } else if (killed && seconds_since(told) > kGraceSeconds + 2) {
      return result.value_or(0);  // a rank's own program has its output open; the sandbox ends it
    }
  }
}

// The environment that torchrun gives to a rank, one process on each host.
void set_environment(int rank, int ranks, const std::string& master, int port) {
  const auto set = [](const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);
  };
  for (const char* name : {"RANK", "GROUP_RANK", "ROLE_RANK"}) set(name, std::to_string(rank));
  for (const char* name : {"WORLD_SIZE", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE"})
    set(name, std::to_string(ranks));
  set("LOCAL_RANK", "0");
  set("LOCAL_WORLD_SIZE", "1");
  set("MASTER_ADDR", master);
  set("MASTER_PORT", std::to_string(port));
  // Without it gloo looks for the interface by the host's name, which is not always in /etc/hosts.
  for (const char* name : {"GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"})
    set(name, Network::kDataInterface);
  // A torchrun around this command sets it, and rank 0 would then wait for torchrun's store.
  unsetenv("TORCHELASTIC_USE_AGENT_STORE");
  // Ranks share this machine's cores; torchrun sets it too.
  setenv("OMP_NUM_THREADS", "1", 0);
}

// A Python script is run by --python; any other program by itself.
std::vector<std::string> command_of(const Arguments& arguments) {
  std::vector<std::string> words = arguments.positionals("SCRIPT");
  if (words.front().ends_with(".py"))
    words.insert(words.begin(), {arguments.text("python"), "-u"});  // -u: lines come at once
  return words;
}

Action prepare_torchrun(const Arguments& arguments) {
  const ProgramNetwork programs(arguments);
  const std::vector<std::string> words = command_of(arguments);
  const auto port = static_cast<int>(arguments.integer("port"));
  const auto run = [=](const Network& network) {
    std::vector<std::unique_ptr<RankProgram>> ranks;
    for (int rank = 0; rank < network.size(); ++rank) {
      set_environment(rank, network.size(), network.data_address(0), port);
      ranks.push_back(std::make_unique<RankProgram>(network.host(rank), words, rank));
    }
    return run_ranks(ranks);
  };
  return [=] { return programs.run([](const Network&) { return 0; }, run, false); };
}

OptionInfo schedule_option() {
  return {.name = "schedule",
          .value_name = "SPEC",
          .type = Type::kText,
          .help =
              "changes of the links over time, as for `thinpipe net play`; starts with the "
              "program"};
}

OptionInfo quiet_option() {
  return {.name = "quiet", .letter = 'q', .help = "do not print the traffic"};
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
      .options =
          {
              link_option("one link, as for `thinpipe run`, or a preset of `thinpipe list links`"),
              topology_option(),
              hosts_option("2"),
              schedule_option(),
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
              quiet_option(),
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

Verb net_torchrun_verb() {
  return {
      .name = "net torchrun",
      .summary = "Run a PyTorch job, one rank on each emulated host",
      .description =
          "Builds a network of emulated hosts, throttles its links, and starts your unchanged "
          "training script on every host. Each rank has torchrun's environment: RANK, WORLD_SIZE, "
          "LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, ROLE_RANK, MASTER_ADDR and MASTER_PORT, and "
          "gloo's interface. All ranks share this machine's CPUs.\n\n"
          "Lines that a rank prints appear with its number in front. The first rank that fails "
          "ends "
          "the others, and its exit code is that of the command. At the end, the traffic of each "
          "host is printed to stderr. `thinpipe.torch.ddp_hook` compresses the job's gradients, "
          "and `thinpipe_capture` records them.",
      .options =
          {
              link_option("one link, as for `thinpipe run`, or a preset of `thinpipe list links`"),
              topology_option(),
              hosts_option("2"),
              schedule_option(),
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
              quiet_option(),
          },
      .positionals = {{.name = "SCRIPT",
                       .help = "script or program and its arguments, after `--`",
                       .repeatable = true}},
      .examples = {{.purpose = "Four ranks on links of 100 Mbit/s",
                    .command = "thinpipe net torchrun --ranks 4 --link rate=100mbit,delay=1ms -- "
                               "train.py"}},
      .prepare = prepare_torchrun,
  };
}

}  // namespace thinpipe
