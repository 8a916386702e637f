#include "harness/train/train.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.h"
#include "compressors/registry.h"
#include "harness/sweep/sweep.h"
#include "harness/train/checkpoint.h"
#include "harness/train/train_work.h"
#include "reports/record/reader.h"

namespace thinpipe {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path model_file(const TrainOptions& options) { return options.sweep.out / "model.json"; }

// A run that goes on takes the times of its beginning: nothing if this is none.
std::optional<ModelDescription> described_before(const TrainOptions& options) {
  std::ifstream stream(model_file(options));
  if (!options.sweep.resume || !stream) return std::nullopt;
  const json kept = json::parse(stream, nullptr, false);
  if (!kept.is_object() || !kept.contains("model") ||
      kept.value("identity", "") != training_identity(options.learner))
    return std::nullopt;
  return ModelDescription::from_json(kept.at("model"));
}

void keep_description(const TrainOptions& options, const ModelDescription& model) {
  std::error_code failure;
  fs::create_directories(options.sweep.out, failure);
  const json kept = {{"identity", training_identity(options.learner)}, {"model", model.to_json()}};
  std::ofstream stream(model_file(options));
  stream << kept.dump(1) << "\n";
  if (!stream.flush()) throw SystemError("write " + model_file(options).string());
}

}  // namespace

int run_train(TrainOptions options) {
  options.learner.squares = std::any_of(
      options.sweep.compressors.begin(), options.sweep.compressors.end(),
      [](const CompressorRules& rules) {
        const auto specs = rules.specs();
        return std::any_of(specs.begin(), specs.end(),
                           [](const Spec& spec) { return find_method(spec.name).needs_squares; });
      });
  options.learner = parse_learner_options(options.learner.to_json());
  std::optional<ModelDescription> model = described_before(options);
  if (!model) model = describe_model(options.learner, !options.compute_time);
  if (options.compute_time) model->set_compute_time(*options.compute_time);
  if (options.sweep.resume || !fs::exists(options.sweep.out / kRecordFileName))
    keep_description(options, *model);
  const int workers = *std::max_element(options.sweep.ranks.begin(), options.sweep.ranks.end());
  const GivenGradients given(given_description(*model, options.learner, workers));
  TrainWork work(options, *model, given.trace());
  const int code = run_sweep(options.sweep, given.trace(), &work);
  // Of points that are recorded nothing is needed any more.
  if (fs::exists(options.sweep.out / kRecordFileName)) {
    const std::set<std::string> finished = read_records(options.sweep.out).finished_ids();
    for (const std::string& id : finished) Checkpoints(options.sweep.out, id).remove();
  }
  return code;
}

}  // namespace thinpipe
