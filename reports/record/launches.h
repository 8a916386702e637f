// Records as they stand in a file, launch by launch, for those who pass them on.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

namespace thinpipe {

/// Records as they stand in the file, to be passed on: a header and the points behind it, up to the
/// next header; of one id the later point counts.
struct LaunchRecords {
  nlohmann::json header;
  std::vector<nlohmann::json> points;
};

/// Every launch of `records.jsonl` of a folder, or of the file itself, each record checked as
/// read_records() does. @throws InputError likewise.
std::vector<LaunchRecords> read_launches(const std::filesystem::path& folder_or_file);

}  // namespace thinpipe
