// Standard output for data that another program may read.
#include "harness/commands/output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>

#include "base/error.h"
#include "base/visible.h"
#include "harness/options/layout.h"

namespace thinpipe {
namespace {

[[noreturn]] void fail() {
  const int error = errno;
  if (error == EPIPE) throw OutputClosed();
  throw SystemError("writing to standard output", error);
}

}  // namespace

void write_stdout(std::string_view text) { write_data(visible_text(text)); }

void write_text(std::string_view text) {
  std::string folded;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    folded += for_stream(STDOUT_FILENO, text.substr(begin, end - begin));
    if (end < text.size()) folded += '\n';
    begin = end + 1;
  }
  write_data(folded);
}

void write_data(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail();
}

void flush_stdout() {
  if (std::fflush(stdout) != 0) fail();
}

void keep_alive_on_closed_pipe() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGPIPE, &action, nullptr);
}

}  // namespace thinpipe
