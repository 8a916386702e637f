// Results of a step, and their expected values; checkpoints.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "workloads/replay/device_bucket.h"
#include "workloads/replay/message.h"
#include "workloads/replay/replay.h"

namespace thinpipe {

std::size_t Replay::contribution_size() const {
  std::size_t size = trace_.elements();
  for (const auto& bucket : buckets_)
    if (bucket->rounds() != nullptr) size += bucket->rounds()->capacity();
  return size;
}

std::vector<std::span<const float>> Replay::results() const {
  std::vector<std::span<const float>> results = {aggregate_};
  for (const auto& bucket : buckets_)
    for (std::size_t round = 0; bucket->rounds() != nullptr && round < bucket->rounds()->count();
         ++round)
      results.push_back(bucket->rounds()->mean(round));
  return results;
}

void Replay::own_contribution(std::span<float> out) const {
  std::fill(out.begin(), out.end(), 0.0F);
  std::size_t at = trace_.elements();
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    buckets_[b]->own_contribution(out.subspan(offsets_[b], buckets_[b]->elements()));
    const RoundFloats* rounds = buckets_[b]->rounds();
    for (std::size_t round = 0; rounds != nullptr && round < rounds->count(); ++round) {
      const auto sent = rounds->sent(round);
      std::copy(sent.begin(), sent.end(), out.subspan(at).begin());
      at += sent.size();
    }
  }
}

bool Replay::takes_mean() const {
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    if (!buckets_[b]->takes_mean(*patterns_.at(b))) return false;
  return true;
}

std::vector<RoundedSum> Replay::rounded_sums() const {
  std::vector<RoundedSum> all;
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    for (RoundedSum sum : buckets_[b]->rounded_sums(*patterns_.at(b))) {
      sum.begin += offsets_[b];
      all.push_back(sum);
    }
  return all;
}

void Replay::expected(std::span<const std::span<const float>> contributions,
                      std::span<float> out) const {
  std::vector<std::span<const float>> parts(contributions.size());
  std::size_t at = trace_.elements();
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    const std::size_t size = buckets_[b]->elements();
    for (std::size_t rank = 0; rank < parts.size(); ++rank)
      parts[rank] = contributions[rank].subspan(offsets_[b], size);
    buckets_[b]->expected(*patterns_[b], parts, out.subspan(offsets_[b], size));
  }
  const float factor = 1.0F / static_cast<float>(ranks_);
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(at), out.end(), 0.0F);
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    const RoundFloats* rounds = buckets_[b]->rounds();
    for (std::size_t round = 0; rounds != nullptr && round < rounds->count(); ++round) {
      const std::size_t size = rounds->sent(round).size();
      for (std::size_t rank = 0; rank < parts.size(); ++rank)
        parts[rank] = contributions[rank].subspan(at, size);
      patterns_[b]->expected_all_reduce(ElementType::kFloat32, parts, factor,
                                        out.subspan(at, size));
      at += size;
    }
  }
}

double Replay::relative_error(std::uint64_t index) const {
  if (std::all_of(buckets_.begin(), buckets_.end(),
                  [](const auto& bucket) { return bucket->sent_as_it_lies(); }))
    return 0;
  Distortion all;
  for (const auto& bucket : buckets_) all += bucket->distortion(gradients_, index);
  return all.relative();
}

std::vector<std::span<const float>> Replay::by_tensor(std::span<const float> all) const {
  std::vector<std::span<const float>> parts(trace_.tensors().size());
  std::size_t end = 0;  // of the tensor before
  for (const PlannedBucket& bucket : plan_)
    for (const PlannedUnit& unit : bucket.units)
      for (std::size_t i = unit.first > 0 ? 1 : 0; i < unit.tensors.size(); ++i) {
        // All slices of a tensor lie one after the other.
        const std::size_t tensor = unit.tensors[i];
        parts[tensor] = all.subspan(end, trace_.tensors()[tensor].elements);
        end += parts[tensor].size();
      }
  return parts;
}

std::vector<bool> Replay::incremental() const {
  std::vector<bool> by_tensor(trace_.tensors().size());
  for (std::size_t b = 0; b < plan_.size(); ++b)
    for (std::size_t u = 0; u < plan_[b].units.size(); ++u)
      for (const std::size_t tensor : plan_[b].units[u].tensors)
        by_tensor[tensor] = buckets_[b]->incremental(u);
  return by_tensor;
}

void Replay::save_state(std::vector<std::byte>& state) {
  for (const auto& bucket : buckets_) bucket->save_state(state);
  if (averager_) averager_->save_state(state);
  if (!outer_) return;
  fetch();
  append_floats(outer_->velocity(), state);
}

void Replay::load_state(ByteReader& state) {
  for (const auto& bucket : buckets_) bucket->load_state(state);
  if (averager_) averager_->load_state(state);
  if (!outer_) return;
  take_floats(state, outer_->velocity());
  if (on_device_) on_device_->set_velocity(outer_->velocity());
}

}  // namespace thinpipe
