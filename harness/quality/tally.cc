#include "harness/quality/tally.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/statistics.h"

namespace thinpipe {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Returns the mean of the values that are not NaN; nothing if there are none.
std::optional<double> known_mean(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return std::nullopt;
  return mean(values);
}

/// Returns <decoded, c> / (|decoded| |c|), from |decoded - c|^2 = |decoded|^2 + |c|^2 - 2 <decoded,
/// c>, so that c itself is not needed. NaN where decoded or c is all zeros.
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

double over(std::size_t part, std::size_t whole) {
  return whole == 0 ? kNone : static_cast<double>(part) / static_cast<double>(whole);
}

double drift(const QualitySample& sample) {
  return sample.drift_inputs > 0 ? std::sqrt(sample.drift_difference / sample.drift_inputs) : kNone;
}

std::optional<Distribution> distribution(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return Distribution{.samples = values.size(),
                      .mean = mean(values),
                      .p5 = quantile(values, 0.05),
                      .p50 = quantile(values, 0.5),
                      .p95 = quantile(values, 0.95),
                      .max = *std::max_element(values.begin(), values.end())};
}

}  // namespace

QualitySample& QualitySample::operator+=(const QualitySample& other) {
  elements += other.elements;
  encoded_bytes += other.encoded_bytes;
  selected += other.selected;
  target += other.target;
  distortion += other.distortion;
  decoded_squares += other.decoded_squares;
  overlap_of += other.overlap_of;
  overlap += other.overlap;
  passes_by_elements += other.passes_by_elements;
  seconds += other.seconds;
  drift_difference += other.drift_difference;
  drift_inputs += other.drift_inputs;
  return *this;
}

void Tally::add(const QualitySample& sample) {
  elements_ = sample.elements;
  ++steps_;
  bytes_ += sample.encoded_bytes;
  set(last_drifts_, sample.rank, drift(sample));
  if (!sample.exchanged || sample.elements == 0) return;
  const auto elements = static_cast<double>(sample.elements);
  overlap_of_ += sample.overlap_of;
  overlap_ += sample.overlap;
  passes_by_elements_ += sample.passes_by_elements;
  exchanged_elements_ += sample.elements;
  Sent& sent = sent_[sample.step];
  sent.selected += static_cast<double>(sample.selected);
  sent.target += static_cast<double>(sample.target);
  series_.step.push_back(static_cast<double>(sample.step));
  series_.rank.push_back(static_cast<double>(sample.rank));
  if (sample.target > 0) series_.quality.push_back(over(sample.selected, sample.target));
  series_.bytes.push_back(static_cast<double>(sample.encoded_bytes));
  series_.error.push_back(sample.distortion.relative());
  series_.cosine.push_back(cosine(sample));
  series_.overlap.push_back(over(sample.overlap, sample.overlap_of));
  series_.drift.push_back(last_drifts_[sample.rank]);
  series_.passes.push_back(sample.passes_by_elements / elements);
  series_.encode.push_back(sample.seconds);
  set(last_errors_, sample.rank, series_.error.back());
  set(last_cosines_, sample.rank, series_.cosine.back());
  nanoseconds_.push_back(1e9 * sample.seconds / elements);
}

void Tally::add_estimation(const QualitySample& sample) {
  if (sample.target > 0) series_.estimation.push_back(over(sample.selected, sample.target));
}

QualitySummary Tally::summary() const {
  QualitySummary summary;
  summary.elements = elements_;
  summary.encoded_bytes = bytes_;
  const double all = static_cast<double>(elements_) * static_cast<double>(steps_);
  if (all > 0) summary.bits_per_element = 8 * static_cast<double>(bytes_) / all;
  if (bytes_ > 0) summary.compression_ratio = 32 / summary.bits_per_element;
  summary.estimation = distribution(series_.estimation);
  std::vector<double> by_step;
  for (const auto& [step, sent] : sent_)
    if (sent.target > 0) by_step.push_back(sent.selected / sent.target);
  summary.quality = mean_interval(by_step, kSidcoConfidence);
  summary.error_mean = known_mean(series_.error);
  summary.error_last = known_mean(last_errors_);
  summary.cosine_mean = known_mean(series_.cosine);
  summary.cosine_last = known_mean(last_cosines_);
  summary.drift = known_mean(last_drifts_);
  if (overlap_of_ > 0)
    summary.overlap = static_cast<double>(overlap_) / static_cast<double>(overlap_of_);
  if (exchanged_elements_ > 0)
    summary.passes = passes_by_elements_ / static_cast<double>(exchanged_elements_);
  if (!nanoseconds_.empty()) summary.nanoseconds_per_element = median(nanoseconds_);
  summary.series = series_;
  return summary;
}

}  // namespace thinpipe
