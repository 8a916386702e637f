#include "workloads/replay/bucket.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "workloads/replay/message.h"

namespace thinpipe {
namespace {

// Sets every unit's scale to the greatest over all ranks.
// @throws PayloadError when a peer sends another number of scales, or a scale below 0
void share_greatest_scales(AllGather& all_gather, std::span<float> scales,
                           std::span<const PlannedUnit> units) {
  for (const auto message : all_gather.all_gather(std::as_bytes(scales))) {
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

Bucket::Bucket(const PlannedBucket& plan, std::size_t number, const BucketSettings& settings)
    : plan_(plan), number_(number), ranks_(settings.servers ? 1 : settings.ranks) {
  const auto first_gathered =
      std::stable_partition(plan_.units.begin(), plan_.units.end(), [&](const PlannedUnit& unit) {
        return !settings.servers && aggregation_of(unit.compressor) == Aggregation::kAllReduce;
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

// Adds the next unit that is summed.
void Bucket::add_to_groups(std::size_t unit) {
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

void Bucket::check_delays() const {
  for (std::size_t i = 1; i < summed_; ++i)
    if (compressor(i).period() != compressor(0).period())
      throw InputError(fmt::format(
          "{} and {} share an all-reduce, but are sent in different steps; expected methods of one "
          "delay, or --overlap bucket with buckets that separate them",
          plan_.units[0].compressor.to_string(), plan_.units[i].compressor.to_string()));
}

void Bucket::check_pairs() const {
  for (std::size_t i = summed_; i < units(); ++i)
    if (dynamic_cast<const SparsePayload*>(&compressor(i)) == nullptr)
      throw InputError(
          fmt::format("{}: its payloads are not pairs of index and value; expected a method that "
                      "selects elements, for a sparse all-reduce",
                      plan_.units[i].compressor.to_string()));
}

void Bucket::make_scales() {
  for (std::size_t i = summed_; i < units(); ++i)
    if (dynamic_cast<const SharedScale*>(&compressor(i)) != nullptr)
      scales_.resize(units() - summed_);
}

std::uint64_t Bucket::period() const {
  std::uint64_t period = 1;
  for (std::size_t i = 0; i < units(); ++i) period = std::lcm(period, compressor(i).period());
  return period;
}

bool Bucket::sends(std::uint64_t exchange) const {
  for (std::size_t i = 0; i < units(); ++i)
    if (sends_unit(i, exchange)) return true;
  return false;
}

void Bucket::share_scales() {
  share_greatest_scales(operation<AllGather>(collective()), scales_,
                        std::span(plan_.units).subspan(summed_));
}

void Bucket::start_exchange(std::span<float> aggregate) {
  time_ = {};
  began_ = now_seconds();
  if (pushed_units() != nullptr) {
    split_own();
    return push(*push_pull_);
  }
  exchange(aggregate);
  time_.exchange = now_seconds() - began_ - time_.compress;
}

bool Bucket::poll_exchange() {
  if (pushed_units() == nullptr) return true;
  if (!pull(*push_pull_)) return false;
  payload_.pulled_bytes += pushed_units()->pulled_bytes();
  time_.exchange = now_seconds() - began_;
  return true;
}

void Bucket::add_rounds_to_payload() {
  for (std::size_t round = 0; round < rounds()->count(); ++round) {
    payload_.bytes += rounds()->sent(round).size_bytes();
    payload_.summed_bytes += rounds()->sent(round).size_bytes();
  }
}

void Bucket::add_to_payload(std::size_t unit, const EncodeReport& report, std::size_t bytes,
                            bool summed) {
  (unit < summed_ ? sums_ : gathers_) = true;
  payload_.bytes += bytes;
  if (summed) payload_.summed_bytes += bytes;
  payload_.target += report.target_elements;
  payload_.selected += report.selected_elements;
}

void Bucket::split_own() const {
  if (gathers_) split_message(own_message(), split_);
}

std::span<const std::byte> Bucket::own_payload(std::size_t unit) const {
  if (unit >= summed_) return split_[unit - summed_];
  return rounds() != nullptr && unit < float_units_ ? rounds()->own_payload(unit)
                                                    : own_summed(unit);
}

void Bucket::own_contribution(std::span<float> out) const {
  std::fill(out.begin(), out.end(), 0.0F);
  split_own();
  for (std::size_t i = 0; i < units(); ++i)
    if (sent(i)) compressor(i).decode_add(own_payload(i), 1.0F, part(i, out));
}

Distortion Bucket::distortion(const Gradients& gradients, std::uint64_t index) const {
  Distortion all;
  split_own();
  for (std::size_t i = 0; i < units(); ++i)
    if (sent(i)) all += unit_distortion(i, gradients, index);
  return all;
}

Distortion Bucket::unit_distortion(std::size_t unit, const Gradients& gradients,
                                   std::uint64_t index) const {
  return compressor(unit).distortion(gradients.input(number_, unit, plan_.units[unit], index),
                                     own_payload(unit));
}

// A server's answers may be changes to an estimate even if the workers' payloads are not. The mean
// gradient is then the sum of all decoded answers.
bool Bucket::incremental(std::size_t unit) const {
  const Compressor* const pull =
      pushed_units() != nullptr ? pushed_units()->decoder(unit) : nullptr;
  return compressor(unit).incremental() || (pull != nullptr && pull->incremental());
}

bool Bucket::takes_mean() const {
  return sparse_sums() == nullptr && half_groups_.empty() &&
         (float_units_ == 0 || !operation<AllReduce>(collective()).lossy(ElementType::kFloat32));
}

std::vector<RoundedSum> Bucket::rounded_sums() const {
  std::vector<RoundedSum> sums;
  if (sums_)
    for (const SumGroup& group : half_groups_)
      sums.push_back({group.begin, group.elements, group.summation.element,
                      operation<AllReduce>(collective()).knows_order()});
  return sums;
}

// All-gathered payloads are averaged unchanged, whatever a collective does to sums.
void Bucket::expected(std::span<const std::span<const float>> contributions,
                      std::span<float> out) const {
  std::fill(out.begin(), out.end(), 0.0F);
  if (sums_ && float_units_ > 0) expected_floats(contributions, out);
  if (sums_ && !half_groups_.empty()) expected_half_sums(contributions, out);
  if (!gathers_) return;
  const std::size_t rest = elements_ - summed_elements_;
  const auto parts = parts_of(contributions, summed_elements_, rest);
  if (const SparseSums* const sums = sparse_sums())
    sums->expected(operation<SparseAllReduce>(collective()), parts, factor(), out.last(rest));
  else
    sum_over_ranks(parts, factor(), out.last(rest));
}

void Bucket::expected_floats(std::span<const std::span<const float>> contributions,
                             std::span<float> out) const {
  const AllReduce& all_reduce = operation<AllReduce>(collective());
  if (rounds() == nullptr || !all_reduce.lossy(ElementType::kFloat32))
    return all_reduce.expected_all_reduce(ElementType::kFloat32,
                                          parts_of(contributions, 0, float_elements_), factor(),
                                          out.first(float_elements_));
  // expected_round() checks the rounds' means; these are their decoded values.
  for (std::size_t i = 0; i < float_units_; ++i)
    compressor(i).decode_add(rounds()->result(i), 1.0F, part(i, out));
}

void Bucket::expected_half_sums(std::span<const std::span<const float>> contributions,
                                std::span<float> out) const {
  const AllReduce& all_reduce = operation<AllReduce>(collective());
  if (!all_reduce.knows_order()) return;
  for (const SumGroup& group : half_groups_) {
    const ElementType type = group.summation.element;
    const bool predivides = group.summation.predivides;
    std::vector<std::vector<float>> arrays;
    for (const auto part : parts_of(contributions, group.begin, group.elements)) {
      arrays.emplace_back(part.begin(), part.end());
      if (predivides)
        for (float& value : arrays.back()) value = rounded(value * factor(), type);
    }
    all_reduce.expected_all_reduce(
        type, std::vector<std::span<const float>>(arrays.begin(), arrays.end()),
        predivides ? 1 : factor(), out.subspan(group.begin, group.elements));
  }
}

void Bucket::expected_round(std::span<const std::span<const float>> sent,
                            std::span<float> mean) const {
  operation<AllReduce>(collective())
      .expected_all_reduce(ElementType::kFloat32, sent, factor(), mean);
}

}  // namespace thinpipe
