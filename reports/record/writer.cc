// Appends records: one write and one fsync each. When either fails, the file is cut to its last
// whole record.
#include "reports/record/writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/error.h"
#include "reports/record/parse.h"
#include "reports/record/reader.h"

namespace thinpipe {
namespace {

std::string read_whole(int descriptor, const std::string& name) {
  std::string text;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw SystemError("read " + name);
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

// Throws InputError, unless the machine would refuse any other folder, too.
[[noreturn]] void refuse(const std::string& attempt, int error) {
  for (const int of_machine : {ENOSPC, EDQUOT, EIO, ENOMEM, EMFILE, ENFILE})
    if (error == of_machine) throw SystemError(attempt, error);
  throw InputError(attempt + ": " + std::strerror(error) + "; choose another folder");
}

// Flushes the folder, so that a new file's name survives a power cut.
void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw SystemError("open " + folder.string());
  const int result = fsync(descriptor);
  const int error = errno;
  close(descriptor);
  // EINVAL: the file system cannot flush a folder.
  if (result != 0 && error != EINVAL) throw SystemError("fsync " + folder.string(), error);
}

}  // namespace

RecordWriter::RecordWriter(const std::filesystem::path& folder, Mode mode)
    : file_(folder / kRecordFileName) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) refuse("create folder " + folder.string(), failure.value());
  open_locked();
  try {
    read_existing(mode);
    sync_folder(folder);
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

RecordWriter::~RecordWriter() { close(descriptor_); }

void RecordWriter::open_locked() {
  descriptor_ = open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) refuse("open " + file_.string(), errno);
  struct stat status = {};
  if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor_);
    throw InputError(file_.string() + ": not a regular file; records need one to append to");
  }
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (fcntl(descriptor_, F_SETLK, &lock) == 0) return;
  const int error = errno;
  close(descriptor_);
  if (error == EACCES || error == EAGAIN) {
    throw InputError(file_.string() + ": another process is writing these records; wait until it " +
                     "has ended, or choose another folder");
  }
  throw SystemError("lock " + file_.string(), error);
}

void RecordWriter::read_existing(Mode mode) {
  const std::string text = read_whole(descriptor_, file_.string());
  existing_ = parse_records(text, file_, &size_);
  if (!existing_.headers.empty()) kind_ = existing_.kind();
  if (mode == Mode::kCreate && !kind_.empty()) {
    throw InputError(file_.string() + ": there are records already; resume that run or choose " +
                     "another folder");
  }
  if (size_ < text.size() && ftruncate(descriptor_, static_cast<off_t>(size_)) != 0)
    throw SystemError("cut the unfinished last line of " + file_.string());
}

void RecordWriter::require_kind(const std::string& kind) const {
  if (kind_.empty() || kind_ == kind) return;
  throw InputError(file_.string() + ": it has records of '" + kind_ + "', not of '" + kind +
                   "'; choose another folder");
}

void RecordWriter::append(const nlohmann::json& record) {
  std::string line = record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (line.size() > kMaxRecordBytes)
    throw InputError("record for " + file_.string() + ": " + std::to_string(line.size()) +
                     " bytes; expected at most " + std::to_string(kMaxRecordBytes));
  // Validates the record as a reader sees it: in the dump, NaN is null.
  const std::variant<Header, Point> parsed =
      parse_record(nlohmann::json::parse(line), "record for " + file_.string(),
                   kind_.empty() ? kRunKind : kind_);
  const auto* header = std::get_if<Header>(&parsed);
  if (header == nullptr && kind_.empty())
    throw InputError("record for " + file_.string() + ": the first record must be a header");
  if (header != nullptr) require_kind(header->kind);
  line += '\n';
  write_all(line);
  size_ += line.size();
  if (header != nullptr) kind_ = header->kind;
}

void RecordWriter::append(const Header& header) { append(header_json(header)); }

void RecordWriter::append(const Point& point) { append(point_json(point)); }

void RecordWriter::write_all(const std::string& line) {
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = pwrite(descriptor_, line.data() + written, line.size() - written,
                                 static_cast<off_t>(size_ + written));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) restore("write", count < 0 ? errno : ENOSPC);
    written += static_cast<std::size_t>(count);
  }
  if (fsync(descriptor_) != 0) restore("flush", errno);
}

void RecordWriter::restore(const std::string& attempt, int error) {
  const bool is_cut = ftruncate(descriptor_, static_cast<off_t>(size_)) == 0;
  throw SystemError(attempt + " a record to " + file_.string() +
                        (is_cut ? " (it ends at its last whole record)" : ""),
                    error);
}

}  // namespace thinpipe
