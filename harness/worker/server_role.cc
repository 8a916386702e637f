#include "harness/worker/server_role.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/machine_load.h"
#include "harness/worker/reference.h"

namespace thinpipe {

using nlohmann::json;

ServerRole::ServerRole(const Trace& trace, const RoleSettings& settings)
    : transport_(MPI_COMM_WORLD),
      index_(settings.rank - settings.workers),
      server_(transport_,
              replay_units(plan_buckets(trace.tensors(), settings.options.compressor,
                                        settings.options.bucketing),
                           *settings.options.servers),
              {.exchange = *settings.options.servers,
               .seed = settings.options.seed,
               .threads = settings.options.threads,
               .time_scale = settings.options.time_scale,
               .local_steps = settings.options.bucketing.local_steps,
               .epoch = settings.options.bucketing.epoch,
               .epochs_a_step = settings.options.epochs_a_step},
              settings.workers, index_) {
  if (!settings.alone())
    contributions_ = std::make_unique<SharedContributions>(
        settings.scratch, SharedContributions::kNone, settings.workers, trace.elements());
}

// The workers report the period.
json ServerRole::prepared() const { return {{"loads", false}, {"period", 1}}; }

json ServerRole::answer(const json& message) {
  const std::string what = message.at("do");
  if (what == "load") return {{"type", "loaded"}};
  if (what == "step") return stepped(step(message.at("index"), message.value("moves", true)));
  if (what == "account") return account(message.at("index"));
  if (what == "compare") return compare();
  return nullptr;
}

ServerStep ServerRole::step(std::uint64_t index, bool moves) {
  const ProcessorTime processors = processor_time();
  const TransportCounters before = transport_.counters();
  ServerStep step;
  if (moves) {
    static_cast<ServerReport&>(step) = server_.step(index);
    step.served = server_.served();
  }
  step.sent = transport_.counters() - before;
  step.processors = processor_time() - processors;
  return step;
}

json ServerRole::account(std::uint64_t index) {
  checked_step_ = index;
  return {{"type", "accounted"}, {"relative_error", server_.averager().relative_error()}};
}

json ServerRole::compare() {
  json answer = compared_averages(server_.averager(), index_, checked_step_, contributions_.get());
  answer["type"] = "compared";
  return answer;
}

json compared_averages(const UnitAverager& averager, int index, std::uint64_t step,
                       SharedContributions* contributions) {
  std::vector<float> delta(averager.elements());
  averager.delta(delta);
  Digest digest;
  digest.add(delta);
  json said = {{"delta", digest.text()}};
  if (contributions != nullptr) {
    std::vector<SharedContributions::Place> places;
    std::size_t at = 0;
    for (const ReplayUnit& unit : averager.units()) {
      places.push_back({averager.mean().subspan(at, unit.tensor.elements), unit.offset});
      at += unit.tensor.elements;
    }
    said["error"] = contributions->error_of_places(places);
    return said;
  }
  float largest = 0;  // a NaN shows in the projection
  for (const float value : averager.mean()) largest = std::max(largest, std::fabs(value));
  said["projections"] = json::array(
      {project(averager.mean(), projection_seed(step, static_cast<std::size_t>(index)))});
  said["largest"] = json::array({largest});
  return said;
}

}  // namespace thinpipe
