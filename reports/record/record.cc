// Conversions from the typed view to JSON, and the small queries on it.
#include "reports/record/record.h"

#include <algorithm>
#include <cmath>

namespace thinpipe {

const char* status_name(Status status) {
  switch (status) {
    case Status::kOk:
      return "ok";
    case Status::kInvalid:
      return "invalid";
    case Status::kFailed:
      return "failed";
  }
  return "failed";
}

std::optional<Baseline> Axes::baseline() const {
  if (feed.find("local_steps=") != std::string::npos) return std::nullopt;
  if (method == "none") return Baseline::kFp32;
  if (method == "bf16" && !pattern.starts_with("allgather-")) return Baseline::kBf16;
  return std::nullopt;
}

std::vector<double> Point::samples(const std::string& metric) const {
  std::vector<double> finite;
  const auto found = metrics.find(metric);
  if (found == metrics.end()) return finite;
  for (const double sample : found->second.samples) {
    if (std::isfinite(sample)) finite.push_back(sample);
  }
  return finite;
}

namespace {

std::optional<double> finite_number(const nlohmann::json& object, const std::string& name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

}  // namespace

std::optional<double> Point::fidelity_number(const std::string& name) const {
  return finite_number(fidelity, name);
}

std::optional<double> Point::prediction_number(const std::string& name) const {
  return finite_number(prediction, name);
}

const std::string& Records::kind() const {
  static const std::string kRun = kRunKind;
  return headers.empty() ? kRun : headers.back().kind;
}

std::set<std::string> Records::finished_ids() const {
  std::set<std::string> ids;
  for (const Point& point : points) {
    if (point.status != Status::kFailed) ids.insert(point.id);
  }
  return ids;
}

nlohmann::json header_json(const Header& header) {
  return {{"record", "header"},
          {"version", header.version},
          {"kind", header.kind},
          {"created", header.created},
          {"command", header.command},
          {"seed", header.seed},
          {"threads", header.threads},
          {"simd", header.simd},
          {"trace", header.trace},
          {"fingerprint", header.fingerprint},
          {"calibration", header.calibration}};
}

nlohmann::json metric_json(const Metric& metric) {
  nlohmann::json json = {{"unit", metric.unit},
                         {"better", metric.better},
                         {"kind", metric.kind},
                         {"samples", metric.samples}};
  const auto missing = std::count_if(metric.samples.begin(), metric.samples.end(),
                                     [](double sample) { return !std::isfinite(sample); });
  if (missing > 0) {
    json["missing"] = std::to_string(missing) + " of " + std::to_string(metric.samples.size()) +
                      " samples were not finite numbers";
  }
  return json;
}

nlohmann::json point_json(const Point& point) {
  nlohmann::json metrics = nlohmann::json::object();
  for (const auto& [name, metric] : point.metrics) metrics[name] = metric_json(metric);
  nlohmann::json json = {{"record", "point"},
                         {"id", point.id},
                         {"axes",
                          {{"compressor", point.axes.compressor},
                           {"method", point.axes.method},
                           {"link", point.axes.link},
                           {"rate", point.axes.rate},
                           {"delay", point.axes.delay},
                           {"ranks", point.axes.ranks},
                           {"repeat", point.axes.repeat},
                           {"topology", point.axes.topology},
                           {"stragglers", point.axes.stragglers},
                           {"time_scale", point.axes.time_scale},
                           {"pattern", point.axes.pattern},
                           {"feed", point.axes.feed}}},
                         {"status", status_name(point.status)},
                         {"reasons", point.reasons},
                         {"started", point.started},
                         {"metrics", metrics},
                         {"fidelity", point.fidelity},
                         {"validation", point.validation}};
  if (point.axes.device != "cpu") json["axes"]["device"] = point.axes.device;
  if (!point.critical_path.empty()) json["critical_path"] = point.critical_path;
  if (!point.prediction.empty()) json["prediction"] = point.prediction;
  return json;
}

}  // namespace thinpipe
