#include "workloads/replay/device_bucket.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

#include "base/clock.h"
#include "compressors/registry.h"
#include "workloads/replay/message.h"
#include "workloads/replay/shared_scales.h"

namespace thinpipe {

DeviceBucket::DeviceBucket(const RankDevice& device, const PlannedBucket& plan, std::size_t number,
                           const CompressorSettings& settings, int ranks, std::uint64_t local_steps,
                           double time_scale, float* device_aggregate)
    : device_(device),
      plan_(plan),
      number_(number),
      rank_(settings.rank),
      ranks_(ranks),
      local_steps_(local_steps),
      time_scale_(time_scale),
      floats_(device.memory, DeviceRoom::Where::kPinned),
      means_(device.memory, DeviceRoom::Where::kPinned),
      gather_(device, settings.rank, ranks, time_scale),
      aggregate_(device_aggregate) {
  const auto first_gathered =
      std::stable_partition(plan_.units.begin(), plan_.units.end(), [](const PlannedUnit& unit) {
        return aggregation_of(unit.compressor) == Aggregation::kAllReduce;
      });
  summed_ = static_cast<std::size_t>(first_gathered - plan_.units.begin());
  units_ = std::make_unique<DeviceUnits>(device, plan_, number, settings, local_steps > 1);
  bool shares = false;
  for (std::size_t i = 0; i < plan_.units.size(); ++i) {
    const Compressor& twin = units_->twin(i);
    offsets_.push_back(elements_);
    elements_ += plan_.units[i].info.elements;
    if (i < summed_) {
      summed_elements_ = elements_;
      if (twin.rounds() > 1)
        throw InputError(fmt::format(
            "{}: takes several all-reduces a step, which has no twin on devices; expected another "
            "method, or --device cpu",
            plan_.units[i].compressor.to_string()));
      if (twin.period() != units_->twin(0).period())
        throw InputError(fmt::format(
            "{} and {} leave together and are summed, but not in the same steps; expected methods "
            "of one delay, or --overlap bucket with buckets that part them",
            plan_.units[0].compressor.to_string(), plan_.units[i].compressor.to_string()));
      continue;
    }
    capacity_ += kMessageLengthBytes + twin.max_encoded_size();
    shares = shares || twin.shares_scale();
  }
  if (shares) scales_.resize(plan_.units.size());
  capacity_ = std::max(capacity_, scales_.size() * sizeof(float));
  payloads_.resize(plan_.units.size() - summed_);
  split_.resize(payloads_.size());
}

std::uint64_t DeviceBucket::period() const {
  std::uint64_t period = 1;
  for (std::size_t i = 0; i < plan_.units.size(); ++i)
    period = std::lcm(period, units_->twin(i).period());
  return period;
}

bool DeviceBucket::sends(std::uint64_t exchange) const {
  for (std::size_t i = 0; i < plan_.units.size(); ++i)
    if (units_->sends(i, exchange)) return true;
  return false;
}

/// The host adds up too, for what is expected of the device's sums.
void DeviceBucket::load(Gradients& gradients, std::uint64_t index) {
  units_->load(gradients, index);
  for (std::size_t i = 0; local_steps_ > 1 && i < plan_.units.size(); ++i)
    gradients.add(number_, i, plan_.units[i], index);
}

void DeviceBucket::add_up(Gradients& /*gradients*/, std::uint64_t index) {
  units_->add_up(index % local_steps_ == 0);
  // What follows in a step with an exchange is waited for itself.
  if ((index + 1) % local_steps_ != 0) device_.memory->wait();
}

void DeviceBucket::take_scales(const Gradients& /*gradients*/, std::uint64_t index) {
  units_->take_scales(index / local_steps_, scales_);
}

void DeviceBucket::share_scales(Pattern& pattern) {
  share_greatest_scales(pattern, scales_, plan_.units);
}

void DeviceBucket::encode(const Gradients& gradients, std::uint64_t index) {
  sums_ = gathers_ = false;
  took_ = {};
  units_->encode(gradients, index, scales_);
  add_to_payload();
}

void DeviceBucket::begin_copies() {
  if (sums_) download_floats();
  if (!gathers_) return;
  for (std::size_t i = summed_; i < plan_.units.size(); ++i)
    payloads_[i - summed_] = {units_->payload(i), units_->report(i).encoded_bytes};
  gather_.begin(payloads_);
}

void DeviceBucket::add_to_payload() {
  payload_ = {};
  for (std::size_t i = 0; i < plan_.units.size(); ++i) {
    if (!units_->sent(i)) continue;
    (i < summed_ ? sums_ : gathers_) = true;
    const EncodeReport& report = units_->report(i);
    payload_.bytes += report.encoded_bytes;
    if (i < summed_) payload_.summed_bytes += report.encoded_bytes;
    payload_.target += report.target_elements;
    payload_.selected += report.selected_elements;
  }
}

void DeviceBucket::download_floats() {
  floats_.grow(summed_elements_ * sizeof(float));
  means_.grow(summed_elements_ * sizeof(float));
  std::vector<DeviceCopy> copies;
  for (std::size_t i = 0; i < summed_; ++i)
    copies.push_back({floats_.data() + offsets_[i] * sizeof(float), units_->payload(i),
                      units_->report(i).encoded_bytes});
  floats_begun_ = now_seconds();
  floats_down_ = device_.copies->begin_downloads(copies);
}

void DeviceBucket::skip() {
  payload_ = {};
  took_ = {};
  sums_ = gathers_ = false;
  units_->skip();
}

RoundsTime DeviceBucket::exchange(Pattern& pattern, std::span<float> /*aggregate*/) {
  const double begin = now_seconds();
  if (sums_) {
    took_.down += device_.copies->take(floats_down_);
    if (time_scale_ > 1) wait_until(floats_begun_ + time_scale_ * took_.down);
    const auto floats = [&](const DeviceRoom& room) {
      return std::span(reinterpret_cast<float*>(room.data()), summed_elements_);
    };
    pattern.all_reduce(floats(floats_), floats(means_), 1.0F / static_cast<float>(ranks_));
  }
  if (gathers_) {
    pattern.gather_staged(gather_);
    gather_.pass_uploads();
  }
  return {.exchange = now_seconds() - begin};
}

void DeviceBucket::push(Pattern& /*pattern*/) {
  throw std::logic_error("a worker of parameter servers with a device");
}

bool DeviceBucket::pull(Pattern& /*pattern*/) {
  throw std::logic_error("a worker of parameter servers with a device");
}

void DeviceBucket::decode(std::span<float> /*aggregate*/) {
  const std::size_t summed_bytes = summed_elements_ * sizeof(float);
  if (sums_)
    took_.up += device_.copies->take(
        device_.copies->begin_upload({aggregate_, means_.data(), summed_bytes}));
  else
    device_.memory->zero(aggregate_, summed_bytes);
  device_.memory->zero(aggregate_ + summed_elements_,
                       (elements_ - summed_elements_) * sizeof(float));
  if (gathers_) decode_gathered();
  device_.memory->wait();
}

/// In the order of ranks, on which the bits of a sum depend. The own payloads never left.
void DeviceBucket::decode_gathered() {
  const float factor = 1.0F / static_cast<float>(ranks_);
  for (int rank = 0; rank < ranks_; ++rank) {
    const auto payloads =
        rank == rank_ ? std::span<const DevicePayload>(payloads_) : gather_.payloads_of(rank);
    for (std::size_t i = summed_; i < plan_.units.size(); ++i)
      if (units_->sent(i))
        units_->decode_add(i, payloads[i - summed_].data, payloads[i - summed_].bytes, factor,
                           aggregate_ + offsets_[i]);
  }
  const BucketCopies took = gather_.finish();
  took_.down += took.down;
  took_.up += took.up;
}

bool DeviceBucket::sent_as_it_lies() const {
  for (std::size_t i = 0; i < plan_.units.size(); ++i)
    if (!units_->sent(i) || !units_->twin(i).verbatim()) return false;
  return true;
}

/// After split_message() of the own message.
std::span<const std::byte> DeviceBucket::own_payload(std::size_t unit) const {
  if (unit >= summed_) return split_[unit - summed_];
  return {floats_.data() + offsets_[unit] * sizeof(float), units_->report(unit).encoded_bytes};
}

Distortion DeviceBucket::distortion(const Gradients& gradients, std::uint64_t index) const {
  Distortion all;
  if (gathers_) split_message(gather_.own(), split_);
  for (std::size_t i = 0; i < plan_.units.size(); ++i)
    if (units_->sent(i)) all += units_->distortion(i, gradients, index, own_payload(i));
  return all;
}

void DeviceBucket::own_contribution(std::span<float> out) const {
  std::fill(out.begin(), out.end(), 0.0F);
  if (gathers_) split_message(gather_.own(), split_);
  for (std::size_t i = 0; i < plan_.units.size(); ++i)
    if (units_->sent(i)) units_->twin(i).decode_add(own_payload(i), 1.0F, part(i, out));
}

bool DeviceBucket::takes_mean(const Pattern& pattern) const {
  return summed_ == 0 || !pattern.lossy();
}

void DeviceBucket::expected(const Pattern& pattern,
                            std::span<const std::span<const float>> contributions,
                            std::span<float> out) const {
  const float factor = 1.0F / static_cast<float>(ranks_);
  const auto parts = [&](std::size_t first, std::size_t size) {
    std::vector<std::span<const float>> all;
    for (const auto& one : contributions) all.push_back(one.subspan(first, size));
    return all;
  };
  const std::size_t rest = elements_ - summed_elements_;
  std::fill(out.begin(), out.end(), 0.0F);
  if (sums_)
    pattern.expected_all_reduce(parts(0, summed_elements_), factor, out.first(summed_elements_));
  if (gathers_)
    pattern.Pattern::expected_all_reduce(parts(summed_elements_, rest), factor, out.last(rest));
}

}  // namespace thinpipe
