#include "workloads/replay/unit_bucket.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/error.h"
#include "compressors/registry.h"
#include "workloads/replay/message.h"
#include "workloads/replay/shared_scales.h"

namespace thinpipe {

UnitBucket::UnitBucket(const PlannedBucket& plan, std::size_t number, int ranks, bool sums)
    : plan_(plan), number_(number), ranks_(ranks) {
  const auto first_gathered =
      std::stable_partition(plan_.units.begin(), plan_.units.end(), [&](const PlannedUnit& unit) {
        return sums && aggregation_of(unit.compressor) == Aggregation::kAllReduce;
      });
  summed_ = static_cast<std::size_t>(first_gathered - plan_.units.begin());
  for (std::size_t i = 0; i < units(); ++i) {
    offsets_.push_back(elements_);
    elements_ += plan_.units[i].info.elements;
    if (i < summed_) summed_elements_ = elements_;
  }
  split_.resize(units() - summed_);
}

void UnitBucket::check_delays() const {
  for (std::size_t i = 1; i < summed_; ++i)
    if (compressor(i).period() != compressor(0).period())
      throw InputError(fmt::format(
          "{} and {} leave together and are summed, but not in the same steps; expected methods of "
          "one delay, or --overlap bucket with buckets that part them",
          plan_.units[0].compressor.to_string(), plan_.units[i].compressor.to_string()));
}

void UnitBucket::check_pairs() const {
  for (std::size_t i = summed_; i < units(); ++i)
    if (!compressor(i).has_pairs())
      throw InputError(
          fmt::format("{}: its payloads are no elements with positions; expected a method that "
                      "chooses elements, for a sparse all-reduce",
                      plan_.units[i].compressor.to_string()));
}

void UnitBucket::make_room_for_scales() {
  for (std::size_t i = summed_; i < units(); ++i)
    if (compressor(i).shares_scale()) scales_.resize(units() - summed_);
}

std::uint64_t UnitBucket::period() const {
  std::uint64_t period = 1;
  for (std::size_t i = 0; i < units(); ++i) period = std::lcm(period, compressor(i).period());
  return period;
}

bool UnitBucket::sends(std::uint64_t exchange) const {
  for (std::size_t i = 0; i < units(); ++i)
    if (sends_unit(i, exchange)) return true;
  return false;
}

void UnitBucket::share_scales(Pattern& pattern) {
  share_greatest_scales(pattern, scales_, std::span(plan_.units).subspan(summed_));
}

void UnitBucket::begin_payload() {
  payload_ = {};
  sums_ = gathers_ = false;
}

void UnitBucket::add_to_payload(std::size_t unit, const EncodeReport& report, std::size_t bytes,
                                bool summed) {
  (unit < summed_ ? sums_ : gathers_) = true;
  payload_.bytes += bytes;
  if (summed) payload_.summed_bytes += bytes;
  payload_.target += report.target_elements;
  payload_.selected += report.selected_elements;
}

void UnitBucket::split_own() const {
  if (gathers_) split_message(own_message(), split_);
}

void UnitBucket::own_contribution(std::span<float> out) const {
  std::fill(out.begin(), out.end(), 0.0F);
  split_own();
  for (std::size_t i = 0; i < units(); ++i)
    if (sent(i)) compressor(i).decode_add(own_payload(i), 1.0F, part(i, out));
}

bool UnitBucket::takes_mean(const Pattern& pattern) const {
  return summed_ == 0 || !pattern.lossy();
}

void UnitBucket::expected(const Pattern& pattern,
                          std::span<const std::span<const float>> contributions,
                          std::span<float> out) const {
  const auto parts = [&](std::size_t first, std::size_t size) {
    std::vector<std::span<const float>> all;
    for (const auto& one : contributions) all.push_back(one.subspan(first, size));
    return all;
  };
  const std::size_t rest = elements_ - summed_elements_;
  std::fill(out.begin(), out.end(), 0.0F);
  if (sums_) expected_sums(pattern, parts(0, summed_elements_), out.first(summed_elements_));
  if (gathers_) expected_gathered(pattern, parts(summed_elements_, rest), out.last(rest));
}

void UnitBucket::expected_sums(const Pattern& pattern,
                               std::span<const std::span<const float>> contributions,
                               std::span<float> out) const {
  pattern.expected_all_reduce(contributions, factor(), out);
}

/// Payloads are gathered as they are, whatever a pattern does to sums.
void UnitBucket::expected_gathered(const Pattern& pattern,
                                   std::span<const std::span<const float>> contributions,
                                   std::span<float> out) const {
  pattern.Pattern::expected_all_reduce(contributions, factor(), out);
}

}  // namespace thinpipe
