#include "harness/quality/tally.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "reports/statistics/quantile.h"

namespace thinpipe {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::optional<double> mean(const std::vector<double>& values) {
  double sum = 0;
  std::size_t count = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

/// <decoded, c> / (|decoded| |c|), from |decoded - c|^2 = |decoded|^2 + |c|^2 - 2 <decoded, c>. No
/// compressor need show its c. NaN where one of them is all zeros.
double cosine(const QualitySample& sample) {
  const double c = sample.distortion.input_squares;
  const double decoded = sample.decoded_squares;
  if (c == 0 || decoded == 0) return kNone;
  const double product = (c + decoded - sample.distortion.error_squares) / 2;
  return std::clamp(product / std::sqrt(c * decoded), -1.0, 1.0);
}

void set(std::vector<double>& by_rank, std::size_t rank, double value) {
  if (by_rank.size() <= rank) by_rank.resize(rank + 1, kNone);
  by_rank[rank] = value;
}

std::optional<Distribution> distribution(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return Distribution{.samples = values.size(),
                      .mean = *mean(values),
                      .p5 = quantile(values, 0.05),
                      .p50 = quantile(values, 0.5),
                      .p95 = quantile(values, 0.95),
                      .max = *std::max_element(values.begin(), values.end())};
}

}  // namespace

QualitySample& QualitySample::operator+=(const QualitySample& other) {
  elements += other.elements;
  encoded_bytes += other.encoded_bytes;
  distortion += other.distortion;
  decoded_squares += other.decoded_squares;
  overlap_of += other.overlap_of;
  overlap += other.overlap;
  passes_by_elements += other.passes_by_elements;
  seconds += other.seconds;
  return *this;
}

void Tally::add(const QualitySample& sample) {
  elements_ = sample.elements;
  ++steps_;
  bytes_ += sample.encoded_bytes;
  if (!sample.exchanged || sample.elements == 0) return;
  overlap_of_ += sample.overlap_of;
  overlap_ += sample.overlap;
  passes_by_elements_ += sample.passes_by_elements;
  exchanged_elements_ += sample.elements;
  errors_.push_back(sample.distortion.relative());
  cosines_.push_back(cosine(sample));
  set(last_errors_, sample.rank, errors_.back());
  set(last_cosines_, sample.rank, cosines_.back());
  nanoseconds_.push_back(1e9 * sample.seconds / static_cast<double>(sample.elements));
}

void Tally::add_drift(double difference_squares, double input_squares) {
  if (input_squares > 0) drifts_.push_back(std::sqrt(difference_squares / input_squares));
}

QualitySummary Tally::summary() const {
  QualitySummary summary;
  summary.elements = elements_;
  summary.encoded_bytes = bytes_;
  const double all = static_cast<double>(elements_) * static_cast<double>(steps_);
  if (all > 0) summary.bits_per_element = 8 * static_cast<double>(bytes_) / all;
  if (bytes_ > 0) summary.compression_ratio = 32 / summary.bits_per_element;
  summary.estimation = distribution(estimations_);
  summary.error_mean = mean(errors_);
  summary.error_last = mean(last_errors_);
  summary.cosine_mean = mean(cosines_);
  summary.cosine_last = mean(last_cosines_);
  summary.drift = mean(drifts_);
  if (overlap_of_ > 0) {
    summary.overlap = static_cast<double>(overlap_) / static_cast<double>(overlap_of_);
  }
  if (exchanged_elements_ > 0) {
    summary.passes = passes_by_elements_ / static_cast<double>(exchanged_elements_);
  }
  if (!nanoseconds_.empty()) summary.nanoseconds_per_element = median(nanoseconds_);
  summary.series = {estimations_, errors_, cosines_, nanoseconds_};
  for (double& time : summary.series.encode) time *= 1e-9 * static_cast<double>(elements_);
  return summary;
}

}  // namespace thinpipe
