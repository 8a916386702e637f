#include "harness/job/program_network.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "base/visible.h"
#include "harness/machine/programs.h"
#include "harness/options/terminal.h"
#include "netem/sandbox.h"
#include "netem/schedule/links.h"

namespace thinpipe {
namespace {

constexpr std::size_t kLongestLine = 1 << 16;  // bytes

// Returns a sentence on the uplink or downlink that carried the most traffic.
std::string busiest_direction(const ProgramNetwork& programs, const ProgramTraffic& traffic) {
  double most = 0, rate = 0;
  std::string text;
  for (std::size_t i = 0; i < traffic.wire.sent_by.size(); ++i) {
    const TopologyHost& host = programs.planned().hosts[i];
    for (const bool sent : {true, false}) {
      const auto bytes =
          static_cast<double>(sent ? traffic.wire.sent_by[i] : traffic.wire.received_by[i]);
      if (bytes <= most) continue;
      most = bytes;
      rate = (sent ? host.link.up : host.link.down).rate;
      text = fmt::format("Busiest: {} of {}", sent ? "uplink" : "downlink", host.name);
    }
  }
  if (most == 0 || traffic.seconds <= 0) return "No traffic.\n";
  text += fmt::format(", {} on average", format_rate(8 * most / traffic.seconds));
  if (rate > 0 && programs.point().schedule.empty())
    text +=
        fmt::format(", {:.0f} % of {}", 100 * 8 * most / traffic.seconds / rate, format_rate(rate));
  return wrap(text + ".", 0) + "\n";
}

// Time that ranks have to end after a signal, in seconds. They may be in a system call of MPI or
// gloo.
constexpr double kGraceSeconds = 10;

// The terminal's Ctrl-Z and the shell's `fg` reach this process, but not the process groups of the
// ranks: notes the last of the two signals.
std::atomic<int> g_job_control{0};

class JobControl {
 public:
  JobControl() {
    struct sigaction action = {};
    action.sa_handler = [](int number) { g_job_control = number; };
    sigaction(SIGTSTP, &action, &before_[0]);
    sigaction(SIGCONT, &action, &before_[1]);
  }
  ~JobControl() {
    sigaction(SIGTSTP, &before_[0], nullptr);
    sigaction(SIGCONT, &before_[1], nullptr);
  }
  JobControl(const JobControl&) = delete;
  JobControl& operator=(const JobControl&) = delete;

  static void pass_on(const RankPrograms& programs) {
    const int number = g_job_control.exchange(0);
    if (number == 0) return;
    for (const auto& program : programs)
      program->suspend_or_continue(number == SIGTSTP ? SIGSTOP : SIGCONT);
  }

 private:
  struct sigaction before_[2] = {};
};

// Waits for output of the programs, at most 50 ms, and prints it.
void print_outputs(RankPrograms& programs) {
  // If nobody reads this process's output, the ranks wait and not this process, which must notice
  // stops.
  pollfd out = {STDOUT_FILENO, POLLOUT, 0};
  if (poll(&out, 1, 0) == 0) {
    poll(nullptr, 0, 50);
    return;
  }
  std::vector<pollfd> waiting;
  for (const auto& program : programs) waiting.push_back({program->descriptor(), POLLIN, 0});
  if (poll(waiting.data(), waiting.size(), 50) <= 0) return;
  for (std::size_t i = 0; i < programs.size(); ++i)
    if (waiting[i].fd >= 0 && waiting[i].revents != 0) programs[i]->print_output();
}

// Returns the error about ranks that are running at the end timeout.
std::string end_timeout_error(const std::vector<std::size_t>& running, std::size_t ended,
                              double end_timeout) {
  return fmt::format(
      "thinpipe: rank{} {} had not ended {:g} s after rank {} ended with exit code 0; ending the "
      "job. For a rank that works longer than the others, for example on a checkpoint, give a "
      "longer --end-timeout (0 waits for ever). For a script that hangs at its end, see "
      "docs/exec.md",
      running.size() == 1 ? "" : "s", fmt::join(running, ", "), end_timeout, ended);
}

}  // namespace

ProgramNetwork::ProgramNetwork(const TopologySpec& spec, int hosts, const LinkSpec& link,
                               const ScheduleSpec& schedule)
    : spec_(spec), planned_(spec.plan(hosts, link)) {
  point_.link = link;
  point_.schedule = schedule;
  point_.ranks = static_cast<int>(planned_.hosts.size());
  if (!schedule.empty()) scheduled_links(planned_, schedule);  // reports what does not fit
}

void ProgramNetwork::name_hosts_for_programs(const Network& network, const Sandbox& sandbox) {
  if (!name_hosts(network, sandbox.scratch))
    std::fputs("thinpipe: cannot replace /etc/hosts: hosts have addresses but no names\n", stderr);
  setenv("THINPIPE_HOST_ADDRESSES", host_addresses(network).c_str(), 1);
}

void ProgramNetwork::give_cubic_to_programs(const Network& network, const Sandbox& sandbox) {
  if (network.sysctls().at("net.ipv4.tcp_congestion_control") == "cubic") return;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they must be loaded first
  // LD_PRELOAD separates names by blanks. The path of this symbolic link has none.
  const std::string library = sandbox.scratch + "/cubic.so";
  std::filesystem::create_symlink(find_program("thinpipe-cubic.so"), library);
  const char* const others = std::getenv("LD_PRELOAD");
  setenv("LD_PRELOAD", others == nullptr ? library.c_str() : (library + ":" + others).c_str(), 1);
#else
  static_cast<void>(sandbox);
#endif
}

std::unique_ptr<HostProgram> start_program(const Host& host, const std::vector<std::string>& words,
                                           HostProgram::Streams streams, int output) {
  setenv("THINPIPE_HOST", host.name().c_str(), 1);
  try {
    return std::make_unique<HostProgram>(host, words, streams, output);
  } catch (const SystemError& error) {
    if (error.error() == ENOENT || error.error() == EACCES) throw InputError(error.what());
    throw;
  }
}

RankProgram::RankProgram(const Host& host, const std::vector<std::string>& words,
                         std::string prefix)
    : prefix_(std::move(prefix)) {
  Pipe pipe = make_pipe();
  reading_ = std::move(pipe.reading);
  program_ = start_program(host, words, HostProgram::Streams::kOurs, pipe.writing.get());
}

void RankProgram::print_output() {
  char text[1024];  // with a prefix for each line, no more than the free space of a writable pipe
  const ssize_t got = read(reading_.get(), text, sizeof(text));
  if (got < 0 && errno == EINTR) return;
  for (ssize_t i = 0; i < got; ++i) {
    line_ += text[i];
    // A line without an end is printed in parts, so that it does not fill the memory.
    if (text[i] == '\n' || text[i] == '\r' || line_.size() >= kLongestLine) print_line();
  }
  if (got > 0) return;
  reading_ = FileDescriptor();
  if (!line_.empty()) line_ += '\n';
  print_line();
}

void RankProgram::print_line() {
  const std::string line = prefix_.empty() ? with_rank_in_front(line_) : prefix_ + line_;
  std::fflush(stdout);
  // Not by stdio, which drops its buffer when a signal interrupts the write. Nobody reads a closed
  // pipe, and the job needs no reader.
  for (std::size_t done = 0; !line_.empty() && done < line.size();) {
    const ssize_t sent = write(STDOUT_FILENO, line.data() + done, line.size() - done);
    if (sent < 0 && errno == EINTR && !stop_requested()) continue;
    if (sent < 0 && (errno == EPIPE || errno == EINTR)) break;
    if (sent < 0) throw SystemError("write the output of a rank");
    done += static_cast<std::size_t>(sent);
  }
  line_.clear();
}

std::string with_rank_in_front(const std::string& line) {
  const std::size_t comma = line.find(','), bracket = line.find("]<std"), end = line.find(">:");
  const bool is_tagged = line.starts_with('[') && comma != std::string::npos &&
                         bracket != std::string::npos && end != std::string::npos &&
                         comma < bracket && bracket < end;
  if (!is_tagged) return line;
  return "[" + line.substr(comma + 1, bracket - comma - 1) + "] " + line.substr(end + 2);
}

int run_ranks(RankPrograms& programs, double end_timeout, const std::function<void()>& look) {
  std::optional<int> result;         // set once the programs are told to end
  std::optional<std::size_t> first;  // the rank that ended first
  std::chrono::steady_clock::time_point first_end;
  auto told = std::chrono::steady_clock::now();
  const auto end_all = [&](int code, int signal_number) {
    result = code;
    told = std::chrono::steady_clock::now();
    for (const auto& program : programs) program->signal(signal_number);
  };
  bool killed = false, all_exited = false;
  const JobControl job_control;
  while (true) {
    print_outputs(programs);
    JobControl::pass_on(programs);
    reap_orphans();
    look();
    // First: a terminal sends SIGINT to the programs too, which fail by it.
    if (!result && stop_requested()) end_all(128 + stop_signal(), stop_signal());
    bool all_ended = true;
    std::vector<std::size_t> running;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const std::optional<int> code = programs[i]->exit_code();
      all_ended = all_ended && code.has_value() && programs[i]->descriptor() < 0;
      if (!code) running.push_back(i);
      if (code && !first) {
        first = i;
        first_end = std::chrono::steady_clock::now();
      }
      if (!code || *code == 0 || result) continue;
      if (programs[i]->is_rank())
        std::fprintf(stderr, "thinpipe: rank %zu ended with exit code %d; ending the others\n", i,
                     *code);
      end_all(*code, SIGTERM);
    }
    if (all_ended) return result.value_or(0);
    if (!result && first && !running.empty() && end_timeout > 0 &&
        seconds_since(first_end) > end_timeout) {
      print_message(end_timeout_error(running, *first, end_timeout));
      end_all(kExitFailed, SIGTERM);
    }
    if (running.empty() && !all_exited) {
      all_exited = true;
      if (!result) told = std::chrono::steady_clock::now();
    }
    if (!result && !all_exited) continue;
    if (!killed && seconds_since(told) > kGraceSeconds) {
      for (const auto& program : programs) program->signal(SIGKILL);
      killed = true;
    } else if (killed && seconds_since(told) > kGraceSeconds + 2) {
      // A program that a rank started has the output open; the sandbox ends it.
      return result.value_or(0);
    }
  }
}

void print_traffic(const ProgramNetwork& programs, const ProgramTraffic& traffic) {
  constexpr std::size_t kMaxLines = 16;
  const WireCount& wire = traffic.wire;
  std::string text = fmt::format("thinpipe: traffic after {}\n", format_time(traffic.seconds));
  for (std::size_t i = 0; i < wire.sent_by.size() && i < kMaxLines; ++i)
    text += fmt::format("  {:<8} sent {:>9}, received {:>9}, dropped {} packets\n",
                        programs.planned().hosts[i].name, format_bytes(wire.sent_by[i]),
                        format_bytes(wire.received_by[i]), wire.drops_by[i]);
  if (wire.sent_by.size() > kMaxLines)
    text += fmt::format("  and {} more\n", wire.sent_by.size() - kMaxLines);
  text += busiest_direction(programs, traffic);
  std::fputs(text.c_str(), stderr);
}

}  // namespace thinpipe
