// Reads a records file; a crash in the middle of the last record costs that record only.
//
// Example:
//
//   void print_points(const std::string& folder) {  // of `thinpipe run -o FOLDER`
//     for (const thinpipe::Point& point : thinpipe::read_run_records(folder).points)
//       std::printf("%s at %g bit/s: %zu steps\n", point.axes.compressor.c_str(), point.axes.rate,
//                   point.metrics.at("step_time").samples.size());
//   }
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/input_file.h"
#include "reports/record/record.h"

namespace thinpipe {

/// The longest record that is written and read, in bytes. A figure takes some 20 bytes a step, so a
/// run of 100,000 steps has 40 MB in a point.
inline constexpr std::size_t kMaxRecordBytes = 256'000'000;

/// Reads `records.jsonl` of a folder, or the file itself, which may be a pipe. An unfinished last
/// line is passed over with a note; of several records of one id the later counts. A file without a
/// finished record gives no headers and no points. Throws InputError when there is no such file
/// (naming it), and for a line that is not a record (naming file, line and field).
Records read_records(const std::filesystem::path& folder_or_file);

/// The same, of a run only. Throws InputError when something else was measured.
Records read_run_records(const std::filesystem::path& folder_or_file);

/// The same as read_records on lines of a file or of a text in memory; `name` stands for the file
/// in messages.
/// `complete_bytes`, if given, receives the length of the text up to its last finished record.
Records parse_records(InputLines lines, const std::filesystem::path& name,
                      std::uint64_t* complete_bytes = nullptr);

/// Receives what walk_records() finds, in file order.
struct RecordVisitor {
  std::function<void(Header)> header;
  std::function<void(Point)> point;
  std::function<void(std::string)> note;        ///< what was passed over, for a person to read
  std::function<void(std::uint64_t)> complete;  ///< length of the text up to here
  /// The record as it stands in the file, before header() or point(). May be empty.
  std::function<void(const nlohmann::json&)> json = {};
};

/// Every finished record of a text; throws InputError as read_records() does.
void walk_records(InputLines lines, const std::filesystem::path& name,
                  const RecordVisitor& visitor);

/// The lines of a records file. A folder becomes the name of the file in it.
/// @throws InputError when it cannot be opened.
InputLines open_record_lines(std::filesystem::path& folder_or_file);

/// The first record of a folder or file, to tell what was measured. Nothing where that is no JSON
/// object, and for anything but a regular file: a pipe can be read once alone.
std::optional<nlohmann::json> first_record(const std::filesystem::path& folder_or_file);

}  // namespace thinpipe
