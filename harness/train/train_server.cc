#include "harness/train/train_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "harness/train/checkpoint.h"
#include "workloads/replay/message.h"
#include "workloads/replay/plan.h"

namespace thinpipe {

using nlohmann::json;

TrainServer::TrainServer(const Trace& trace, const RoleSettings& settings,
                         const LearnerOptions& learner)
    : ServerRole(trace, settings), rank_(settings.rank) {
  const ReplayOptions& options = settings.options;
  if (!options.servers->servers_update) return;
  std::vector<std::size_t> order;
  for (const PlannedBucket& bucket :
       plan_buckets(trace.tensors(), options.compressor, options.bucketing))
    for (const PlannedUnit& unit : bucket.units)
      order.insert(order.end(), unit.tensors.begin(), unit.tensors.end());
  std::vector<ServerModel::Part> parts;
  for (const ReplayUnit& unit : averager().units())
    parts.push_back({unit.offset, unit.tensor.elements});
  model_ = std::make_unique<ServerModel>(learner, order, parts);
  averager().set_update(*this);
}

json TrainServer::answer(const json& message) {
  const std::string what = message.at("do");
  if (what == "load") return load(message);
  if (what == "apply") return {{"type", "applied"}};
  if (what == "evaluate") return {{"type", "evaluated"}};
  if (what == "save") return save(message);
  if (what == "restore") return restore(message);
  if (what == "dump") return {{"type", "dumped"}};
  return ServerRole::answer(message);
}

json TrainServer::load(const json& message) {
  if (model_) model_->set_rate_factor(message.at("rate_factor"));
  return ServerRole::answer(message);
}

json TrainServer::save(const json& message) {
  RankState state;
  state.next_step = message.at("step");
  averager().save_state(state.compressors);
  if (model_) {
    const ServerModel::State model = model_->state();
    append_piece(std::as_bytes(std::span(model.updates)), state.learner);
    for (const std::span<float> one : model.arrays) append_floats(one, state.learner);
  }
  return write_rank_state(message, rank_, state);
}

json TrainServer::restore(const json& message) {
  const RankState state = read_rank_state(message, rank_);
  ByteReader compressors(state.compressors);
  averager().load_state(compressors);
  compressors.expect_end();
  if (model_) {
    ByteReader learner(state.learner);
    ServerModel::State model = model_->state();
    const std::span<const std::byte> updates = take_piece(learner);
    if (updates.size() != std::span(model.updates).size_bytes())
      throw InputError(fmt::format("state: {} bytes of updates, expected {}", updates.size(),
                                   std::span(model.updates).size_bytes()));
    std::copy(updates.begin(), updates.end(),
              std::as_writable_bytes(std::span(model.updates)).begin());
    for (const std::span<float> one : model.arrays) take_floats(learner, one);
    learner.expect_end();
    model_->set_updates(model.updates);
  }
  return {{"type", "restored"}, {"step", state.next_step}};
}

}  // namespace thinpipe
