#include "harness/quality/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/units.h"
#include "compressors/registry.h"
#include "harness/options/terminal.h"

namespace thinpipe {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Returns at most five characters without the sign: three significant digits where they fit; "-"
// for no value.
std::string cell(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return "-";
  const double magnitude = std::fabs(*value);
  if (magnitude >= 99999.5 || (magnitude != 0 && magnitude < 9.995e-4))
    return fmt::format("{:.0e}", *value);
  if (magnitude >= 99.95) return fmt::format("{:.0f}", *value);
  if (magnitude >= 9.995) return fmt::format("{:.1f}", *value);
  if (magnitude >= 0.9995) return fmt::format("{:.2f}", *value);
  return magnitude == 0 ? "0" : fmt::format("{:.3f}", *value);
}

std::string percent_cell(std::optional<double> fraction) {
  if (fraction) *fraction *= 100;
  return cell(fraction);
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
       {{"mean", number_or_null(summary.error_mean)},
        {"last", number_or_null(summary.error_last)}}},
      {"cosine",
       {{"mean", number_or_null(summary.cosine_mean)},
        {"last", number_or_null(summary.cosine_last)}}},
      {"drift", number_or_null(summary.drift)},
      {"top_k_overlap", number_or_null(summary.overlap)},
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

Metrics metrics_of(const QualitySummary& summary, bool all_tensors) {
  Metrics metrics;
  const auto put_any = [&](const MetricType& quantity, const std::vector<double>& samples) {
    // A method without drift, overlap or k has none of their samples.
    const bool any = std::any_of(samples.begin(), samples.end(),
                                 [](double sample) { return !std::isnan(sample); });
    if (any) put(metrics, quantity, samples);
  };
  const QualitySeries& series = summary.series;
  put_any("encoded_bytes"_metric, series.bytes);
  put_any("bits_per_element"_metric, {summary.bits_per_element});
  put_any("passes"_metric, series.passes);
  put_any("quality"_metric, series.quality);
  if (all_tensors) put_any("tensor_quality"_metric, series.estimation);
  put_any("relative_error"_metric, series.error);
  put_any("cosine"_metric, series.cosine);
  put_any("drift"_metric, series.drift);
  put_any("top_k_overlap"_metric, series.overlap);
  put_any("encode_time"_metric, series.encode);
  return metrics;
}

Point empty_point(const Spec& spec, const std::string& tensor, std::size_t elements) {
  const Parameters parameters = parameters_of(spec);
  Point point;
  point.id = spec.to_string() + "|" + tensor;
  point.normal_id = parameters.normal().to_string() + "|" + tensor;
  point.axes.compressor = parameters.text();
  point.axes.method = spec.name;
  point.quality = {tensor, static_cast<double>(elements)};
  return point;
}

Point quality_point(const CompressorQuality& quality, const std::string& tensor,
                    const QualitySummary& summary) {
  Point point = empty_point(quality.spec, tensor, summary.elements);
  point.at = {summary.series.step, summary.series.rank};
  point.metrics = metrics_of(summary, tensor == "*");
  return point;
}

}  // namespace

QualityTable::QualityTable()
    : quality_(
          {"compressor", "bytes", "bits", "error\n%", "cosine", "drift", "top-k\n%", "passes"}),
      sent_({"sent / requested, k\xcc\x82/k", "mean",
             ("\xc2\xb1"
              "90%"),
             "p5", "p50", "p95", "max"}) {}

void QualityTable::add_row(const std::string& name, const QualitySummary& summary) {
  quality_.add({name, format_bytes(static_cast<double>(summary.encoded_bytes)),
                cell(summary.bits_per_element), percent_cell(summary.error_mean),
                cell(summary.cosine_mean), cell(summary.drift), percent_cell(summary.overlap),
                cell(summary.passes)});
  const auto of_k = [&](double Distribution::*member) {
    return summary.estimation ? cell((*summary.estimation).*member) : std::string("-");
  };
  std::optional<double> mean, half;
  if (summary.quality) mean = summary.quality->mean;
  if (summary.quality && summary.quality->interval)
    half = summary.quality->interval->high - summary.quality->mean;
  sent_.add({name, cell(mean), cell(half), of_k(&Distribution::p5), of_k(&Distribution::p50),
             of_k(&Distribution::p95), of_k(&Distribution::max)});
}

void QualityTable::add_steps(const std::vector<StepQuality>& steps, const char* margin) {
  for (const StepQuality& step : steps)
    add_row(fmt::format("{}step {}", margin, step.step), step.summary);
}

void QualityTable::add(const CompressorQuality& quality, QualityRows rows) {
  add_row(quality.spec.to_string(), quality.total);
  if (rows == QualityRows::kSteps) add_steps(quality_by_step(quality.tensors), "  ");
  if (rows != QualityRows::kTensors && rows != QualityRows::kTensorSteps) return;
  for (const TensorQuality& tensor : quality.tensors) {
    add_row("  " + tensor.info.name, tensor.summary);
    if (rows == QualityRows::kTensorSteps) add_steps(quality_by_step({&tensor, 1}), "    ");
  }
}

std::string QualityTable::text() const { return quality_.text() + "\n" + sent_.text(); }

OrderedJson quality_json(const CompressorQuality& quality, QualityRows rows) {
  OrderedJson tensors = OrderedJson::array();
  for (const TensorQuality& tensor : quality.tensors) {
    OrderedJson json{{"name", tensor.info.name}, {"shape", tensor.info.shape}};
    json.update(to_json(tensor.summary));
    if (rows == QualityRows::kTensorSteps)
      json["steps"] = steps_json(quality_by_step({&tensor, 1}));
    tensors.push_back(json);
  }
  OrderedJson json{{"compressor", quality.spec.to_string()},
                   {"spec", quality.compressor},
                   {"period", quality.period},
                   {"incremental", quality.incremental}};
  json.update(to_json(quality.total));
  if (rows == QualityRows::kSteps) json["steps"] = steps_json(quality_by_step(quality.tensors));
  json["tensors"] = tensors;
  return json;
}

std::vector<Point> quality_points(const CompressorQuality& quality) {
  std::vector<Point> points{quality_point(quality, "*", quality.total)};
  for (const TensorQuality& tensor : quality.tensors)
    points.push_back(quality_point(quality, tensor.info.name, tensor.summary));
  return points;
}

Point failed_quality_point(const Spec& spec, std::size_t elements, const std::string& reason) {
  Point point = empty_point(spec, "*", elements);
  point.status = Status::kFailed;
  point.reasons = {reason};
  return point;
}

}  // namespace thinpipe
