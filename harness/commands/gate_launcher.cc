#include "harness/commands/gate_launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/error.h"
#include "harness/bench/timed.h"
#include "harness/machine/programs.h"
#include "netem/file_descriptor.h"
#include "netem/sandbox.h"
#include "reports/record/record.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVerbs[] = {"bench", "quality", "run"};

std::string tail_of(const fs::path& file) {
  constexpr std::size_t kMax = 2000;
  std::ifstream stream(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.size() > kMax ? "..." + text.substr(text.size() - kMax) : text;
}

FileDescriptor open_for_writing(const fs::path& file) {
  FileDescriptor opened(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!opened.valid()) throw SystemError("open " + file.string());
  return opened;
}

std::pair<FileDescriptor, FileDescriptor> socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw SystemError("make a pair of sockets");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

bool was_disturbed(const Measured& launch) {
  return std::any_of(launch.not_good.begin(), launch.not_good.end(), [](const auto& point) {
    return point.second.starts_with(status_name(Status::kInvalid));
  });
}

// Launches both programs one after the other, in random order.
std::pair<Measured, Measured> launch_both(Launcher& launcher, const fs::path& older,
                                          const fs::path& newer, std::mt19937_64& coin) {
  std::pair<Measured, Measured> measured;
  const bool older_first = (coin() & 1) != 0;
  for (const bool is_older : {older_first, !older_first})
    (is_older ? measured.first : measured.second) = launcher.launch(is_older ? older : newer);
  return measured;
}

}  // namespace

Launcher::Launcher(std::vector<std::string> words, fs::path scratch)
    : words_(std::move(words)), scratch_(std::move(scratch)) {
  if (words_.empty() ||
      std::find(std::begin(kVerbs), std::end(kVerbs), words_[0]) == std::end(kVerbs))
    throw InputError(
        "after --: expected a command such as `bench -c topk`, `quality ...` or `run ...`" +
        (words_.empty() ? "" : "; found '" + words_[0] + "'"));
  for (const std::string& word : words_)
    if (word == "--out" || word.starts_with("--out="))
      throw InputError("after --: --out is set by the gate, which gives each launch a folder");
}

// A running launch.
struct Launcher::Started {
  fs::path program, folder, errors;
  pid_t child = 0;
};

void Launcher::forget_last() {
  std::error_code ignored;
  if (!last_.empty()) fs::remove_all(last_.parent_path(), ignored);
  last_.clear();
}

Launcher::Started Launcher::start(const fs::path& program, int input) {
  const std::string number = std::to_string(launches_++);
  Started started{program, scratch_ / number, scratch_ / ("errors" + number)};
  std::vector<std::string> words = words_;
  words.insert(words.end(), {"--out", started.folder.string()});
  if (input >= 0) words.emplace_back("--turns");
  const FileDescriptor null = open_for_writing("/dev/null");
  const FileDescriptor errors = open_for_writing(started.errors);
  started.child = start_process(program, words, input, null.get(), errors.get());
  return started;
}

Measured Launcher::finish(const Started& started) {
  const int status = wait_for_process(started.child);
  const std::string output = tail_of(started.errors);
  std::error_code ignored;
  fs::remove(started.errors, ignored);
  if (stop_requested()) throw RunError("interrupted");
  last_ = started.folder / kRecordFileName;
  const bool ended = WIFEXITED(status);
  if (ended && WEXITSTATUS(status) == kExitUsage)
    throw InputError(started.program.string() + ": " + output);
  Measured measured;
  if (fs::exists(last_)) measured = read_measured(last_);
  const std::string end = ended ? fmt::format("exit code {}", WEXITSTATUS(status))
                                : fmt::format("killed by signal {}", WTERMSIG(status));
  if (measured.launches == 0)
    throw RunError(
        fmt::format("{}: {}, and wrote no records\n{}", started.program.string(), end, output));
  // Its records may lack points. A point that failed is reported as such.
  if (!ended || (WEXITSTATUS(status) != kExitGood && measured.not_good.empty()))
    throw RunError(fmt::format("{}: {} before the end of its measurement\n{}",
                               started.program.string(), end, output));
  return measured;
}

Measured Launcher::launch(const fs::path& program) {
  if (stop_requested()) throw RunError("interrupted");
  forget_last();
  return finish(start(program, -1));
}

bool Launcher::takes_turns(const fs::path& program) {
  if (words_[0] != "bench") return false;
  const fs::path help_file = scratch_ / "help";
  const FileDescriptor help = open_for_writing(help_file);
  wait_for_process(start_process(program, {words_[0], "--help"}, -1, help.get(), help.get()));
  std::ifstream stream(help_file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  return text.find("--turns") != std::string::npos;
}

std::pair<Measured, Measured> Launcher::launch_in_turns(const fs::path& older,
                                                        const fs::path& newer,
                                                        std::mt19937_64& coin) {
  if (stop_requested()) throw RunError("interrupted");
  forget_last();
  auto [to_older, older_input] = socket_pair();
  auto [to_newer, newer_input] = socket_pair();
  const Started first = start(older, older_input.get());
  const Started second = start(newer, newer_input.get());
  older_input.reset();
  newer_input.reset();
  give_turns(to_older.get(), to_newer.get(), coin);
  to_older.reset();  // ends a process that still waits for its turn
  to_newer.reset();
  // Waits for both processes, even if one of them fails.
  std::exception_ptr error;
  std::pair<Measured, Measured> measured;
  try {
    measured.first = finish(first);
  } catch (...) {
    error = std::current_exception();
  }
  forget_last();
  measured.second = finish(second);
  if (error) std::rethrow_exception(error);
  return measured;
}

Measured Undisturbed::launch(const fs::path& program) {
  Measured measured;
  do {
    measured = launcher_.launch(program);
  } while (take_again(was_disturbed(measured)));
  return measured;
}

std::pair<Measured, Measured> Undisturbed::pair(const fs::path& older, const fs::path& newer,
                                                bool in_turns, std::mt19937_64& coin) {
  std::pair<Measured, Measured> measured;
  do {
    measured = in_turns ? launcher_.launch_in_turns(older, newer, coin)
                        : launch_both(launcher_, older, newer, coin);
  } while (take_again(was_disturbed(measured.first) || was_disturbed(measured.second)));
  return measured;
}

}  // namespace thinpipe
