#include "harness/job/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/input_file.h"
#include "base/machine_load.h"
#include "base/statistics.h"
#include "base/units.h"
#include "base/visible.h"
#include "harness/launch/thresholds.h"
#include "harness/machine/fingerprint.h"
#include "harness/sweep/measure.h"
#include "harness/sweep/samples.h"
#include "netem/sandbox.h"
#include "netem/topology/flows.h"
#include "workloads/replay/bucketing.h"

namespace thinpipe {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxLine = 1 << 16;  // bytes

// The metrics that a rank may report.
constexpr MetricType kReported[] = {
    "step_time"_metric,     "compress_time"_metric, "exchange_time"_metric, "decode_time"_metric,
    "payload_bytes"_metric, "dense_bytes"_metric,   "quality"_metric};

using Step = std::map<std::string, double>;  // metrics by name

// Takes one line of a rank's file. Returns what is wrong with it, or "".
std::string take_line(const std::string_view line, std::vector<Step>& steps, JobSteps& job) {
  const json report = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!report.is_object()) return "expected a JSON object";
  Step step;
  for (const auto& item : report.items()) {
    const std::string& name = item.key();
    const json& value = item.value();
    if (name == "compressor" || name == "collective") {
      if (!value.is_string()) return name + ": expected a string";
      (name == "compressor" ? job.compressor : job.collective) = value.get<std::string>();
      continue;
    }
    if (std::none_of(std::begin(kReported), std::end(kReported),
                     [&](const MetricType& metric) { return name == metric.name; }))
      return fmt::format("{}: unknown; expected one of {}", name, [] {
        std::string names;
        for (const MetricType& metric : kReported)
          names += (names.empty() ? "" : ", ") + std::string(metric.name);
        return names;
      }());
    if (!value.is_number() || !(value.get<double>() >= 0) || !std::isfinite(value.get<double>()))
      return name + ": expected a number of at least 0";
    step[name] = value.get<double>();
  }
  if (!step.empty()) steps.push_back(std::move(step));
  return "";
}

std::vector<Step> read_rank(const std::filesystem::path& file, JobSteps& job) {
  std::vector<Step> steps;
  InputLines lines(InputFile(file, "steps of a job"), kMaxLine);
  while (lines.next()) {
    if (!lines.finished()) break;  // the rank ended while it wrote
    const std::string error = take_line(lines.line(), steps, job);
    if (!error.empty()) {
      job.errors.push_back(fmt::format("${}/{} line {}: {}", kStepsVariable,
                                       file.filename().string(), lines.number(), error));
      break;
    }
  }
  return steps;
}

// Returns the metric of one step over all ranks; NaN where no rank has it.
double over_ranks(const MetricType& metric, const std::vector<std::vector<Step>>& ranks,
                  std::size_t step) {
  double sum = 0, most = 0, count = 0;
  for (const std::vector<Step>& rank : ranks) {
    const auto found = rank[step].find(metric.name);
    if (found == rank[step].end()) continue;
    sum += found->second;
    most = std::max(most, found->second);
    ++count;
  }
  if (count == 0) return std::numeric_limits<double>::quiet_NaN();
  return std::string_view(metric.unit) == "s" ? most : sum / count;
}

// Sets the axes by the canonical text of a compressor. Another text, such as the name of a hook
// that is not thinpipe's, stays as it is.
void set_compressor(const std::string& text, Axes& axes) {
  axes.compressor = axes.method = text;
  try {
    const CompressorRules rules = CompressorRules::parse(text);
    axes.compressor = rules.to_string();
    axes.method = rules.method();
  } catch (const InputError&) {
  }
}

// Returns the normal form of a compressor's text, or another text as it is.
std::string normal_compressor(const std::string& text) {
  try {
    return CompressorRules::parse(text).normal().to_string();
  } catch (const InputError&) {
    return text;
  }
}

json hosts_json(const ProgramNetwork& programs, const WireCount& wire) {
  json hosts = json::array();
  for (std::size_t i = 0; i < wire.sent_by.size(); ++i)
    hosts.push_back({{"host", programs.planned().hosts[i].name},
                     {"sent_bytes", wire.sent_by[i]},
                     {"received_bytes", wire.received_by[i]},
                     {"dropped_frames", wire.drops_by[i]},
                     {"tcp_segments", wire.segments_by[i]},
                     {"tcp_retransmitted", wire.retransmitted_by[i]}});
  return hosts;
}

std::string step_line(const Point& point, std::size_t warmup) {
  const std::vector<double> times = point.samples("step_time"_metric);
  if (times.empty())
    return fmt::format(
        "Step time: unknown, because no rank reported steps after {} of warm-up; see docs/exec.md, "
        "\"Steps of a job\".",
        warmup);
  return fmt::format("Step time: {} (median of {} steps after {} of warm-up).",
                     format_time(median(times)), times.size(), warmup);
}

std::string verdict_line(const Point& point) {
  const std::optional<double>& idle = point.fidelity->idle_cpu;
  const std::string cpu = idle ? fmt::format("CPU idle time {:.0f} %. ", 100 * *idle) : "";
  if (point.status == Status::kOk) return cpu + "The measurement is valid.";
  return cpu + fmt::format("The measurement is {}: {}.", status_name(point.status),
                           fmt::join(point.reasons, "; "));
}

}  // namespace

JobSteps read_steps(const std::filesystem::path& folder, int ranks, std::size_t warmup) {
  JobSteps job;
  std::vector<std::vector<Step>> reported;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::filesystem::path file = folder / std::to_string(rank);
    std::error_code none;
    if (!std::filesystem::exists(file, none)) continue;
    try {
      reported.push_back(read_rank(file, job));
    } catch (const InputError& error) {
      job.errors.emplace_back(error.what());
    }
  }
  std::size_t steps = reported.empty() ? 0 : reported[0].size();
  for (const std::vector<Step>& rank : reported) steps = std::min(steps, rank.size());
  for (const MetricType& metric : kReported) {
    std::vector<double> samples;
    for (std::size_t step = warmup; step < steps; ++step)
      samples.push_back(over_ranks(metric, reported, step));
    if (std::any_of(samples.begin(), samples.end(), [](double one) { return std::isfinite(one); }))
      put(job.metrics, metric, std::move(samples));
  }
  return job;
}

Job::Job(const JobOptions& options, const ProgramNetwork& programs, EmulatedMachines& machines,
         const Sandbox& sandbox)
    : options_(options),
      programs_(programs),
      machines_(machines),
      steps_(std::filesystem::path(sandbox.scratch) / "steps") {
  if (!options.out.empty()) {
    writer_ = std::make_unique<RecordWriter>(options.out, RecordWriter::Mode::kResume);
    writer_->require_kind(kJobKind);
  }
  std::filesystem::create_directory(steps_);
  look_for_other_runs();
  calibrate();
  setenv(kStepsVariable, steps_.c_str(), 1);
}

void Job::calibrate() {
  const LinkSpec& link = programs_.point().link;
  try {
    if (options_.calibrate)
      calibrator_.calibrate(machines_, link, /*time_scale=*/1, /*launch=*/nullptr);
    else
      calibrator_.skip(machines_, link, /*time_scale=*/1, "skipped by --no-calibration");
  } catch (const RunError&) {  // no traffic passed, or a stop was requested
  }
  calibrated_ = calibrator_.find(machines_, link, /*time_scale=*/1);
  if (calibrated_ != nullptr && !options_.quiet)
    print_message("thinpipe: " + calibrated_->to_string());
}

void Job::begin() {
  started_ = created_now();
  watch_.emplace();
}

Point Job::described(const JobSteps& steps, const ScheduleLog& schedule,
                     const ProgramTraffic& traffic) const {
  const SweepPoint& planned = programs_.point();
  Point point;
  point.started = started_;
  set_compressor(options_.compressor.empty() ? steps.compressor : options_.compressor, point.axes);
  point.axes.collective = steps.collective;
  point.axes.link = planned.link_text();
  point.axes.rate = planned.link.rate();
  point.axes.delay = planned.link.delay();
  point.axes.ranks = planned.ranks;
  point.axes.topology = programs_.spec().to_string();
  point.metrics = steps.metrics;
  put(point.metrics, "job_time"_metric, {traffic.seconds});
  put(point.metrics, "job_bytes"_metric, {static_cast<double>(traffic.wire.sent) / planned.ranks});
  json details = {{"hosts", hosts_json(programs_, traffic.wire)}};
  if (!traffic.wire.trunks.empty()) details["trunks"] = trunks_json(traffic.wire);
  if (schedule.plays()) details["schedule"] = schedule.record();
  point.details = Document(std::move(details));
  return point;
}

void Job::judge(const JobSteps& steps, const ScheduleLog& schedule,
                const std::vector<std::string>& of_links, const Disturbance& disturbance,
                const ProgramTraffic& traffic, Point& point) {
  PointSamples samples;  // without steps, which only thinpipe's own ranks have
  set_goodput(calibrated_, samples);
  const LinkSpec& link = programs_.point().link;
  samples.frame_bytes = link.frame_bytes();
  samples.payload_bytes = link.payload_bytes();
  samples.idle_cpu = disturbance.idle;
  samples.lossless = !disturbs(programs_.planned());
  samples.wire = traffic.wire;
  const std::vector<double> times = point.samples("step_time"_metric);
  const double late_limit =
      std::max(kLateSeconds, times.empty() ? 0.0 : kLateShare * median(times));
  point.reasons = warnings_about(samples);
  if (std::string late = late_warning(disturbance.late_p95, late_limit); !late.empty())
    point.reasons.push_back(std::move(late));
  point.reasons.insert(point.reasons.end(), of_links.begin(), of_links.end());
  point.reasons.insert(point.reasons.end(), steps.errors.begin(), steps.errors.end());
  if (!point.reasons.empty()) point.status = Status::kInvalid;
  point.fidelity = fidelity_of(samples, programs_.point(),
                               {programs_.planned(), schedule, calibrated_, /*one_clock=*/true});
  look_for_other_runs();
  if (shared_) mark_shared(options_.share_machine, point);
}

void Job::finish(ScheduleLog& schedule, const ProgramTraffic& traffic, int code) {
  const Disturbance disturbance = watch_->stop();
  if (!options_.quiet) print_traffic(programs_, traffic);
  if (stop_requested()) return;
  const JobSteps steps = read_steps(steps_, programs_.point().ranks, options_.warmup);
  // This ends the schedule, so it comes first.
  const std::vector<std::string> of_links = link_warnings(calibrated_, machines_, schedule);
  Point point = described(steps, schedule, traffic);
  judge(steps, schedule, of_links, disturbance, traffic, point);
  if (code != 0) {
    point.status = Status::kFailed;
    point.reasons = {fmt::format("the job ended with exit code {}", code)};
  }
  if (!options_.quiet) {
    if (point.status != Status::kFailed) print_message(step_line(point, options_.warmup));
    print_message(verdict_line(point));
  }
  if (writer_) record(std::move(point));
}

void Job::record(Point point) {
  const Axes& axes = point.axes;
  const std::string rest = fmt::format("|{}|{}|{}{}", axes.link, axes.ranks, axes.collective,
                                       programs_.spec().is_star() ? "" : "|" + axes.topology);
  point.id = axes.compressor + rest;
  point.normal_id = normal_compressor(axes.compressor) + rest;
  Header header = network_header({.kind = kJobKind, .command = options_.command}, nullptr,
                                 machines_, nullptr, calibrator_);
  header.created = point.started;
  header.settings = Document({{"program", options_.program}, {"warmup", options_.warmup}});
  writer_->append(header);
  writer_->append(point);
}

}  // namespace thinpipe
