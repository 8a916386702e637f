#include "workloads/replay/device_sparse.h"

#include "base/clock.h"
#include "compressors/registry.h"

namespace thinpipe {

namespace {

const std::uint32_t* positions_at(const DevicePayload& payload) {
  return reinterpret_cast<const std::uint32_t*>(payload.data);
}

const float* values_at(const DevicePayload& payload) {
  return reinterpret_cast<const float*>(payload.data);
}

}  // namespace

DeviceSparse::DeviceSparse(const RankDevice& device, const DeviceUnits& units,
                           const PlannedBucket& plan, std::size_t first, double time_scale,
                           int threads)
    : device_(device),
      units_(units),
      first_(first),
      has_target_(plan.units.size()),
      sums_(sums_of(units, plan.units.size())),
      threads_(threads),
      bus_(device.copies, time_scale),
      upload_(device),
      pace_(time_scale, threads) {
  for (std::size_t i = first; i < plan.units.size(); ++i)
    has_target_[i] = find_method(plan.units[i].compressor.name).has_target;
}

SparseSums DeviceSparse::sums_of(const DeviceUnits& units, std::size_t count) {
  std::vector<const Compressor*> twins;
  for (std::size_t i = first_; i < count; ++i) twins.push_back(&units.twin(i));
  return {twins, [this](std::size_t unit, std::span<const std::uint32_t> positions,
                        std::span<const float> values) {
            back_.push_back({first_ + unit, positions_.size(), positions.size()});
            positions_.insert(positions_.end(), positions.begin(), positions.end());
            values_.insert(values_.end(), values.begin(), values.end());
          }};
}

double DeviceSparse::begin() {
  sums_.begin();
  return send_back();
}

void DeviceSparse::give_back() {
  sums_.give_back();
  send_back();
}

/// One copy for all units, as they are few bytes each.
double DeviceSparse::send_back() {
  if (back_.empty()) return 0;
  bus_.begin();
  upload_.clear();
  upload_.add(std::as_bytes(std::span(positions_)));
  upload_.add(std::as_bytes(std::span(values_)));
  const std::span<const DevicePayload> there = upload_.payloads(bus_);
  returns_.clear();
  for (const Back& back : back_)
    returns_.push_back({.tensor = back.unit,
                        .device_positions = positions_at(there[0]) + back.at,
                        .device_values = values_at(there[1]) + back.at,
                        .count = back.count});
  units_.give_back(returns_);
  back_.clear();
  positions_.clear();
  values_.clear();
  return upload_.finish(bus_);
}

RoundsTime DeviceSparse::exchange(Pattern& pattern, float factor,
                                  std::span<const std::span<const std::byte>> payloads) {
  RoundsTime time;
  pace_.reset();
  pair_bytes_ = 0;
  const double begin = now_seconds(), cpu = now_seconds(processor_clock(threads_));
  pace_.begin();
  for (std::size_t i = first_; i < has_target_.size(); ++i)
    if (units_.sent(i))
      pair_bytes_ += sums_.add(
          i - first_, payloads[i - first_],
          has_target_[i] ? std::optional(units_.report(i).target_elements) : std::nullopt);
  pace_.end();
  time.compress = now_seconds() - begin;
  time.compress_cpu = now_seconds(processor_clock(threads_)) - cpu;
  sums_.exchange(pattern, factor);
  bus_.begin();
  upload_.clear();
  upload_.add(std::as_bytes(sums_.sum().indices));
  upload_.add(std::as_bytes(sums_.sum().values));
  if (upload_.has_room()) upload_.begin();
  if (bus_.slow() && upload_.under_way()) bus_.pass(upload_.copy());
  time.exchange = now_seconds() - begin - time.compress;
  return time;
}

double DeviceSparse::put(float* device_part) {
  const std::span<const DevicePayload> there = upload_.payloads(bus_);
  device_.arithmetic->put(device_part, positions_at(there[0]), values_at(there[1]),
                          sums_.sum().size());
  return upload_.finish(bus_);
}

}  // namespace thinpipe
