#include <fmt/format.h>

#include <set>

#include "reports/export/export.h"
#include "reports/text/escape.h"

namespace thinpipe {
namespace {

using Json = nlohmann::json;

std::string cell_of(const Json& value) {
  if (value.is_null()) return "";
  return escape_csv(value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace

std::string export_csv(const std::vector<LaunchRecords>& launches) {
  std::set<std::string> axes;
  for (const LaunchRecords& launch : launches)
    for (const Json& point : launch.points)
      for (const auto& [name, value] : point.at("axes").items()) axes.insert(name);
  std::string text = "launch,id,status";
  for (const std::string& name : axes) text += "," + escape_csv(name);
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
            fmt::format("{},{},{},{},{}", before, escape_csv(name), cell_of(metric.at("unit")),
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
