#include "reports/gate/measured.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input_file.h"
#include "base/statistics.h"
#include "reports/record/reader.h"
#include "reports/record/record.h"

namespace thinpipe {
namespace {

void add_machine(const Document& fingerprint, Measured& measured) {
  if (measured.launches > 0) {
    for (std::string& difference : machine_differences(measured.fingerprint, fingerprint)) {
      if (std::find(measured.mixed.begin(), measured.mixed.end(), difference) ==
          measured.mixed.end())
        measured.mixed.push_back(std::move(difference));
    }
  }
  measured.fingerprint = fingerprint;
}

// Adds the metric `step_over_ideal`: the step time divided by the ideal step time of the same
// launch. An ideal step has no communication. The ratio is comparable between machines.
void add_step_over_ideal(const Point& point, Measured& measured) {
  std::vector<double> steps = point.samples("step_time"_metric);
  const std::vector<double> ideal = point.samples("ideal_time"_metric);
  if (steps.empty() || ideal.empty() || !(median(ideal) > 0)) return;
  for (double& step : steps) step /= median(ideal);
  MetricSeries& series = measured.series[{point.id, "step_over_ideal"}];
  series.unit = "1";
  series.better = "lower";
  series.kind = "timed";
  series.launches.push_back(std::move(steps));
}

void add_launch(const Header& header, const std::vector<const Point*>& points, Measured& measured) {
  measured.kind = header.kind;
  add_machine(header.fingerprint, measured);
  ++measured.launches;
  for (const Point* point : points) {
    if (point->status != Status::kOk) {
      std::string reasons;
      for (const std::string& reason : point->reasons)
        reasons += (reasons.empty() ? "" : "; ") + reason;
      measured.not_good[point->id] =
          status_name(point->status) + (reasons.empty() ? "" : ": " + reasons);
      continue;
    }
    for (const auto& [name, metric] : point->metrics) {
      MetricSeries& series = measured.series[{point->id, name}];
      series.unit = metric.unit;
      series.better = metric.better;
      series.kind = metric.kind;
      series.launches.push_back(metric.finite_samples());
    }
    add_step_over_ideal(*point, measured);
  }
}

Measured parse_measured(InputLines lines, const std::filesystem::path& name) {
  Measured measured;
  measured.file = name;
  std::vector<Header> headers;
  std::vector<std::map<std::string, Point>> points;  // by launch; of one id the later counts
  walk_records(std::move(lines), name,
               {.header =
                    [&](Header header) {
                      headers.push_back(std::move(header));
                      points.emplace_back();
                    },
                .point = [&](Point point) { points.back()[point.id] = std::move(point); },
                .note = [](const std::string&) {},
                .complete = [](std::uint64_t) {}});
  for (std::size_t i = 0; i < headers.size(); ++i) {
    std::vector<const Point*> launch;
    for (const auto& [id, point] : points[i]) launch.push_back(&point);
    add_launch(headers[i], launch, measured);
  }
  return measured;
}

}  // namespace

std::vector<double> MetricSeries::medians() const {
  std::vector<double> values;
  for (const std::vector<double>& samples : launches)
    if (!samples.empty()) values.push_back(median(samples));
  return values;
}

Measured read_measured(const std::filesystem::path& folder_or_file) {
  std::filesystem::path file = folder_or_file;
  InputLines lines = open_record_lines(file);
  return parse_measured(std::move(lines), file);
}

void append_launches(Measured& measured, const Measured& more) {
  if (measured.launches > 0 && more.launches > 0 && measured.kind != more.kind) {
    throw InputError(more.file.string() + ": records of '" + more.kind +
                     "', but the launches before are of '" + measured.kind + "'");
  }
  if (more.launches == 0) return;
  measured.kind = more.kind;
  add_machine(more.fingerprint, measured);
  measured.launches += more.launches;
  for (const auto& [name, series] : more.series) {
    MetricSeries& own = measured.series[name];
    own.unit = series.unit;
    own.better = series.better;
    own.kind = series.kind;
    own.launches.insert(own.launches.end(), series.launches.begin(), series.launches.end());
  }
  measured.not_good.insert(more.not_good.begin(), more.not_good.end());
}

}  // namespace thinpipe
