#include <cmath>
#include <map>

#include "reports/export/export.h"
#include "reports/statistics/interval.h"
#include "reports/statistics/quantile.h"

namespace thinpipe {
namespace {

using Json = nlohmann::json;

std::vector<double> finite_samples(const Json& metric) {
  std::vector<double> samples;
  for (const Json& sample : metric.at("samples"))
    if (sample.is_number()) samples.push_back(sample.get<double>());
  return samples;
}

}  // namespace

std::string export_bmf(const std::vector<LaunchRecords>& launches) {
  std::map<std::string, std::map<std::string, std::vector<double>>> all;  // point, metric, samples
  for (const LaunchRecords& launch : launches) {
    for (const Json& point : launch.points) {
      if (point.at("status") != "ok") continue;
      for (const auto& [name, metric] : point.at("metrics").items()) {
        std::vector<double>& samples = all[point.at("id")][name];
        const std::vector<double> more = finite_samples(metric);
        samples.insert(samples.end(), more.begin(), more.end());
      }
    }
  }
  Json json = Json::object();
  for (const auto& [id, metrics] : all) {
    for (const auto& [name, samples] : metrics) {
      if (samples.empty()) continue;
      Json& measure = json[id][name];
      measure["value"] = median(samples);
      if (const auto interval = exact_median_interval(samples)) {
        measure["lower_value"] = interval->low;
        measure["upper_value"] = interval->high;
      }
    }
  }
  return json.dump(2) + "\n";
}

}  // namespace thinpipe
