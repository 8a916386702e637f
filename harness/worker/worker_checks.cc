// What a step brought, held against what did not cross the network.
#include <algorithm>
#include <cmath>

#include "base/digest.h"
#include "harness/worker/projections.h"
#include "harness/worker/worker.h"

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

void Worker::follow_outer() {
  if (outer_reference_ && exchanged_ && !followed_)
    outer_reference_->follow(replay_->aggregate(), replay_->outer()->velocity());
  followed_ = true;
}

json Worker::account(const json& message) {
  if (server_) return server_->account(message.at("index"));
  const bool check = message.at("check");
  if (check || outer_reference_) replay_->fetch();
  follow_outer();
  json said = {{"type", "accounted"},
               {"relative_error", replay_->relative_error(message.at("index"))}};
  if (check) {
    replay_->own_contribution(alone() ? contribution_ : contributions_->own());
    if (alone() && (replay_->layout().servers > 0 || replay_->takes_mean())) {
      checked_step_ = message.at("index");
      said["projections"] = projections_of(contribution_pieces(), checked_step_);
    }
    if (const UnitAverager* averager = replay_->averager())
      said["served"] = {{"relative_error", averager->relative_error()}};
  }
  return said;
}

// As long as what they are held against: results, or what each server has the mean of.
std::vector<std::vector<float>> Worker::contribution_pieces() const {
  const std::span<const float> all(contribution_);
  std::vector<std::vector<float>> pieces;
  for (int server = 0; server < replay_->layout().servers; ++server)
    pieces.push_back(part_of_server(replay_->units(), replay_->layout(), server, all));
  if (!pieces.empty()) return pieces;
  std::size_t from = 0;
  for (const std::span<const float> result : replay_->results()) {
    const auto piece = all.subspan(from, result.size());
    pieces.emplace_back(piece.begin(), piece.end());
    from += result.size();
  }
  return pieces;
}

json Worker::compare() {
  if (server_) return server_->compare();
  Digest digest;
  digest.add(replay_->aggregate());
  digest.add(replay_->update());
  json said = {{"type", "compared"}, {"digest", digest.text()}};
  if (outer_reference_) said["outer_error"] = outer_reference_->error_of(replay_->update());
  if (const PushPullLayout& layout = replay_->layout(); layout.servers > 0) {
    // The mean is the servers' to be held against contributions, what they answered is ours.
    json& parts = said["parts"] = json::array();
    for (int server = 0; server < layout.servers; ++server) {
      Digest part;
      part.add(part_of_server(replay_->units(), layout, server, replay_->aggregate()));
      parts.push_back(part.text());
    }
    if (const UnitAverager* averager = replay_->averager())
      said["served"] = compared_averages(*averager, rank_, checked_step_, contributions_.get());
  } else if (alone() && !replay_->takes_mean()) {
    // Projections are linear and what the pattern does is not: only equal bits can be told.
  } else if (alone()) {
    said["projections"] = projections_of(replay_->results(), checked_step_);
    json& largest = said["largest"] = json::array();
    for (const std::span<const float> piece : replay_->results()) {
      float most = 0;  // a NaN shows in the projection
      for (const float value : piece) most = std::max(most, std::fabs(value));
      largest.push_back(most);
    }
  } else if (replay_->takes_mean()) {
    said["error"] = contributions_->error_of(replay_->results());
  } else {
    reference_.resize(replay_->contribution_size());
    const auto all = contributions_->all();
    replay_->expected({all.begin(), all.end()}, reference_);
    const std::vector<RoundedSum> rounded = replay_->rounded_sums();
    for (const RoundedSum& sum : rounded)
      if (!sum.knows_order) {  // held against what rounding allows alone
        const auto there = replay_->aggregate().subspan(sum.begin, sum.size);
        std::copy(there.begin(), there.end(), reference_.begin() + std::ptrdiff_t(sum.begin));
      }
    said["error"] = contributions_->error_of(replay_->results(), reference_);
    if (!rounded.empty()) {
      const RoundingError error = contributions_->rounding_error_of(replay_->aggregate(), rounded);
      said["sum_error"] = error.relative;
      said["sum_error_of_bound"] = error.of_bound;
    }
  }
  return said;
}

}  // namespace thinpipe
