#include "harness/worker/control_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/error.h"

namespace thinpipe {

ControlWatch::ControlWatch(int connection) : wake_(eventfd(0, EFD_CLOEXEC)) {
  if (!wake_.valid()) throw SystemError("eventfd");
  thread_ = std::thread([connection, wake = wake_.get()] {
    pollfd waiting[] = {{connection, POLLRDHUP, 0}, {wake, POLLIN, 0}};
    while (poll(waiting, 2, -1) < 0 && errno == EINTR) {
    }
    if (waiting[1].revents == 0) _exit(kExitFailed);
  });
}

ControlWatch::~ControlWatch() {
  const std::uint64_t one = 1;
  if (write(wake_.get(), &one, sizeof(one)) == sizeof(one)) thread_.join();
}

}  // namespace thinpipe
