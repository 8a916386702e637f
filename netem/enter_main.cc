// thinpipe-enter HOST COMMAND...: runs a command on an emulated host. Open MPI calls it in place of
// ssh (plm_rsh_agent). THINPIPE_HOSTS has the paths of each host's network and UTS namespaces:
// `198.19.0.2=/proc/1/fd/7:/proc/1/fd/8;...`.
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "base/visible.h"
#include "netem/file_descriptor.h"

namespace {

void enter(const std::string& path, int kind) {
  const thinpipe::FileDescriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor.valid() || setns(descriptor.get(), kind) != 0)
    throw thinpipe::SystemError("enter the namespace " + path);
}

void enter_host(const std::string& host) {
  const char* hosts = std::getenv("THINPIPE_HOSTS");
  if (hosts == nullptr)
    throw thinpipe::InputError("THINPIPE_HOSTS is not set; thinpipe starts this program itself");
  for (const std::string& entry : thinpipe::split(hosts, ';')) {
    const std::size_t equals = entry.find('='), colon = entry.find(':');
    if (entry.substr(0, equals) != host || equals == std::string::npos ||
        colon == std::string::npos)
      continue;
    enter(entry.substr(equals + 1, colon - equals - 1), CLONE_NEWNET);
    enter(entry.substr(colon + 1), CLONE_NEWUTS);
    return;
  }
  throw thinpipe::InputError("no emulated host " + host + " in THINPIPE_HOSTS");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3) throw thinpipe::InputError("usage: thinpipe-enter HOST COMMAND...");
    enter_host(argv[1]);
    std::string command;  // like ssh: joins the words for a shell
    for (int i = 2; i < argc; ++i) command += (i > 2 ? " " : "") + std::string(argv[i]);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    throw thinpipe::SystemError("run /bin/sh");
  } catch (const std::exception& error) {
    thinpipe::print_message(std::string("thinpipe-enter: ") + error.what());
    return thinpipe::kExitFailed;
  }
}
