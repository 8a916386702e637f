// Output files that users name. A regular file appears whole or not at all; devices and pipes are
// written directly.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace thinpipe {

namespace output_detail {

// Returns the descriptor number N if the path is /dev/fd/N, /proc/self/fd/N or the path to which
// /dev/stdout links. Returns nullopt for other paths.
inline std::optional<int> descriptor_named(const std::filesystem::path& path) {
  std::error_code failure;
  const auto ours = std::filesystem::canonical("/proc/self/fd", failure);
  if (failure || std::filesystem::canonical(path.parent_path(), failure) != ours || failure)
    return std::nullopt;
  return parse_number<int>(path.filename().string(), 0);
}

/// The target of a name.
struct Target {
  std::filesystem::path path;     ///< after all symbolic links
  std::optional<int> descriptor;  ///< of this process, where the name stands for one
};

inline Target follow_links(std::filesystem::path path) {
  constexpr int kMaxLinks = 40;  // Linux's limit (man 7 path_resolution)
  std::error_code none;
  for (int links = 0; links <= kMaxLinks; ++links) {
    if (const auto number = descriptor_named(path)) return {path, number};
    if (!std::filesystem::is_symlink(path, none)) return {path, std::nullopt};
    path = path.parent_path() / std::filesystem::read_symlink(path, none);
  }
  throw SystemError("write " + path.string(), ELOOP);
}

}  // namespace output_detail

/// Writes an output.
///
/// A regular file is written as an unnamed file in the target's folder, which takes the target's
/// name on commit() and otherwise disappears, even when the process is killed. On file systems
/// without unnamed files, it has a temporary name, which stays if the process is killed. Symbolic
/// links stay, and their target is replaced. A replaced file keeps its mode and, if this process
/// may give files away, its owner. Only flush() forces data to the disk.
///
/// Devices, pipes and sockets are written directly. For /dev/stdout and /dev/fd/N, the descriptor
/// is written at its own offset.
class OutputFile {
 public:
  /// Opens the output. @throws InputError when the target is a folder or its folder is missing;
  /// SystemError when the machine refuses.
  explicit OutputFile(std::filesystem::path path) : name_(std::move(path)) {
    if (name_.empty()) throw InputError("an output's name is empty");
    output_detail::Target target = output_detail::follow_links(name_);
    target_ = std::move(target.path);
    struct stat status = {};
    const bool exists = stat(target_.c_str(), &status) == 0;
    if (exists && S_ISDIR(status.st_mode))
      throw InputError(name_.string() + ": is a folder, expected a file's name");
    if (target.descriptor) {
      std::fflush(stdout);  // earlier output comes first
      fd_ = fcntl(*target.descriptor, F_DUPFD_CLOEXEC, 0);
      if (fd_ < 0) fail("open");
    } else if (exists && !S_ISREG(status.st_mode)) {
      fd_ = open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
      if (fd_ < 0) fail("open");
    } else {
      open_unfinished(exists ? &status : nullptr);
    }
  }
  ~OutputFile() {
    if (fd_ >= 0) close(fd_);
    if (!temporary_.empty()) unlink(temporary_.c_str());
  }
  OutputFile(OutputFile&& other) noexcept
      : name_(std::move(other.name_)),
        target_(std::move(other.target_)),
        temporary_(std::exchange(other.temporary_, {})),
        fd_(std::exchange(other.fd_, -1)),
        replaces_(other.replaces_),
        size_(other.size_) {}
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Appends bytes. @throws SystemError when the disk is full or refuses, or when a signal ends the
  /// wait for a pipe's reader.
  void write(std::span<const std::byte> bytes) {
    size_ += bytes.size();
    while (!bytes.empty()) {
      const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR && replaces_) continue;
      if (count < 0) fail("write");
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

  /// Forces the written bytes to the disk, for files that must survive a power cut.
  /// @throws SystemError
  void flush() {
    if (fsync(fd_) != 0) fail("flush");
  }

  /// Closes the file and gives it the target's name, replacing any file of that name.
  /// @throws SystemError
  void commit() {
    if (replaces_ && temporary_.empty()) name_temporary();
    // close() is where some file systems (NFS, quotas) first report a full disk.
    if (close(std::exchange(fd_, -1)) != 0) fail("close");
    if (!replaces_) return;
    if (rename(temporary_.c_str(), target_.c_str()) != 0) fail("write");
    temporary_.clear();
  }

  std::uint64_t size() const { return size_; }

 private:
  [[noreturn]] void fail(const char* attempt) const {
    throw SystemError(std::string(attempt) + " " + name_.string());
  }

  std::filesystem::path folder() const {
    return target_.has_parent_path() ? target_.parent_path() : std::filesystem::path(".");
  }

  void open_unfinished(const struct stat* old) {
    replaces_ = true;
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder(), ignored))
      throw InputError(name_.string() + ": cannot be created: there is no folder " +
                       folder().string());
    // A rename needs no permission on the file itself.
    if (old != nullptr && access(target_.c_str(), W_OK) != 0) fail("write");
    fd_ = open(folder().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (fd_ < 0) {
      with_new_name([this](const std::string& name) {
        fd_ = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        return fd_ >= 0;
      });
    }
    if (old == nullptr) return;
    // Gives the new file the owner and the mode of the old one. An ordinary user may not give files
    // away; the file then belongs to that user. The new mode has no set-user-ID bits, which write()
    // would drop, too.
    [[maybe_unused]] const bool given = fchown(fd_, old->st_uid, old->st_gid) == 0;
    if (fchmod(fd_, old->st_mode & 0777) != 0) fail("set the mode of");
  }

  // A link cannot replace a file, a rename can.
  void name_temporary() {
    const std::string self = "/proc/self/fd/" + std::to_string(fd_);
    with_new_name([&](const std::string& name) {
      return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    });
  }

  // Tries names in the target's folder until one is free.
  template <class Attempt>
  void with_new_name(const Attempt& attempt) {
    static std::atomic<unsigned> number{0};
    do {
      temporary_ = (folder() / (".thinpipe-" + std::to_string(getpid()) + "-" +
                                std::to_string(number++) + ".partial"))
                       .string();
      if (attempt(temporary_)) return;
    } while (errno == EEXIST);
    const int error = errno;
    temporary_.clear();
    errno = error;
    fail("create");
  }

  std::filesystem::path name_;    ///< as the user wrote it
  std::filesystem::path target_;  ///< after symbolic links
  std::string temporary_;         ///< exists until commit(); "" while the file has no name
  int fd_ = -1;
  bool replaces_ = false;  ///< false for devices, pipes and descriptors
  std::uint64_t size_ = 0;
};

/// Returns true if an output's name stands for standard output, as /dev/stdout does. Nothing else
/// may then be printed there.
inline bool names_stdout(const std::filesystem::path& path) {
  return output_detail::follow_links(path).descriptor == STDOUT_FILENO;
}

/// Writes a whole output. @throws as OutputFile does
inline void write_output(const std::filesystem::path& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

/// Appends to a file, which is created if it is missing. If writing fails, a regular file is
/// truncated to its former size. @throws SystemError
inline void append_output(const std::filesystem::path& path, std::string_view text) {
  struct Descriptor {
    int fd;
    ~Descriptor() {
      if (fd >= 0) close(fd);
    }
  } file{open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666)};
  struct stat status = {};
  if (file.fd < 0 || fstat(file.fd, &status) != 0) throw SystemError("open " + path.string());
  const auto undo = [&] {
    const int error = errno;
    if (S_ISREG(status.st_mode) && ftruncate(file.fd, status.st_size) != 0)
      throw SystemError("truncate " + path.string() + " to its former size");
    throw SystemError("write " + path.string(), error);
  };
  while (!text.empty()) {
    const ssize_t count = write(file.fd, text.data(), text.size());
    if (count < 0 && errno == EINTR && S_ISREG(status.st_mode)) continue;
    if (count < 0) undo();
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (close(std::exchange(file.fd, -1)) != 0) throw SystemError("write " + path.string());
}

}  // namespace thinpipe
