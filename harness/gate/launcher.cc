#include "harness/gate/launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "harness/bench/measure.h"
#include "reports/record/record.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVerbs[] = {"bench", "quality", "run"};
constexpr int kUsage = 2;

std::string tail_of(const fs::path& file) {
  constexpr std::size_t kMost = 2000;
  std::ifstream stream(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.size() > kMost ? "..." + text.substr(text.size() - kMost) : text;
}

// Its output goes nowhere, what it says on standard error into `errors`.
pid_t spawn(const fs::path& program, std::vector<std::string> words, const fs::path& errors) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
  std::string name = program.string();
  std::vector<char*> pointers{name.data()};
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int error =
      ::posix_spawn(&child, name.c_str(), &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw SystemError("start " + name, error);
  return child;
}

// Ctrl-C reaches the child as well, which cleans up; one that came to this process alone is passed
// on.
int wait_for(pid_t child) {
  int status = 0;
  bool told = false;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw SystemError("wait for a launch");
    if (interrupted() && !told) {
      ::kill(child, SIGINT);
      told = true;
    }
  }
  return status;
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string name = (fs::temp_directory_path() / "thinpipe-gate-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw SystemError("make the folder " + name);
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Launcher::Launcher(std::vector<std::string> words) : words_(std::move(words)) {
  if (words_.empty() ||
      std::find(std::begin(kVerbs), std::end(kVerbs), words_[0]) == std::end(kVerbs)) {
    throw InputError("after --: expected what to measure, as `bench -c topk`, `quality ...` or " +
                     std::string("`run ...`") +
                     (words_.empty() ? "" : "; found '" + words_[0] + "'"));
  }
  for (const std::string& word : words_)
    if (word == "--out" || word.starts_with("--out="))
      throw InputError("after --: --out is the gate's own; each launch has a folder of its own");
}

Measured Launcher::launch(const fs::path& program) {
  const fs::path folder = scratch_.path() / std::to_string(launches_++);
  const fs::path errors = scratch_.path() / "errors";
  if (!last_.empty()) {
    std::error_code ignored;
    fs::remove_all(last_.parent_path(), ignored);
  }
  std::vector<std::string> words = words_;
  words.insert(words.end(), {"--out", folder.string()});
  const int status = wait_for(spawn(program, std::move(words), errors));
  if (interrupted()) throw RunError("interrupted");
  last_ = folder / kRecordFileName;
  const bool ended = WIFEXITED(status);
  if (ended && WEXITSTATUS(status) == kUsage)
    throw InputError(program.string() + ": " + tail_of(errors));
  if (!fs::exists(last_)) {
    throw RunError(fmt::format("{}: {}, and left no records\n{}", program.string(),
                               ended ? fmt::format("exit code {}", WEXITSTATUS(status))
                                     : fmt::format("killed by signal {}", WTERMSIG(status)),
                               tail_of(errors)));
  }
  return read_measured(last_);
}

}  // namespace thinpipe
