// Records as JSON, by launch, for programs that write them on.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

namespace thinpipe {

/// A header and the points after it, up to the next header, as JSON. Of several points with one id,
/// the last one counts.
struct LaunchRecords {
  nlohmann::json header;
  std::vector<nlohmann::json> points;
};

/// Reads every launch of a folder's `records.jsonl`, or of the file itself, and checks each record
/// as read_records() does. @throws InputError as read_records()
std::vector<LaunchRecords> read_launches(const std::filesystem::path& folder_or_file);

}  // namespace thinpipe
