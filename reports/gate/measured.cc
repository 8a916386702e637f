#include "reports/gate/measured.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input_file.h"
#include "base/statistics.h"
#include "base/text.h"
#include "reports/record/reader.h"

namespace thinpipe {
namespace {

void add_header(const Header& header, Measured& measured) {
  if (measured.launches > 0) {
    for (const std::string& difference : machine_differences(measured.header, header))
      add_once(measured.machines, difference);
    for (const std::string& difference : subject_differences(measured.header, header))
      add_once(measured.subjects, difference);
  }
  measured.header = header;
}

// Appends the launches of `more`, which also sets unit, better and kind.
void add_values(const MetricSeries& more, MetricSeries& series) {
  series.unit = more.unit;
  series.better = more.better;
  series.kind = more.kind;
  series.launches.insert(series.launches.end(), more.launches.begin(), more.launches.end());
}

// Adds the metric `step_over_ideal`: the step time divided by the ideal step time of the same
// launch. An ideal step has no communication. The ratio is comparable between machines.
void add_step_over_ideal(const std::string& id, const Point& point, Measured& measured) {
  std::vector<double> steps = point.samples("step_time"_metric);
  const std::vector<double> ideal = point.samples("ideal_time"_metric);
  if (steps.empty() || ideal.empty() || !(median(ideal) > 0)) return;
  for (double& step : steps) step /= median(ideal);
  add_values({"1", "lower", "timed", {std::move(steps)}}, measured.series[{id, "step_over_ideal"}]);
}

void add_launch(const TypedLaunch& launch, Measured& measured) {
  measured.kind = launch.header.kind;
  add_header(launch.header, measured);
  ++measured.launches;
  for (const auto& [id, point] : launch.points) {
    if (!point.normal_id.empty()) measured.normal_ids[id] = point.normal_id;
    if (point.status != Status::kOk) {
      std::string reasons;
      for (const std::string& reason : point.reasons)
        reasons += (reasons.empty() ? "" : "; ") + reason;
      measured.not_good[id] = status_name(point.status) + (reasons.empty() ? "" : ": " + reasons);
      continue;
    }
    for (const auto& [name, metric] : point.metrics)
      add_values({metric.unit, metric.better, metric.kind, {metric.finite_samples()}},
                 measured.series[{id, name}]);
    add_step_over_ideal(id, point, measured);
  }
}

}  // namespace

std::vector<double> MetricSeries::medians() const {
  std::vector<double> values;
  for (const std::vector<double>& samples : launches)
    if (!samples.empty()) values.push_back(median(samples));
  return values;
}

nlohmann::json common_settings(const Header& header) {
  nlohmann::json settings = {{"compute", "wait"}, {"engine", kEmulationEngine}};
  settings.update(*header.settings);
  settings.update({{"seed", header.seed}, {"threads", header.threads}});
  if (!header.simd.empty()) settings["simd"] = header.simd;
  return settings;
}

std::vector<std::string> subject_differences(const Header& one, const Header& other) {
  std::vector<std::string> differences;
  add_difference("trace", one.trace.text("identity"), other.trace.text("identity"), differences);
  const nlohmann::json settings = common_settings(one), others = common_settings(other);
  for (const auto& [name, value] : settings.items()) {
    if (name == "simd" || (name == "threads" && one.kind == kBenchKind)) continue;
    if (others.contains(name)) add_difference(name, value, others.at(name), differences);
  }
  return differences;
}

std::vector<std::string> machine_differences(const Header& one, const Header& other) {
  std::vector<std::string> differences = machine_differences(one.fingerprint, other.fingerprint);
  if (one.kind != kBenchKind && !one.simd.empty() && !other.simd.empty())
    add_difference("simd", one.simd, other.simd, differences);
  return differences;
}

std::vector<TypedLaunch> typed_launches(std::filesystem::path& folder_or_file) {
  InputLines lines = open_record_lines(folder_or_file);
  PointNames names;
  std::vector<TypedLaunch> launches;
  const auto add = [&](Header header) { launches.push_back({std::move(header), folder_or_file}); };
  const auto add_point = [&](Point point) {
    const std::string& name = names.of(point.id, point.normal_id);
    launches.back().points[name] = std::move(point);
  };
  walk_records(std::move(lines), folder_or_file, {.header = add, .point = add_point});
  return launches;
}

Measured read_measured(const std::filesystem::path& folder_or_file) {
  Measured measured;
  measured.file = folder_or_file;
  for (const TypedLaunch& launch : typed_launches(measured.file)) add_launch(launch, measured);
  return measured;
}

Measured with_ids_of(const Measured& other, Measured measured) {
  PointNames names;
  const auto id_in = [&names](const Measured& side, const std::string& id) {
    const auto normal = side.normal_ids.find(id);
    return names.of(id, normal == side.normal_ids.end() ? std::string() : normal->second);
  };
  for (const auto& [name, series] : other.series) id_in(other, name.first);
  for (const auto& [id, reason] : other.not_good) id_in(other, id);
  for (auto& [name, series] : std::exchange(measured.series, {}))
    measured.series[{id_in(measured, name.first), name.second}] = std::move(series);
  for (auto& [id, reason] : std::exchange(measured.not_good, {}))
    measured.not_good[id_in(measured, id)] = std::move(reason);
  for (auto& [id, normal] : std::exchange(measured.normal_ids, {}))
    measured.normal_ids[names.of(id, normal)] = std::move(normal);
  return measured;
}

void append_launches(Measured& measured, const Measured& more) {
  if (measured.launches > 0 && more.launches > 0 && measured.kind != more.kind)
    throw InputError(more.file.string() + ": records of '" + more.kind +
                     "', but the launches before are of '" + measured.kind + "'");
  if (more.launches == 0) return;
  measured.kind = more.kind;
  add_header(more.header, measured);
  measured.launches += more.launches;
  for (const auto& [name, series] : more.series) add_values(series, measured.series[name]);
  measured.not_good.insert(more.not_good.begin(), more.not_good.end());
  measured.normal_ids.insert(more.normal_ids.begin(), more.normal_ids.end());
}

}  // namespace thinpipe
