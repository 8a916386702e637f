#include "harness/train/train_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "harness/sweep/measure.h"
#include "harness/sweep/time_scaling.h"
#include "harness/train/checkpoint.h"
#include "netem/sandbox.h"
#include "workloads/capture/optimiser_spec.h"
#include "workloads/trace/trace_format.h"
#include "workloads/trace/trace_writer.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kComputeTimeout = 600;  // s: a mini-batch, all ranks on this machine's cores
constexpr double kGrace = 15;            // s to end the step after a stop was requested

TraceDescription description_of(const SweepPoint& point, const TrainOptions& options,
                                const ModelDescription& model, bool updates) {
  TraceDescription trace;
  trace.model = options.learner.model;
  trace.origin = kOriginTraining;
  trace.tensors = model.tensors;
  trace.ranks = static_cast<std::size_t>(point.ranks);
  trace.squares = need_squares(point.compressor);
  trace.updates = updates;
  trace.provenance = {
      {"program", "thinpipe train"},
      {"training", learner_of(point, options).to_json()},
      {"data", model.data},
      {"compressor", point.compressor.to_string()},
      {"collective", point.collective.to_string()},
      {"bucketing", point.bucketing.to_string()},
      {"every", options.capture_every},
      {"timing", model.measured > 0
                     ? "medians of steps that one worker computed alone, the same in every step"
                     : "given on the command line, the same in every step"}};
  return trace;
}

double mean_of(const std::vector<WorkerStep>& workers, std::size_t WorkerStep::*member) {
  double sum = 0;
  for (const WorkerStep& worker : workers) sum += static_cast<double>(worker.*member);
  return sum / static_cast<double>(workers.size());
}

// Drops the timelines, which would fill the memory in a long training. Warnings need the rest.
StepAnswers slim(StepAnswers step) {
  for (WorkerStep& worker : step.workers) worker.timeline = {};
  for (ServerStep& server : step.servers) server.served = {};
  return step;
}

// Writes a trace of the workers' gradients during a training run. Every rank writes its gradient to
// a file (the message `dump`), and take() collects the files of a step. Does nothing for a run that
// captures nothing.
class CaptureWriter {
 public:
  CaptureWriter(const SweepPoint& point, const TrainOptions& options, const ModelDescription& model)
      : point_(point), options_(options), model_(model) {
    if (options.capture.empty()) return;
    folder_ = capture_folder(options, point.id(options.sweep));
    // A training that was killed left an unfinished trace, and resumes behind its steps.
    std::error_code none;
    if (options.sweep.resume && !fs::exists(folder_ / kTraceFile)) fs::remove_all(folder_, none);
  }
  // Removes the ranks' files; a trace that was not finished removes itself.
  ~CaptureWriter() {
    std::error_code none;
    if (!passing_.empty()) fs::remove_all(passing_, none);
  }
  CaptureWriter(const CaptureWriter&) = delete;
  CaptureWriter& operator=(const CaptureWriter&) = delete;

  bool wants(std::uint64_t step) const {
    return !folder_.empty() && (step + 1) % options_.capture_every == 0;
  }
  // Returns the folder for the ranks' files; makes it in the first call.
  const fs::path& folder() {
    if (passing_.empty()) {
      passing_ = folder_.string() + ".passing";
      std::error_code failure;
      fs::create_directories(passing_, failure);
      if (failure) throw SystemError("create folder " + passing_.string(), failure.value());
    }
    return passing_;
  }
  // Reads the ranks' files. @param losses  by worker  @param updates  ranks take local steps
  void take(std::uint64_t step, const std::vector<double>& losses, bool updates) {
    if (!writer_) writer_.emplace(folder_, description_of(point_, options_, model_, updates));
    const auto spans = [&](const std::vector<float>& values) {
      std::vector<std::span<const float>> all;
      std::size_t at = 0;
      for (const TraceTensor& tensor : model_.tensors) {
        all.push_back(std::span(values).subspan(at, tensor.elements));
        at += tensor.elements;
      }
      return all;
    };
    for (int rank = 0; rank < point_.ranks; ++rank) {
      const std::vector<float> values = read("gradient", rank);
      std::vector<float> squares;
      std::vector<std::span<const float>> parts;
      if (need_squares(point_.compressor)) {
        squares = read("squares", rank);
        parts = spans(squares);
      }
      TraceStepTimes times = model_.times;
      times.loss = losses.at(static_cast<std::size_t>(rank));
      writer_->add(step, static_cast<std::size_t>(rank), times, spans(values), parts);
    }
  }
  void finish() {
    if (writer_) writer_->finish();
  }

 private:
  std::vector<float> read(const char* what, int rank) const {
    const fs::path file = passing_ / fmt::format("{}-{}", what, rank);
    std::vector<float> values(model_.elements());
    std::ifstream stream(file, std::ios::binary);
    const auto bytes = static_cast<std::streamsize>(values.size() * sizeof(float));
    if (!stream.read(reinterpret_cast<char*>(values.data()), bytes))
      throw SystemError("read " + file.string());
    return values;
  }

  const SweepPoint& point_;
  const TrainOptions& options_;
  const ModelDescription& model_;
  fs::path folder_, passing_;
  std::optional<TraceWriter> writer_;
};

// Trains one point from its first step, or from its last checkpoint, to its last step.
class TrainPoint : TrainJob {
 public:
  explicit TrainPoint(const TrainJob& job)
      : TrainJob(job),
        checkpoints_(options.sweep.out, point.id(options.sweep)),
        capture_(point, options, model),
        idle_(!launch.rank_machines().empty()),
        plateau_(RateSchedule::parse(options.learner.schedule, options.learner.steps).plateau()),
        identity_(identity_of(point, options)) {}

  // Has the ranks make their learners and compressors, and restore the last checkpoint, if any.
  void prepare() {
    json message = prepare_message(point, options.sweep);
    message["seed"] = seed_of(point, options);
    message["epochs_a_step"] = model.epochs_a_step * point.ranks;
    message["training"] = {{"model", model.to_json()},
                           {"learner", learner_of(point, options).to_json()}};
    const auto prepared = launch.ask(message, kPrepareTimeout);
    for (const json& one : prepared)
      period_ = std::max(period_, one.at("period").get<std::uint64_t>());
    steps_ = (options.sweep.steps + period_ - 1) / period_ * period_;
    next_evaluation_ = options.eval_every;
    samples.period = 1;
    restore();
  }

  // Takes all remaining steps.
  Trained run() {
    wire_before_ = machines.count_wire(point.hosts());
    const std::uint64_t first = series_.steps();
    schedule.begin_at(series_.seconds_after(first));
    for (std::uint64_t step = first; step < steps_; ++step) {
      take_step(step);
      const bool whole = ends_period(step);
      if (whole && (step + 1 >= next_evaluation_ || step + 1 == steps_)) evaluate(step + 1);
      const std::uint64_t every = options.checkpoint_every;
      const bool stop = stop_requested();
      // Checkpoints are made after exchanges only, so a stop waits for the next exchange.
      const bool due = every > 0 && (step + 1) / every > (step + 1 - period_) / every;
      if (whole && (stop || (due && step + 1 < steps_))) save(step + 1);
      if (whole && stop) throw RunError("interrupted");
      progress.advance(1 / static_cast<double>(steps_));
    }
    count_machine();
    capture_.finish();
    return {std::move(series_), std::move(digest_), std::move(resumed_), std::move(warnings_),
            shared_};
  }

 private:
  // After a stop was requested, ranks have kGrace s to reach a step at which a checkpoint can be
  // made.
  std::vector<json> ask(const json& message, double seconds) {
    return launch.ask(message, seconds, kGrace);
  }

  void restore() {
    if (!options.sweep.resume) return checkpoints_.remove();
    const auto last = checkpoints_.last();
    if (!last) return;
    const json saved = checkpoints_.point_of(*last);
    ask({{"do", "restore"}, {"folder", last->folder.string()}, {"id", identity_}}, kPrepareTimeout);
    series_ = TrainSeries::from_json({saved.at("series"), last->folder.string(), "series"});
    samples.worst_error = saved.at("worst_error");
    samples.checked_steps = saved.at("checked_steps");
    digest_ = saved.at("digest");
    resumed_ = saved.at("resumed").get<std::vector<std::uint64_t>>();
    resumed_.push_back(series_.steps());
    warnings_ = saved.value("warnings", std::vector<std::string>());
    if (saved.contains("sum_error")) {  // not in checkpoints of older builds
      if (saved["sum_error"].is_number()) samples.sum_error = saved["sum_error"].get<double>();
      samples.sum_error_of_bound = saved.at("sum_error_of_bound");
      shared_ = saved.at("shared");
    }
    while (next_evaluation_ <= series_.steps()) next_evaluation_ += options.eval_every;
  }

  void save(std::uint64_t next_step) {
    const auto folder = checkpoints_.begin(next_step);
    ask({{"do", "save"}, {"folder", folder.string()}, {"step", next_step}, {"id", identity_}},
        kComputeTimeout);
    count_machine();
    std::vector<std::string> all = warnings_;
    for (std::string& warning : warnings_about(samples)) all.push_back(std::move(warning));
    for (std::string& warning : schedule.warnings()) all.push_back(std::move(warning));
    if (!schedule.plays())  // links that change by a schedule are compared at its end
      for (const std::string& changed : machines.drift())
        all.push_back("another program changed the links during the measurement: " + changed);
    shared_ = shared_ || (progress.shared && progress.shared());
    checkpoints_.finish(
        next_step, {{"series", series_.to_json()},
                    {"warnings", std::move(all)},
                    {"shared", shared_},
                    {"worst_error", samples.worst_error},
                    {"sum_error", samples.sum_error ? json(*samples.sum_error) : json(nullptr)},
                    {"sum_error_of_bound", samples.sum_error_of_bound},
                    {"checked_steps", samples.checked_steps},
                    {"digest", digest_},
                    {"resumed", resumed_}});
  }

  // Counts the links' bytes and the idle CPU time since this process began to train.
  void count_machine() {
    samples.wire = between(wire_before_, machines.count_wire(point.hosts()));
    samples.idle_cpu = idle_.idle();
  }

  void take_step(std::uint64_t step) {
    const std::uint64_t every = options.sweep.check_every;
    const bool check =
        exchanges(step) && every > 0 && (step / period_ % every == 0 || step + 1 == steps_);
    const json load = {{"do", "load"}, {"index", step}, {"rate_factor", series_.rate_factor()}};
    const std::vector<json> loaded = ask(load, kComputeTimeout);
    for (std::size_t rank = 0; rank < loaded.size(); ++rank)
      if (loaded[rank].contains("diverged"))
        throw Diverged(fmt::format("{}: {}", launch.rank_name(rank),
                                   loaded[rank].at("diverged").get<std::string>()));
    if (capture_.wants(step)) {
      const std::vector<json> dumped =
          ask({{"do", "dump"}, {"folder", capture_.folder().string()}}, kComputeTimeout);
      capture_.take(step, losses_of(loaded), dumped.front().at("updates"));
    }
    idle_.before_step();
    StepAnswers answers = exchange(step);
    idle_.after_step(answers);
    keep(loaded, std::move(answers));
    schedule.end_step(true, series_.seconds.back());
    if (check) check_step(step);
    update(step, check || step + 1 == steps_);
  }

  StepAnswers exchange(std::uint64_t step) {
    try {
      json message = {{"do", "step"}, {"index", step}};
      // Ranks that share a clock start at the same moment, and the schedule's clock with them.
      const double in_seconds = launch.rank_machines().empty() ? start_seconds(launch) : 0;
      if (in_seconds > 0) message["begin"] = now_seconds() + in_seconds;
      schedule.begin_step(in_seconds);
      const double bits = 8.0 * sizeof(float) * static_cast<double>(model.elements()) * point.ranks;
      return step_answers(ask(message, schedule.timeout(bits, step_timeout)), point.ranks);
    } catch (const NoAnswer& error) {
      throw RunError(fmt::format("step {}: {}{}", step, error.what(), schedule.hindrance()));
    } catch (const RunError& error) {
      if (stop_requested()) throw;
      throw RunError(fmt::format("step {}: {}", step, error.what()));
    }
  }

  void check_step(std::uint64_t step) {
    const json account = {{"do", "account"}, {"index", step}, {"check", true}};
    const std::vector<json> accounts = ask(account, kComputeTimeout);
    add_comparison(accounts, ask({{"do", "compare"}}, kComputeTimeout), point.ranks, samples);
    const std::vector<std::string> errors = errors_of(samples);
    if (!errors.empty()) throw RunError(fmt::format("step {}: {}", step, errors.front()));
  }

  // Returns the workers' losses; a parameter server has none.
  std::vector<double> losses_of(const std::vector<json>& loaded) const {
    std::vector<double> losses;
    for (int rank = 0; rank < point.ranks; ++rank)
      losses.push_back(loaded[static_cast<std::size_t>(rank)].at("loss"));
    return losses;
  }

  void keep(const std::vector<json>& loaded, StepAnswers step) {
    if (point.time_scale != 1) scale_step(step, point.time_scale, samples.overlapped);
    const std::vector<double> losses = losses_of(loaded);
    series_.loss.push_back(std::accumulate(losses.begin(), losses.end(), 0.0) / point.ranks);
    double slowest = 0;
    for (const WorkerStep& worker : step.workers) slowest = std::max(slowest, worker.total);
    series_.seconds.push_back(slowest);
    series_.pulled.push_back(mean_of(step.workers, &WorkerStep::pulled_bytes));
    series_.bytes.push_back(mean_of(step.workers, &WorkerStep::payload_bytes) +
                            series_.pulled.back());
    if (const double wanted = mean_of(step.workers, &WorkerStep::target); wanted > 0)
      series_.quality.push_back(mean_of(step.workers, &WorkerStep::selected) / wanted);
    samples.steps.push_back(slim(std::move(step)));
  }

  void update(std::uint64_t step, bool check) {
    const json apply = {{"do", "apply"}, {"index", step}, {"digest", check}};
    const std::vector<json> applied = ask(apply, kComputeTimeout);
    if (!check || !exchanges(step)) return;
    digest_ = applied[0].at("digest");
    for (int rank = 1; rank < point.ranks; ++rank)
      if (const std::string other = applied[static_cast<std::size_t>(rank)].at("digest");
          other != digest_)
        throw RunError(fmt::format(
            "after step {} the parameters of rank {} differ from those of rank 0 ({}, {})", step,
            rank, other, digest_));
  }

  void evaluate(std::uint64_t steps) {
    while (next_evaluation_ <= steps) next_evaluation_ += options.eval_every;
    const json found = ask({{"do", "evaluate"}}, kComputeTimeout)[0];
    const bool perplexity = options.perplexity();
    const auto number = [&](const char* field) {
      return found.at(field).is_number() ? found.at(field).get<double>() : std::nan("");
    };
    const double loss = number("loss");
    if (!std::isfinite(loss))
      throw Diverged(fmt::format("after {} steps the held-out loss is {}", steps, loss));
    series_.held_out.push_back({steps, loss, number(perplexity ? "perplexity" : "accuracy")});
    if (plateau_)
      series_.held_out.back().rate_factor = plateau_->factor_after(series_.held_out_losses());
    // The bar leaves little of a line of 80 columns, so the changing figures come first.
    progress.describe(fmt::format("{}/{} {} {:.3g} {}", steps, steps_, perplexity ? "ppl" : "acc",
                                  series_.held_out.back().figure, point.compressor.to_string()));
  }

  bool ends_period(std::uint64_t step) const { return (step + 1) % period_ == 0; }

  // Returns true if the step ends with an exchange. Fragments take their turns within a period.
  bool exchanges(std::uint64_t step) const {
    if (point.bucketing.fragments == 1) return ends_period(step);
    for (std::size_t i = 0; i < point.bucketing.fragments; ++i)
      if (point.bucketing.has_turn(i, step)) return true;
    return false;
  }

  Checkpoints checkpoints_;
  CaptureWriter capture_;
  IdleWatch idle_;
  WireCount wire_before_;
  std::optional<Plateau> plateau_;
  std::string identity_;
  TrainSeries series_;
  std::uint64_t steps_ = 0, period_ = 1, next_evaluation_ = 0;
  std::string digest_;
  std::vector<std::uint64_t> resumed_;
  std::vector<std::string> warnings_;  // about the steps before the training was resumed
  bool shared_ = false;                // another run was measured before that
};

}  // namespace

fs::path capture_folder(const TrainOptions& options, const std::string& id) {
  return options.capture / plain_file_name(id);
}

void check_capture_folder(const fs::path& folder, bool resumes) {
  std::error_code none;
  const bool taken = resumes ? fs::exists(folder / kTraceFile, none)
                             : fs::exists(folder, none) && !fs::is_empty(folder, none);
  if (taken)
    throw InputError(fmt::format("--capture: {} is not empty; remove it, or choose another folder",
                                 folder.string()));
}

Trained train_point(const TrainJob& job) {
  TrainPoint training(job);
  training.prepare();
  return training.run();
}

}  // namespace thinpipe
