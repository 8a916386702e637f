#include "harness/worker/replay_role.h"

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/digest.h"
#include "base/machine_load.h"
#include "harness/worker/server_role.h"
#include "harness/worker/step_answer.h"
#include "workloads/collectives/mpi_collectives.h"
#include "workloads/collectives/mpi_device.h"
#include "workloads/collectives/push_pull_collective.h"

namespace thinpipe {
namespace {

using nlohmann::json;

template <typename Piece>
json projections_of(const std::vector<Piece>& pieces, std::uint64_t step) {
  json all = json::array();
  for (const Piece& piece : pieces)
    all.push_back(project(piece, projection_seed(step, all.size())));
  return all;
}

}  // namespace

ReplayRole::ReplayRole(const Trace& trace, const RoleSettings& settings)
    : settings_(settings), replay_(trace, settings.options, settings.rank, settings.workers) {
  if (settings.options.bucketing.outer) outer_reference_.emplace(*settings.options.bucketing.outer);
  // With a delayed method, warm-up and measured steps are rounded up to whole periods.
  replay_.prepare(settings.steps + 2 * (replay_.period() - 1));
  connect();
  if (settings.alone())
    contribution_.assign(replay_.checks().contribution_size(), 0);
  else
    contributions_ = std::make_unique<SharedContributions>(
        settings.scratch, settings.rank, settings.workers, replay_.checks().contribution_size());
}

void ReplayRole::connect() {
  if (UnitAverager* const averager = replay_.averager())
    return replay_.connect(std::make_unique<TwoShotCollective>(
        std::make_unique<MpiTransport>(MPI_COMM_WORLD, MpiTransport::Asks::kAtOnce),
        replay_.layout(), *averager));
  if (settings_.options.servers)
    return replay_.connect(std::make_unique<PushPullCollective>(
        std::make_unique<MpiTransport>(MPI_COMM_WORLD), replay_.layout()));
  replay_.connect([&](std::size_t capacity) {
    return make_mpi_collective(settings_.collective, MPI_COMM_WORLD, capacity,
                               settings_.options.device && mpi_takes_device_addresses());
  });
}

json ReplayRole::prepared() const {
  return {{"loads", replay_.loads()}, {"period", replay_.period()}};
}

json ReplayRole::answer(const json& message) {
  const std::string what = message.at("do");
  if (what == "load") return load(message);
  if (what == "step") return step(message);
  if (what == "account") return account(message);
  if (what == "compare") return compare();
  return nullptr;
}

json ReplayRole::load(const json& message) {
  replay_.load(message.at("index"));
  return {{"type", "loaded"}};
}

json ReplayRole::step(const json& message) {
  // Reading CPU times takes as long as a small message, so a rank reads them only on a machine of
  // its own. On a shared machine the sweep reads them.
  const ProcessorTime processors = settings_.alone() ? processor_time() : ProcessorTime{};
  const TransportCounters before = replay_.counters();
  const std::uint64_t index = message.at("index");
  wait_awake_until(message.value("begin", 0.0));
  WorkerStep step;
  static_cast<StepReport&>(step) =
      message.value("moves", true) ? replay_.step(index) : replay_.step_without_exchange(index);
  exchanged_ = step.exchanged;
  followed_ = false;
  step.sent = replay_.counters() - before;
  const ProcessorTime processors_after = settings_.alone() ? processor_time() : ProcessorTime{};
  step.processors = processors_after - processors;
  return stepped(step);
}

// Comparison of a step's result with references that did not cross the network.

void ReplayRole::follow_outer() {
  if (outer_reference_ && exchanged_ && !followed_)
    outer_reference_->follow(replay_.aggregate(), replay_.outer()->velocity());
  followed_ = true;
}

json ReplayRole::account(const json& message) {
  const bool check = message.at("check");
  if (check || outer_reference_) replay_.fetch();
  follow_outer();
  const StepChecks checks = replay_.checks();
  json said = {{"type", "accounted"},
               {"relative_error", checks.relative_error(message.at("index"))}};
  if (!check) return said;
  checks.own_contribution(settings_.alone() ? contribution_ : contributions_->own());
  if (settings_.alone() && (replay_.layout().servers > 0 || checks.takes_mean())) {
    checked_step_ = message.at("index");
    said["projections"] = projections_of(contribution_pieces(), checked_step_);
  }
  if (const UnitAverager* averager = replay_.averager())
    said["served"] = {{"relative_error", averager->relative_error()}};
  return said;
}

// Splits the contribution as the values that it is compared with: by result, or by server.
std::vector<std::vector<float>> ReplayRole::contribution_pieces() const {
  const std::span<const float> all(contribution_);
  std::vector<std::vector<float>> pieces;
  for (int server = 0; server < replay_.layout().servers; ++server)
    pieces.push_back(part_of_server(replay_.units(), replay_.layout(), server, all));
  if (!pieces.empty()) return pieces;
  std::size_t from = 0;
  for (const std::span<const float> result : replay_.checks().results()) {
    const auto piece = all.subspan(from, result.size());
    pieces.emplace_back(piece.begin(), piece.end());
    from += result.size();
  }
  return pieces;
}

json ReplayRole::compare() {
  Digest digest;
  digest.add(replay_.aggregate());
  digest.add(replay_.update());
  json said = {{"type", "compared"}, {"digest", digest.text()}};
  if (outer_reference_) said["outer_error"] = outer_reference_->error_of(replay_.update());
  if (replay_.layout().servers > 0)
    said.update(compare_with_servers());
  else if (!replay_.checks().takes_mean())
    said.update(compare_with_reference());
  else if (settings_.alone())
    said.update(compare_projections());
  else
    said["error"] = contributions_->error_of(replay_.checks().results());
  return said;
}

// Servers compare their means with the contributions; this rank compares the servers' answers.
json ReplayRole::compare_with_servers() {
  json parts = json::array();
  const PushPullLayout& layout = replay_.layout();
  for (int server = 0; server < layout.servers; ++server) {
    Digest part;
    part.add(part_of_server(replay_.units(), layout, server, replay_.aggregate()));
    parts.push_back(part.text());
  }
  json said = {{"parts", std::move(parts)}};
  if (const UnitAverager* averager = replay_.averager())
    said["served"] =
        compared_averages(*averager, settings_.rank, checked_step_, contributions_.get());
  return said;
}

json ReplayRole::compare_projections() const {
  const std::vector<std::span<const float>> results = replay_.checks().results();
  json largest = json::array();
  for (const std::span<const float> piece : results) {
    float most = 0;  // a NaN shows in the projection
    for (const float value : piece) most = std::max(most, std::fabs(value));
    largest.push_back(most);
  }
  return {{"projections", projections_of(results, checked_step_)}, {"largest", std::move(largest)}};
}

// Compares nothing on a machine of its own: projections are linear, and the collective is not.
json ReplayRole::compare_with_reference() {
  if (settings_.alone()) return json::object();
  const StepChecks checks = replay_.checks();
  reference_.resize(checks.contribution_size());
  const auto all = contributions_->all();
  checks.expected({all.begin(), all.end()}, reference_);
  const std::vector<RoundedSum> rounded = checks.rounded_sums();
  for (const RoundedSum& sum : rounded)
    if (!sum.knows_order) {  // only compared within the rounding bound
      const auto own = replay_.aggregate().subspan(sum.begin, sum.size);
      std::copy(own.begin(), own.end(), reference_.begin() + std::ptrdiff_t(sum.begin));
    }
  json said = {{"error", contributions_->error_of(checks.results(), reference_)}};
  if (rounded.empty()) return said;
  const RoundingError error = contributions_->rounding_error_of(replay_.aggregate(), rounded);
  said["sum_error"] = error.relative;
  said["sum_error_of_bound"] = error.of_bound;
  return said;
}

}  // namespace thinpipe
