#include "workloads/replay/unit_bucket.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "compressors/compressor.h"
#include "compressors/kernels/quantize.h"
#include "compressors/registry.h"
#include "workloads/exchange/pattern.h"
#include "workloads/replay/message.h"
#include "workloads/replay/plan.h"

namespace thinpipe {

HalfSums::HalfSums(const PlannedBucket& plan, std::vector<SumGroup> groups, int ranks)
    : groups_(std::move(groups)), ranks_(ranks) {
  for (const PlannedUnit& unit : plan.units) units_.push_back({unit.info.name, unit.info.elements});
  const SumGroup& last = groups_.back();
  sums_.resize(last.begin + last.elements - groups_.front().begin);
  if (std::any_of(groups_.begin(), groups_.end(),
                  [](const SumGroup& group) { return group.summation.predivides; }))
    divided_.resize(sums_.size());
}

std::span<const std::uint16_t> HalfSums::of(std::span<const std::uint16_t> all,
                                            const SumGroup& group) const {
  return all.subspan(group.begin - groups_.front().begin, group.elements);
}

void HalfSums::refuse_overflow(const SumGroup& group, std::span<const std::uint16_t> halves,
                               const char* what) const {
  const HalfFormat format = half_format(group.summation.element);
  std::size_t unit = group.first;
  for (std::size_t at = 0; unit + 1 < group.last; at += units_[unit++].elements)
    if (!half_fits(halves.subspan(at, units_[unit].elements), format)) break;
  throw RunError(fmt::format(
      "unit '{}': {} is as great as {} can say, {:g}, or greater: the sum would be wrong; expected "
      "{}smaller gradients (a smaller loss scale)",
      units_[unit].name, what, to_string(group.summation.element),
      format == HalfFormat::kFp16 ? 65504.0 : 0x1.fep127,
      format == HalfFormat::kFp16 ? "bf16, or " : ""));
}

void HalfSums::prepare(std::span<const std::byte> own) {
  own_ = {reinterpret_cast<const std::uint16_t*>(own.data()), sums_.size()};
  const float factor = 1.0F / static_cast<float>(ranks_);
  for (const SumGroup& group : groups_) {
    const auto halves = of(own_, group);
    const HalfFormat format = half_format(group.summation.element);
    const bool fits =
        group.summation.predivides
            ? half_scale(halves, factor, format,
                         std::span(divided_).subspan(place(group.begin) / sizeof(std::uint16_t),
                                                     group.elements))
            : half_fits(halves, format);
    if (!fits) refuse_overflow(group, halves, "a gradient");
  }
}

void HalfSums::exchange(Pattern& pattern) {
  for (const SumGroup& group : groups_) {
    const bool divided = group.summation.predivides;
    const auto from = of(divided ? std::span<const std::uint16_t>(divided_) : own_, group);
    const auto to =
        std::span(sums_).subspan(place(group.begin) / sizeof(std::uint16_t), group.elements);
    pattern.all_reduce(group.summation.element, std::as_bytes(from), std::as_writable_bytes(to),
                       divided ? 1.0F : 1.0F / static_cast<float>(ranks_));
  }
}

void HalfSums::decode(std::span<float> bucket) const {
  for (const SumGroup& group : groups_) {
    const auto halves = of(sums_, group);
    if (!half_unpack(reinterpret_cast<const std::uint8_t*>(halves.data()),
                     half_format(group.summation.element),
                     bucket.subspan(group.begin, group.elements)))
      refuse_overflow(group, halves, "the sum of an element over all ranks");
  }
}

namespace {

// Scales that workers share before they encode (TernGrad, section 4.3): every unit's becomes the
// greatest over all ranks, by one gathering of all.
// @throws PayloadError when a peer sends other than that many scales of at least 0
void share_greatest_scales(Pattern& pattern, std::span<float> scales,
                           std::span<const PlannedUnit> units) {
  for (const auto message : pattern.all_gather(std::as_bytes(scales))) {
    if (message.size() != scales.size_bytes())
      throw PayloadError(fmt::format("scales of a rank: {} bytes; expected {} for {} tensors",
                                     message.size(), scales.size_bytes(), scales.size()));
    for (std::size_t i = 0; i < scales.size(); ++i) {
      float scale = 0;
      std::memcpy(&scale, message.data() + i * sizeof scale, sizeof scale);
      if (!std::isfinite(scale) || scale < 0)
        throw PayloadError(fmt::format(
            "scale of tensor '{}' from a rank is {}; expected a finite number of at least 0",
            units[i].info.name, scale));
      scales[i] = std::max(scales[i], scale);
    }
  }
}

std::pair<ElementType, bool> order_of(const PlannedUnit& unit) {
  const Summation summation = summation_of(unit.compressor);
  return {summation.element, summation.predivides};
}

std::vector<std::span<const float>> parts_of(std::span<const std::span<const float>> arrays,
                                             std::size_t begin, std::size_t size) {
  std::vector<std::span<const float>> parts;
  for (const auto array : arrays) parts.push_back(array.subspan(begin, size));
  return parts;
}

}  // namespace

UnitBucket::UnitBucket(const PlannedBucket& plan, std::size_t number, int ranks, bool sums)
    : plan_(plan), number_(number), ranks_(ranks) {
  const auto first_gathered =
      std::stable_partition(plan_.units.begin(), plan_.units.end(), [&](const PlannedUnit& unit) {
        return sums && aggregation_of(unit.compressor) == Aggregation::kAllReduce;
      });
  summed_ = static_cast<std::size_t>(first_gathered - plan_.units.begin());
  std::stable_sort(
      plan_.units.begin(), first_gathered,
      [](const PlannedUnit& a, const PlannedUnit& b) { return order_of(a) < order_of(b); });
  for (std::size_t i = 0; i < units(); ++i) {
    offsets_.push_back(elements_);
    elements_ += plan_.units[i].info.elements;
    if (i < summed_) add_to_groups(i);
  }
  split_.resize(units() - summed_);
}

// The next unit that is summed.
void UnitBucket::add_to_groups(std::size_t unit) {
  summed_elements_ = elements_;
  const Summation summation = summation_of(plan_.units[unit].compressor);
  if (summation.element == ElementType::kFloat32) {
    float_units_ = unit + 1;
    float_elements_ = elements_;
    return;
  }
  if (half_groups_.empty() || half_groups_.back().summation != summation)
    half_groups_.push_back({.summation = summation, .first = unit, .begin = offsets_[unit]});
  SumGroup& group = half_groups_.back();
  group.last = unit + 1;
  group.elements = elements_ - group.begin;
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
  return (float_units_ == 0 || !pattern.lossy(ElementType::kFloat32)) && half_groups_.empty();
}

std::vector<RoundedSum> UnitBucket::rounded_sums(const Pattern& pattern) const {
  std::vector<RoundedSum> sums;
  if (sums_)
    for (const SumGroup& group : half_groups_)
      sums.push_back({group.begin, group.elements, group.summation.element, pattern.knows_order()});
  return sums;
}

void UnitBucket::expected(const Pattern& pattern,
                          std::span<const std::span<const float>> contributions,
                          std::span<float> out) const {
  const std::size_t rest = elements_ - summed_elements_;
  std::fill(out.begin(), out.end(), 0.0F);
  if (sums_ && float_units_ > 0) expected_sums(pattern, contributions, out);
  if (sums_ && pattern.knows_order()) expected_half_sums(pattern, contributions, out);
  if (gathers_)
    expected_gathered(pattern, parts_of(contributions, summed_elements_, rest), out.last(rest));
}

void UnitBucket::expected_sums(const Pattern& pattern,
                               std::span<const std::span<const float>> contributions,
                               std::span<float> out) const {
  const auto parts = parts_of(contributions, 0, float_elements_);
  pattern.expected_all_reduce(ElementType::kFloat32, parts, factor(), out.first(float_elements_));
}

void UnitBucket::expected_half_sums(const Pattern& pattern,
                                    std::span<const std::span<const float>> contributions,
                                    std::span<float> out) const {
  for (const SumGroup& group : half_groups_) {
    const ElementType type = group.summation.element;
    std::vector<std::vector<float>> arrays;
    for (const auto part : parts_of(contributions, group.begin, group.elements)) {
      arrays.emplace_back(part.begin(), part.end());
      if (group.summation.predivides)
        for (float& value : arrays.back()) value = rounded(value * factor(), type);
    }
    pattern.expected_all_reduce(type,
                                std::vector<std::span<const float>>(arrays.begin(), arrays.end()),
                                factor(group), out.subspan(group.begin, group.elements));
  }
}

// Payloads are gathered as they are, whatever a pattern does to sums.
void UnitBucket::expected_gathered(const Pattern& pattern,
                                   std::span<const std::span<const float>> contributions,
                                   std::span<float> out) const {
  pattern.Pattern::expected_all_reduce(ElementType::kFloat32, contributions, factor(), out);
}

}  // namespace thinpipe
