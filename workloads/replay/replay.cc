#include "workloads/replay/replay.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace thinpipe {
namespace {

std::size_t rounds_of(const Bucket& bucket) {
  return bucket.rounds() == nullptr ? 0 : bucket.rounds()->count();
}

std::unique_ptr<StepOrder> order_of(RankBuckets& buckets) {
  const Bucketing& bucketing = buckets.options().bucketing;
  if (bucketing.fragment_delay > 0) return delayed_step(buckets);
  return bucketing.overlap == Overlap::kNone ? together_step(buckets) : overlapped_step(buckets);
}

}  // namespace

std::size_t StepChecks::contribution_size() const {
  std::size_t size = buckets_.aggregate().size();
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    if (const RoundFloats* const rounds = buckets_[b].rounds()) size += rounds->capacity();
  return size;
}

std::vector<std::span<const float>> StepChecks::results() const {
  std::vector<std::span<const float>> results = {buckets_.aggregate()};
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    for (std::size_t round = 0; round < rounds_of(buckets_[b]); ++round)
      results.push_back(buckets_[b].rounds()->mean(round));
  return results;
}

void StepChecks::own_contribution(std::span<float> out) const {
  std::fill(out.begin(), out.end(), 0.0F);
  std::size_t at = buckets_.aggregate().size();
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    const Bucket& bucket = buckets_[b];
    bucket.own_contribution(out.subspan(buckets_.offset(b), bucket.elements()));
    for (std::size_t round = 0; round < rounds_of(bucket); ++round) {
      const auto sent = bucket.rounds()->sent(round);
      std::copy(sent.begin(), sent.end(), out.subspan(at).begin());
      at += sent.size();
    }
  }
}

bool StepChecks::takes_mean() const {
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    if (!buckets_[b].takes_mean()) return false;
  return true;
}

std::vector<RoundedSum> StepChecks::rounded_sums() const {
  std::vector<RoundedSum> all;
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    for (RoundedSum sum : buckets_[b].rounded_sums()) {
      sum.begin += buckets_.offset(b);
      all.push_back(sum);
    }
  return all;
}

void StepChecks::expected(std::span<const std::span<const float>> contributions,
                          std::span<float> out) const {
  std::vector<std::span<const float>> parts(contributions.size());
  const auto take_parts = [&](std::size_t begin, std::size_t size) {
    for (std::size_t rank = 0; rank < parts.size(); ++rank)
      parts[rank] = contributions[rank].subspan(begin, size);
  };
  std::size_t at = buckets_.aggregate().size();
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(at), out.end(), 0.0F);
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    const Bucket& bucket = buckets_[b];
    take_parts(buckets_.offset(b), bucket.elements());
    bucket.expected(parts, out.subspan(buckets_.offset(b), bucket.elements()));
    for (std::size_t round = 0; round < rounds_of(bucket); ++round) {
      const std::size_t size = bucket.rounds()->sent(round).size();
      take_parts(at, size);
      bucket.expected_round(parts, out.subspan(at, size));
      at += size;
    }
  }
}

double StepChecks::relative_error(std::uint64_t index) const {
  bool lossless = true;
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    lossless = lossless && buckets_[b].sent_as_it_lies();
  if (lossless) return 0;  // without reading anything
  Distortion all;
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    all += buckets_[b].distortion(buckets_.gradients(), index);
  return all.relative();
}

Replay::Replay(const Trace& trace, const ReplayOptions& options, int rank, int ranks)
    : buckets_(trace, options, rank, ranks), order_(order_of(buckets_)) {
  if (options.servers) {
    units_ = replay_units(buckets_.plan(), *options.servers);
    layout_ = push_pull_layout(units_, *options.servers, ranks,
                               {.seed = options.seed, .rank = rank, .threads = options.threads});
  }
  if (!layout_.colocated) return;
  averager_ = std::make_unique<UnitAverager>(
      units_, layout_,
      UnitAveragerOptions{.exchange = *options.servers,
                          .seed = options.seed,
                          .threads = options.threads,
                          .time_scale = options.time_scale,
                          .local_steps = options.bucketing.local_steps,
                          .epoch = options.bucketing.epoch,
                          .epochs_a_step = options.epochs_a_step},
      rank);
}

void Replay::connect(const MakeCollective& make) {
  collectives_.clear();
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    collectives_.push_back(make(buckets_[b].message_capacity()));
    buckets_[b].connect(*collectives_.back());
  }
}

void Replay::connect(std::unique_ptr<Collective> collective) {
  collectives_.clear();
  collectives_.push_back(std::move(collective));
  for (std::size_t b = 0; b < buckets_.size(); ++b) buckets_[b].connect(*collectives_.back());
}

TransportCounters Replay::counters() const {
  TransportCounters all;
  for (const auto& collective : collectives_) {
    const TransportCounters one = collective->counters();
    all.messages += one.messages;
    all.bytes += one.bytes;
    all.frames += one.frames;
  }
  return all;
}

std::uint64_t Replay::period() const {
  std::uint64_t period = 1;
  for (std::size_t b = 0; b < buckets_.size(); ++b) period = std::lcm(period, buckets_[b].period());
  return period * buckets_.options().bucketing.local_steps;
}

std::vector<std::span<const float>> Replay::by_tensor(std::span<const float> all) const {
  const std::vector<TraceTensor>& tensors = buckets_.trace().tensors();
  std::vector<std::span<const float>> parts(tensors.size());
  std::size_t end = 0;  // of the tensor before
  for (const PlannedBucket& bucket : buckets_.plan())
    for (const PlannedUnit& unit : bucket.units)
      for (std::size_t i = unit.first > 0 ? 1 : 0; i < unit.tensors.size(); ++i) {
        // All slices of a tensor lie one after the other.
        const std::size_t tensor = unit.tensors[i];
        parts[tensor] = all.subspan(end, tensors[tensor].elements);
        end += parts[tensor].size();
      }
  return parts;
}

std::vector<bool> Replay::tensors_in_turn(std::uint64_t index) const {
  std::vector<bool> by_tensor(buckets_.trace().tensors().size());
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    if (buckets_.options().bucketing.has_turn(b, index))
      for (const std::size_t tensor : buckets_.plan()[b].tensors()) by_tensor[tensor] = true;
  return by_tensor;
}

void Replay::set_sum(std::size_t tensor, std::span<const float> values) {
  const std::vector<PlannedBucket>& plan = buckets_.plan();
  for (std::size_t b = 0; b < plan.size(); ++b)
    for (std::size_t u = 0; u < plan[b].units.size(); ++u)
      if (plan[b].units[u].tensors.front() == tensor) buckets_.gradients().set_sum(b, u, values);
}

std::vector<bool> Replay::incremental() const {
  const std::vector<PlannedBucket>& plan = buckets_.plan();
  std::vector<bool> by_tensor(buckets_.trace().tensors().size());
  for (std::size_t b = 0; b < plan.size(); ++b)
    for (std::size_t u = 0; u < plan[b].units.size(); ++u)
      for (const std::size_t tensor : plan[b].units[u].tensors)
        by_tensor[tensor] = buckets_[b].incremental(u);
  return by_tensor;
}

void Replay::save_state(std::vector<std::byte>& state) {
  for (std::size_t b = 0; b < buckets_.size(); ++b) buckets_[b].save_state(state);
  if (averager_) averager_->save_state(state);
  buckets_.save_outer(state);
  if (takes_turns()) buckets_.gradients().save_sums(buckets_.plan(), state);
}

void Replay::load_state(ByteReader& state) {
  for (std::size_t b = 0; b < buckets_.size(); ++b) buckets_[b].load_state(state);
  if (averager_) averager_->load_state(state);
  buckets_.load_outer(state);
  if (takes_turns()) buckets_.gradients().load_sums(buckets_.plan(), state);
}

}  // namespace thinpipe
