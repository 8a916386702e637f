#include "harness/gate/launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "harness/programs.h"
#include "netem/file_descriptor.h"
#include "netem/sandbox.h"
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

// Ctrl-C reaches the child as well, which cleans up; one that came to this process alone is passed
// on.
int wait_for(pid_t child) {
  int status = 0;
  bool told = false;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw SystemError("wait for a launch");
    if (stop_requested() && !told) told = ::kill(child, stop_signal()) == 0;
  }
  return status;
}

}  // namespace

Launcher::Launcher(std::vector<std::string> words, fs::path scratch)
    : words_(std::move(words)), scratch_(std::move(scratch)) {
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
  const fs::path folder = scratch_ / std::to_string(launches_++);
  const fs::path errors = scratch_ / "errors";
  if (!last_.empty()) {
    std::error_code ignored;
    fs::remove_all(last_.parent_path(), ignored);
  }
  std::vector<std::string> words = words_;
  words.insert(words.end(), {"--out", folder.string()});
  const FileDescriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const FileDescriptor said(::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (nowhere.get() < 0 || said.get() < 0) throw SystemError("open " + errors.string());
  const int status = wait_for(start_process(program, words, nowhere.get(), said.get()));
  if (stop_requested()) throw RunError("interrupted");
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
