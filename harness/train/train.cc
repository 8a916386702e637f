#include "harness/train/train.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/input_file.h"
#include "base/output_file.h"
#include "compressors/registry.h"
#include "harness/sweep/checks.h"
#include "harness/sweep/settings.h"
#include "harness/sweep/sweep.h"
#include "harness/train/checkpoint.h"
#include "harness/train/train_work.h"
#include "reports/record/reader.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path model_file(const TrainOptions& options) { return options.sweep.out / "model.json"; }

// A run that goes on takes the times of its beginning: nothing if this is none.
std::optional<ModelDescription> described_before(const TrainOptions& options) {
  constexpr std::uint64_t kMaxBytes = 1 << 26;  // a hundred thousand tensors
  if (!options.sweep.resume || !fs::exists(model_file(options))) return std::nullopt;
  const std::string file = model_file(options).string();
  try {
    const json kept =
        parse_json_strictly(read_input(file, "the model of a training", kMaxBytes), file);
    const JsonField field(kept, file);
    if (field.at("identity").string() != training_identity(options.learner)) return std::nullopt;
    return ModelDescription::from_json(field.at("model"));
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("{}; put the file back as it was, or remove it to measure anew "
                    "how long a step computes",
                    error.what()));
  }
}

// What a run would go on from is looked at before anything is started for it.
void check_checkpoints(const TrainOptions& options, const std::set<std::string>& finished) {
  if (!options.sweep.resume) return;
  for (const SweepPoint& point : plan_sweep(options.sweep))
    if (const std::string id = point.id(options.sweep);
        !finished.contains(id) && in_shard(id, options.sweep.shard, options.sweep.shards))
      Checkpoints(options.sweep.out, id).check_last(identity_of(point, options), point.hosts());
}

Records records_there(const TrainOptions& options) {
  if (!fs::exists(options.sweep.out / kRecordFileName)) return {};
  return read_records(options.sweep.out);
}

void keep_description(const TrainOptions& options, const ModelDescription& model) {
  std::error_code failure;
  fs::create_directories(options.sweep.out, failure);
  const json kept = {{"identity", training_identity(options.learner)}, {"model", model.to_json()}};
  write_output(model_file(options), kept.dump(1) + "\n");
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
  check_on_device(options.sweep);  // before anything is computed or written
  const Records before = records_there(options);
  // Before model.json is written, which a refused launch must leave as it is.
  if (options.sweep.resume) check_same_settings(before, options.sweep, settings_of(options));
  check_checkpoints(options, before.finished_ids());
  std::optional<ModelDescription> model = described_before(options);
  if (!model) model = describe_model(options.learner, !options.compute_time);
  if (options.compute_time) model->set_compute_time(*options.compute_time);
  if (options.sweep.resume || !fs::exists(options.sweep.out / kRecordFileName))
    keep_description(options, *model);
  const int workers = *std::max_element(options.sweep.ranks.begin(), options.sweep.ranks.end());
  const GivenGradients given(given_description(*model, options.learner, workers));
  TrainWork work(options, *model, given.trace());
  check_sweep(options.sweep, given.trace());
  const int code = run_sweep(options.sweep, given.trace(), &work);
  // Of points that are recorded nothing is needed any more.
  for (const std::string& id : records_there(options).finished_ids())
    Checkpoints(options.sweep.out, id).remove();
  return code;
}

}  // namespace thinpipe
