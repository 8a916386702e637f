#include "workloads/replay/device_sums.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/clock.h"
#include "compressors/registry.h"

namespace thinpipe {

DeviceCodes::DeviceCodes(const RankDevice& device, const CodedSlices& slices, double time_scale)
    : device_(device),
      bus_(device.copies, time_scale),
      codes_(device.memory, DeviceBuffer::Where::kPinned) {
  std::vector<TensorInfo> infos;
  for (const std::size_t elements : slices.elements) {
    infos.push_back({.name = fmt::format("slice {}", infos.size()),
                     .shape = {static_cast<std::int64_t>(elements)},
                     .elements = elements});
    sizes_.push_back(elements * sizeof(float));
    arrays_.push_back(static_cast<std::byte*>(device_.memory->allocate(sizes_.back())));
    inputs_.push_back(reinterpret_cast<const float*>(arrays_.back()));
  }
  compressor_ = device_.make(slices.codes, infos, {});
  std::size_t most = 0;
  for (std::size_t i = 0; i < infos.size(); ++i) most += compressor_->max_encoded_size(i);
  codes_.grow(most);
  device_.memory->wait();
}

void DeviceCodes::encode(std::span<const DevicePayload> floats) {
  std::size_t slice = 0, at = 0;
  copies_.clear();
  for (DevicePayload left : floats)
    while (left.bytes > 0) {
      if (at == sizes_[slice]) {
        ++slice;
        at = 0;
        continue;
      }
      const std::size_t some = std::min(left.bytes, sizes_[slice] - at);
      copies_.push_back({arrays_[slice] + at, left.data, some});
      at += some;
      left = {left.data + some, left.bytes - some};
    }
  device_.arithmetic->copy(copies_);
  compressor_->encode(inputs_, {});
  coded_.clear();
  for (const EncodeReport& report : compressor_->finish()) coded_.push_back(report.encoded_bytes);
}

void DeviceCodes::begin_copies() {
  copies_.clear();
  slices_.clear();
  std::byte* to = codes_.data();
  for (std::size_t i = 0; i < coded_.size(); ++i) {
    copies_.push_back({to, compressor_->device_payload(i), coded_[i]});
    slices_.emplace_back(to, coded_[i]);
    to += coded_[i];
  }
  bus_.begin();
  down_ = DeviceBus::begun(device_.copies->begin_downloads(copies_));
}

double DeviceCodes::exchange(CodedAllReduce& all_reduce, std::span<float> result, float factor) {
  const double took = bus_.pass(down_);
  all_reduce.all_reduce_coded(slices_, result, factor);
  return took;
}

// Rounds: floats are copied to where the all-reduce reads them, and means from where it leaves
// them.

DeviceRounds::DeviceRounds(const RankDevice& device, DeviceUnits& units, std::size_t summed,
                           double time_scale, int threads)
    : device_(device),
      units_(units),
      threads_(threads),
      summed_(summed),
      own_buffer_(device.memory, DeviceBuffer::Where::kPinned),
      means_buffer_(device.memory, DeviceBuffer::Where::kPinned),
      device_means_(device.memory, DeviceBuffer::Where::kDevice),
      device_means_of_(summed),
      down_(device.copies, time_scale),
      up_(device.copies, time_scale) {
  // A payload of the aggregate is at least as large as the floats of all rounds (sums.cc).
  std::size_t bytes = 0, longest = 0;
  for (std::size_t i = 0; i < summed; ++i) {
    const std::size_t most = units.cpu_compressor(i).max_encoded_size();
    bytes += most;
    longest = std::max(longest, most);
    most_rounds_ = std::max(most_rounds_, rounds_of(units.cpu_compressor(i)));
  }
  const auto pinned = [&](DeviceBuffer& buffer) {
    return std::span(reinterpret_cast<float*>(buffer.grow(bytes)), bytes / sizeof(float));
  };
  own_ = pinned(own_buffer_);
  means_ = pinned(means_buffer_);
  // Decoding reads some bytes past the end of a payload (device/device_compressor.h).
  device_means_.grow(bytes + sizeof(float));
  payload_.resize(longest);
  ends_.reserve(static_cast<std::size_t>(most_rounds_));
}

// Starts copying a round's floats to the host. @param round  the number of rounds that have ended
void DeviceRounds::download(int round) {
  std::vector<DeviceCopy> copies;
  for (std::size_t i = 0; i < summed_.size(); ++i) {
    if (!goes_on(i, round)) continue;
    const std::size_t bytes = units_.report(i).encoded_bytes;
    summed_[i] = {.at = used_, .size = bytes / sizeof(float)};
    device_means_of_[i] = reinterpret_cast<const float*>(device_means_.data()) + used_;
    copies.push_back({own_.data() + used_, units_.payload(i), bytes});
    used_ += summed_[i].size;
  }
  coming_ = DeviceBus::begun(device_.copies->begin_downloads(copies));
}

ExchangeTime DeviceRounds::run(AllReduce& all_reduce, float factor, Pace& pace) {
  ExchangeTime time;
  device_.copies->use_in_this_thread();
  std::size_t from = 0;
  for (int round = 1; round <= most_rounds_; ++round) {
    const double begin = now_seconds();
    took_.down += down_.pass(coming_);
    const std::size_t end = used_, size = end - from;
    all_reduce.all_reduce(own_.subspan(from, size), means_.subspan(from, size), factor);
    ends_.push_back(end);
    BusCopy going = DeviceBus::begun(device_.copies->begin_upload(
        {device_means_.data() + from * sizeof(float), means_.data() + from, size * sizeof(float)}));
    took_.up += up_.pass(going);
    from = end;
    const double exchanged = now_seconds();
    const double cpu = now_seconds(processor_clock(threads_));
    pace.begin();
    units_.next_round(round, device_means_of_);
    pace.end();
    if (round < most_rounds_) download(round);
    time.exchange += exchanged - begin;
    time.compress += now_seconds() - exchanged;
    time.compress_cpu += now_seconds(processor_clock(threads_)) - cpu;
  }
  time.codec = pace.own();
  time.overrun = pace.overrun();
  return time;
}

void DeviceRounds::decode(std::span<const std::size_t> offsets, float* device_part) const {
  // Units that are summed unchanged need only their mean; neighbours are added at once.
  float* to = nullptr;
  const float* from = nullptr;
  std::size_t size = 0;
  const auto add = [&] {
    if (size > 0) device_.arithmetic->add(to, from, size);
    size = 0;
  };
  for (std::size_t i = 0; i < summed_.size(); ++i) {
    float* const out = device_part + offsets[i];
    const Compressor& cpu_compressor = units_.cpu_compressor(i);
    if (rounds_of(cpu_compressor) > 1) {
      units_.begin_decode(i, units_.payload(i), units_.report(i).encoded_bytes, 1.0F, out);
    } else if (!cpu_compressor.verbatim()) {
      units_.begin_decode(i, reinterpret_cast<const std::byte*>(device_means_of_[i]),
                          summed_[i].size * sizeof(float), 1.0F, out);
    } else {
      if (to + size != out || from + size != device_means_of_[i]) {
        add();
        to = out;
        from = device_means_of_[i];
      }
      size += summed_[i].size;
    }
  }
  add();
  units_.finish_decodes();
}

std::span<const std::byte> DeviceRounds::result(std::size_t unit) const {
  if (rounds_of(units_.cpu_compressor(unit)) == 1)
    return std::as_bytes(
        std::span<const float>(means_).subspan(summed_[unit].at, summed_[unit].size));
  const auto payload = std::span(payload_).first(units_.report(unit).encoded_bytes);
  device_.memory->download(payload.data(), units_.payload(unit), payload.size());
  device_.memory->wait();
  return payload;
}

std::span<const std::byte> DeviceRounds::own_payload(std::size_t unit) const {
  if (rounds_of(units_.cpu_compressor(unit)) == 1)
    return std::as_bytes(
        std::span<const float>(own_).subspan(summed_[unit].at, summed_[unit].size));
  const auto payload = std::span(payload_).first(units_.cpu_compressor(unit).max_encoded_size());
  units_.own_payload(unit, payload);
  return payload;
}

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
      has_memory_(plan.units.size()),
      sums_(sums_of(units, plan.units.size())),
      threads_(threads),
      bus_(device.copies, time_scale),
      upload_(device),
      pace_(time_scale, threads) {
  for (std::size_t i = first; i < plan.units.size(); ++i) {
    const Spec& compressor = plan.units[i].compressor;
    has_target_[i] = find_method(compressor.name).has_target;
    has_memory_[i] = parameters_of(compressor).choice("memory") != "none";
  }
}

SparseSums DeviceSparse::sums_of(const DeviceUnits& units, std::size_t count) {
  std::vector<const Compressor*> cpu_compressors;
  for (std::size_t i = first_; i < count; ++i) cpu_compressors.push_back(&units.cpu_compressor(i));
  return {cpu_compressors, [this](std::size_t unit, std::span<const std::uint32_t> positions,
                                  std::span<const float> values) {
            if (!has_memory_[first_ + unit]) return;
            back_.push_back({first_ + unit, positions_.size(), positions.size()});
            positions_.insert(positions_.end(), positions.begin(), positions.end());
            values_.insert(values_.end(), values.begin(), values.end());
          }};
}

// Restores the values of all units by one copy, since each unit has few bytes.
double DeviceSparse::send_back() {
  if (back_.empty()) return 0;
  bus_.begin();
  upload_.clear();
  upload_.add(std::as_bytes(std::span(positions_)));
  upload_.add(std::as_bytes(std::span(values_)));
  const std::span<const DevicePayload> arrays = upload_.payloads(bus_);
  returns_.clear();
  for (const Back& back : back_)
    returns_.push_back({.tensor = back.unit,
                        .device_positions = positions_at(arrays[0]) + back.at,
                        .device_values = values_at(arrays[1]) + back.at,
                        .count = back.count});
  units_.give_back(returns_);
  back_.clear();
  positions_.clear();
  values_.clear();
  return upload_.finish(bus_);
}

ExchangeTime DeviceSparse::exchange(SparseAllReduce& sparse, float factor,
                                    std::span<const std::span<const std::byte>> payloads) {
  ExchangeTime time;
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
  time.codec = pace_.own();
  time.overrun = pace_.overrun();
  sums_.exchange(sparse, factor);
  bus_.begin();
  upload_.clear();
  upload_.add(std::as_bytes(sums_.sum().indices));
  upload_.add(std::as_bytes(sums_.sum().values));
  if (upload_.fits()) upload_.begin();
  if (bus_.slow() && upload_.under_way()) bus_.pass(upload_.copy());
  time.exchange = now_seconds() - begin - time.compress;
  return time;
}

double DeviceSparse::put(float* device_part) {
  const std::span<const DevicePayload> arrays = upload_.payloads(bus_);
  device_.arithmetic->put(device_part, positions_at(arrays[0]), values_at(arrays[1]),
                          sums_.sum().size());
  return upload_.finish(bus_);
}

}  // namespace thinpipe
