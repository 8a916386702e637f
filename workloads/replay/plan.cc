#include "workloads/replay/plan.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace thinpipe {

namespace {

std::vector<std::size_t> in_order(std::span<const TraceTensor> tensors, BucketLimits::Order order) {
  std::vector<std::size_t> places(tensors.size());
  std::iota(places.begin(), places.end(), 0);
  if (order == BucketLimits::Order::kReverse)
    std::reverse(places.begin(), places.end());
  else
    std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
      return tensors[a].ready_order < tensors[b].ready_order;
    });
  return places;
}

Spec compressor_of(const TraceTensor& tensor, const CompressorRules& rules, const Feed& feed) {
  return tensor.elements < feed.min_elements ? kUncompressed : rules.of(tensor.name);
}

PlannedUnit unit_of(std::span<const TraceTensor> tensors, std::size_t tensor, Spec compressor) {
  const TraceTensor& info = tensors[tensor];
  return {{info.name, info.shape, info.elements}, std::move(compressor), {tensor}};
}

// One unit for each tensor.
PlannedBucket by_tensor(std::span<const TraceTensor> tensors, std::span<const std::size_t> chosen,
                        const CompressorRules& rules, const Feed& feed) {
  PlannedBucket bucket;
  for (const std::size_t i : chosen)
    bucket.units.push_back(unit_of(tensors, i, compressor_of(tensors[i], rules, feed)));
  return bucket;
}

// One unit for each compressor, in the order in which they first appear.
PlannedBucket together(std::span<const TraceTensor> tensors, std::span<const std::size_t> chosen,
                       const std::string& name, const CompressorRules& rules, const Feed& feed) {
  PlannedBucket bucket;
  for (const std::size_t i : chosen) {
    const Spec compressor = compressor_of(tensors[i], rules, feed);
    const auto same =
        std::find_if(bucket.units.begin(), bucket.units.end(),
                     [&](const PlannedUnit& unit) { return unit.compressor == compressor; });
    if (same == bucket.units.end()) {
      bucket.units.push_back(unit_of(tensors, i, compressor));
      continue;
    }
    same->tensors.push_back(i);
    same->info.elements += tensors[i].elements;
    same->info.shape = {static_cast<std::int64_t>(same->info.elements)};
    same->info.name = fmt::format("{}/{}", name, same - bucket.units.begin());
  }
  return bucket;
}

}  // namespace

std::vector<std::size_t> PlannedBucket::tensors() const {
  std::vector<std::size_t> all;
  for (const PlannedUnit& unit : units)
    all.insert(all.end(), unit.tensors.begin(), unit.tensors.end());
  return all;
}

std::vector<std::vector<std::size_t>> bucket_tensors(std::span<const TraceTensor> tensors,
                                                     const BucketLimits& limits) {
  std::vector<std::vector<std::size_t>> buckets;
  std::size_t bytes = 0;
  bool open = false;
  for (const std::size_t i : in_order(tensors, limits.order)) {
    if (!open) buckets.emplace_back();
    if (!open) bytes = 0;
    buckets.back().push_back(i);
    bytes += tensors[i].elements * sizeof(float);
    open = bytes < (buckets.size() == 1 ? limits.first : limits.rest);
  }
  return buckets;
}

std::vector<PlannedBucket> plan_buckets(std::span<const TraceTensor> tensors,
                                        const CompressorRules& rules, const Feed& feed) {
  std::vector<std::size_t> all(tensors.size());
  std::iota(all.begin(), all.end(), 0);
  if (feed.granularity == Granularity::kModel)
    return {together(tensors, all, "model", rules, feed)};
  const bool overlaps = feed.overlap == Overlap::kBucket;
  if (feed.granularity == Granularity::kTensor && !overlaps)
    return {by_tensor(tensors, all, rules, feed)};
  std::vector<PlannedBucket> buckets;
  for (const std::vector<std::size_t>& chosen : bucket_tensors(tensors, feed.limits))
    buckets.push_back(
        feed.granularity == Granularity::kTensor
            ? by_tensor(tensors, chosen, rules, feed)
            : together(tensors, chosen, fmt::format("bucket{}", buckets.size()), rules, feed));
  if (overlaps || buckets.empty()) return buckets;
  PlannedBucket joined;  // they leave together
  for (PlannedBucket& bucket : buckets)
    for (PlannedUnit& unit : bucket.units) joined.units.push_back(std::move(unit));
  return {joined};
}

}  // namespace thinpipe
