#include "reports/record/launches.h"

#include <map>
#include <string>
#include <utility>

#include "reports/record/reader.h"

namespace thinpipe {

std::vector<LaunchRecords> read_launches(const std::filesystem::path& folder_or_file) {
  std::filesystem::path file = folder_or_file;
  std::vector<LaunchRecords> launches;
  std::map<std::string, std::size_t> places;
  const auto add = [&](const nlohmann::json& record) {
    if (record.at("record") == "header") {
      launches.push_back({record, {}});
      places.clear();
      return;
    }
    std::vector<nlohmann::json>& points = launches.back().points;
    const auto [place, is_new] = places.try_emplace(record.at("id"), points.size());
    if (is_new) {
      points.push_back(record);
    } else {
      points[place->second] = record;
    }
  };
  InputLines lines = open_record_lines(file);
  walk_records(std::move(lines), file,
               {.header = [](const Header&) {},
                .point = [](const Point&) {},
                .note = [](const std::string&) {},
                .complete = [](std::uint64_t) {},
                .json = add});
  return launches;
}

}  // namespace thinpipe
