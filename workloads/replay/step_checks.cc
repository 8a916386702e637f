#include "workloads/replay/step_checks.h"

#include <algorithm>

namespace thinpipe {
namespace {

std::size_t rounds_of(const Bucket& bucket) {
  return bucket.rounds() == nullptr ? 0 : bucket.rounds()->count();
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

}  // namespace thinpipe
