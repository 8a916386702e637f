#include "harness/job/ranks.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "harness/job/program_network.h"
#include "netem/sandbox.h"

namespace thinpipe {
namespace {

// Time that ranks have to end after a signal, in seconds. They may be in a system call of MPI or
// gloo.
constexpr double kGraceSeconds = 10;

// Waits for output of the programs, at most 50 ms, and prints it.
void print_outputs(RankPrograms& programs) {
  std::vector<pollfd> waiting;
  for (const auto& program : programs) waiting.push_back({program->descriptor(), POLLIN, 0});
  if (poll(waiting.data(), waiting.size(), 50) <= 0) return;
  for (std::size_t i = 0; i < programs.size(); ++i)
    if (waiting[i].fd >= 0 && waiting[i].revents != 0) programs[i]->print_output();
}

}  // namespace

RankProgram::RankProgram(const Host& host, const std::vector<std::string>& words,
                         std::string prefix)
    : prefix_(std::move(prefix)) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw SystemError("pipe");
  reading_ = FileDescriptor(ends[0]);
  const FileDescriptor writing(ends[1]);
  program_ = start_program(host, words, writing.get());
}

void RankProgram::print_output() {
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

void RankProgram::print_line() {
  if (!line_.empty())
    std::fputs((prefix_.empty() ? with_rank_in_front(line_) : prefix_ + line_).c_str(), stdout);
  std::fflush(stdout);
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

int run_ranks(RankPrograms& programs) {
  std::optional<int> result;  // set once the programs are told to end
  auto told = std::chrono::steady_clock::now();
  const auto end_all = [&](int code, int signal_number) {
    result = code;
    told = std::chrono::steady_clock::now();
    for (const auto& program : programs) program->signal(signal_number);
  };
  bool killed = false, all_exited = false;
  while (true) {
    print_outputs(programs);
    // First: a terminal sends SIGINT to the programs too, which fail by it.
    if (!result && stop_requested()) end_all(128 + stop_signal(), stop_signal());
    bool all_ended = true, exited = true;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const std::optional<int> code = programs[i]->exit_code();
      exited = exited && code.has_value();
      all_ended = all_ended && code.has_value() && programs[i]->descriptor() < 0;
      if (!code || *code == 0 || result) continue;
      if (programs[i]->is_rank())
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
      for (const auto& program : programs) program->signal(SIGKILL);
      killed = true;
    } else if (killed && seconds_since(told) > kGraceSeconds + 2) {
      // A program that a rank started has the output open; the sandbox ends it.
      return result.value_or(0);
    }
  }
}

}  // namespace thinpipe
