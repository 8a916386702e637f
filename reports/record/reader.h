// Reads a records file; a crash in the middle of the last record costs that record only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "reports/record/record.h"

namespace thinpipe {

/// Reads `records.jsonl` of a folder, or the file itself. An unfinished last line is passed over
/// with a note; of several records of one id the later counts. A file without a finished record
/// gives no headers and no points. Throws InputError when there is no such file (naming it), and
/// for a line that is not a record (naming file, line and field).
Records read_records(const std::filesystem::path& folder_or_file);

/// The same, of a run only. Throws InputError when something else was measured.
Records read_run_records(const std::filesystem::path& folder_or_file);

/// The same as read_records on a text already in memory; `name` stands for the file in messages.
/// `complete_bytes`, if given, receives the length of the text up to its last finished record.
Records parse_records(std::string_view text, const std::filesystem::path& name,
                      std::uint64_t* complete_bytes = nullptr);

/// What walk_records() finds, in file order.
struct RecordVisitor {
  std::function<void(Header)> header;
  std::function<void(Point)> point;
  std::function<void(std::string)> note;        ///< what was passed over, for a person to read
  std::function<void(std::uint64_t)> complete;  ///< length of the text up to here
};

/// Every finished record of a text; throws InputError as read_records() does.
void walk_records(std::string_view text, const std::filesystem::path& name,
                  const RecordVisitor& visitor);

/// The text of a records file. A folder becomes the name of the file in it.
/// @throws InputError when it cannot be opened.
std::string records_text(std::filesystem::path& folder_or_file);

}  // namespace thinpipe
