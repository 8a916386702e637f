// Columns of replays.
#include <fmt/format.h>

#include "reports/reproduction/columns.h"
#include "reports/reproduction/pick.h"
#include "reports/statistics/quantile.h"
#include "reports/text/units.h"

namespace thinpipe::columns {
namespace {

std::vector<const Point*> points_at(const ArmRecords& arm, const std::string& compressor,
                                    double rate) {
  std::vector<const Point*> points;
  for (const Point* point : points_of(arm, compressor))
    if (point->axes.rate == rate) points.push_back(point);
  return points;
}

std::optional<double> median_sample(const Point& point, const char* metric) {
  const std::vector<double> samples = point.samples(metric);
  return samples.empty() ? std::nullopt : std::optional(median(samples));
}

MeasuredCell median_times(const ArmRecords& arm, const std::string& compressor, double rate,
                          const char* metric) {
  return times_of(points_at(arm, compressor, rate), repeat_of,
                  [metric](const Point& point) { return median_sample(point, metric); });
}

bool is_dense(const Point& point) { return point.axes.baseline() == Baseline::kFp32; }

ReproductionColumn sooner(std::string name, double rate, const char* metric) {
  return {std::move(name), format_times,
          [rate, metric](const ArmRecords& arm, const std::string& compressor) {
            MeasuredCell dense, cell = median_times(arm, compressor, rate, metric);
            for (const Point& point : arm.records.points)
              if (is_dense(point)) dense = median_times(arm, point.axes.compressor, rate, metric);
            cell.distrusted = cell.distrusted || (dense.distrusted && !cell.repetitions.empty());
            MeasuredCell ratio = cell;
            ratio.is_ratio = true;
            ratio.repetitions.clear();
            for (const Repetition& one : cell.repetitions)
              for (const Repetition& other : dense.repetitions)
                if (other.key == one.key && one.value > 0)
                  ratio.repetitions.push_back({one.key, other.value / one.value});
            return ratio;
          }};
}

}  // namespace

ReproductionColumn step_time(double rate) {
  return {"step at " + format_rate(rate), format_time,
          [rate](const ArmRecords& arm, const std::string& compressor) {
            return median_times(arm, compressor, rate, "step_time");
          }};
}

ReproductionColumn speed_up(double rate) {
  return sooner("speed-up at " + format_rate(rate), rate, "step_time");
}

ReproductionColumn exchange_speed_up(double rate) {
  return sooner("exchange, speed-up at " + format_rate(rate), rate, "exchange_time");
}

ReproductionColumn payload_bytes(double rate) {
  return {"bytes", format_bytes, [rate](const ArmRecords& arm, const std::string& compressor) {
            return values_of(points_at(arm, compressor, rate), repeat_of, [](const Point& point) {
              return mean_sample(point, "payload_bytes");
            });
          }};
}

}  // namespace thinpipe::columns
