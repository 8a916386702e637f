// A training run: trains every compressor on every link with every seed to the end, and records
// each point.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/input_file.h"
#include "base/output_file.h"
#include "base/units.h"
#include "harness/plan/checks.h"
#include "harness/sweep/measure.h"
#include "harness/sweep/schedule_log.h"
#include "harness/sweep/sweep.h"
#include "harness/train/checkpoint.h"
#include "harness/train/options.h"
#include "harness/train/train_point.h"
#include "reports/record/reader.h"
#include "reports/record/record.h"
#include "workloads/trace/json_fields.h"
#include "workloads/trace/trace.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Work of a training run at the points of a session.
class TrainWork : public PointWork {
 public:
  /// @param trace  of the model's parameters and times
  TrainWork(const TrainOptions& options, const ModelDescription& model, const Trace& trace)
      : options_(options), model_(model), trace_(trace) {}

  const char* program() const override { return "thinpipe-train-worker"; }
  json settings() const override { return settings_of(options_); }
  void complete_header(Header& header) const override {
    header.kind = kTrainKind;
    json training = {
        {"options", options_.learner.to_json()},
        {"steps", options_.sweep.steps},
        {"data", model_.data},
        {"compute",
         {{"forward", model_.times.forward},
          {"backward", model_.times.backward},
          {"measured_steps", model_.measured}}},
        {"figure", options_.perplexity() ? "perplexity" : "accuracy"},
        {"target", options_.target ? json(options_.target->to_string()) : json(nullptr)}};
    if (model_.chance) training["chance"] = *model_.chance;
    header.training = Document(std::move(training));
  }
  void complete_axes(const SweepPoint& planned, Axes& axes) const override {
    axes.seed = seed_of(planned, options_);
  }
  // Adds the time in which ranks really compute, on the cores of this machine.
  double expected_seconds(const SweepPoint& point) const override {
    const double cores = std::max(1U, std::thread::hardware_concurrency());
    const double steps = static_cast<double>(options_.sweep.steps);
    const double emulated = thinpipe::expected_seconds(point, trace_, options_.sweep);
    const double real = std::max(1.0, point.ranks / cores) * model_.times.compute() * steps;
    const double evaluations = steps / static_cast<double>(options_.eval_every);
    return 2 + emulated + real + evaluations * model_.evaluation;
  }
  Point measure(const SweepPoint& planned, Machines& machines, Launch& launch,
                const Calibrator& calibrator, const PointProgress& progress) override {
    Point point = describe(planned, options_.sweep);
    const Meter meter(machines, trace_, options_.sweep, calibrator);
    const Topology network = meter.network_of(planned, launch);
    const CalibratedLink* calibrated = calibrator.find(machines, planned.link, planned.time_scale);
    PointSamples samples = meter.no_samples(planned, network, calibrated, launch);
    const double total = expected_seconds(planned);
    const PointProgress scaled = {[&](double fraction) { progress.advance(fraction * total); },
                                  progress.describe, progress.shared};
    const double timeout = step_timeout(planned, network, trace_, options_.sweep.compute_scale,
                                        options_.sweep.timeout);
    ScheduleLog schedule(machines, planned, ScheduleLog::Between::kStands);  // sets the links
    Trained trained;
    try {
      trained = train_point(
          {planned, options_, model_, machines, launch, timeout, samples, scaled, schedule});
    } catch (const WorkerRefusal& refusal) {
      point = failed_point(planned, options_.sweep, refusal.what());
      complete_axes(planned, point.axes);
      return point;
    } catch (const Diverged& diverged) {
      point = failed_point(planned, options_.sweep, diverged.what());
      point.diverged = true;
      complete_axes(planned, point.axes);
      return point;
    }
    complete_axes(planned, point.axes);
    point.reasons = meter.warnings(samples, calibrated, schedule);
    for (const std::string& warning : trained.warnings)
      point.reasons.push_back("before the training was resumed: " + warning);
    point.status = point.reasons.empty() ? Status::kOk : Status::kInvalid;
    point.metrics = metrics_of(trained.series);
    json curves = trained.series.record(options_.perplexity());
    curves["digest"] = trained.digest;
    curves["resumed"] = trained.resumed;
    point.training = Document(std::move(curves));
    point.validation = Document(validation_of(samples));
    if (!samples.steps.empty())
      point.fidelity = fidelity_of(samples, planned,
                                   {network, schedule, calibrated, launch.rank_machines().empty()});
    if (!planned.schedule.empty()) {
      json details = {{"schedule", schedule.record()}};
      point.details = Document(std::move(details));
    }
    if (trained.shared) mark_shared(options_.sweep.share_machine, point);
    return point;
  }
  void recorded(const SweepPoint& planned) override {
    Checkpoints(options_.sweep.out, planned.id(options_.sweep)).remove();
  }
  std::string outcome(const SweepPoint& planned, const Point& point) const override {
    std::string line =
        fmt::format("{:<7} {} x {} on {}, seed {}", status_name(point.status), planned.ranks,
                    planned.compressor.to_string(), link_line(planned.link), point.axes.seed);
    if (planned.collective.name != "ring") line += " by " + planned.collective.to_string();
    if (!planned.bucketing.is_default()) line += ", " + planned.bucketing.to_string();
    const auto tell = [&](const MetricType& metric, const auto& words) {
      if (const std::vector<double> values = point.samples(metric); !values.empty())
        line += words(values.front());
    };
    tell("final_accuracy"_metric,
         [](double fraction) { return fmt::format(": accuracy {:.2f} %", 100 * fraction); });
    tell("final_perplexity"_metric,
         [](double found) { return fmt::format(": perplexity {:.4g}", found); });
    tell("train_seconds"_metric, [](double seconds) { return " after " + format_time(seconds); });
    tell("target_seconds"_metric, [&](double seconds) {
      return fmt::format(", {} after {}", options_.target->to_string(), format_time(seconds));
    });
    for (const std::string& reason : point.reasons) line += "; " + reason;
    return line;
  }

 private:
  Metrics metrics_of(const TrainSeries& series) const {
    Metrics metrics;
    put(metrics, "step_time"_metric, series.seconds);
    put(metrics, "payload_bytes"_metric, series.bytes);
    if (std::any_of(series.pulled.begin(), series.pulled.end(), [](double one) { return one > 0; }))
      put(metrics, "pull_bytes"_metric, series.pulled);
    if (!series.quality.empty()) put(metrics, "quality"_metric, series.quality);
    put(metrics, "dense_bytes"_metric, {4 * static_cast<double>(model_.elements())});
    put(metrics, "train_seconds"_metric, {series.seconds_after(series.steps())});
    put(metrics, "train_bytes"_metric, {series.bytes_after(series.steps())});
    if (!series.held_out.empty()) {
      const HeldOut& last = series.held_out.back();
      put(metrics, "final_loss"_metric, {last.loss});
      put(metrics, options_.perplexity() ? "final_perplexity"_metric : "final_accuracy"_metric,
          {last.figure});
    }
    if (!options_.target) return metrics;
    if (const HeldOut* reached = series.reaching(*options_.target)) {
      put(metrics, "target_steps"_metric, {static_cast<double>(reached->steps)});
      put(metrics, "target_seconds"_metric, {series.seconds_after(reached->steps)});
      put(metrics, "target_bytes"_metric, {series.bytes_after(reached->steps)});
    }
    return metrics;
  }

  const TrainOptions& options_;
  const ModelDescription& model_;
  const Trace& trace_;
};

// Includes the compute time if it is given, because the description then has it.
std::string description_identity(const TrainOptions& options) {
  return training_identity(options.learner) +
         (options.compute_time ? fmt::format("|compute {} s", *options.compute_time) : "");
}

fs::path model_file(const TrainOptions& options) { return options.sweep.out / "model.json"; }

// Returns the description that the resumed run was started with; nothing for a new run.
std::optional<ModelDescription> described_before(const TrainOptions& options) {
  constexpr std::uint64_t kMaxBytes = 1 << 26;  // a hundred thousand tensors
  if (!options.sweep.resume || !fs::exists(model_file(options))) return std::nullopt;
  const std::string file = model_file(options).string();
  try {
    const json kept =
        parse_json_strictly(read_input(file, "the model of a training", kMaxBytes), file);
    const JsonField field(kept, file);
    if (field.at("identity").string() != description_identity(options)) return std::nullopt;
    return ModelDescription::from_json(field.at("model"));
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("{}; restore the file, or remove it to measure again how long a step computes",
                    error.what()));
  }
}

// Returns the points of this shard that the records do not have.
std::vector<SweepPoint> missing_points(const SweepOptions& options,
                                       const std::set<std::string>& finished) {
  std::vector<SweepPoint> points = plan_sweep(options);
  std::erase_if(points, [&](const SweepPoint& point) {
    return point.is_in(finished, options) ||
           !in_shard(point.normal_id(options), options.shard, options.shards);
  });
  return points;
}

// Checks the checkpoints that a run resumes from before anything is started for it.
void check_checkpoints(const TrainOptions& options, const std::set<std::string>& finished) {
  if (!options.sweep.resume) return;
  for (const SweepPoint& point : missing_points(options.sweep, finished))
    Checkpoints(options.sweep.out, point.id(options.sweep))
        .check_last(identity_of(point, options), point.hosts());
}

Records records_there(const TrainOptions& options) {
  if (!fs::exists(options.sweep.out / kRecordFileName)) return {};
  return read_records(options.sweep.out);
}

// Checks before anything is trained that every missing point captures a step, and that its trace
// can be written.
void check_captures(const TrainOptions& options, const std::set<std::string>& finished) {
  if (options.capture.empty()) return;
  if (options.capture_every > options.sweep.steps)
    throw InputError(
        fmt::format("--capture-every {}: a training of {} steps would capture none; expected at "
                    "most {}",
                    options.capture_every, options.sweep.steps, options.sweep.steps));
  for (const SweepPoint& point : missing_points(options.sweep, finished))
    check_capture_folder(capture_folder(options, point.id(options.sweep)), options.sweep.resume);
}

void keep_description(const TrainOptions& options, const ModelDescription& model) {
  std::error_code failure;
  fs::create_directories(options.sweep.out, failure);
  const json kept = {{"identity", description_identity(options)}, {"model", model.to_json()}};
  write_output(model_file(options), kept.dump(1) + "\n");
}

}  // namespace

int run_train(TrainOptions options) {
  // For what all points have in common; learner_of() decides for one point.
  options.learner.squares =
      std::any_of(options.sweep.compressors.begin(), options.sweep.compressors.end(), need_squares);
  options.learner = parse_learner_options(options.learner.to_json());
  // Before anything is computed or written. check_sweep() makes all checks, but needs the model.
  check_on_device(options.sweep);
  check_fragments(options.sweep);
  check_collectives(options.sweep);
  check_time_scales(options.sweep);
  const Records before = records_there(options);
  // Checked before model.json is written, which a refused run must not change.
  if (options.sweep.resume) check_same_settings(before, options.sweep, settings_of(options));
  check_checkpoints(options, before.finished_ids());
  check_captures(options, before.finished_ids());
  std::optional<ModelDescription> model = described_before(options);
  if (!model) model = describe_model(options.learner, !options.compute_time);
  if (options.compute_time) model->set_compute_time(*options.compute_time);
  const int workers = *std::max_element(options.sweep.ranks.begin(), options.sweep.ranks.end());
  const GivenGradients given(given_description(*model, options.learner, workers));
  if (options.sweep.resume) check_same_trace(before, given.trace());
  // Records without a launch are of a training that ended before its first point did.
  if (options.sweep.resume || before.headers.empty()) keep_description(options, *model);
  TrainWork work(options, *model, given.trace());
  check_sweep(options.sweep, given.trace());
  const int code = run_sweep(options.sweep, given.trace(), &work);
  // Recorded points need no checkpoints any more.
  for (const std::string& id : records_there(options).finished_ids())
    Checkpoints(options.sweep.out, id).remove();
  return code;
}

}  // namespace thinpipe
