// The figures of one compressor at one rate.
#include <algorithm>
#include <cmath>

#include "reports/statistics/quantile.h"
#include "reports/summary/summary.h"

namespace thinpipe {

Repeats Cell::repeats(const std::string& metric) const {
  Repeats result;
  for (const Point* point : used) {
    std::vector<double> samples = point->samples(metric);
    if (!samples.empty()) result.push_back(std::move(samples));
  }
  return result;
}

std::optional<double> Cell::median_of_metric(const std::string& metric) const {
  const std::vector<double> all = pooled(repeats(metric));
  return all.empty() ? std::nullopt : std::optional<double>(median(all));
}

std::optional<double> Cell::mean_of_metric(const std::string& metric) const {
  const std::vector<double> all = pooled(repeats(metric));
  return all.empty() ? std::nullopt : std::optional<double>(mean(all));
}

std::optional<double> Cell::fidelity(const std::string& name) const {
  std::vector<double> values;
  for (const Point* point : used) {
    if (const std::optional<double> value = point->fidelity_number(name)) values.push_back(*value);
  }
  return values.empty() ? std::nullopt : std::optional<double>(mean(values));
}

std::optional<double> Cell::prediction(const std::string& name) const {
  std::vector<double> values;
  for (const Point* point : used)
    if (const std::optional<double> value = point->prediction_number(name))
      values.push_back(*value);
  return values.empty() ? std::nullopt : std::optional<double>(mean(values));
}

const Cell* Series::at(double rate) const {
  for (const Cell& cell : cells) {
    if (cell.rate == rate) return &cell;
  }
  return nullptr;
}

const Series* Group::baseline(double rate, std::optional<Baseline> kind) const {
  const Series* best = nullptr;
  double least = 0;
  for (const Series& one : series) {
    if (!one.is_baseline() || (kind && one.baseline != kind)) continue;
    const Cell* cell = one.at(rate);
    if (cell == nullptr || cell->status != Status::kOk || !cell->step_time) continue;
    if (best != nullptr && cell->step_time->value >= least) continue;
    best = &one;
    least = cell->step_time->value;
  }
  return best;
}

bool Group::has_baseline(Baseline kind) const {
  return std::ranges::count(series, std::optional(kind), &Series::baseline) > 0;
}

std::string Group::baseline_name() const {
  if (!has_baseline(Baseline::kBf16)) return "none";
  return has_baseline(Baseline::kFp32) ? "the faster of bf16 and none" : "bf16";
}

}  // namespace thinpipe
