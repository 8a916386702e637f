#include "harness/quality/records.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "reports/record/record.h"

namespace thinpipe {
namespace {

using Json = nlohmann::json;

Json metrics_of(const QualitySummary& summary, bool all_tensors) {
  Json metrics;
  const auto add = [&](const char* name, const char* unit, const char* better, const char* kind,
                       const std::vector<double>& samples) {
    // A method without drift, overlap or k has none of their samples.
    const bool any = std::any_of(samples.begin(), samples.end(),
                                 [](double sample) { return !std::isnan(sample); });
    if (any) metrics[name] = metric_json({unit, better, kind, samples});
  };
  const QualitySeries& series = summary.series;
  add("encoded_bytes", "B", "lower", "exact", series.bytes);
  add("bits_per_element", "bit", "lower", "exact", {summary.bits_per_element});
  add("passes", "1", "lower", "exact", series.passes);
  add("quality", "1", "target:1", "quality", series.quality);
  if (all_tensors) add("tensor_quality", "1", "target:1", "quality", series.estimation);
  add("relative_error", "1", "lower", "quality", series.error);
  add("cosine", "1", "higher", "quality", series.cosine);
  add("drift", "1", "lower", "quality", series.drift);
  add("top_k_overlap", "1", "higher", "quality", series.overlap);
  add("encode_time", "s", "lower", "timed", series.encode);
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
          {"at", {{"step", summary.series.step}, {"rank", summary.series.rank}}},
          {"status", status_name(Status::kOk)},
          {"reasons", Json::array()},
          {"metrics", metrics_of(summary, tensor == "*")}};
}

}  // namespace

std::vector<Json> quality_points(const CompressorQuality& quality) {
  std::vector<Json> points{point(quality, "*", quality.total)};
  for (const TensorQuality& tensor : quality.tensors)
    points.push_back(point(quality, tensor.info.name, tensor.summary));
  return points;
}

}  // namespace thinpipe
