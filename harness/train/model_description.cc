#include "harness/train/model_description.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include <fmt/format.h>

#include "base/error.h"
#include "harness/programs.h"
#include "netem/file_descriptor.h"

namespace thinpipe {

using nlohmann::json;

namespace {

// All that a pipe brings until its writers are gone.
std::string read_all(int descriptor) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(descriptor, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw SystemError("read what thinpipe-train-worker says");
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace

void ModelDescription::set_compute_time(double seconds) {
  const double factor = times.compute() > 0 ? seconds / times.compute() : 0;
  times.forward *= factor;
  times.backward *= factor;
  for (double& one : times.ready) one = std::min(one * factor, times.backward);
  measured = 0;
}

std::size_t ModelDescription::elements() const {
  return std::accumulate(
      tensors.begin(), tensors.end(), std::size_t{0},
      [](std::size_t sum, const TraceTensor& one) { return sum + one.elements; });
}

json ModelDescription::to_json() const {
  json parameters = json::array();
  for (const TraceTensor& tensor : tensors)
    parameters.push_back(
        {{"name", tensor.name}, {"shape", tensor.shape}, {"ready_order", tensor.ready_order}});
  return {{"data", data},
          {"tensors", parameters},
          {"forward", times.forward},
          {"backward", times.backward},
          {"ready", times.ready},
          {"measured", measured},
          {"evaluation", evaluation},
          {"epochs_a_step", epochs_a_step}};
}

ModelDescription ModelDescription::from_json(const json& object) {
  try {
    ModelDescription model;
    model.data = object.at("data");
    for (const json& one : object.at("tensors")) {
      TraceTensor tensor;
      tensor.name = one.at("name");
      tensor.shape = one.at("shape").get<std::vector<std::int64_t>>();
      tensor.ready_order = one.at("ready_order");
      tensor.elements = 1;
      for (const std::int64_t extent : tensor.shape)
        tensor.elements *= static_cast<std::size_t>(extent);
      model.tensors.push_back(std::move(tensor));
    }
    model.times.forward = object.at("forward");
    model.times.backward = object.at("backward");
    model.times.ready = object.at("ready").get<std::vector<double>>();
    if (model.times.ready.size() != model.tensors.size())
      throw InputError(fmt::format("{} ready times for {} parameters", model.times.ready.size(),
                                   model.tensors.size()));
    model.measured = object.at("measured");
    model.evaluation = object.at("evaluation");
    model.epochs_a_step = object.at("epochs_a_step");
    return model;
  } catch (const json::exception& error) {
    throw InputError(std::string("the description of a model: ") + error.what());
  }
}

std::string training_identity(const LearnerOptions& options) {
  return fmt::format(
      "training-1:model={};width={};data={};batch={};optimiser={};schedule={};clip={};augment={}",
      options.model, options.width, options.data, options.batch, options.optimiser,
      options.schedule, options.clip, options.augment);
}

GivenDescription given_description(const ModelDescription& model, const LearnerOptions& options,
                                   int workers) {
  GivenDescription given;
  given.model = options.model;
  given.identity = training_identity(options);
  given.tensors = model.tensors;
  given.times = model.times;
  given.ranks = static_cast<std::size_t>(workers);
  given.squares = options.squares;
  return given;
}

ModelDescription describe_model(const LearnerOptions& options, bool measures) {
  const std::filesystem::path program = find_program("thinpipe-train-worker");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw SystemError("pipe");
  const FileDescriptor out(ends[0]);
  FileDescriptor in(ends[1]);
  const pid_t child =
      start_process(program, {measures ? "--describe" : "--order", options.to_json().dump()}, -1,
                    in.get(), STDERR_FILENO);
  in = FileDescriptor();  // the child has it
  const std::string text = read_all(out.get());
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw SystemError("wait for thinpipe-train-worker");
  if (WIFEXITED(status) && WEXITSTATUS(status) == kExitUsage)
    throw InputError("the model cannot be trained so; see above");
  const json description = json::parse(text, nullptr, false);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || description.is_discarded())
    throw RunError(fmt::format("thinpipe-train-worker could not train {}{}", options.model,
                               WIFSIGNALED(status)
                                   ? fmt::format(": ended by signal {}", WTERMSIG(status))
                                   : std::string()));
  return ModelDescription::from_json(description);
}

}  // namespace thinpipe
