#include "harness/quality/json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "harness/quality/by_step.h"

namespace thinpipe {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson finite_or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson distribution_json(const std::optional<Distribution>& values) {
  if (!values) return nullptr;
  return {{"samples", values->samples}, {"mean", values->mean}, {"p5", values->p5},
          {"p50", values->p50},         {"p95", values->p95},   {"max", values->max}};
}

OrderedJson interval_json(const std::optional<MeanInterval>& quality) {
  if (!quality) return nullptr;
  const std::optional<Interval>& interval = quality->interval;
  return {{"steps", quality->samples},
          {"mean", quality->mean},
          {"low", interval ? OrderedJson(interval->low) : OrderedJson(nullptr)},
          {"high", interval ? OrderedJson(interval->high) : OrderedJson(nullptr)},
          {"confidence", kSidcoConfidence}};
}

OrderedJson to_json(const QualitySummary& summary) {
  return {
      {"elements", summary.elements},
      {"encoded_bytes", summary.encoded_bytes},
      {"bits_per_element", summary.bits_per_element},
      {"compression_ratio",
       summary.encoded_bytes == 0 ? OrderedJson(nullptr) : OrderedJson(summary.compression_ratio)},
      {"k_hat_over_k", distribution_json(summary.estimation)},
      {"estimation_quality", interval_json(summary.quality)},
      {"relative_error",
       {{"mean", finite_or_null(summary.error_mean)},
        {"last", finite_or_null(summary.error_last)}}},
      {"cosine",
       {{"mean", finite_or_null(summary.cosine_mean)},
        {"last", finite_or_null(summary.cosine_last)}}},
      {"drift", finite_or_null(summary.drift)},
      {"top_k_overlap", finite_or_null(summary.overlap)},
      {"passes", summary.passes},
      {"encode_ns_per_element", summary.nanoseconds_per_element}};
}

OrderedJson steps_json(const std::vector<StepQuality>& steps) {
  OrderedJson array = OrderedJson::array();
  for (const StepQuality& step : steps) {
    OrderedJson json{{"step", step.step}};
    json.update(to_json(step.summary));
    array.push_back(json);
  }
  return array;
}

}  // namespace

OrderedJson quality_json(const CompressorQuality& quality, QualityRows rows) {
  OrderedJson tensors = OrderedJson::array();
  for (const TensorQuality& tensor : quality.tensors) {
    OrderedJson json{{"name", tensor.info.name}, {"shape", tensor.info.shape}};
    json.update(to_json(tensor.summary));
    if (rows == QualityRows::kTensorSteps) json["steps"] = steps_json(quality_by_step(tensor));
    tensors.push_back(json);
  }
  OrderedJson json{{"compressor", quality.spec.to_string()},
                   {"spec", quality.compressor},
                   {"period", quality.period},
                   {"incremental", quality.incremental}};
  json.update(to_json(quality.total));
  if (rows == QualityRows::kSteps) json["steps"] = steps_json(quality_by_step(quality));
  json["tensors"] = tensors;
  return json;
}

}  // namespace thinpipe
