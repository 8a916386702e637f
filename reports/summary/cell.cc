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

const Cell* Group::baseline(double rate) const {
  const Cell* best = nullptr;
  for (const Series& candidate : series) {
    if (!candidate.is_baseline()) continue;
    const Cell* cell = candidate.at(rate);
    if (cell == nullptr || cell->status != Status::kOk || !cell->step_time) continue;
    if (best == nullptr || cell->step_time->value < best->step_time->value) best = cell;
  }
  return best;
}

}  // namespace thinpipe
