// Floats come down where the all-reduce reads them, and means go up from where it leaves them.
#include "workloads/replay/device_rounds.h"

#include <algorithm>

#include "base/clock.h"

namespace thinpipe {

DeviceRounds::DeviceRounds(const RankDevice& device, DeviceUnits& units, std::size_t summed,
                           double time_scale, int threads)
    : device_(device),
      units_(units),
      threads_(threads),
      summed_(summed),
      own_room_(device.memory, DeviceRoom::Where::kPinned),
      means_room_(device.memory, DeviceRoom::Where::kPinned),
      device_means_(device.memory, DeviceRoom::Where::kDevice),
      means_there_(summed),
      down_(device.copies, time_scale),
      up_(device.copies, time_scale) {
  // A payload of the aggregate holds no less than what the rounds send (rounds.cc).
  std::size_t bytes = 0, longest = 0;
  for (std::size_t i = 0; i < summed; ++i) {
    const std::size_t most = units.twin(i).max_encoded_size();
    bytes += most;
    longest = std::max(longest, most);
    most_rounds_ = std::max(most_rounds_, units.twin(i).rounds());
  }
  const auto pinned = [&](DeviceRoom& room) {
    return std::span(reinterpret_cast<float*>(room.grow(bytes)), bytes / sizeof(float));
  };
  own_ = pinned(own_room_);
  means_ = pinned(means_room_);
  // Payloads that are decoded have readable bytes behind them (device_compressor.h).
  device_means_.grow(bytes + sizeof(float));
  payload_.resize(longest);
  ends_.reserve(static_cast<std::size_t>(most_rounds_));
}

void DeviceRounds::begin() {
  used_ = 0;
  took_ = {};
  ends_.clear();
}

/// Whether the unit sends anything in the round after that many.
bool DeviceRounds::goes_on(std::size_t unit, int round) const {
  return round == 0 || round < units_.twin(unit).rounds();
}

void DeviceRounds::begin_copies() {
  down_.begin();
  up_.begin();
  download(0);
}

/// @param round  how many are over
void DeviceRounds::download(int round) {
  std::vector<DeviceCopy> copies;
  for (std::size_t i = 0; i < summed_.size(); ++i) {
    if (!goes_on(i, round)) continue;
    const std::size_t bytes = units_.report(i).encoded_bytes;
    summed_[i] = {.at = used_, .size = bytes / sizeof(float)};
    means_there_[i] = reinterpret_cast<const float*>(device_means_.data()) + used_;
    copies.push_back({own_.data() + used_, units_.payload(i), bytes});
    used_ += summed_[i].size;
  }
  coming_ = DeviceBus::begun(device_.copies->begin_downloads(copies));
}

RoundsTime DeviceRounds::run(Pattern& pattern, float factor, Pace& pace) {
  RoundsTime time;
  device_.copies->use_in_this_thread();
  std::size_t from = 0;
  for (int round = 1; round <= most_rounds_; ++round) {
    const double begin = now_seconds();
    down_.pass(coming_);
    took_.down += down_.take(coming_);
    const std::size_t end = used_, size = end - from;
    pattern.all_reduce(own_.subspan(from, size), means_.subspan(from, size), factor);
    ends_.push_back(end);
    BusCopy going = DeviceBus::begun(device_.copies->begin_upload(
        {device_means_.data() + from * sizeof(float), means_.data() + from, size * sizeof(float)}));
    up_.pass(going);
    took_.up += up_.take(going);
    from = end;
    const double exchanged = now_seconds();
    const double cpu = now_seconds(processor_clock(threads_));
    pace.begin();
    units_.next_round(round, means_there_);
    pace.end();
    if (round < most_rounds_) download(round);
    time.exchange += exchanged - begin;
    time.compress += now_seconds() - exchanged;
    time.compress_cpu += now_seconds(processor_clock(threads_)) - cpu;
  }
  return time;
}

void DeviceRounds::decode(std::span<const std::size_t> offsets, float* device_part) const {
  // What is summed as it is needs no more than its mean; neighbours are added at once.
  float* to = nullptr;
  const float* from = nullptr;
  std::size_t size = 0;
  const auto add = [&] {
    if (size > 0) device_.arithmetic->add(to, from, size);
    size = 0;
  };
  for (std::size_t i = 0; i < summed_.size(); ++i) {
    float* const out = device_part + offsets[i];
    const Compressor& twin = units_.twin(i);
    if (twin.rounds() > 1) {
      units_.begin_decode(i, units_.payload(i), units_.report(i).encoded_bytes, 1.0F, out);
    } else if (!twin.verbatim()) {
      units_.begin_decode(i, reinterpret_cast<const std::byte*>(means_there_[i]),
                          summed_[i].size * sizeof(float), 1.0F, out);
    } else {
      if (to + size != out || from + size != means_there_[i]) {
        add();
        to = out;
        from = means_there_[i];
      }
      size += summed_[i].size;
    }
  }
  add();
  units_.finish_decodes();
}

std::span<const std::byte> DeviceRounds::result(std::size_t unit) const {
  if (units_.twin(unit).rounds() == 1)
    return std::as_bytes(
        std::span<const float>(means_).subspan(summed_[unit].at, summed_[unit].size));
  const auto payload = std::span(payload_).first(units_.report(unit).encoded_bytes);
  device_.memory->download(payload.data(), units_.payload(unit), payload.size());
  device_.memory->wait();
  return payload;
}

std::span<const std::byte> DeviceRounds::own_payload(std::size_t unit) const {
  if (units_.twin(unit).rounds() == 1)
    return std::as_bytes(
        std::span<const float>(own_).subspan(summed_[unit].at, summed_[unit].size));
  const auto payload = std::span(payload_).first(units_.twin(unit).max_encoded_size());
  units_.own_payload(unit, payload);
  return payload;
}

}  // namespace thinpipe
