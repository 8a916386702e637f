#include "reports/training/curves.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "reports/statistics/confidence.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace {

constexpr double kBitsOfByte = 8, kBytesOfElement = 4;

std::vector<double> array_of(const nlohmann::json& object, const std::string& name) {
  std::vector<double> values;
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array()) return values;
  for (const nlohmann::json& value : *found)
    values.push_back(value.is_number() ? value.get<double>() : std::nan(""));
  return values;
}

// The i-th value of each seed that has one that is a number.
std::vector<double> column(const std::vector<std::vector<double>>& seeds, std::size_t i) {
  std::vector<double> values;
  for (const std::vector<double>& seed : seeds)
    if (i < seed.size() && std::isfinite(seed[i])) values.push_back(seed[i]);
  return values;
}

std::string told(const TrainedGroup& group, double x, const std::string& x_name, double y,
                 std::size_t seeds) {
  const std::string at = x_name == "seconds" ? format_time(x)
                         : x_name == "bytes" ? format_bytes(x)
                                             : "step " + format_number(x);
  return group.label + ", " + at + "\n" + format_number(y) + ", mean of " + std::to_string(seeds) +
         (seeds == 1 ? " seed" : " seeds");
}

}  // namespace

std::vector<ChartPoint> evaluation_points(const TrainedGroup& group, const std::string& x,
                                          const std::string& y, double factor) {
  std::vector<std::vector<double>> xs, ys;
  std::size_t longest = 0;
  for (const Point* point : group.used) {
    const auto evaluations = point->training.find("evaluations");
    if (evaluations == point->training.end() || !evaluations->is_object()) continue;
    xs.push_back(array_of(*evaluations, x));
    ys.push_back(array_of(*evaluations, y));
    longest = std::max(longest, std::min(xs.back().size(), ys.back().size()));
  }
  std::vector<ChartPoint> points;
  for (std::size_t i = 0; i < longest; ++i) {
    std::vector<double> places = column(xs, i), values = column(ys, i);
    if (places.empty() || values.empty()) continue;
    for (double& value : values) value *= factor;
    const Estimate place = mean_of_samples(places), value = mean_of_samples(values);
    points.push_back({place.value, value.value, value.interval, group.trusted(),
                      told(group, place.value, x, value.value, values.size())});
  }
  return points;
}

std::vector<ChartPoint> bits_points(const TrainedGroup& group) {
  std::vector<std::vector<double>> seeds;
  std::size_t longest = 0;
  for (const Point* point : group.used) {
    const std::vector<double> dense = point->samples("dense_bytes");
    if (dense.empty() || !(dense.front() > 0)) continue;
    std::vector<double> bits = point->samples("payload_bytes");
    for (double& value : bits) value *= kBitsOfByte * kBytesOfElement / dense.front();
    longest = std::max(longest, bits.size());
    seeds.push_back(std::move(bits));
  }
  const std::size_t width = std::max<std::size_t>(1, (longest + kDrawnSteps - 1) / kDrawnSteps);
  std::vector<ChartPoint> points;
  for (std::size_t first = 0; first < longest; first += width) {
    double sum = 0, count = 0;
    const std::size_t end = std::min(first + width, longest);
    for (std::size_t i = first; i < end; ++i) {
      for (const double value : column(seeds, i)) {
        sum += value;
        ++count;
      }
    }
    if (count == 0) continue;
    const double step = 0.5 * static_cast<double>(first + end + 1);  // steps count from 1
    points.push_back({step, sum / count, std::nullopt, group.trusted(),
                      told(group, step, "steps", sum / count, seeds.size())});
  }
  return points;
}

}  // namespace thinpipe
