// A file in memory without a name, for the standard streams of a program that is started: neither
// side can block on a full pipe, and no SIGPIPE can reach this process.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"

namespace thinpipe {

class MemoryFile {
 public:
  /// @param name  for /proc/PID/fd only @throws SystemError
  explicit MemoryFile(const char* name) : descriptor_(memfd_create(name, MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw SystemError("memfd_create");
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int descriptor() const { return descriptor_; }

  /// Writes `text` and goes back to the file's beginning. @throws SystemError
  void write_and_rewind(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t count = write(descriptor_, text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw SystemError("write a file in memory");
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    lseek(descriptor_, 0, SEEK_SET);
  }

  /// Returns the whole file, wherever a program has read or written it. @throws SystemError
  std::string contents() const {
    std::string text;
    std::array<char, 1 << 14> buffer;
    off_t offset = 0;
    for (;;) {
      const ssize_t count = pread(descriptor_, buffer.data(), buffer.size(), offset);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw SystemError("read a file in memory");
      if (count == 0) return text;
      text.append(buffer.data(), static_cast<std::size_t>(count));
      offset += count;
    }
  }

 private:
  int descriptor_;
};

}  // namespace thinpipe
