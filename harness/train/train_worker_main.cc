// thinpipe-train-worker: one rank of a training job. With --describe OPTIONS, prints the model and
// the compute time of a step instead; with --order OPTIONS, the order in which gradients are ready.
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.h"
#include "harness/train/describe.h"
#include "harness/train/options.h"
#include "harness/train/train_role.h"
#include "harness/train/train_server.h"
#include "harness/worker/worker.h"
#include "workloads/replay/gradients.h"
#include "workloads/training/blas_kernels.h"
#include "workloads/training/learner.h"

namespace thinpipe {
namespace {

using nlohmann::json;

/// A worker of a training job. Its `prepare` also has `training` {model, learner}:
/// ModelDescription, LearnerOptions.
class TrainWorker : public Worker {
 public:
  using Worker::Worker;

 private:
  std::unique_ptr<Role> make_role(const RoleSettings& settings, const json& message) override;
  const Trace& trace() const override { return given_->trace(); }

  std::unique_ptr<GivenGradients> given_;
};

std::unique_ptr<Role> TrainWorker::make_role(const RoleSettings& settings, const json& message) {
  const json& training = message.at("training");
  const ModelDescription model =
      ModelDescription::from_json({training.at("model"), "the model of a training"});
  const LearnerOptions options = parse_learner_options(training.at("learner"));
  given_ = std::make_unique<GivenGradients>(
      given_description(model, options, static_cast<int>(options.workers)));
  if (!settings.is_worker())
    return std::make_unique<TrainServer>(given_->trace(), settings, options);
  auto learner = std::make_unique<Learner>(options, static_cast<std::size_t>(rank()));
  for (std::size_t i = 0; i < model.tensors.size(); ++i)
    if (i >= learner->parameters().size() ||
        learner->parameters()[i].elements != model.tensors[i].elements)
      throw InputError(fmt::format("parameter {} of {} does not match its description",
                                   model.tensors[i].name, options.model));
  return std::make_unique<TrainRole>(*given_, std::move(learner), options, settings);
}

}  // namespace
}  // namespace thinpipe

int main(int argc, char** argv) {
  thinpipe::start_with_fitting_blas(argv);
  for (const char* word : {"--describe", "--order"})
    if (argc == 3 && std::strcmp(argv[1], word) == 0)
      return thinpipe::describe_to_stdout(argv[2], std::strcmp(word, "--describe") == 0);
  return thinpipe::worker_program(
      "thinpipe-train-worker", argc, argv, [](thinpipe::MessageSocket socket, std::string scratch) {
        return std::make_unique<thinpipe::TrainWorker>(std::move(socket), std::move(scratch));
      });
}
