// thinpipe-train-worker: one rank of a training job. With --describe OPTIONS, prints the model and
// the compute time of a step instead; with --order OPTIONS, the order in which gradients are ready.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/statistics.h"
#include "harness/train/options.h"
#include "harness/train/train_worker.h"
#include "workloads/models/catalogue.h"
#include "workloads/training/blas_kernels.h"
#include "workloads/training/learner.h"

namespace thinpipe {
namespace {

constexpr int kUncountedSteps = 3;  // allocate memory, choose kernels, fill caches
constexpr int kMaxMeasured = 15;
constexpr double kMeasureSeconds = 2;
constexpr int kMinMeasured = 3;

std::vector<TraceTensor> tensors_of(const Learner& learner, const LearnerTimes& times) {
  std::vector<TraceTensor> tensors;
  for (const LearnerParameter& parameter : learner.parameters()) {
    TraceTensor tensor;
    tensor.name = parameter.name;
    for (const std::size_t extent : parameter.shape)
      tensor.shape.push_back(static_cast<std::int64_t>(extent));
    tensor.elements = parameter.elements;
    tensors.push_back(std::move(tensor));
  }
  // If the gradients of two parameters are ready at the same time, the later parameter comes first,
  // as in a backward pass.
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.rbegin(), order.rend(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return times.ready[a] < times.ready[b]; });
  for (std::size_t place = 0; place < order.size(); ++place)
    tensors[order[place]].ready_order = place;
  return tensors;
}

LearnerTimes medians(const std::vector<LearnerTimes>& steps) {
  const auto median_of = [&](auto value) {
    std::vector<double> values;
    for (const LearnerTimes& one : steps) values.push_back(value(one));
    return median(values);
  };
  LearnerTimes times;
  times.forward = median_of([](const LearnerTimes& one) { return one.forward; });
  times.backward = median_of([](const LearnerTimes& one) { return one.backward; });
  for (std::size_t i = 0; i < steps[0].ready.size(); ++i)
    times.ready.push_back(
        std::min(times.backward, median_of([i](const LearnerTimes& one) { return one.ready[i]; })));
  return times;
}

// Computes some steps of worker 0 alone and prints a ModelDescription as JSON.
// @param text  LearnerOptions as JSON
// @param measures  measures times; otherwise takes only a few steps for the parameters' order
// @returns an exit code
int describe_to_stdout(const std::string& text, bool measures) {
  try {
    LearnerOptions options = parse_learner_options(nlohmann::json::parse(text));
    options.workers = 1;
    Learner learner(options, 0);
    std::vector<LearnerTimes> steps;
    std::uint64_t step = 0;
    for (; step < kUncountedSteps; ++step) learner.compute(step);
    const double begin = now_seconds();
    for (; steps.size() < kMinMeasured ||
           (measures && steps.size() < kMaxMeasured && now_seconds() < begin + kMeasureSeconds);
         ++step)
      learner.compute(step, &steps.emplace_back());
    ModelDescription model;
    model.data = learner.data();
    model.times = medians(steps);
    model.tensors = tensors_of(learner, model.times);
    model.measured = static_cast<int>(steps.size());
    model.epochs_a_step = 1 / static_cast<double>(learner.steps_an_epoch());
    const Evaluation chance = learner.chance();
    model.chance = is_text(find_trainable_model(options.model).training->data) ? chance.perplexity
                                                                               : chance.accuracy;
    const double evaluating = now_seconds();
    if (measures) learner.evaluate();
    model.evaluation = now_seconds() - evaluating;
    const std::string said = model.to_json().dump() + "\n";
    return std::fputs(said.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? kExitFailed
                                                                            : kExitGood;
  } catch (const InputError& error) {
    fmt::print(stderr, "thinpipe: {}\n", error.what());
    return kExitUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "thinpipe: {}\n", error.what());
    return kExitFailed;
  }
}

}  // namespace
}  // namespace thinpipe

int main(int argc, char** argv) {
  thinpipe::start_with_fitting_blas(argv);
  for (const char* word : {"--describe", "--order"})
    if (argc == 3 && std::strcmp(argv[1], word) == 0)
      return thinpipe::describe_to_stdout(argv[2], std::strcmp(word, "--describe") == 0);
  return thinpipe::worker_program("thinpipe-train-worker", argc, argv, thinpipe::make_train_worker);
}
