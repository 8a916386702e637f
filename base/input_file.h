// Input files that users name, read from beginning to end.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace thinpipe {

/// Whether an input may be a pipe, which can be read only once.
enum class Pipes { kTaken, kRefused };

/// Reads an input: a regular file or a pipe. Devices are refused before they are opened, because
/// /dev/zero never ends and opening some devices has side effects.
class InputFile {
 public:
  /// Opens the file; for a pipe, waits until it has a writer. A signal that the program handles
  /// without SA_RESTART ends the wait with a RunError.
  /// @param expected  what is read, for messages: "records"
  /// @throws InputError when the file is missing, unreadable, a folder, a device or a socket
  InputFile(std::filesystem::path path, std::string expected, Pipes pipes = Pipes::kTaken)
      : path_(std::move(path)), expected_(std::move(expected)), pipes_(pipes) {
    struct stat status = {};
    if (stat(path_.c_str(), &status) != 0) refuse(cannot());
    check(status);
    fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd_ < 0 && errno == EINTR) throw RunError("read " + path_.string() + ": interrupted");
    if (fd_ < 0 || fstat(fd_, &status) != 0) refuse(cannot());
    check(status);  // the path may lead to another file by now
    size_ = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  }
  ~InputFile() {
    if (fd_ >= 0) close(fd_);
  }
  InputFile(InputFile&& other) noexcept
      : path_(std::move(other.path_)),
        expected_(std::move(other.expected_)),
        pipes_(other.pipes_),
        fd_(std::exchange(other.fd_, -1)),
        size_(other.size_) {}
  InputFile& operator=(InputFile&&) = delete;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Appends up to `most` bytes to `text`. Returns false at the end.
  /// @throws SystemError; RunError when a signal interrupts the wait for a pipe's data
  bool read_more(std::string& text, std::size_t most) {
    const std::size_t before = text.size();
    text.resize(before + most);
    const ssize_t count = ::read(fd_, text.data() + before, most);
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0 && errno == EINTR) throw RunError("read " + path_.string() + ": interrupted");
    if (count < 0) throw SystemError("read " + path_.string());
    return count > 0;
  }

  /// Returns the whole content. @throws InputError when the content is longer than `max_bytes`, and
  /// errors as read_more() does
  std::string read_all(std::uint64_t max_bytes) {
    constexpr std::uint64_t kChunk = 1 << 16;
    std::string text;
    if (size_ <= max_bytes) text.reserve(size_ + kChunk);
    while (size_ <= max_bytes && text.size() <= max_bytes)
      if (!read_more(text, std::min(kChunk, max_bytes + 1 - text.size()))) return text;
    refuse("is larger than " + std::to_string(max_bytes) + " bytes");
  }

  /// Throws an InputError: "FILE: WHAT; expected RECORDS".
  [[noreturn]] void refuse(const std::string& what) const {
    throw InputError(path_.string() + ": " + what + "; expected " + expected_);
  }

 private:
  static std::string cannot() {
    return std::string("cannot read it (") + std::strerror(errno) + ")";
  }

  void check(const struct stat& status) const {
    if (S_ISDIR(status.st_mode)) refuse("is a folder");
    if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) refuse("is a device");
    if (S_ISSOCK(status.st_mode)) refuse("is a socket");
    if (S_ISFIFO(status.st_mode) && pipes_ == Pipes::kRefused)
      refuse("is a pipe, and must be read more than once");
  }

  std::filesystem::path path_;
  std::string expected_;
  Pipes pipes_;
  int fd_ = -1;
  std::uint64_t size_ = 0;  ///< from the file system; 0 for pipes and in /proc
};

/// Returns the content of a regular file or pipe of at most `max_bytes`. @throws as InputFile does
inline std::string read_input(const std::filesystem::path& path, const std::string& expected,
                              std::uint64_t max_bytes, Pipes pipes = Pipes::kTaken) {
  return InputFile(path, expected, pipes).read_all(max_bytes);
}

/// Returns the regular files below a folder, in no particular order. Links to folders are not
/// followed.
/// @param expected  what the folder is, for messages: "a folder of records"
/// @throws InputError when the folder cannot be read or has more than `most` files and folders: a
///   walk of "/" would not end
inline std::vector<std::filesystem::path> input_files_below(const std::filesystem::path& folder,
                                                            const std::string& expected,
                                                            std::size_t most) {
  const auto refuse = [&](const std::string& what) {
    throw InputError(folder.string() + ": " + what + "; expected " + expected);
  };
  std::vector<std::filesystem::path> files;
  std::error_code failure, not_a_file;
  std::filesystem::path reading = folder;
  std::size_t seen = 0;
  for (std::filesystem::recursive_directory_iterator it(folder, failure), end;
       !failure && it != end; it.increment(failure)) {
    if (++seen > most) refuse("more than " + std::to_string(most) + " files and folders");
    reading = it->path();
    if (it->is_regular_file(not_a_file)) files.push_back(it->path());
  }
  if (failure)
    refuse("cannot read " + (reading == folder ? "it" : reading.string()) + " (" +
           failure.message() + ")");
  return files;
}

/// Reads the lines of a file, or of a text in memory, one after the other.
class InputLines {
 public:
  /// Reads a text, which must outlive this object.
  template <std::convertible_to<std::string_view> Text>
  InputLines(const Text& text) : memory_(text) {}  // NOLINT(google-explicit-constructor)
  /// @param max_bytes  of one line; a longer line is refused before it takes more memory
  InputLines(InputFile file, std::size_t max_bytes)
      : file_(std::move(file)), max_bytes_(max_bytes) {}

  /// Advances to the next line. Returns false after the last one.
  /// @throws InputError for a line that is too long, and as InputFile does
  bool next() {
    begin_ += taken();
    place_ += taken();
    ++number_;
    std::size_t end = text().find('\n', begin_);
    while (end == std::string_view::npos) {
      const std::size_t seen = text().size() - begin_;
      if (file_ && seen > max_bytes_)
        file_->refuse("line " + std::to_string(number_) + " is longer than " +
                      std::to_string(max_bytes_) + " bytes");
      if (!refill()) break;
      end = text().find('\n', begin_ + seen);
    }
    finished_ = end != std::string_view::npos;
    length_ = (finished_ ? end : text().size()) - begin_;
    return taken() > 0;
  }

  /// Returns the line without its '\n', valid until another function of this object is called.
  std::string_view line() const { return text().substr(begin_, length_); }
  bool finished() const { return finished_; }             ///< the line ends with '\n'
  std::size_t number() const { return number_; }          ///< of the line, from 1
  std::uint64_t end() const { return place_ + taken(); }  ///< offset of the next line in bytes
  /// Returns true when no byte follows the line. Reads on if necessary.
  bool last() { return begin_ + taken() == text().size() && !refill(); }

 private:
  std::string_view text() const { return file_ ? std::string_view(buffer_) : memory_; }
  std::size_t taken() const { return length_ + (finished_ ? 1 : 0); }

  // Appends more of the file to the buffer, which then begins with the current line.
  bool refill() {
    constexpr std::size_t kChunk = 1 << 18;
    if (!file_) return false;
    buffer_.erase(0, begin_);
    begin_ = 0;
    return file_->read_more(buffer_, kChunk);
  }

  std::string_view memory_;
  std::optional<InputFile> file_;
  std::size_t max_bytes_ = 0;
  std::string buffer_;
  std::size_t begin_ = 0, length_ = 0;  ///< of the line, in text()
  bool finished_ = false;
  std::uint64_t place_ = 0;  ///< offset of the line in the file
  std::size_t number_ = 0;
};

}  // namespace thinpipe
