// Records of commands that nobody ran.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/reproduction/reproduction.h"

namespace thinpipe::made_up {

inline void add_samples(Point& point, const char* name, std::vector<double> samples) {
  Metric metric;
  metric.samples = std::move(samples);
  point.metrics[name] = metric;
}

inline Point trained(std::uint64_t seed, double accuracy, Status status = Status::kOk) {
  Point point;
  point.axes.seed = seed;
  point.status = status;
  add_samples(point, "final_accuracy", {accuracy});
  add_samples(point, "payload_bytes", {100});
  add_samples(point, "dense_bytes", {4000});
  add_samples(point, "target_seconds", {0.1});
  return point;
}

inline ArmRecords trainings(const std::string& label, const std::vector<double>& accuracies) {
  ArmRecords arm{.label = label, .command = "thinpipe train -c '" + label + "'"};
  for (std::size_t i = 0; i < accuracies.size(); ++i)
    arm.records.points.push_back(trained(i + 1, accuracies[i]));
  return arm;
}

inline Point replayed(const std::string& compressor, double rate, int repeat, double seconds,
                      Status status = Status::kOk) {
  Point point;
  point.axes.compressor = compressor;
  point.axes.method = compressor.substr(0, compressor.find(':'));
  point.axes.rate = rate;
  point.axes.repeat = repeat;
  point.status = status;
  add_samples(point, "step_time", {seconds, seconds, 10 * seconds});
  return point;
}

/// "with" and "without", trained; accuracy and times smaller.
inline ReproductionPlan plan() {
  return {.name = "dgc-fig3",
          .title = "a title",
          .source = "the paper",
          .here = "ours",
          .differences = {"another machine"},
          .columns = {columns::accuracy(), columns::times_smaller()},
          .rows = {{.label = "with", .arm = "with", .paper = {"90 %"}},
                   {.label = "without", .arm = "without", .paper = {}}},
          .expectations = {{.says = "it helps", .arm = "with", .than = "without", .least = 1}}};
}

}  // namespace thinpipe::made_up
