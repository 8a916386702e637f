// Runs gnuplot as a child process. Its three streams are files in memory, so that neither side can
// block on the other's full pipe and no SIGPIPE can reach this process.
#include "reports/figures/gnuplot.h"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

extern char** environ;

namespace thinpipe {
namespace {

class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : descriptor_(memfd_create(name, MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw SystemError("memfd_create");
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int descriptor() const { return descriptor_; }

  void write_and_rewind(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t count = write(descriptor_, text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw SystemError("hand a script to gnuplot");
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    lseek(descriptor_, 0, SEEK_SET);
  }

  std::string contents() const {
    std::string text;
    std::array<char, 1 << 14> buffer;
    off_t offset = 0;
    for (;;) {
      const ssize_t count = pread(descriptor_, buffer.data(), buffer.size(), offset);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw SystemError("read gnuplot's output");
      if (count == 0) return text;
      text.append(buffer.data(), static_cast<std::size_t>(count));
      offset += count;
    }
  }

 private:
  int descriptor_;
};

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  void redirect(const MemoryFile& file, int stream) {
    posix_spawn_file_actions_adddup2(&actions_, file.descriptor(), stream);
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// gnuplot repeats the script's line and points below it; the line that says what is wrong has
// "line".
std::string first_complaint(const std::string& text) {
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string line = text.substr(start, end - start);
    if (line.find("line ") != std::string::npos) return line;
    start = end + 1;
  }
  return text.substr(0, 200);
}

}  // namespace

std::string run_gnuplot(const std::string& script) {
  const MemoryFile input("gnuplot-input"), output("gnuplot-output"), errors("gnuplot-errors");
  input.write_and_rewind(script);
  SpawnActions actions;
  actions.redirect(input, STDIN_FILENO);
  actions.redirect(output, STDOUT_FILENO);
  actions.redirect(errors, STDERR_FILENO);
  std::string program = "gnuplot", no_startup_files = "-d", from_stdin = "-";
  const std::array<char*, 4> arguments = {program.data(), no_startup_files.data(),
                                          from_stdin.data(), nullptr};
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, "gnuplot", actions.get(), nullptr, arguments.data(), environ);
  if (error == ENOENT || error == EACCES || error == ENOTDIR) {
    throw RunError(
        "gnuplot is not on PATH; the HTML report draws its figures with it. Install it (Debian: "
        "apt-get install gnuplot-nox) or ask for the report without figures: --format md");
  }
  if (error != 0) throw SystemError("start gnuplot", error);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw SystemError("wait for gnuplot");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw RunError("gnuplot failed: " + first_complaint(errors.contents()));
  }
  return output.contents();
}

void GnuplotBlocks::add(const std::string& rows, const std::string& how) {
  if (rows.empty()) return;
  blocks += fmt::format("$d{} << EOD\n{}EOD\n", count, rows);
  commands += fmt::format("{}$d{} {}", count == 0 ? "" : ", \\\n  ", count, how);
  ++count;
}

std::string gnuplot_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char byte : text) {
    // Inside single quotes nothing is special but the quote itself; what could end the string or
    // start a command elsewhere is exchanged rather than escaped.
    if (byte == '\'' || byte == '`') {
      quoted += "\xe2\x80\x99";  // U+2019, an apostrophe to the eye
    } else {
      quoted += byte == '\n' || byte == '\r' ? ' ' : byte;
    }
  }
  return quoted + "'";
}

}  // namespace thinpipe
