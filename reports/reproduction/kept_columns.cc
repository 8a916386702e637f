// Columns of what compressors keep, without a network.
#include <algorithm>
#include <cmath>
#include <map>

#include "reports/reproduction/columns.h"
#include "reports/reproduction/pick.h"
#include "reports/statistics/quantile.h"

namespace thinpipe::columns {
namespace {

// Of all tensors taken together: those of single ones have their name after the bar.
std::vector<const Point*> whole_models(const ArmRecords& arm, const std::string& compressor) {
  std::vector<const Point*> points;
  for (const Point* point : points_of(arm, compressor))
    if (point->id.ends_with("|*")) points.push_back(point);
  return points;
}

void add_means_of_workers(const Point& point, const std::string& metric, double (*change)(double),
                          MeasuredCell& cell) {
  const auto found = point.metrics.find(metric);
  if (found == point.metrics.end() || !point.at.contains("rank")) return;
  const std::vector<double>& samples = found->second.samples;
  const auto ranks = point.at.at("rank").get<std::vector<double>>();
  std::map<std::uint64_t, std::vector<double>> by_worker;
  for (std::size_t i = 0; i < std::min(samples.size(), ranks.size()); ++i)
    by_worker[static_cast<std::uint64_t>(ranks[i])].push_back(change(samples[i]));
  for (const auto& [worker, values] : by_worker) cell.repetitions.push_back({worker, mean(values)});
}

// Nothing sent at all is as far off as this can tell.
double share_off_one(double share) {
  constexpr double kLeastTold = 1e-6;
  return std::abs(std::log(std::max(share, kLeastTold)));
}

ReproductionColumn exact_size(const char* name, std::string (*format)(double),
                              double (*of_bits)(double)) {
  return {name, format, [of_bits](const ArmRecords& arm, const std::string& compressor) {
            MeasuredCell cell =
                values_of(whole_models(arm, compressor), repeat_of,
                          [of_bits](const Point& point) -> std::optional<double> {
                            const auto bits = mean_sample(point, "bits_per_element");
                            return bits && *bits > 0 ? std::optional(of_bits(*bits)) : std::nullopt;
                          });
            cell.exact = true;
            return cell;
          }};
}

}  // namespace

ReproductionColumn kept(const std::string& metric) {
  return {metric == "quality" ? "k\xcc\x82/k" : metric, format_plain,
          [metric](const ArmRecords& arm, const std::string& compressor) {
            MeasuredCell cell;
            for (const Point* point : whole_models(arm, compressor))
              add_means_of_workers(
                  *point, metric, [](double value) { return value; }, cell);
            return cell;
          }};
}

ReproductionColumn off_by() {
  return {"off by", format_times, [](const ArmRecords& arm, const std::string& compressor) {
            MeasuredCell cell;
            for (const Point* point : whole_models(arm, compressor))
              add_means_of_workers(*point, "quality", share_off_one, cell);
            for (Repetition& one : cell.repetitions) one.value = std::exp(one.value);
            return cell;
          }};
}

ReproductionColumn kept_bits_per_element() {
  return exact_size("bits an element", format_plain, [](double bits) { return bits; });
}

ReproductionColumn kept_times_smaller() {
  return exact_size("times smaller", format_times, [](double bits) { return 32 / bits; });
}

}  // namespace thinpipe::columns
