// Appends records so that neither a crash nor a full disk can leave a broken file.
//
// Example:
//
//   void copy_records(const thinpipe::Records& records, const std::string& folder) {
//     thinpipe::RecordWriter writer(folder, thinpipe::RecordWriter::Mode::kCreate);
//     for (const thinpipe::Header& header : records.headers) writer.append(header);
//     for (const thinpipe::Point& point : records.points) writer.append(point);
//   }
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "reports/record/record.h"

namespace thinpipe {

/// The one writer of a run's records. Every append is written, flushed with fsync and validated
/// before it returns. While the writer lives the file is locked against a second writer of another
/// process (POSIX record lock: a crash frees it; reading the same file by a stream in this process
/// would free it too, so read before opening).
class RecordWriter {
 public:
  enum class Mode {
    kCreate,  ///< the file must not hold records yet
    kResume,  ///< go on with what is there, after cutting an unfinished last line; or create
  };

  /// Creates the folder as needed. Throws InputError when `kCreate` finds records, when the records
  /// to resume are damaged, or when another process is writing them; SystemError when the file
  /// cannot be opened.
  RecordWriter(const std::filesystem::path& folder, Mode mode);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  /// The file's records when it was opened: their finished_ids() are those to skip.
  const Records& existing() const { return existing_; }
  const std::filesystem::path& file() const { return file_; }

  /// Appends one record; numbers that are not finite become null, invalid UTF-8 is replaced.
  /// Throws InputError when the record breaks docs/records.md (nothing is written then), RunError
  /// that names the file when it cannot be written: the file then ends at its last whole record.
  void append(const nlohmann::json& record);
  void append(const Header& header);
  void append(const Point& point);

 private:
  void open_locked();
  void read_existing(Mode mode);
  void write_all(const std::string& line);
  [[noreturn]] void restore(const std::string& attempt, int error);

  std::filesystem::path file_;
  Records existing_;
  std::uint64_t size_ = 0;  // length up to the last whole record
  int descriptor_ = -1;
  std::string kind_;  // of the last header; "" before any
};

}  // namespace thinpipe
