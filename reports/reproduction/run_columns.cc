// Columns of trainings and of replays.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/statistics.h"
#include "reports/reproduction/columns.h"
#include "reports/text/phrases.h"

namespace thinpipe::columns {
namespace {

ReproductionColumn about_learning(ReproductionColumn column) {
  column.of_learning = true;
  return column;
}

ReproductionColumn learned(const char* name, std::string (*format)(double),
                           const PointValue& value) {
  return {name, format, [value](const ArmRecords& arm, const std::string& compressor) {
            return values_of(points_of(arm, compressor), seed_of, value);
          }};
}

// Returns a column of a figure at the end of trainings, times `scale`.
ReproductionColumn figure_at_end(const char* name, std::string (*format)(double),
                                 const MetricType& metric, double scale) {
  return about_learning(
      {name, format, [=](const ArmRecords& arm, const std::string& compressor) {
         const std::optional<double> chance = chance_of(arm);
         return values_of(
             points_of(arm, compressor), seed_of, [&](const Point& point) -> std::optional<double> {
               const auto figure = point.diverged ? chance : mean_sample(point, metric);
               return figure ? std::optional(scale * *figure) : std::nullopt;
             });
       }});
}

ReproductionColumn emulated_time(const char* name, const MetricType& metric) {
  return {name, format_time, [metric](const ArmRecords& arm, const std::string& compressor) {
            return times_of(points_of(arm, compressor), seed_of,
                            [metric](const Point& point) { return mean_sample(point, metric); });
          }};
}

// Returns dense bytes over sent bytes; nothing where nothing was sent.
std::optional<double> dense_over_sent(const Point& point) {
  const auto dense = mean_sample(point, "dense_bytes"_metric),
             sent = mean_sample(point, "payload_bytes"_metric);
  if (!dense || !sent || !(*sent > 0)) return std::nullopt;
  return *dense / *sent;
}

std::vector<const Point*> points_at(const ArmRecords& arm, const std::string& compressor,
                                    double rate) {
  std::vector<const Point*> points;
  for (const Point* point : points_of(arm, compressor))
    if (point->axes.rate == rate) points.push_back(point);
  return points;
}

std::optional<double> median_sample(const Point& point, const MetricType& metric) {
  const std::vector<double> samples = point.samples(metric);
  return samples.empty() ? std::nullopt : std::optional(median(samples));
}

MeasuredCell median_times(const ArmRecords& arm, const std::string& compressor, double rate,
                          const MetricType& metric) {
  return times_of(points_at(arm, compressor, rate), repeat_of,
                  [metric](const Point& point) { return median_sample(point, metric); });
}

bool is_dense(const Point& point) { return point.axes.baseline() == Baseline::kFp32; }

ReproductionColumn sooner(std::string name, double rate, const MetricType& metric) {
  return {std::move(name), format_times,
          [rate, metric](const ArmRecords& arm, const std::string& compressor) {
            MeasuredCell dense, cell = median_times(arm, compressor, rate, metric);
            for (const Point& point : arm.records.points)
              if (is_dense(point)) dense = median_times(arm, point.axes.compressor, rate, metric);
            cell.distrusted = cell.distrusted || (dense.distrusted && !cell.repetitions.empty());
            MeasuredCell ratio = cell;
            ratio.is_ratio = true;
            ratio.baseline_complaints = dense.complaints;
            ratio.repetitions.clear();
            for (const Repetition& one : cell.repetitions)
              for (const Repetition& other : dense.repetitions)
                if (other.key == one.key && one.value > 0)
                  ratio.repetitions.push_back({one.key, other.value / one.value});
            return ratio;
          }};
}

}  // namespace

ReproductionColumn accuracy() {
  return figure_at_end("accuracy", format_percentage, "final_accuracy"_metric, 100);
}

ReproductionColumn perplexity() {
  return figure_at_end("perplexity", format_plain, "final_perplexity"_metric, 1);
}

ReproductionColumn bytes() {
  return learned("bytes a worker and step", format_bytes,
                 [](const Point& point) { return mean_sample(point, "payload_bytes"_metric); });
}

ReproductionColumn times_smaller() {
  return learned("times smaller", format_times, dense_over_sent);
}

ReproductionColumn server_times_smaller() {
  return learned("times smaller", format_times, [](const Point& point) {
    const auto times = dense_over_sent(point);
    return times ? std::optional(2 * *times) : std::nullopt;
  });
}

ReproductionColumn server_bits() {
  return learned("bits an element", format_plain, [](const Point& point) {
    const auto times = dense_over_sent(point);
    return times ? std::optional(16 / *times) : std::nullopt;
  });
}

ReproductionColumn bits_during(bool pulled, double begin, double end) {
  return learned(pulled ? "pulled" : "pushed", format_plain,
                 [=](const Point& point) -> std::optional<double> {
                   const std::vector<double> bits = bits_by_step(point, pulled);
                   const auto at = [&](double share) {
                     return bits.begin() +
                            static_cast<std::ptrdiff_t>(share * static_cast<double>(bits.size()));
                   };
                   const std::vector<double> part(at(begin), at(end));
                   return part.empty() ? std::nullopt : std::optional(mean(part));
                 });
}

ReproductionColumn sooner_at_target() {
  return about_learning(
      {"sooner at target", format_times, [](const ArmRecords& arm, const std::string& compressor) {
         const auto at_target = [](const Point& point) {
           return mean_sample(point, "target_seconds"_metric);
         };
         std::vector<const Point*> dense, reached, missed;
         std::set<std::uint64_t> seeds;  // with which the baseline reached the target
         for (const Point& point : arm.records.points) {
           if (point.axes.method != "none" || !at_target(point)) continue;
           dense.push_back(&point);
           seeds.insert(seed_of(point));
         }
         for (const Point* point : points_of(arm, compressor)) {
           if (!seeds.contains(seed_of(*point))) continue;
           const bool ended = point->status != Status::kFailed || point->diverged;
           (ended && !at_target(*point) ? missed : reached).push_back(point);
         }
         const MeasuredCell without = times_of(dense, seed_of, at_target);
         const MeasuredCell with = times_of(reached, seed_of, at_target);
         MeasuredCell cell{.is_ratio = true,
                           .complaints = with.complaints,
                           .baseline_complaints = without.complaints};
         for (const Repetition& one : with.repetitions)
           for (const Repetition& other : without.repetitions)
             if (one.key == other.key)
               cell.repetitions.push_back({one.key, other.value / one.value});
         const auto trusted = static_cast<std::ptrdiff_t>(cell.repetitions.size());
         const bool some_untrusted = std::ranges::count_if(reached, [&](const Point* point) {
                                       return at_target(*point).has_value();
                                     }) > trusted;
         // Beside untrusted times, the misses would weigh too much.
         cell.distrusted = some_untrusted && (trusted == 0 || !missed.empty());
         if (cell.distrusted) {
           cell.repetitions.clear();
           return cell;
         }
         // Step times have no influence on whether the target was reached.
         for (const Point* point : missed) cell.repetitions.push_back({seed_of(*point), 0});
         return cell;
       }});
}

ReproductionColumn training_seconds() {
  return emulated_time("training time", "train_seconds"_metric);
}

ReproductionColumn target_seconds() {
  return about_learning(emulated_time("time to target", "target_seconds"_metric));
}

ReproductionColumn speed_up(double rate) {
  return sooner("speed-up at " + format_rate(rate), rate, "step_time"_metric);
}

ReproductionColumn exchange_speed_up(double rate) {
  return sooner("exchange, speed-up at " + format_rate(rate), rate, "exchange_time"_metric);
}

}  // namespace thinpipe::columns
