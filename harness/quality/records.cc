#include "harness/quality/records.h"

#include <nlohmann/json.hpp>
#include <string>

#include "reports/record/record.h"

namespace thinpipe {
namespace {

using Json = nlohmann::json;

Json metrics_of(const QualitySummary& summary) {
  Json metrics;
  const auto add = [&](const char* name, const char* unit, const char* better, const char* kind,
                       std::vector<double> samples) {
    if (!samples.empty()) metrics[name] = metric_json({unit, better, kind, std::move(samples)});
  };
  const auto add_one = [&](const char* name, const char* better, std::optional<double> value) {
    if (value) add(name, "1", better, "quality", {*value});
  };
  add("encoded_bytes", "B", "lower", "exact", {static_cast<double>(summary.encoded_bytes)});
  add("bits_per_element", "bit", "lower", "exact", {summary.bits_per_element});
  add("passes", "1", "lower", "exact", {summary.passes});
  add("quality", "1", "target:1", "quality", summary.series.estimation);
  add("relative_error", "1", "lower", "quality", summary.series.error);
  add("cosine", "1", "higher", "quality", summary.series.cosine);
  add_one("drift", "lower", summary.drift);
  add_one("top_k_overlap", "higher", summary.overlap);
  add("encode_time", "s", "lower", "timed", summary.series.encode);
  return metrics;
}

Json point(const CompressorQuality& quality, const std::string& tensor,
           const QualitySummary& summary) {
  const std::string spec = quality.spec.to_string();
  return {{"record", "point"},
          {"id", spec + "|" + tensor},
          {"axes",
           {{"compressor", quality.compressor},
            {"method", quality.spec.name},
            {"tensor", tensor},
            {"elements", summary.elements}}},
          {"status", status_name(Status::kOk)},
          {"reasons", Json::array()},
          {"metrics", metrics_of(summary)}};
}

}  // namespace

std::vector<Json> quality_points(const CompressorQuality& quality) {
  std::vector<Json> points{point(quality, "*", quality.total)};
  for (const TensorQuality& tensor : quality.tensors)
    points.push_back(point(quality, tensor.info.name, tensor.summary));
  return points;
}

}  // namespace thinpipe
