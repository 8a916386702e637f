#include "reports/record/lines.h"

#include <map>
#include <string>

#include "reports/record/reader.h"

namespace thinpipe {

std::vector<LaunchRecords> read_launches(const std::filesystem::path& folder_or_file) {
  std::filesystem::path file = folder_or_file;
  const std::string text = records_text(file);
  std::uint64_t complete = 0;
  parse_records(text, file, &complete);  // complains about what is wrong
  std::vector<LaunchRecords> launches;
  std::map<std::string, std::size_t> places;
  for (std::size_t start = 0; start < complete;) {
    const std::size_t end = text.find('\n', start);
    nlohmann::json record =
        nlohmann::json::parse(text.substr(start, end - start), nullptr, /*allow_exceptions=*/false);
    start = end + 1;
    if (record.is_discarded()) continue;  // a blank line
    if (record.at("record") == "header") {
      launches.push_back({std::move(record), {}});
      places.clear();
      continue;
    }
    std::vector<nlohmann::json>& points = launches.back().points;
    const auto [place, is_new] = places.try_emplace(record.at("id"), points.size());
    if (is_new) {
      points.push_back(std::move(record));
    } else {
      points[place->second] = std::move(record);
    }
  }
  return launches;
}

}  // namespace thinpipe
