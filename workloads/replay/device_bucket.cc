#include "workloads/replay/device_bucket.h"

#include <algorithm>

#include "base/clock.h"
#include "compressors/registry.h"
#include "workloads/replay/message.h"

namespace thinpipe {

DeviceResult::DeviceResult(const RankDevice& device, std::size_t elements,
                           const std::optional<OuterOptions>& outer)
    : device_(device), elements_(elements), outer_(outer) {
  const auto array = [&] {
    return static_cast<float*>(device_.memory->allocate(elements * sizeof(float)));
  };
  aggregate_ = array();
  if (outer_) {
    update_ = array();
    velocity_ = array();
  }
  device_.memory->wait();
}

void DeviceResult::apply_outer() {
  device_.arithmetic->nesterov(aggregate_, velocity_, update_, elements_, outer_->momentum,
                               outer_->learning_rate);
  device_.memory->wait();
}

void DeviceResult::fetch(std::span<float> aggregate, std::span<float> update,
                         std::span<float> velocity) {
  device_.memory->download(aggregate.data(), aggregate_, aggregate.size_bytes());
  if (outer_) {
    device_.memory->download(update.data(), update_, update.size_bytes());
    device_.memory->download(velocity.data(), velocity_, velocity.size_bytes());
  }
  device_.memory->wait();
}

DeviceBucket::DeviceBucket(const PlannedBucket& plan, std::size_t number, std::size_t first_unit,
                           const BucketSettings& settings, const RankDevice& device,
                           float* device_aggregate, bool overlaps)
    : Bucket(plan, number, settings),
      units_(std::make_unique<DeviceUnits>(device, plan_, number, settings.compressors,
                                           settings.local_steps > 1,
                                           overlaps && !settings.servers)),
      device_(units_->device()),
      bus_(device_.copies, settings.time_scale),
      halves_bus_(device_.copies, settings.time_scale),
      floats_(device_.memory, DeviceBuffer::Where::kPinned),
      own_halves_(device_.memory, DeviceBuffer::Where::kPinned),
      means_(device_.memory, DeviceBuffer::Where::kPinned),
      pace_(settings.time_scale, Pace::kDevice),
      settings_(settings),
      gather_(device_, settings.compressors.rank, ranks_, settings.time_scale),
      payloads_(split_.size()),
      aggregate_(device_aggregate) {
  bool takes_rounds = false;
  for (std::size_t i = 0; i < units(); ++i) {
    if (i >= summed_ && !settings.sparse_sums)
      capacity_ += kMessageLengthBytes + compressor(i).max_encoded_size();
    else if (i < float_units_)
      takes_rounds = takes_rounds || rounds_of(compressor(i)) > 1;
  }
  const double scale = settings.time_scale;
  const int threads = settings.compressors.threads;
  if (takes_rounds)
    rounds_ = std::make_unique<DeviceRounds>(device_, *units_, float_units_, scale, threads);
  if (!half_groups_.empty()) halves_ = std::make_unique<HalfSums>(plan_, half_groups_, ranks_);
  check_delays();
  if (settings.sparse_sums) check_pairs();
  if (settings.sparse_sums && summed_ < units())
    sparse_ = std::make_unique<DeviceSparse>(device_, *units_, plan_, summed_, scale, threads);
  if (settings.servers)
    answers_ = std::make_unique<DeviceAnswers>(device_, *units_, plan_, *settings.servers,
                                               first_unit, settings.compressors, scale);
  else
    make_scales();
  capacity_ = std::max(capacity_, scales_.size() * sizeof(float));
}

/// Without DirectGather under a time scale, which cannot slow down the MPI library's own copies.
void DeviceBucket::connect(Collective& collective) {
  Bucket::connect(collective);
  connect_codes();
  direct_.reset();
  const auto* const devices = dynamic_cast<const DeviceAllGather*>(&collective);
  const bool direct = devices != nullptr && devices->takes_device_pointers();
  if (!direct || settings_.time_scale > 1 || summed_ == units()) return;
  std::vector<std::size_t> most;
  for (std::size_t i = summed_; i < units(); ++i) most.push_back(compressor(i).max_encoded_size());
  direct_ = std::make_unique<DirectGather>(device_, ranks_, most);
}

void DeviceBucket::connect_codes() {
  codes_.reset();
  if (float_units_ == 0 || rounds_) return;  // the floats of rounds are few and on the host
  if (const auto* const coded = dynamic_cast<const CodedAllReduce*>(&collective()))
    codes_ = std::make_unique<DeviceCodes>(device_, coded->coded_slices(float_elements_),
                                           settings_.time_scale);
}

/// The host adds up as well, to compute the expected sums.
void DeviceBucket::load(Gradients& gradients, std::uint64_t index) {
  units_->load(gradients, index);
  for (std::size_t i = 0; settings_.local_steps > 1 && i < units(); ++i)
    gradients.add(number_, i, plan_.units[i], index);
}

void DeviceBucket::add_up(Gradients& /*gradients*/, std::uint64_t index) {
  units_->add_up(index % settings_.local_steps == 0);
  // A step with an exchange waits for the encoding that follows instead.
  if ((index + 1) % settings_.local_steps != 0) device_.memory->wait();
}

void DeviceBucket::encode(const Gradients& gradients, std::uint64_t index) {
  begin_payload();
  took_ = {};
  has_floats_ = false;
  if (sparse_) took_.up += sparse_->begin();
  if (rounds_) rounds_->begin();
  units_->encode(gradients, index, summed_, scales_);
  for (std::size_t i = 0; i < units(); ++i)
    if (sent(i)) {
      // Pairs and rounds are counted when they are exchanged.
      const bool later = i < float_units_ ? rounds_ != nullptr : i >= summed_ && sparse_ != nullptr;
      const EncodeReport& report = units_->report(i);
      add_to_payload(i, report, later ? 0 : report.encoded_bytes, i < summed_);
    }
  if (!sums_ || !codes_) return;
  std::vector<DevicePayload> floats;
  for (std::size_t i = 0; i < float_units_; ++i)
    floats.push_back({units_->payload(i), units_->report(i).encoded_bytes});
  codes_->encode(floats);
}

void DeviceBucket::begin_copies() {
  if (sums_ && rounds_) {
    rounds_->begin_copies();
  } else if (sums_ && codes_) {
    codes_->begin_copies();
  } else if (sums_ && float_units_ > 0) {
    floats_.grow(float_elements_ * sizeof(float));
    floats_down_ = begin_download(0, float_units_, bus_);
    has_floats_ = true;
  }
  if (sums_) means_.grow(summed_elements_ * sizeof(float));
  if (sums_ && halves_) {
    own_halves_.grow(halves_->bytes());
    halves_down_ = begin_download(float_units_, summed_, halves_bus_);
  }
  if (!gathers_) return;
  for (std::size_t i = summed_; i < units(); ++i)
    payloads_[i - summed_] = {units_->payload(i), units_->report(i).encoded_bytes};
  if (answers_)
    gather_.begin(payloads_, answers_->pushed().order());
  else
    messages().begin(payloads_);
}

/// Returns where a summed unit's payload is on the host.
std::byte* DeviceBucket::place_of(std::size_t unit) const {
  return unit < float_units_ ? floats_.data() + offsets_[unit] * sizeof(float)
                             : own_halves_.data() + halves_->place(offsets_[unit]);
}

/// Starts copying the payloads of the summed units [first, last) to the host.
BusCopy DeviceBucket::begin_download(std::size_t first, std::size_t last, DeviceBus& bus) {
  std::vector<DeviceCopy> copies;
  for (std::size_t i = first; i < last; ++i)
    copies.push_back({place_of(i), units_->payload(i), units_->report(i).encoded_bytes});
  bus.begin();
  return DeviceBus::begun(device_.copies->begin_downloads(copies));
}

/// Copies the floats to the host, for checks of a step that copied only codes.
void DeviceBucket::fetch_floats() const {
  if (has_floats_) return;
  floats_.grow(float_elements_ * sizeof(float));
  for (std::size_t i = 0; i < float_units_; ++i)
    device_.memory->download(place_of(i), units_->payload(i), units_->report(i).encoded_bytes);
  device_.memory->wait();
  has_floats_ = true;
}

void DeviceBucket::skip() {
  begin_payload();
  took_ = {};
  if (rounds_) rounds_->begin();
  units_->skip();
}

void DeviceBucket::exchange(std::span<float> /*aggregate*/) {
  pace_.reset();
  if (sums_) exchange_summed();
  if (gathers_ && !sparse_) messages().exchange(collective());
  if (gathers_ && sparse_) exchange_selected();
}

void DeviceBucket::exchange_summed() {
  const auto floats = [&](const DeviceBuffer& buffer) {
    return std::span(reinterpret_cast<float*>(buffer.data()), float_elements_);
  };
  if (rounds_) {
    time_ = rounds_->run(operation<AllReduce>(collective()), factor(), pace_);
    add_rounds_to_payload();
    took_ += rounds_->copies();
  } else if (codes_) {
    took_.down +=
        codes_->exchange(operation<CodedAllReduce>(collective()), floats(means_), factor());
  } else if (float_units_ > 0) {
    took_.down += bus_.pass(floats_down_);
    operation<AllReduce>(collective()).all_reduce(floats(floats_), floats(means_), factor());
  }
  if (!halves_) return;
  took_.down += halves_bus_.pass(halves_down_);
  halves_->prepare({own_halves_.data(), halves_->bytes()});
  halves_->exchange(operation<AllReduce>(collective()));
}

void DeviceBucket::exchange_selected() {
  gather_.wait_for_own();
  split_own();
  const ExchangeTime selected =
      sparse_->exchange(operation<SparseAllReduce>(collective()), factor(), split_);
  time_.compress += selected.compress;
  time_.compress_cpu += selected.compress_cpu;
  time_.codec += selected.codec;
  time_.overrun += selected.overrun;
  payload_.bytes += sparse_->pair_bytes();
  payload_.summed_bytes += sparse_->pair_bytes();
}

/// Payloads are copied to the host in the order in which all workers push them. Each payload is
/// pushed as soon as it has been copied. The next bucket's payloads follow this bucket's last
/// payload.
void DeviceBucket::push(PushPull& servers) {
  answers_->pushed().push(
      servers, [&](std::size_t i) { return sent(i); }, split_,
      [&](std::size_t i) { return gather_.come(i); });
}

void DeviceBucket::decode(std::span<float> /*aggregate*/) {
  decode_summed();
  device_.memory->zero(aggregate_ + summed_elements_,
                       (elements_ - summed_elements_) * sizeof(float));
  if (gathers_) decode_gathered();
  device_.memory->wait();
}

void DeviceBucket::decode_summed() {
  if (!sums_) return device_.memory->zero(aggregate_, summed_elements_ * sizeof(float));
  const std::span means(reinterpret_cast<float*>(means_.data()), summed_elements_);
  if (halves_) halves_->decode(means);
  if (rounds_) {
    device_.memory->zero(aggregate_, float_elements_ * sizeof(float));
    rounds_->decode(offsets_, aggregate_);
  }
  // The means of rounds are on the device already.
  const std::size_t from = rounds_ ? float_elements_ : 0;
  if (from < summed_elements_)
    took_.up += device_.copies->take(
        device_.copies->begin_upload({aggregate_ + from, std::as_bytes(means.subspan(from)).data(),
                                      means.subspan(from).size_bytes()}));
}

/// Decodes payloads in the order of ranks, since the bits of a sum depend on the order of
/// additions. This rank's own payloads need no copy, since they are still on the device.
void DeviceBucket::decode_gathered() {
  if (sparse_) took_.up += sparse_->put(aggregate_ + summed_elements_);
  if (answers_)
    took_.up += answers_->add([&](std::size_t i) { return sent(i); }, offsets_, aggregate_);
  for (int rank = 0; !answers_ && !sparse_ && rank < ranks_; ++rank) {
    const auto payloads = rank == settings_.compressors.rank
                              ? std::span<const DevicePayload>(payloads_)
                              : messages().payloads_of(rank);
    for (std::size_t i = summed_; i < units(); ++i)
      if (sent(i))
        units_->begin_decode(i, payloads[i - summed_].data, payloads[i - summed_].bytes, factor(),
                             aggregate_ + offsets_[i]);
    units_->finish_decodes();
  }
  took_ += messages().finish();
}

bool DeviceBucket::sent_as_it_lies() const {
  for (std::size_t i = 0; i < units(); ++i)
    if (!sent(i) || !compressor(i).verbatim()) return false;
  return true;
}

}  // namespace thinpipe
