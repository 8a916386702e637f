#include "harness/worker/role.h"

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/digest.h"
#include "base/machine_load.h"
#include "workloads/collectives/mpi_device.h"
#include "workloads/collectives/push_pull_collective.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// Returns the seed of the projections of one piece in one step.
std::uint64_t projection_seed(std::uint64_t step, std::size_t piece) {
  return step * 1000003 + piece;
}

template <typename Piece>
json projections_of(const std::vector<Piece>& pieces, std::uint64_t step) {
  json all = json::array();
  for (const Piece& piece : pieces)
    all.push_back(project(piece, projection_seed(step, all.size())));
  return all;
}

// Returns max |value|. A NaN does not show here but in the projection.
float largest_magnitude(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::fabs(value));
  return largest;
}

// Returns a rank's report on the units that it averages. `delta` is the digest of the values that
// workers must have decoded. On a shared machine the report also has the error of the rank's means
// relative to the contributions. On a machine of its own it has the means' projections instead.
// @param contributions  of workers that share memory; else null
// @param index  among the ranks that average
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
  said["projections"] = json::array(
      {project(averager.mean(), projection_seed(step, static_cast<std::size_t>(index)))});
  said["largest"] = json::array({largest_magnitude(averager.mean())});
  return said;
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
  last_step_ = index;
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
    outer_reference_->follow(replay_.aggregate(), replay_.outer()->velocity(),
                             replay_.turn(last_step_));
  followed_ = true;
}

json ReplayRole::account(const json& message) {
  const bool check = message.at("check");
  if (check || outer_reference_) replay_.fetch();
  follow_outer();
  const StepChecks checks = replay_.checks();
  json said = {{"type", "accounted"},
               {"relative_error", checks.relative_error(message.at("index"))}};
  if (const UnitAverager* averager = replay_.averager())
    said["served"] = {{"relative_error", averager->relative_error()}};
  if (!check) return said;
  checks.own_contribution(settings_.alone() ? contribution_ : contributions_->own());
  if (settings_.alone() && (replay_.layout().servers > 0 || checks.takes_mean())) {
    checked_step_ = message.at("index");
    said["projections"] = projections_of(contribution_pieces(), checked_step_);
  }
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
  for (const std::span<const float> piece : results) largest.push_back(largest_magnitude(piece));
  return {{"projections", projections_of(results, checked_step_)}, {"largest", std::move(largest)}};
}

// Compares nothing on a machine of its own: projections are linear, and the collective is not. On
// one machine rank 0 compares for all ranks: digests show that they have the same aggregate, and
// the reference takes as much memory as all ranks' contributions.
json ReplayRole::compare_with_reference() {
  if (settings_.alone() || settings_.rank != 0) return json::object();
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

}  // namespace thinpipe
