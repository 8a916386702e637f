#include "harness/train/train_work.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"
#include "harness/sweep/expected_time.h"
#include "harness/sweep/lines.h"
#include "harness/sweep/measure.h"
#include "harness/sweep/patience.h"
#include "harness/sweep/point_record.h"
#include "harness/sweep/samples.h"
#include "harness/sweep/schedule_log.h"
#include "harness/train/train_point.h"
#include "netem/time_scale.h"
#include "reports/record/record.h"

namespace thinpipe {

using nlohmann::json;

namespace {

json one_metric(const char* unit, const char* better, const char* kind,
                std::vector<double> samples) {
  return metric_json({unit, better, kind, std::move(samples)});
}

}  // namespace

json TrainWork::settings() const { return settings_of(options_); }

void TrainWork::complete_header(json& header) const {
  header["kind"] = kTrainKind;
  header["training"] = {
      {"options", options_.learner.to_json()},
      {"steps", options_.sweep.steps},
      {"data", model_.data},
      {"compute",
       {{"forward", model_.times.forward},
        {"backward", model_.times.backward},
        {"measured_steps", model_.measured}}},
      {"figure", options_.perplexity() ? "perplexity" : "accuracy"},
      {"target", options_.target ? json(options_.target->to_string()) : json(nullptr)}};
}

void TrainWork::complete_point(const SweepPoint& point, json& record) const {
  record["axes"]["seed"] = seed_of(point, options_);
}

// Ranks compute for real as well, on the cores of this machine.
double TrainWork::expected_seconds(const SweepPoint& point) const {
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  const double steps = static_cast<double>(options_.sweep.steps);
  const double emulated = thinpipe::expected_seconds(point, trace_, options_.sweep);
  const double real = std::max(1.0, point.ranks / cores) * model_.times.compute() * steps;
  const double evaluations = steps / static_cast<double>(options_.eval_every);
  return 2 + emulated + real + evaluations * model_.evaluation;
}

json TrainWork::measure(const SweepPoint& point, Machines& machines, Launch& launch,
                        const Calibrator& calibrator, const PointProgress& progress) {
  json record = describe(point, options_.sweep);
  complete_point(point, record);
  const Meter meter(machines, trace_, options_.sweep, calibrator);
  const Topology planned =
      slowed(options_.sweep.topology.plan(machines.size(), point.link), point.time_scale);
  const CalibratedLink* calibrated = calibrator.find(machines, point.link, point.time_scale);
  PointSamples samples = meter.no_samples(point, planned, calibrated, launch);
  const double total = expected_seconds(point);
  const PointProgress share = {[&](double part) { progress.advance(part * total); },
                               progress.describe};
  TrainPoint training(
      point, options_, model_, machines, launch,
      step_patience(point, planned, trace_, options_.sweep.compute_scale, options_.sweep.patience),
      samples, share);
  ScheduleLog schedule(machines, point, ScheduleLog::Between::kStands);  // sets the links
  try {
    training.prepare();
    training.run(schedule);
  } catch (const WorkerRefusal& refusal) {
    record = meter.failure(point, refusal.what());
    complete_point(point, record);
    return record;
  }
  const std::vector<std::string> reasons = meter.doubts(samples, calibrated, schedule);
  record["status"] = reasons.empty() ? "ok" : "invalid";
  record["reasons"] = reasons;
  add_trained(training, samples, record);
  if (!samples.answers.empty())
    record["fidelity"] = fidelity_of(
        samples, point, {planned, schedule, calibrated, launch.rank_machines().empty()});
  if (!point.schedule.empty()) record["schedule"] = schedule.record();
  return record;
}

json TrainWork::metrics_of(const TrainPoint& trained) const {
  const TrainSeries& series = trained.series();
  json metrics;
  metrics["step_time"] = one_metric("s", "lower", "timed", series.seconds);
  metrics["payload_bytes"] = one_metric("B", "lower", "exact", series.bytes);
  if (std::any_of(series.pulled.begin(), series.pulled.end(), [](double one) { return one > 0; }))
    metrics["pull_bytes"] = one_metric("B", "lower", "exact", series.pulled);
  metrics["dense_bytes"] =
      one_metric("B", "lower", "exact", {4 * static_cast<double>(model_.elements())});
  metrics["train_seconds"] =
      one_metric("s", "lower", "timed", {series.seconds_after(series.steps())});
  metrics["train_bytes"] = one_metric("B", "lower", "exact", {series.bytes_after(series.steps())});
  if (!series.held_out.empty()) {
    const HeldOut& last = series.held_out.back();
    metrics["final_loss"] = one_metric("1", "lower", "quality", {last.loss});
    if (options_.perplexity())
      metrics["final_perplexity"] = one_metric("1", "lower", "quality", {last.figure});
    else
      metrics["final_accuracy"] = one_metric("1", "higher", "quality", {last.figure});
  }
  if (!options_.target) return metrics;
  if (const HeldOut* reached = series.reaching(*options_.target)) {
    metrics["target_steps"] =
        one_metric("1", "lower", "quality", {static_cast<double>(reached->steps)});
    metrics["target_seconds"] =
        one_metric("s", "lower", "timed", {series.seconds_after(reached->steps)});
    metrics["target_bytes"] =
        one_metric("B", "lower", "exact", {series.bytes_after(reached->steps)});
  }
  return metrics;
}

void TrainWork::add_trained(const TrainPoint& trained, const PointSamples& samples,
                            json& record) const {
  record["metrics"] = metrics_of(trained);
  record["training"] = trained.series().record(options_.perplexity());
  record["training"]["digest"] = trained.digest();
  record["training"]["resumed"] = trained.resumed();
  record["validation"] = validation_of(samples);
}

std::string TrainWork::outcome(const SweepPoint& point, const json& record) const {
  std::string line = fmt::format(
      "{:<7} {} x {} on {}, seed {}", record.at("status").get<std::string>(), point.ranks,
      point.compressor.to_string(), link_line(point.link), seed_of(point, options_));
  if (point.pattern.name != "ring") line += " by " + point.pattern.to_string();
  if (!point.feed.is_default()) line += ", " + point.feed.to_string();
  if (record.contains("metrics")) {
    const json& metrics = record.at("metrics");
    const auto value = [&](const char* name) {
      return metrics.at(name).at("samples").at(0).get<double>();
    };
    if (metrics.contains("final_accuracy"))
      line += fmt::format(": accuracy {:.2f} %", 100 * value("final_accuracy"));
    if (metrics.contains("final_perplexity"))
      line += fmt::format(": perplexity {:.4g}", value("final_perplexity"));
    line += fmt::format(" after {}", format_time(value("train_seconds")));
    if (metrics.contains("target_seconds"))
      line += fmt::format(", {} after {}", options_.target->to_string(),
                          format_time(value("target_seconds")));
  }
  const auto reasons = record.at("reasons").get<std::vector<std::string>>();
  for (const std::string& reason : reasons) line += "; " + reason;
  return line;
}

}  // namespace thinpipe
