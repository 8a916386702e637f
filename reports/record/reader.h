// Reads a records file. A crash while the last record was written loses that record only.
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

/// The maximum length of a record that is written or read, in bytes. A metric takes about 20 bytes
/// per step, so a point with 20 metrics and 100,000 steps takes 40 MB.
inline constexpr std::size_t kMaxRecordBytes = 256'000'000;

/// Reads `records.jsonl` of a folder, or the file itself, which may be a pipe. A last line that is
/// unfinished or not JSON is skipped with a note. If several points have one id or one normal id,
/// the last one counts. A file without a finished record gives no headers and no points.
/// @throws InputError when the file does not exist (naming it), and for a line that is not a record
/// (naming file, line and field)
Records read_records(const std::filesystem::path& folder_or_file);

/// Reads records as read_records() does, but keeps all points of one id, and numbers them from 0 in
/// Axes::repeat.
Records read_repeated_records(const std::filesystem::path& folder_or_file);

/// Reads records as read_records() does. @throws InputError also for records of another kind than a
/// run's
Records read_run_records(const std::filesystem::path& folder_or_file);

/// Reads records as read_records() does, from lines of a file or of text in memory. `name` is the
/// file's name in messages. `complete_bytes`, if given, receives the length of the text in bytes up
/// to its last finished record.
Records parse_records(InputLines lines, const std::filesystem::path& name,
                      std::uint64_t* complete_bytes = nullptr);

/// Receives the records of walk_records(), in file order. Any function may be empty.
struct RecordVisitor {
  std::function<void(Header)> header = {};
  std::function<void(Point)> point = {};
  std::function<void(std::string)> note = {};        ///< a sentence about a skipped line
  std::function<void(std::uint64_t)> complete = {};  ///< bytes of the text up to this record's end
  std::function<void(const nlohmann::json&)> json = {};  ///< the record, before header() or point()
};

/// Passes every finished record of a text to `visitor`. @throws InputError as read_records()
void walk_records(InputLines lines, const std::filesystem::path& name,
                  const RecordVisitor& visitor);

/// Opens a records file. Replaces a folder's path in `folder_or_file` by the path of its file.
/// @throws InputError when it cannot be opened
InputLines open_record_lines(std::filesystem::path& folder_or_file);

/// Returns the first record of a folder or file, so that the caller can see the kind of the
/// measurement. Returns nullopt if the file does not exist or the record is not a JSON object. Also
/// returns nullopt for a pipe, because a pipe can be read only once.
std::optional<nlohmann::json> first_record(const std::filesystem::path& folder_or_file);

}  // namespace thinpipe
