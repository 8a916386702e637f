#include "workloads/training/capture_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <torch/version.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/statistics.h"
#include "workloads/trace/trace_format.h"
#include "workloads/trace/trace_writer.h"
#include "workloads/training/batches.h"
#include "workloads/training/model.h"
#include "workloads/training/trainer.h"

namespace thinpipe {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

// Fewer steps are too few to require a fall of the loss.
constexpr std::uint64_t kStepsToFall = 20;

volatile std::sig_atomic_t noted = 0;

extern "C" void note(int signal) { noted = signal; }

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

json provenance(const CaptureOptions& options, const BatchSource& batches) {
  return {{"program", "thinpipe-capture"},
          {"libtorch", TORCH_VERSION},
          {"cpu", cpu_model()},
          {"created", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
          {"data", batches.description()},
          {"workers", options.workers},
          {"steps", options.steps},
          {"batch", options.batch},
          {"learning_rate", options.learning_rate},
          {"momentum", options.momentum},
          {"weight_decay", options.weight_decay},
          {"seed", options.seed},
          {"threads", 1},
          {"timing", "raw; workers took turns in one process, so each is timed alone"},
          {"warm_up_steps", kCaptureWarmUpSteps}};
}

TraceDescription describe(const CaptureOptions& options, const Trainer& trainer) {
  TraceDescription description;
  description.model = options.model;
  description.origin = kOriginTraining;
  description.ranks = options.workers;
  description.squares = options.squares;
  description.provenance = provenance(options, trainer.batches());
  for (std::size_t i = 0; i < trainer.names().size(); ++i) {
    TraceTensor tensor;
    tensor.name = trainer.names()[i];
    tensor.shape = trainer.parameters()[i].sizes().vec();
    tensor.elements = static_cast<std::size_t>(trainer.parameters()[i].numel());
    description.tensors.push_back(std::move(tensor));
  }
  return description;
}

std::vector<std::span<const float>> spans_of(const std::vector<torch::Tensor>& tensors) {
  std::vector<std::span<const float>> spans;
  for (const torch::Tensor& tensor : tensors) spans.push_back(floats_of(tensor));
  return spans;
}

void check_losses(const CaptureOptions& options, const CaptureSummary& summary) {
  if (options.steps < kStepsToFall || summary.last_loss < summary.first_loss) return;
  throw RunError(fmt::format(
      "the loss did not fall: {:.4g} over the first tenth of {} steps, {:.4g} over the last, so no "
      "trace was kept. Try more steps, or another learning rate than {:g}",
      summary.first_loss, options.steps, summary.last_loss, options.learning_rate));
}

void check_interrupt() {
  if (noted != 0) throw Interrupted(noted);
}

}  // namespace

CaptureSummary run_capture(const CaptureOptions& options, const StepCallback& after_step) {
  use_one_thread();
  Trainer trainer(options, make_batches(options));
  const TraceDescription description = describe(options, trainer);
  TraceWriter writer(options.out, description);
  const std::vector<std::uint64_t> recorded = options.recorded_steps();

  CaptureSummary summary;
  std::vector<double> losses;
  std::vector<double> forward;
  std::vector<double> backward;
  const Clock::time_point start = Clock::now();
  for (std::uint64_t step = 0; step < options.steps; ++step) {
    const bool record = std::binary_search(recorded.begin(), recorded.end(), step);
    losses.push_back(trainer.step([&](const TrainerStep& worker) {
      check_interrupt();
      if (!record) return;
      std::vector<torch::Tensor> squares;
      if (options.squares) squares = trainer.squares(worker.batch);
      writer.add(step, worker.worker, worker.times, spans_of(worker.gradients), spans_of(squares));
      forward.push_back(worker.times.forward);
      backward.push_back(worker.times.backward);
    }));
    if (!std::isfinite(losses.back()))
      throw RunError(
          fmt::format("the loss is not finite at step {}, so no trace was kept. Try a smaller "
                      "learning rate than {:g}",
                      step, options.learning_rate));
    if (after_step) after_step(step, losses.back());
  }
  summary.seconds = std::chrono::duration<double>(Clock::now() - start).count();

  const std::size_t tenth = std::max<std::size_t>(1, losses.size() / 10);
  summary.first_loss = mean(std::span(losses).first(tenth));
  summary.last_loss = mean(std::span(losses).last(tenth));
  check_losses(options, summary);
  writer.finish();

  summary.forward = median(forward);
  summary.backward = median(backward);
  summary.tensors = description.tensors.size();
  for (const TraceTensor& tensor : description.tensors) summary.parameters += tensor.elements;
  summary.trace_bytes = summary.parameters * sizeof(float) * options.workers * options.record *
                        (options.squares ? 2 : 1);
  return summary;
}

void note_interrupts() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    action.sa_handler = note;
    // The first signal restores the default action.
    action.sa_flags = SA_RESETHAND | SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

void end_by_signal(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  std::_Exit(128 + signal);  // if the signal is blocked
}

}  // namespace thinpipe
