#include "harness/launch/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "harness/machine/fingerprint.h"
#include "harness/machine/programs.h"
#include "netem/probe.h"
#include "netem/sandbox.h"
#include "netem/topology/flows.h"

namespace thinpipe {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kStartSeconds = 60;      // mpirun needs about 2 s; on a loaded CI machine more
constexpr double kStartSecondsARank = 1;  // 64 ranks on two cores: 8 s
// Round trips in which a rank connects to one other rank, before it connects to the next: TCP's
// handshake, Open MPI's own, the first message, and one to spare.
constexpr double kConnectTrips = 4;
// 16 ranks, their mpirun and the shells that start them had at most 147 processes and threads.
constexpr std::uint64_t kTasksARank = 9;
constexpr double kQuitSeconds = 10;
constexpr int kPollMilliseconds = 200;  // longest time until a stop or a dead mpirun is noticed

std::string log_path(const std::string& scratch) { return scratch + "/mpirun.log"; }

// Returns the last lines of mpirun's output, in one line. Before these come the first lines that
// name one of `hosts`: ssh's message precedes the long explanation that Open MPI adds to it.
std::string log_tail(const std::string& scratch, const std::vector<std::string>& hosts) {
  std::ifstream file(log_path(scratch));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();  // ssh ends its lines so
    if (!line.empty() && line.find_first_not_of("-") != std::string::npos) lines.push_back(line);
  }
  const auto names_a_host = [&](const std::string& line) {
    return std::any_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
      return line.find(host.substr(host.find('@') + 1)) != std::string::npos;  // without `user@`
    });
  };
  constexpr std::size_t kLines = 6, kLinesOfHosts = 3;
  const std::size_t last = lines.size() - std::min(lines.size(), kLines);
  std::string tail;
  for (std::size_t i = 0, named = 0; i < lines.size(); ++i)
    if (i >= last || (named < kLinesOfHosts && names_a_host(lines[i]))) {
      if (i < last) ++named;
      tail += (tail.empty() ? "" : " | ") + lines[i];
    }
  return tail;
}

std::vector<std::string> worker_command(const Boarding& boarding, const std::string& control,
                                        int ranks, const char* program) {
  std::vector<std::string> command = mpirun_command(boarding, ranks);
  if (boarding.shared_folder.empty()) command.insert(command.end(), {"-x", kTokenVariable});
  command.insert(command.end(), {find_program(program).string(), control});
  if (!boarding.shared_folder.empty()) command.push_back(boarding.shared_folder);
  return command;
}

}  // namespace

std::vector<std::string> mpirun_command(const Boarding& boarding, int ranks) {
  if (!find_in_path("mpirun"))
    throw RunError("mpirun, which starts the ranks, is not installed (Debian: openmpi-bin)");
  std::vector<std::string> command = {"mpirun", "-np", std::to_string(ranks), "--allow-run-as-root",
                                      // By default every one-slot host binds its rank to core 0.
                                      "--bind-to", "none"};
  command.insert(command.end(), boarding.mpirun.begin(), boarding.mpirun.end());
  command.insert(command.end(), {"--mca", "pml", "ob1", "--mca", "btl", kTransports, "--mca",
                                 "mpi_yield_when_idle", "1"});
  return command;
}

double start_timeout(int ranks, double round_trip) {
  return kStartSeconds + ranks * (kStartSecondsARank + kConnectTrips * round_trip);
}

Launch::Launch(Machines& machines, const std::string& scratch, int ranks, const char* program)
    : scratch_(scratch) {
  try {
    start(machines, ranks, program);
    const Network* const network = machines.network();
    const double round_trip = network == nullptr ? 0 : longest_round_trip(network->topology());
    accept_workers(ranks, start_timeout(ranks, round_trip));
  } catch (...) {
    end_all();
    throw;
  }
}

Launch::~Launch() { end_all(); }

void Launch::start(Machines& machines, int ranks, const char* program) {
  const Boarding boarding = machines.board(ranks);
  hosts_ = boarding.hosts;
  std::string control = boarding.shared_folder + "/control";
  if (boarding.shared_folder.empty()) {
    door_.emplace(boarding.control_addresses);
    control = door_->where();
    setenv(kTokenVariable, door_->token().c_str(), 1);
  } else {
    in_sandbox_ = getpid() == 1;
    std::filesystem::remove(control);
    listener_ = MessageSocket::listen_at(control);
  }
  std::vector<std::string> command = worker_command(boarding, control, ranks, program);
  const std::vector<char*> arguments = exec_words(command);
  mpirun_ = fork();
  if (mpirun_ < 0) throw SystemError("fork");
  if (mpirun_ == 0) {
    const int nothing = open("/dev/null", O_RDONLY);
    const int log = open(log_path(scratch_).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(nothing, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    setsid();  // without a terminal ssh cannot ask there, and Ctrl-C reaches only the sweep
    // Makes mpirun end the ranks in good order however this process ends.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
}

void Launch::accept_workers(int ranks, double timeout) {
  const auto begin = Clock::now();
  workers_.resize(static_cast<std::size_t>(ranks));
  // Ranks send their hello after they have connected to each other. So this loop accepts all
  // control connections without waiting for any rank's hello.
  std::vector<MessageSocket> silent;
  for (int arrived = 0; arrived < ranks;) {
    std::vector<pollfd> waiting = {
        {door_ ? door_->descriptor() : listener_.descriptor(), POLLIN, 0}};
    for (const MessageSocket& one : silent) waiting.push_back({one.descriptor(), POLLIN, 0});
    if (poll(waiting.data(), waiting.size(), kPollMilliseconds) > 0) {
      for (std::size_t i = waiting.size() - 1; i > 0; --i) {
        if (waiting[i].revents == 0) continue;
        const auto place = silent.begin() + static_cast<std::ptrdiff_t>(i - 1);
        MessageSocket worker = std::move(*place);
        silent.erase(place);
        welcome(std::move(worker));
        ++arrived;
      }
      if (waiting[0].revents != 0) {
        // Any program may connect to a door, which returns nothing for other programs.
        std::optional<MessageSocket> worker = door_ ? door_->accept() : listener_.accept();
        if (worker) silent.push_back(std::move(*worker));
      }
    }
    if (stop_requested()) throw RunError("interrupted");
    if (mpirun_ended()) fail_to_start("mpirun ended before all ranks had started", ranks);
    if (seconds_since(begin) > timeout)
      fail_to_start(
          fmt::format("only {} of {} ranks started within {:.3g} s", arrived, ranks, timeout),
          ranks);
  }
}

void Launch::welcome(MessageSocket worker) {
  const auto hello = worker.receive();
  if (!hello) fail("a rank ended while it started");
  const auto rank = hello->at("rank").get<std::size_t>();
  if (hello->contains("machine")) {
    const nlohmann::json ours = machine_description(), &theirs = hello->at("machine");
    for (const char* part : {"thinpipe", "git"})
      if (theirs.at(part) != ours.at(part))
        fail(fmt::format(
            "{} has a different thinpipe ({} {}) than this machine ({} {})", rank_name(rank),
            theirs.at("thinpipe").get<std::string>(), theirs.at("git").get<std::string>(),
            ours.at("thinpipe").get<std::string>(), ours.at("git").get<std::string>()));
    if (rank_machines_.size() <= rank) rank_machines_.resize(rank + 1);
    rank_machines_[rank] = theirs;
  }
  mpi_version_ = hello->at("mpi");
  congestion_control_ = hello->at("congestion_control");
  workers_.at(rank) = std::move(worker);
}

std::uint32_t Launch::path_mtu() const {
  std::uint32_t least = 0;
  for (const nlohmann::json& machine : rank_machines_) {
    const auto mtu = machine.value("mtu", std::uint32_t{0});
    if (mtu > 0 && (least == 0 || mtu < least)) least = mtu;
  }
  return least;
}

std::vector<nlohmann::json> Launch::ask(const nlohmann::json& message, double seconds,
                                        double grace) {
  const auto begin = Clock::now();
  std::optional<Clock::time_point> stopped;
  for (std::size_t rank = 0; rank < workers_.size(); ++rank) try {
      workers_[rank].send(message);
    } catch (const SystemError& error) {
      fail_to_reach(rank, error);
    }
  std::vector<nlohmann::json> answers(workers_.size());
  std::vector<pollfd> waiting;
  for (const MessageSocket& worker : workers_) waiting.push_back({worker.descriptor(), POLLIN, 0});
  for (std::size_t arrived = 0; arrived < workers_.size();) {
    // Known before the poll, so that answers count that arrived while the whole machine stalled.
    const bool is_late = seconds_since(begin) > seconds, has_ended = mpirun_ended();
    const int ready = poll(waiting.data(), waiting.size(), kPollMilliseconds);
    if (ready > 0) {
      for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
        if (waiting[rank].revents == 0) continue;
        answers[rank] = receive_from(rank);
        waiting[rank].fd = -1;  // poll ignores it from now on
        ++arrived;
        // Its peers may wait for it in an exchange without end, and cannot answer other messages.
        if (answers[rank].at("type") == "error" && message.at("do") == "step")
          fail(fmt::format("{}: {}", rank_name(rank),
                           answers[rank].at("message").get<std::string>()));
      }
    }
    if (stop_requested()) {
      if (!stopped) stopped = Clock::now();
      if (seconds_since(*stopped) >= grace) throw RunError("interrupted");
    }
    // Ranks outlive mpirun for a while, and their answers may then be incomplete.
    if (has_ended) fail("mpirun ended unexpectedly");
    if (ready == 0 && is_late)
      throw NoAnswer(fmt::format("{} of {} ranks did not answer within {:.3g} s",
                                 workers_.size() - arrived, workers_.size(), seconds));
  }
  for (std::size_t rank = 0; rank < answers.size(); ++rank)
    if (answers[rank].at("type") == "error")
      throw WorkerRefusal(
          fmt::format("{}: {}", rank_name(rank), answers[rank].at("message").get<std::string>()));
  return answers;
}

nlohmann::json Launch::receive_from(std::size_t rank) {
  std::optional<nlohmann::json> answer;
  try {
    answer = workers_[rank].receive();
  } catch (const SystemError& error) {
    fail_to_reach(rank, error);
  }
  if (!answer) fail_of_ended(rank);
  return std::move(*answer);
}

std::string Launch::rank_name(std::size_t rank) const {
  if (rank >= hosts_.size()) return fmt::format("rank {}", rank);
  return fmt::format("rank {} (host {})", rank, hosts_[rank]);
}

void Launch::quit() {
  try {
    for (const MessageSocket& worker : workers_) worker.send({{"do", "quit"}});
  } catch (const RunError&) {
    // A rank that has ended needs no quit message.
  }
  const auto begin = Clock::now();
  while (!mpirun_ended() && seconds_since(begin) < kQuitSeconds && !stop_requested())
    poll(nullptr, 0, 10);
  end_all();
}

bool Launch::mpirun_ended() {
  if (mpirun_ > 0 && waitpid(mpirun_, &mpirun_status_, WNOHANG) == mpirun_) mpirun_ = -1;
  return mpirun_ <= 0;
}

void Launch::fail_of_ended(std::size_t rank) {
  // mpirun notices, ends the other ranks, and then itself: within a second or two.
  const auto begin = Clock::now();
  while (!mpirun_ended() && seconds_since(begin) < kQuitSeconds && !stop_requested())
    poll(nullptr, 0, 10);
  // mpirun's exit code is 128 + the signal that killed the first rank to end.
  const int signal =
      mpirun_ <= 0 && WIFEXITED(mpirun_status_) ? WEXITSTATUS(mpirun_status_) - 128 : 0;
  const char* const name = signal > 0 ? sigabbrev_np(signal) : nullptr;
  fail(rank_name(rank) + (name == nullptr ? std::string(" ended unexpectedly")
                                          : fmt::format(" was killed by SIG{}", name)));
}

void Launch::fail(const std::string& what) {
  const std::string tail = log_tail(scratch_, hosts_);
  throw RunError(tail.empty() ? what : what + " (" + tail + ")");
}

void Launch::fail_to_reach(std::size_t rank, const SystemError& error) {
  // The rank closed the connection. On a reset, the socket tells it as the end of the messages.
  if (error.error() == EPIPE || error.error() == ECONNRESET) fail_of_ended(rank);
  // Its machine vanished without closing the connection.
  fail(fmt::format(
      "{}: the connection to its machine broke ({}). Check that machine and its network",
      rank_name(rank), std::strerror(error.error())));
}

void Launch::fail_to_start(const std::string& what, int ranks) {
  const std::uint64_t tasks = kTasksARank * static_cast<std::uint64_t>(ranks);
  const std::string limit = process_limit_below(tasks);
  fail(limit.empty()
           ? what
           : fmt::format("{}; {}, and {} ranks need about {}", what, limit, ranks, tasks));
}

void Launch::end_mpirun() {
  for (const int how : {SIGTERM, SIGKILL}) {
    if (mpirun_ended()) return;
    kill(mpirun_, how);
    const auto begin = Clock::now();
    while (!mpirun_ended() && seconds_since(begin) < kQuitSeconds) poll(nullptr, 0, 10);
  }
}

void Launch::end_all() {
  workers_.clear();
  if (in_sandbox_) {
    // This process is the first of its PID namespace, so kill(-1) signals all other processes in
    // the namespace and none outside.
    kill(-1, SIGKILL);
    while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
    }
    mpirun_ = -1;
  } else {
    end_mpirun();  // only mpirun: guards of interfaces live on
  }
}

}  // namespace thinpipe
