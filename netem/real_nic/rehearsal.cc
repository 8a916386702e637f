#include "netem/real_nic/rehearsal.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "netem/file_descriptor.h"

namespace thinpipe {

std::string rehearse(const std::function<void()>& action) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw SystemError("pipe");
  const FileDescriptor reader(ends[0]);
  FileDescriptor writer(ends[1]);
  const pid_t child = fork();
  if (child < 0) throw SystemError("fork");
  if (child == 0) {
    std::string complaint;
    try {
      // Who may not make one outright may in a user namespace.
      if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        throw SystemError("make a network namespace to rehearse in");
      action();
    } catch (const std::exception& error) {
      complaint = error.what();
    }
    const bool told = write(writer.get(), complaint.data(), complaint.size()) ==
                      static_cast<ssize_t>(complaint.size());
    _exit(told && complaint.empty() ? 0 : 1);
  }
  writer.reset();
  std::string complaint;
  char buffer[512];
  ssize_t got;
  while ((got = read(reader.get(), buffer, sizeof(buffer))) > 0 || (got < 0 && errno == EINTR))
    if (got > 0) complaint.append(buffer, static_cast<std::size_t>(got));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (complaint.empty() && status != 0) complaint = "the rehearsal ended unexpectedly";
  return complaint;
}

}  // namespace thinpipe
