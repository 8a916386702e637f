// The user's machines, reached through ssh or Slurm.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "base/visible.h"
#include "harness/hosts/hosts.h"
#include "harness/launch/control_socket.h"
#include "harness/launch/launch.h"
#include "harness/launch/machines.h"
#include "harness/machine/programs.h"
#include "netem/file_descriptor.h"
#include "netem/link/netlink.h"
#include "netem/sandbox.h"
#include "netem/topology/time_scale.h"

namespace thinpipe {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
constexpr double kAnswerSeconds = 15;  // longest time until a live guard answers
constexpr double kEndSeconds = 10;
constexpr double kGuardPollSeconds = 0.2;  // a fifth of the shortest --lease
constexpr int kMaxGreetingLines = 10'000;  // of a login shell; a longer greeting has no end
// Longest time of a login, in s: ssh may query name servers and wait for a slow login.
constexpr double kHelloSeconds = 60;

// The command that runs a command on a host, without --agent. In BatchMode ssh fails at once where
// it would ask for a password. With ConnectTimeout (s) it fails soon where a host does not answer.
// By ServerAlive* it asks after 10 s of silence, and ends after three questions without an answer:
// when its host has vanished, ssh is not left behind on this machine for more than 40 s.
constexpr const char* kSsh =
    "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=10 -o ServerAliveCountMax=3";

// Bytes that must be free for temporary files on a host. PMIx, by which Open MPI's daemon serves
// the ranks, maps two files of 4 MiB there (NS_META_SEG_SIZE and NS_DATA_SEG_SIZE of its dstore).
constexpr int kTemporaryBytes = 8 << 20;

constexpr std::string_view kLoginMark = "thinpipe: ";

// Returns the words of a text, which spaces separate.
std::vector<std::string> words_at_spaces(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Returns the last line of a file that is not empty, "" if there is none.
std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();  // ssh ends its lines so
    if (!line.empty()) last = line;
  }
  return last;
}

// Returns the command that runs a command on a host: `--agent`, or ssh with options by which it
// asks nothing and does not wait for ever.
std::string agent_of(const HostsOptions& options) {
  return options.agent.empty() ? kSsh : options.agent;
}

// Starts a command whose errors go to the file `log`. The command has no terminal (setsid): ssh
// cannot ask for a password there, and the terminal's Ctrl-C reaches only the sweep. Returns its
// process id.
pid_t start_without_terminal(std::vector<std::string> words, int input, int output,
                             const std::string& log) {
  const std::vector<char*> arguments = exec_words(words);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw SystemError("fork");
  if (child > 0) return child;
  const int errors = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  setsid();
  // The agent does not outlive this process, however that ends.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
  for (const int one : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(one, SIG_DFL);
  execvp(arguments[0], arguments.data());
  dprintf(STDERR_FILENO, "%s: %s\n", arguments[0], strerror(errno));
  _exit(127);
}

// Returns a command that prints, on a line of its own, kLoginMark and then `ready`, or the reason
// why ranks cannot run on this host. Some agents do not pass on exit codes.
std::string login_command() {
  const std::string bytes = std::to_string(kTemporaryBytes);
  const std::string script =
      "LC_ALL=C; export LC_ALL; "
      "say() { echo; echo \"thinpipe: $*\"; exit; }; "
      "test -x \"$1\" || say \"no program $1. Install the same thinpipe at the same path there\"; "
      "all=${TMPDIR:-/tmp}; "
      "own=$(mktemp -d \"$all/thinpipe-XXXXXX\" 2>&1) || "
      "say \"cannot make a folder in $all ($own). Open MPI needs $2 bytes there: free them, or set "
      "TMPDIR on that host\"; "
      "error=$(head -c \"$2\" /dev/zero 2>&1 >\"$own/space\"); code=$?; rm -rf \"$own\"; "
      "test $code -eq 0 || "
      "say \"cannot write to $all ($error). Open MPI needs $2 bytes there: free them, or set "
      "TMPDIR on that host\"; "
      "say ready";
  // The worker has the same path on every machine. An `sh` of its own, as the login shell may be
  // any other.
  return "exec " +
         shell_quoted({"sh", "-c", script, "sh", find_program("thinpipe-worker").string(), bytes});
}

// Returns the words after kLoginMark in the output of login_command(); "" if it did not run.
std::string login_answer(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {  // a login shell may print a greeting first
    if (line.ends_with('\r')) line.pop_back();         // from an agent that makes a terminal there
    if (line.starts_with(kLoginMark)) return line.substr(kLoginMark.size());
  }
  return "";
}

// Returns the cause and the remedy of a login that failed. `log` has the errors of ssh.
std::string login_failure(const HostsOptions& options, const std::string& host,
                          const std::string& log) {
  std::ifstream file(log);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto says = [&](const char* part) { return text.find(part) != std::string::npos; };
  std::string remedy;
  if (says("HOST IDENTIFICATION HAS CHANGED"))
    remedy = fmt::format(
        "If the machine was installed anew, remove its old key by `ssh-keygen -R {}`. Then log in "
        "once by hand (`ssh {}`), and compare the fingerprint of the new key",
        host.substr(host.find('@') + 1), host);
  else if (says("Host key verification failed"))
    remedy = fmt::format(
        "Log in once by hand (`ssh {}`), and accept the host's key after comparing its fingerprint",
        host);
  else if (says("Permission denied ("))
    remedy = fmt::format(
        "A login must need no password. `ssh-copy-id {}` copies your key to the host; if the key "
        "has a passphrase, load it by `ssh-add`",
        host);
  if (remedy.empty())
    remedy = fmt::format("`{} {} true` must succeed without a question", agent_of(options), host);
  else if (!options.agent.empty())
    remedy += fmt::format(". Give these commands the options of `{}`", options.agent);
  const std::string said = last_line(log);
  return fmt::format("cannot log in{}. {}", said.empty() ? "" : fmt::format(" ({})", said), remedy);
}

// Checks that commands run on all hosts, at the same time on each, and that ranks can run there.
// @param scratch  folder for the output of the commands
// @throws RunError naming the first host on which ranks cannot run, the cause and the remedy
void check_logins(const HostsOptions& options, const std::string& scratch) {
  struct Login {
    std::string host, output, log;
    pid_t child = -1;
    bool late = false;
  };
  const FileDescriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing.valid()) throw SystemError("open /dev/null");
  const std::string command = login_command();
  std::vector<Login> logins;
  for (const std::string& host : options.names) {
    if (is_this_machine(host)) continue;  // mpirun starts the rank here without a login
    Login login;
    login.host = host;
    login.output = fmt::format("{}/login-{}.out", scratch, logins.size());
    login.log = fmt::format("{}/login-{}.log", scratch, logins.size());
    const FileDescriptor output(
        open(login.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!output.valid()) throw SystemError("open " + login.output);
    std::vector<std::string> words = words_at_spaces(agent_of(options));
    words.push_back(host);
    words.push_back(command);
    login.child = start_without_terminal(words, nothing.get(), output.get(), login.log);
    logins.push_back(std::move(login));
  }
  const auto begin = Clock::now();
  for (Login& login : logins)
    while (waitpid(login.child, nullptr, WNOHANG) == 0) {
      login.late = seconds_since(begin) > kHelloSeconds;
      if (login.late || stop_requested()) {
        kill(-login.child, SIGKILL);  // with the processes that the agent started
        kill(login.child, SIGKILL);   // which has not called setsid() yet, in its first moment
        waitpid(login.child, nullptr, 0);
        break;
      }
      poll(nullptr, 0, 5);
    }
  if (stop_requested()) throw RunError("interrupted");
  for (const Login& login : logins) {
    const std::string answer = login_answer(login.output);
    if (answer == "ready") continue;
    std::string reason = answer;
    if (answer.empty()) reason = login_failure(options, login.host, login.log);
    if (login.late) reason = fmt::format("no answer within {:g} s; {}", kHelloSeconds, reason);
    throw RunError(fmt::format("host {}: {}", login.host, reason));
  }
}

/// The command that starts a guard on a host.
struct GuardCommand {
  std::string host;
  std::vector<std::string> words;  ///< the program first; found by PATH
};

/// First report of a guard.
struct GuardedCard {
  int mtu = 0;
  std::string had;  ///< the qdisc that the guard will restore
};

// Returns the addresses from which this machine reaches the hosts, each once.
std::vector<std::string> addresses_towards(const std::vector<std::string>& hosts) {
  std::vector<std::string> addresses;
  for (const std::string& host : hosts) {
    const std::string address = address_towards(host);
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end())
      addresses.push_back(address);
  }
  return addresses;
}

std::vector<GuardCommand> guard_commands(const HostsOptions& options,
                                         const std::vector<std::string>& control_addresses) {
  // The program has the same path on every machine, as the worker has.
  std::vector<std::string> guard = words_at_spaces(options.shape_prefix);
  guard.insert(guard.end(), {find_program("thinpipe-shape").string(), options.shape,
                             fmt::format("{:g}", options.lease)});
  if (options.shape_anyway) guard.emplace_back("--anyway");
  // The guard refuses an interface on the route to this machine, unless this machine is the host.
  guard.insert(guard.end(), control_addresses.begin(), control_addresses.end());
  std::vector<GuardCommand> commands;
  for (const std::string& host : options.names) {
    GuardCommand command;
    command.host = host;
    if (options.slurm) {
      // Runs without a shell. The end of the Slurm step ends the guard, by SIGTERM first.
      command.words = {"srun",       "--overlap",    "--nodes=1",
                       "--ntasks=1", "--unbuffered", "--nodelist=" + host};
      command.words.insert(command.words.end(), guard.begin(), guard.end());
    } else {
      command.words = words_at_spaces(agent_of(options));
      command.words.push_back(host);
      // The empty line ends a greeting of the login shell that has no end of line.
      command.words.push_back("echo; exec " + shell_quoted(guard));
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

/// The connection to one guard: a child process (ssh, for instance) that runs thinpipe-shape on the
/// host.
class GuardLine {
 public:
  /// @param log  file for the standard error of the child process
  /// @param meanwhile  called every kGuardPollSeconds until the guard answers; may throw
  /// @throws RunError naming the host when the host's guard cannot be started or refuses.
  GuardLine(const GuardCommand& command, const std::string& log,
            const std::function<void()>& meanwhile)
      : host_(command.host), log_(log) {
    int ends[2];
    // A socket, so that writing to a guard that has ended is an error and no signal.
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      throw SystemError("socketpair");
    socket_ = FileDescriptor(ends[0]);
    FileDescriptor theirs(ends[1]);
    child_ = start_without_terminal(command.words, theirs.get(), theirs.get(), log);
    theirs.reset();  // an open copy would hide the child's end
    const std::string hello = read_hello(meanwhile);
    if (hello.starts_with("refused ")) fail(hello.substr(8));
    std::istringstream words_of(hello);
    std::string guarding;
    if (!(words_of >> guarding >> card_.mtu) || guarding != "guarding")
      fail(fmt::format("the guard answered '{}'", hello));
    std::getline(words_of >> std::ws, card_.had);
  }
  ~GuardLine() {
    socket_.reset();  // the guard sees the end of its input, restores the interface, and ends
    if (child_ <= 0) return;
    const auto begin = Clock::now();
    while (waitpid(child_, nullptr, WNOHANG) == 0) {
      if (seconds_since(begin) > kEndSeconds) {
        kill(child_, SIGKILL);  // the connection hangs; the guard restores when its lease expires
        waitpid(child_, nullptr, 0);
        return;
      }
      poll(nullptr, 0, 5);
    }
  }
  GuardLine(const GuardLine&) = delete;
  GuardLine& operator=(const GuardLine&) = delete;

  const std::string& host() const { return host_; }
  const GuardedCard& card() const { return card_; }
  /// Sends a line to the guard. @throws RunError naming the host.
  void request(const std::string& line) {
    const std::string text = line + "\n";
    if (send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(text.size()))
      fail("the guard has ended");
    ++owed_;
  }
  /// Waits for the answer to the last request, which must begin with `expected`, and calls
  /// `meanwhile` from time to time. Returns the remainder of the answer.
  /// @throws RunError naming the host.
  std::string answer(const std::string& expected, double seconds,
                     const std::function<void()>& meanwhile = {}) {
    for (;;) {
      const std::string said = read_line(seconds, Clock::now(), meanwhile);
      // Answers to earlier requests, for which nobody waits any longer, are passed over.
      if (said == "renewed" || --owed_ > 0) continue;
      if (said.starts_with(expected + " ")) return said.substr(expected.size() + 1);
      fail(fmt::format("the guard answered '{}'", said));
    }
  }
  /// Renews the lease if that does not block; waits for no answer.
  void renew() {
    // A renewal that would block is sent next time. answer() reports a guard that has ended.
    [[maybe_unused]] const ssize_t sent =
        send(socket_.get(), "renew\n", 6, MSG_NOSIGNAL | MSG_DONTWAIT);
    char buffer[512];  // answers to earlier ones
    ssize_t got;
    while ((got = recv(socket_.get(), buffer, sizeof(buffer), MSG_DONTWAIT)) > 0)
      received_.append(buffer, static_cast<std::size_t>(got));
    while (received_.starts_with("renewed\n")) received_.erase(0, 8);
  }

 private:
  // Returns the guard's first line. Skips the lines that a login shell printed before it, such as a
  // greeting in ~/.bashrc.
  std::string read_hello(const std::function<void()>& meanwhile) {
    const auto begin = Clock::now();
    for (int lines = 0; lines < kMaxGreetingLines; ++lines) {
      const std::string line = read_line(kHelloSeconds, begin, meanwhile);
      if (line.starts_with("guarding ") || line.starts_with("refused ")) return line;
    }
    fail(fmt::format("its login shell printed {} lines before the guard", kMaxGreetingLines));
  }
  // Waits for a line until `seconds` after `begin`.
  std::string read_line(double seconds, Clock::time_point begin = Clock::now(),
                        const std::function<void()>& meanwhile = {}) {
    for (;;) {
      const std::size_t end = received_.find('\n');
      if (end != std::string::npos) {
        std::string line = received_.substr(0, end);
        received_.erase(0, end + 1);
        return line;
      }
      const double left = seconds - seconds_since(begin);
      if (left <= 0) fail(fmt::format("the guard did not answer within {:g} s", seconds));
      if (meanwhile) meanwhile();
      pollfd waiting = {socket_.get(), POLLIN, 0};
      const double slice = std::min(left, kGuardPollSeconds);
      if (poll(&waiting, 1, static_cast<int>(slice * 1000) + 1) <= 0) continue;
      char buffer[512];
      const ssize_t got = recv(socket_.get(), buffer, sizeof(buffer), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) fail("the guard has ended");
      received_.append(buffer, static_cast<std::size_t>(got));
    }
  }
  [[noreturn]] void fail(const std::string& what) {
    const std::string said = last_line(log_);
    throw RunError(
        fmt::format("host {}: {}{}", host_, what, said.empty() ? "" : " (" + said + ")"));
  }

  std::string host_, log_, received_;
  int owed_ = 0;  // answers that the guard owes, without those to renewals
  GuardedCard card_;
  FileDescriptor socket_;
  pid_t child_ = -1;
};

/// The guards of all hosts. A thread renews their leases while this process lives.
class Guards {
 public:
  /// @param lease  s, as the commands have it
  Guards(const std::vector<GuardCommand>& commands, const std::string& scratch, double lease) {
    // A login may take longer than the lease of the guards that were started before.
    const auto meanwhile = [this] {
      if (stop_requested()) throw RunError("interrupted");
      for (const auto& line : lines_) line->renew();
    };
    // A refusal closes the connections to all guards started before, which ends them.
    for (std::size_t i = 0; i < commands.size(); ++i)
      lines_.push_back(std::make_unique<GuardLine>(
          commands[i], fmt::format("{}/guard-{}.log", scratch, i), meanwhile));
    const std::chrono::duration<double> pause(lease / 4);
    renewals_ = std::jthread([this, pause](const std::stop_token& ending) {
      std::unique_lock lock(mutex_);
      while (!end_.wait_for(lock, ending, pause, [&] { return ending.stop_requested(); }))
        for (const auto& line : lines_) line->renew();
    });
  }
  /// Has the guards restore all interfaces, and reports on stderr each host that did not confirm.
  ~Guards() {
    renewals_.request_stop();
    renewals_.join();
    // All at once: the leases of healthy hosts must not expire while a dead one is waited for.
    for (const auto& line : lines_) try {
        line->request("restore");
      } catch (const RunError&) {
        // answer() reports it.
      }
    for (const auto& line : lines_) try {
        const std::string how = line->answer("restored", kEndSeconds);
        if (how.starts_with("left alone"))
          print_message(fmt::format("thinpipe: host {}: {}", line->host(), how));
      } catch (const RunError& error) {
        print_message(
            fmt::format("{}: the interface may not be restored. Run `thinpipe net restore` on that "
                        "host",
                        error.what()));
      }
  }
  Guards(const Guards&) = delete;
  Guards& operator=(const Guards&) = delete;

  /// @param link  a text for parse_link_spec()
  void set_links(const std::string& link) { ask_all(lines_.size(), "link " + link, "set"); }
  /// Returns the sums of the qdiscs' bytes and drops over the first `hosts` hosts.
  QdiscCounters count(int hosts) {
    QdiscCounters sum;
    for (const std::string& counted :
         ask_all(static_cast<std::size_t>(hosts), "count", "counted")) {
      std::istringstream numbers(counted);
      QdiscCounters one;
      numbers >> one.bytes >> one.packets >> one.drops;
      sum.bytes += one.bytes;
      sum.drops += one.drops;
    }
    return sum;
  }
  /// Returns the links that no longer match set_links(), host by host in words.
  std::vector<std::string> drift() {
    std::vector<std::string> found;
    const std::vector<std::string> checked = ask_all(lines_.size(), "check", "checked");
    for (std::size_t i = 0; i < checked.size(); ++i)
      if (checked[i] != "same")
        found.push_back(fmt::format("host {}: {}", lines_[i]->host(), checked[i]));
    return found;
  }
  std::vector<GuardedCard> cards() const {
    std::vector<GuardedCard> cards;
    for (const auto& line : lines_) cards.push_back(line->card());
    return cards;
  }

 private:
  /// Asks the first `hosts` guards at once and returns their answers. The leases of all guards are
  /// renewed while one is waited for.
  std::vector<std::string> ask_all(std::size_t hosts, const std::string& request,
                                   const std::string& expected) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < hosts; ++i) lines_.at(i)->request(request);
    std::vector<std::string> answers;
    for (std::size_t i = 0; i < hosts; ++i)
      answers.push_back(lines_[i]->answer(expected, kAnswerSeconds, [&] {
        for (const auto& line : lines_) line->renew();
      }));
    return answers;
  }

  std::vector<std::unique_ptr<GuardLine>> lines_;
  std::mutex mutex_;  // guards lines_
  std::condition_variable_any end_;
  std::jthread renewals_;
};

class RealMachines : public Machines {
 public:
  RealMachines(HostsOptions options, const std::string& scratch, int ranks)
      : options_(std::move(options)) {
    options_.names.resize(static_cast<std::size_t>(ranks));
    control_addresses_ = addresses_towards(options_.names);
    // For all that this process starts: else ssh asks in a window where DISPLAY is set.
    setenv("SSH_ASKPASS_REQUIRE", "never", 1);
    if (!options_.slurm) check_logins(options_, scratch);
    if (!options_.shape.empty())
      guards_ = std::make_unique<Guards>(guard_commands(options_, control_addresses_), scratch,
                                         options_.lease);
  }

  int size() const override { return static_cast<int>(options_.names.size()); }
  Boarding board(int ranks) override {
    Boarding boarding;
    boarding.control_addresses = control_addresses_;
    boarding.hosts.assign(options_.names.begin(), options_.names.begin() + ranks);
    // mpirun gives rank 0 to this machine wherever the list has it, and others ranks in list order.
    std::stable_partition(boarding.hosts.begin(), boarding.hosts.end(), is_this_machine);
    std::string hosts;
    for (int i = 0; i < ranks; ++i)
      hosts += fmt::format("{}{}:1", i > 0 ? "," : "", options_.names[static_cast<std::size_t>(i)]);
    boarding.mpirun = {"--host", hosts};
    if (options_.slurm) {
      boarding.set("plm", "slurm");
      // Also in a job step, which may have fewer nodes (`srun -N 1 -n 1`).
      boarding.set("ras_slurm_use_entire_allocation", "1");
    } else {
      boarding.set_agent(agent_of(options_));
    }
    if (!mpi_interface().empty()) boarding.set("btl_tcp_if_include", mpi_interface());
    // Keeps Open MPI's control messages off the throttled interface, unless it may be the only one.
    if (!options_.shape.empty() && !options_.shape_anyway)
      boarding.set("oob_tcp_if_exclude", options_.shape);
    return boarding;
  }
  void set_links(const LinkSpec& link, double time_scale) override {
    if (!guards_) return;
    // Dilated, the link has its default bucket in its text, which must hold the cards' frames.
    LinkSpec fitted = link;
    fitted.mtu = mtu(link, nullptr);
    fitted = slowed(fitted, time_scale);
    fitted.mtu = link.mtu;
    guards_->set_links(fitted.to_string());
  }
  WireCount count_wire(int ranks) override {
    WireCount count;
    count.counted = guards_ != nullptr;
    if (!count.counted) return count;
    const QdiscCounters counters = guards_->count(ranks);
    count.sent = counters.bytes;
    count.drops = counters.drops;
    return count;
  }
  // Returns the MTU of the network cards if guards report it, else that of the ranks' connections,
  // else the MTU of `link`. The first guard's report is enough, because hosts of one network have
  // the same MTU.
  std::uint32_t mtu(const LinkSpec& link, const Launch* launch) const override {
    if (guards_) return static_cast<std::uint32_t>(guards_->cards().at(0).mtu);
    const std::uint32_t found = launch == nullptr ? 0 : launch->path_mtu();
    return found > 0 ? found : link.mtu;
  }
  /// Measures streams of the ranks round a ring: the rate at which each receives from its
  /// predecessor.
  LinkCalibration calibrate(const LinkSpec& own, double time_scale, Launch* launch) override {
    LinkCalibration result;
    if (launch == nullptr || launch->ranks() < 2) {
      result.unmeasured = launch == nullptr ? "no ranks" : "one rank has no peer to send to";
      return result;
    }
    set_links(own, time_scale);
    const LinkSpec link = slowed(own, time_scale);
    constexpr double kSettle = 0.5;
    // At least about 30 segments of the stream.
    const double seconds = std::max(1.0, 8e6 / link.rate());
    const std::vector<json> answers = launch->ask(
        {{"do", "stream"}, {"settle", kSettle}, {"seconds", seconds}}, 60 + 20 * seconds);
    const std::uint32_t packet = mtu(link, launch);
    const double payload = packet - kTcpHeaders, frame = packet + kEthernetHeader;
    for (std::size_t rank = 0; rank < answers.size(); ++rank) {
      WayCalibration way;
      way.where =
          fmt::format("rank {} to rank {}", (rank + answers.size() - 1) % answers.size(), rank);
      way.set = sets_links() ? link.to_string() : "";
      way.ceiling = link.rate() * payload / frame;
      way.goodput = answers[rank].at("goodput");
      way.seconds = seconds;
      result.ways.push_back(std::move(way));
    }
    return result;
  }
  bool needs_ranks_to_calibrate() const override { return true; }
  std::vector<std::string> drift() override {
    return guards_ ? guards_->drift() : std::vector<std::string>{};
  }
  bool sets_links() const override { return guards_ != nullptr; }
  std::map<std::string, std::string> sysctls() const override { return {}; }
  json description() const override {
    json text = {{"kind", "real"},
                 {"hosts", options_.names.size()},
                 {"launcher", options_.slurm           ? "slurm"
                              : options_.agent.empty() ? "ssh"
                                                       : "agent"},
                 {"mpi_interface", mpi_interface()},
                 {"throttled", options_.shape.empty() ? json(nullptr) : json(options_.shape)},
                 {"arriving", "neither throttled nor counted: only each host's egress is"}};
    if (!guards_) {
      text["arriving"] = "neither throttled nor counted";
      text["wire_bytes"] = "not counted: only the qdiscs that --shape sets have counters";
      return text;
    }
    json& cards = text["cards"] = json::array();
    for (const GuardedCard& card : guards_->cards())
      cards.push_back({{"mtu", card.mtu}, {"given_back", card.had}});
    return text;
  }

 private:
  const std::string& mpi_interface() const {
    return options_.mpi_interface.empty() ? options_.shape : options_.mpi_interface;
  }

  HostsOptions options_;
  std::vector<std::string> control_addresses_;
  std::unique_ptr<Guards> guards_;
};

}  // namespace

std::unique_ptr<Machines> make_real_machines(HostsOptions options, const std::string& scratch,
                                             int ranks) {
  return std::make_unique<RealMachines>(std::move(options), scratch, ranks);
}

}  // namespace thinpipe
