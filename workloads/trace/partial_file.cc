#include "workloads/trace/partial_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/error.h"

namespace thinpipe {

PartialFile::PartialFile(std::filesystem::path path)
    : path_(std::move(path)), partial_(path_.string() + ".partial") {
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored)) {
    throw InputError(path_.string() + ": is a folder, expected a file's name");
  }
  const std::string folder = path_.has_parent_path() ? path_.parent_path().string() : ".";
  if (!std::filesystem::is_directory(folder, ignored)) {
    throw InputError(path_.string() + ": cannot be created: there is no folder " + folder);
  }
  fd_ = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (fd_ >= 0) return;
  fd_ = open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) throw SystemError("create " + partial_.string());
  named_ = true;
}

PartialFile::~PartialFile() {
  if (fd_ >= 0) close(fd_);
  if (named_) unlink(partial_.c_str());
}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : path_(std::move(other.path_)),
      partial_(std::move(other.partial_)),
      fd_(std::exchange(other.fd_, -1)),
      named_(std::exchange(other.named_, false)),
      size_(other.size_) {}

void PartialFile::write(std::span<const std::byte> bytes) {
  size_ += bytes.size();
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw SystemError("write " + partial_.string());
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void PartialFile::commit() {
  if (!named_) {
    // A link cannot replace a file, a rename can.
    unlink(partial_.c_str());
    const std::string self = "/proc/self/fd/" + std::to_string(fd_);
    if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, partial_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      throw SystemError("create " + partial_.string());
    }
    named_ = true;
  }
  // close() is where some file systems (NFS, quotas) first report a full disk.
  if (close(std::exchange(fd_, -1)) != 0) throw SystemError("close " + partial_.string());
  if (rename(partial_.c_str(), path_.c_str()) != 0) {
    throw SystemError("rename " + partial_.string());
  }
  named_ = false;
}

}  // namespace thinpipe
