#include "harness/sweep/lines.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "reports/text/critical_path.h"

namespace thinpipe {

using nlohmann::json;

std::string link_line(const LinkSpec& link) {
  LinkSpec plain;
  plain.up.rate = plain.down.rate = link.rate();
  return link == plain ? format_rate(link.rate()) : link.to_string();
}

std::string outcome_line(const SweepPoint& point, const json& record) {
  std::string line = fmt::format("{:<7} {} x {} on {}", record.at("status").get<std::string>(),
                                 point.ranks, point.compressor.to_string(), link_line(point.link));
  if (point.pattern.name != "ring") line += " by " + point.pattern.to_string();
  if (!point.feed.is_default()) line += ", " + point.feed.to_string();
  if (!point.stragglers.empty()) line += ", " + point.stragglers.to_string();
  if (const double factor = record.at("axes").at("time_scale"); factor != 1)
    line += fmt::format(" at time scale {}", factor);
  if (record.contains("metrics")) {
    auto times = record.at("metrics").at("step_time").at("samples").get<std::vector<double>>();
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                     times.end());
    line += fmt::format(": {} a step", format_time(times[times.size() / 2]));
    if (record.contains("critical_path"))
      if (const std::string path = path_phrase(path_finding(record.at("critical_path")));
          !path.empty())
        line += ", " + path;
  }
  for (const json& reason : record.at("reasons")) line += "; " + reason.get<std::string>();
  return line;
}

}  // namespace thinpipe
