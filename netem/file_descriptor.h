// A file descriptor that is closed on destruction, and pipes of them.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "base/error.h"

namespace thinpipe {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { reset(); }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  FileDescriptor reading, writing;
};

/// Makes a pipe whose ends started programs do not inherit. @throws SystemError
inline Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw SystemError("pipe");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

/// Reads a pipe until its writing end is closed.
/// @param interrupted  called after each signal during the wait @throws SystemError
inline std::string read_to_end(
    const FileDescriptor& reading, const std::function<void()>& interrupted = [] {}) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t count = ::read(reading.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) {
      interrupted();
      continue;
    }
    if (count < 0) throw SystemError("read a pipe");
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace thinpipe
