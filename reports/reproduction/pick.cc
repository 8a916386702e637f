#include "reports/reproduction/pick.h"

#include <fmt/format.h>

#include "reports/statistics/quantile.h"
#include "reports/text/lists.h"

namespace thinpipe::columns {
namespace {

std::string complaint_about(const Point& point) {
  std::string text = point.id.empty() ? "a point" : point.id;
  if (point.axes.seed > 0) text = fmt::format("seed {}", point.axes.seed);
  text += std::string(": ") + status_name(point.status);
  return point.reasons.empty() ? text : text + ", " + joined(point.reasons, "; ");
}

}  // namespace

std::vector<const Point*> points_of(const ArmRecords& arm, const std::string& compressor) {
  std::vector<const Point*> points;
  for (const Point& point : arm.records.points)
    if (compressor.empty() || point.axes.compressor == compressor) points.push_back(&point);
  return points;
}

std::optional<double> mean_sample(const Point& point, const std::string& metric) {
  const std::vector<double> samples = point.samples(metric);
  return samples.empty() ? std::nullopt : std::optional(mean(samples));
}

std::vector<double> bits_by_step(const Point& point, bool pulled) {
  const std::vector<double> both = point.samples("payload_bytes"),
                            pulls = point.samples("pull_bytes");
  const auto dense = mean_sample(point, "dense_bytes");
  if (!dense || pulls.size() != both.size()) return {};
  std::vector<double> bits(both.size());
  for (std::size_t i = 0; i < both.size(); ++i)
    bits[i] = 32 * (pulled ? pulls[i] : both[i] - pulls[i]) / *dense;
  return bits;
}

MeasuredCell values_of(const std::vector<const Point*>& points, PointKey key,
                       const PointValue& value) {
  MeasuredCell cell;
  for (const Point* point : points) {
    if (point->status == Status::kFailed)
      cell.complaints.push_back(complaint_about(*point));
    else if (const std::optional<double> one = value(*point))
      cell.repetitions.push_back({key(*point), *one});
  }
  return cell;
}

MeasuredCell times_of(const std::vector<const Point*>& points, PointKey key,
                      const PointValue& value) {
  MeasuredCell cell;
  bool any = false;
  for (const Point* point : points) {
    any = any || point->status == Status::kInvalid;
    if (point->status != Status::kOk)
      cell.complaints.push_back(complaint_about(*point));
    else if (const std::optional<double> one = value(*point))
      cell.repetitions.push_back({key(*point), *one});
  }
  cell.distrusted = any && cell.repetitions.empty();
  return cell;
}

}  // namespace thinpipe::columns
