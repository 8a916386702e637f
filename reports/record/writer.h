// Appends records so that neither a crash nor a full disk leaves a broken file.
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

/// The only writer of a run's records. append() validates a record, writes it and flushes it with
/// fsync before it returns. The writer locks the file against writers in other processes, by a
/// POSIX record lock. A crash frees the lock. This process also frees the lock when it closes any
/// other stream on the same file, so read existing records before you open the writer.
class RecordWriter {
 public:
  enum class Mode {
    kCreate,  ///< the file must not have records yet
    kResume,  ///< cuts an unfinished last line, and appends to the records, if there are any
  };

  /// Creates the folder and the file as needed.
  /// @throws InputError when `kCreate` finds records, when the records to resume are damaged, when
  /// another process is writing them, or when the folder or the file cannot be written.
  /// @throws SystemError when any folder would fail, as on a full disk.
  RecordWriter(const std::filesystem::path& folder, Mode mode);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  /// Returns the records that the file had when it was opened. A resumed run skips the points in
  /// Records::finished_ids().
  const Records& existing() const { return existing_; }
  const std::filesystem::path& file() const { return file_; }

  /// Checks that the file has no records of another kind (Header::kind). @throws InputError
  void require_kind(const std::string& kind) const;

  /// Appends one record. Numbers that are not finite become null; invalid UTF-8 is replaced.
  /// @throws InputError when the record breaks docs/records.md; nothing is written.
  /// @throws SystemError naming the file when it cannot be written; it is cut to its last whole
  /// record.
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
