#include "tests/kernel/programs.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "base/error.h"

namespace thinpipe {

namespace {

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

File nameless_file() {
  File file(std::tmpfile());
  if (!file) throw SystemError("make a temporary file");
  return file;
}

std::string content(const File& file) {
  std::rewind(file.get());
  std::string text;
  char block[4096];
  for (std::size_t got; (got = std::fread(block, 1, sizeof(block), file.get())) > 0;)
    text.append(block, got);
  return text;
}

}  // namespace

Finished run_program(const std::vector<std::string>& words) {
  const File output = nameless_file(), error = nameless_file();
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, fileno(output.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(error.get()), STDERR_FILENO);
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw SystemError("start " + words.at(0), failed);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw SystemError("wait for " + words.at(0));
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content(output),
          content(error)};
}

}  // namespace thinpipe
