#include "workloads/replay/plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "compressors/registry.h"

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

// Makes one unit for each tensor. With a name for joined tensors, makes one unit for each
// compressor, in the order in which compressors first appear.
PlannedBucket bucket_of(std::span<const TraceTensor> tensors, std::span<const std::size_t> chosen,
                        const std::string& joined, const CompressorRules& rules,
                        const Bucketing& bucketing) {
  PlannedBucket bucket;
  for (const std::size_t i : chosen) {
    const TraceTensor& tensor = tensors[i];
    const Spec& compressor =
        tensor.elements < bucketing.min_elements ? kUncompressed : rules.of(tensor.name);
    const auto same = std::find_if(
        bucket.units.begin(), bucket.units.end(),
        [&](const PlannedUnit& unit) { return !joined.empty() && unit.compressor == compressor; });
    if (same == bucket.units.end()) {
      bucket.units.push_back({{tensor.name, tensor.shape, tensor.elements}, compressor, {i}});
      continue;
    }
    same->tensors.push_back(i);
    same->info.elements += tensor.elements;
    same->info.shape = {static_cast<std::int64_t>(same->info.elements)};
    same->info.name = fmt::format("{}/{}", joined, same - bucket.units.begin());
  }
  return bucket;
}

// Returns the tensors of each fragment: runs of tensors with about equal numbers of elements. The
// run of fragment p ends with the tensor whose end is nearest to (p + 1) / `count` of all elements.
std::vector<std::vector<std::size_t>> fragment_tensors(std::span<const TraceTensor> tensors,
                                                       std::size_t count) {
  if (count > tensors.size())
    throw InputError(fmt::format("--fragments {}: the model has {} tensors; expected at most {}",
                                 count, tensors.size(), tensors.size()));
  std::size_t all = 0;
  for (const TraceTensor& tensor : tensors) all += tensor.elements;
  std::vector<std::vector<std::size_t>> fragments(count);
  std::size_t end = 0, next = 0;  // elements of the fragments so far, and the next tensor
  for (std::size_t p = 0; p < count; ++p) {
    const double aim = static_cast<double>(all) * static_cast<double>(p + 1) / double(count);
    const std::size_t limit = tensors.size() - (count - 1 - p);  // each later fragment has a tensor
    while (next < limit) {
      const std::size_t longer = end + tensors[next].elements;
      const bool nearer = std::fabs(double(longer) - aim) <= std::fabs(double(end) - aim);
      if (!fragments[p].empty() && !nearer && p + 1 < count) break;
      fragments[p].push_back(next++);
      end = longer;
    }
  }
  return fragments;
}

PlannedUnit slice_of(const PlannedUnit& unit, std::span<const TraceTensor> tensors,
                     std::size_t begin, std::size_t end) {
  if (begin == 0 && end == unit.info.elements) return unit;
  PlannedUnit slice{.info = {fmt::format("{}[{}..{}]", unit.info.name, begin, end - 1),
                             {static_cast<std::int64_t>(end - begin)},
                             end - begin},
                    .compressor = unit.compressor,
                    .tensors = {}};
  std::size_t at = 0;
  for (const std::size_t tensor : unit.tensors) {
    const std::size_t next = at + tensors[tensor].elements;
    if (next > begin && at < end) {
      if (slice.tensors.empty()) slice.first = begin - at;
      slice.tensors.push_back(tensor);
    }
    at = next;
  }
  return slice;
}

}  // namespace

std::vector<std::size_t> PlannedBucket::tensors() const {
  std::vector<std::size_t> all;
  for (const PlannedUnit& unit : units)
    // The tensor in which a slice ends is also the first of the next slice.
    all.insert(all.end(), unit.tensors.begin() + (unit.first > 0 ? 1 : 0), unit.tensors.end());
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
                                        const CompressorRules& rules, const Bucketing& bucketing) {
  if (bucketing.fragments > 1) {
    std::vector<PlannedBucket> fragments;
    for (const auto& chosen : fragment_tensors(tensors, bucketing.fragments))
      fragments.push_back(bucket_of(tensors, chosen, "", rules, bucketing));
    return fragments;
  }
  std::vector<std::size_t> all(tensors.size());
  std::iota(all.begin(), all.end(), 0);
  if (bucketing.granularity == Granularity::kModel)
    return {bucket_of(tensors, all, "model", rules, bucketing)};
  const bool overlaps = bucketing.overlap == Overlap::kBucket;
  const bool joins = bucketing.granularity == Granularity::kBucket;
  if (!joins && !overlaps) return {bucket_of(tensors, all, "", rules, bucketing)};
  std::vector<PlannedBucket> buckets;
  for (const std::vector<std::size_t>& chosen : bucket_tensors(tensors, bucketing.limits))
    buckets.push_back(bucket_of(
        tensors, chosen, joins ? fmt::format("bucket{}", buckets.size()) : "", rules, bucketing));
  if (overlaps || buckets.empty()) return buckets;
  PlannedBucket joined;  // all units are sent together
  for (PlannedBucket& bucket : buckets)
    for (PlannedUnit& unit : bucket.units) joined.units.push_back(std::move(unit));
  return {joined};
}

std::vector<PlannedBucket> sliced(std::vector<PlannedBucket> buckets,
                                  std::span<const TraceTensor> tensors, int ranks) {
  std::vector<std::size_t> load(static_cast<std::size_t>(ranks));  // elements, by rank
  for (PlannedBucket& bucket : buckets) {
    std::vector<PlannedUnit> slices;
    for (const PlannedUnit& unit : bucket.units) {
      const auto ends = slice_ends(unit.compressor, unit.info.elements, load.size());
      for (std::size_t i = 0, begin = 0; i < ends.size(); begin = ends[i++]) {
        PlannedUnit& slice = slices.emplace_back(slice_of(unit, tensors, begin, ends[i]));
        const auto least = std::min_element(load.begin(), load.end());
        slice.owner =
            static_cast<int>(ends.size() == load.size() ? i : std::size_t(least - load.begin()));
        load[static_cast<std::size_t>(slice.owner)] += ends[i] - begin;
      }
    }
    bucket.units = std::move(slices);
  }
  return buckets;
}

}  // namespace thinpipe
