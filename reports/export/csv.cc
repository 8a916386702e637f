#include <fmt/format.h>

#include <set>

#include "reports/export/export.h"

namespace thinpipe {
namespace {

using Json = nlohmann::json;

// Quoted where a reader would take it apart.
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string cell_of(const Json& value) {
  if (value.is_null()) return "";
  return cell(value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace

std::string export_csv(const std::vector<LaunchRecords>& launches) {
  std::set<std::string> axes;
  for (const LaunchRecords& launch : launches)
    for (const Json& point : launch.points)
      for (const auto& [name, value] : point.at("axes").items()) axes.insert(name);
  std::string text = "launch,id,status";
  for (const std::string& name : axes) text += "," + cell(name);
  text += ",metric,unit,better,kind,sample,value\r\n";
  for (std::size_t i = 0; i < launches.size(); ++i) {
    for (const Json& point : launches[i].points) {
      std::string before =
          fmt::format("{},{},{}", i, cell_of(point.at("id")), cell_of(point.at("status")));
      for (const std::string& name : axes)
        before += "," + cell_of(point.at("axes").value(name, Json(nullptr)));
      const Json metrics = point.value("metrics", Json::object());
      for (const auto& [name, metric] : metrics.items()) {
        const std::string of_metric =
            fmt::format("{},{},{},{},{}", before, cell(name), cell_of(metric.at("unit")),
                        cell_of(metric.at("better")), cell_of(metric.at("kind")));
        int number = 0;
        for (const Json& sample : metric.at("samples"))
          text += fmt::format("{},{},{}\r\n", of_metric, number++, cell_of(sample));
      }
    }
  }
  return text;
}

}  // namespace thinpipe
