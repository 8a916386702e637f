// Standard output for data that another program may read.
#include "harness/commands/output.h"

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "base/error.h"

namespace thinpipe {
namespace {

[[noreturn]] void fail() {
  const int error = errno;
  if (error == EPIPE) throw OutputClosed();
  throw SystemError("writing to standard output", error);
}

}  // namespace

void write_stdout(std::string_view text) {
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
