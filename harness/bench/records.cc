#include "harness/bench/records.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/bench/ratios.h"
#include "harness/bench/validate.h"
#include "reports/record/record.h"

namespace thinpipe {
namespace {

using Json = nlohmann::json;

constexpr double kSeconds = 1e-9;

std::vector<double> scaled(std::vector<double> values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}

Json axes_of(const BenchOptions& options, const BenchGroup& group, const Spec& spec,
             const std::string& simd) {
  const std::optional<double> ratio = ratio_of(spec);
  return {{"compressor", short_spec(spec)},
          {"method", spec.name},
          {"ratio", ratio ? Json(*ratio) : Json(nullptr)},
          {"tensor", group.tensor},
          {"elements", group.elements},
          {"threads", group.threads},
          {"simd", simd},
          {"device", group.device},
          {"residency", to_string(options.residency)}};
}

Json metrics_of(const BenchGroup& group, const BenchRow& row) {
  const double per_call = kSeconds * static_cast<double>(group.elements);
  const Quality& quality = row.quality;
  Json metrics;
  const auto timed = [&](const std::string& name, const std::vector<double>& samples) {
    metrics[name + "_time"] = metric_json({"s", "lower", "timed", scaled(samples, per_call)});
    metrics[name + "_over_read"] =
        metric_json({"1", "lower", "timed", scaled(samples, 1 / row.t_r)});
  };
  timed("encode", row.encode_samples);
  timed("decode", row.decode_samples);
  const auto wall = [&](const std::string& name, const std::vector<double>& samples) {
    if (!samples.empty())
      metrics[name] = metric_json({"s", "lower", "timed", scaled(samples, per_call)});
  };
  wall("encode_wall_time", row.encode_wall_samples);
  wall("decode_wall_time", row.decode_wall_samples);
  metrics["read_time"] = metric_json({"s", "lower", "timed", {row.t_r * per_call}});
  if (group.device != kDeviceCpu)
    metrics["copy_time"] = metric_json({"s", "lower", "timed", {group.roofline.copy * per_call}});
  metrics["bits_per_element"] = metric_json({"bit", "lower", "exact", {quality.bits_per_element}});
  metrics["passes"] = metric_json({"1", "lower", "exact", {quality.passes}});
  if (row.allocations >= 0)
    metrics["allocations"] = metric_json({"1", "lower", "exact", {row.allocations}});
  metrics["relative_error"] = metric_json({"1", "lower", "quality", {quality.relative_error}});
  if (std::isfinite(quality.selected_share))
    metrics["quality"] = metric_json({"1", "target:1", "quality", {quality.selected_share}});
  return metrics;
}

Json validation_of(const BenchOptions& options, const BenchGroup& group) {
  if (group.device == kDeviceCpu)
    return {{"reference", "the plainest instruction set on one thread"},
            {"checked_steps", kPlainSteps}};
  return {{"reference", "the processor's compressor, byte for byte"},
          {"checked_steps", options.warmup + 1}};
}

}  // namespace

Json device_json(const BenchDevice& device) {
  const DeviceDescription& gpu = device.description;
  Json json = {{"name", gpu.name},
               {"architecture", gpu.architecture},
               {"multiprocessors", gpu.multiprocessors},
               {"memory_bytes", gpu.memory_bytes},
               {"l2_bytes", gpu.l2_bytes},
               {"cuda_runtime", gpu.runtime},
               {"cuda_driver", gpu.driver},
               {"driver", nullptr},
               {"sm_hz", nullptr},
               {"memory_hz", nullptr}};
  if (!device.state) return json;
  if (!device.state->driver.empty()) json["driver"] = device.state->driver;
  if (device.state->sm_hz) json["sm_hz"] = *device.state->sm_hz;
  if (device.state->memory_hz) json["memory_hz"] = *device.state->memory_hz;
  return json;
}

std::vector<Json> bench_points(const BenchOptions& options, const BenchResult& result) {
  std::vector<Json> points;
  for (const BenchGroup& group : result.groups) {
    for (const BenchRow& row : group.rows) {
      points.push_back({{"record", "point"},
                        {"id", row.name},
                        {"axes", axes_of(options, group, row.spec, row.simd)},
                        {"status", status_name(Status::kOk)},
                        {"reasons", Json::array()},
                        {"metrics", metrics_of(group, row)},
                        {"validation", validation_of(options, group)},
                        {"order", {{"encode", row.encode_order}, {"decode", row.decode_order}}}});
    }
  }
  for (const BenchFailure& failure : result.failures) {
    points.push_back(
        {{"record", "point"},
         {"id", failure.name},
         {"axes", axes_of(options, result.groups.at(failure.group), failure.spec, failure.simd)},
         {"status", status_name(Status::kFailed)},
         {"reasons", {failure.reason}}});
  }
  return points;
}

}  // namespace thinpipe
