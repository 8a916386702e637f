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

void DeviceResult::set_velocity(std::span<const float> velocity) {
  device_.memory->upload(velocity_, velocity.data(), velocity.size_bytes());
  device_.memory->wait();
}

DeviceBucket::DeviceBucket(const DevicePlace& place, const PlannedBucket& plan, std::size_t number,
                           const CompressorSettings& settings, int ranks, std::uint64_t local_steps,
                           bool sparse_sums)
    : DeviceBucket(place, plan, number, settings, ranks, local_steps, sparse_sums, nullptr, 0) {}

DeviceBucket::DeviceBucket(const DevicePlace& place, const PlannedBucket& plan, std::size_t number,
                           const CompressorSettings& settings, std::uint64_t local_steps,
                           const PushPullOptions& servers, std::size_t first_unit)
    : DeviceBucket(place, plan, number, settings, 1, local_steps, false, &servers, first_unit) {}

DeviceBucket::DeviceBucket(const DevicePlace& place, const PlannedBucket& plan, std::size_t number,
                           const CompressorSettings& settings, int ranks, std::uint64_t local_steps,
                           bool sparse_sums, const PushPullOptions* servers, std::size_t first_unit)
    : UnitBucket(plan, number, ranks, servers == nullptr),
      local_steps_(local_steps),
      units_(std::make_unique<DeviceUnits>(place.device, plan_, number, settings, local_steps > 1,
                                           place.overlaps && servers == nullptr)),
      device_(units_->device()),
      bus_(device_.copies, place.time_scale),
      halves_bus_(device_.copies, place.time_scale),
      floats_(device_.memory, DeviceRoom::Where::kPinned),
      own_halves_(device_.memory, DeviceRoom::Where::kPinned),
      means_(device_.memory, DeviceRoom::Where::kPinned),
      pace_(place.time_scale, Pace::kDevice),
      rank_(settings.rank),
      time_scale_(place.time_scale),
      gather_(device_, settings.rank, ranks, place.time_scale),
      payloads_(split_.size()),
      aggregate_(place.device_aggregate) {
  bool takes_rounds = false;
  for (std::size_t i = 0; i < units(); ++i) {
    if (i >= summed_ && !sparse_sums)
      capacity_ += kMessageLengthBytes + compressor(i).max_encoded_size();
    else if (i < float_units_)
      takes_rounds = takes_rounds || compressor(i).rounds() > 1;
  }
  if (takes_rounds)
    rounds_ = std::make_unique<DeviceRounds>(device_, *units_, float_units_, place.time_scale,
                                             settings.threads);
  if (!half_groups_.empty()) halves_ = std::make_unique<HalfSums>(plan_, half_groups_, ranks_);
  check_delays();
  if (sparse_sums) check_pairs();
  if (sparse_sums && summed_ < units())
    sparse_ = std::make_unique<DeviceSparse>(device_, *units_, plan_, summed_, place.time_scale,
                                             settings.threads);
  if (servers != nullptr)
    answers_ = std::make_unique<DeviceAnswers>(device_, *units_, plan_, *servers, first_unit,
                                               settings, place.time_scale);
  else
    make_room_for_scales();
  capacity_ = std::max(capacity_, scales_.size() * sizeof(float));
}

/// The library's own copies would not be slowed down.
void DeviceBucket::connect(Pattern& pattern) {
  connect_codes(pattern);
  direct_.reset();
  if (pattern.on_devices() == nullptr || time_scale_ > 1 || summed_ == units()) return;
  std::vector<std::size_t> most;
  for (std::size_t i = summed_; i < units(); ++i) most.push_back(compressor(i).max_encoded_size());
  direct_ = std::make_unique<DirectGather>(device_, ranks_, most);
}

void DeviceBucket::connect_codes(const Pattern& pattern) {
  codes_.reset();
  if (float_units_ == 0 || rounds_) return;  // rounds' floats are small, and lie on the host
  if (const auto slices = pattern.coded_slices(float_elements_))
    codes_ = std::make_unique<DeviceCodes>(device_, *slices, time_scale_);
}

/// The host adds up too, for what is expected of the device's sums.
void DeviceBucket::load(Gradients& gradients, std::uint64_t index) {
  units_->load(gradients, index);
  for (std::size_t i = 0; local_steps_ > 1 && i < units(); ++i)
    gradients.add(number_, i, plan_.units[i], index);
}

void DeviceBucket::add_up(Gradients& /*gradients*/, std::uint64_t index) {
  units_->add_up(index % local_steps_ == 0);
  // A step with an exchange waits for the work that follows instead.
  if ((index + 1) % local_steps_ != 0) device_.memory->wait();
}

void DeviceBucket::take_scales(const Gradients& /*gradients*/, std::uint64_t index) {
  units_->take_scales(index / local_steps_, summed_, scales_);
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
  if (sums_ && codes_) codes_->encode(device_floats());
}

void DeviceBucket::begin_copies() {
  if (sums_ && rounds_) {
    rounds_->begin_copies();
  } else if (sums_ && float_units_ > 0) {
    codes_ ? codes_->begin_copies() : download_floats();
  }
  if (sums_) means_.grow(summed_elements_ * sizeof(float));
  if (sums_ && halves_) download_halves();
  if (!gathers_) return;
  for (std::size_t i = summed_; i < units(); ++i)
    payloads_[i - summed_] = {units_->payload(i), units_->report(i).encoded_bytes};
  if (answers_)
    gather_.begin(payloads_, answers_->pushed().order());
  else
    messages().begin(payloads_);
}

void DeviceBucket::download_floats() {
  floats_.grow(float_elements_ * sizeof(float));
  std::vector<DeviceCopy> copies;
  for (std::size_t i = 0; i < float_units_; ++i)
    copies.push_back({floats_.data() + offsets_[i] * sizeof(float), units_->payload(i),
                      units_->report(i).encoded_bytes});
  bus_.begin();
  floats_down_ = DeviceBus::begun(device_.copies->begin_downloads(copies));
  has_floats_ = true;
}

void DeviceBucket::download_halves() {
  own_halves_.grow(halves_->bytes());
  std::vector<DeviceCopy> copies;
  for (std::size_t i = float_units_; i < summed_; ++i)
    copies.push_back({own_halves_.data() + halves_->place(offsets_[i]), units_->payload(i),
                      units_->report(i).encoded_bytes});
  halves_bus_.begin();
  halves_down_ = DeviceBus::begun(device_.copies->begin_downloads(copies));
}

std::vector<DevicePayload> DeviceBucket::device_floats() const {
  std::vector<DevicePayload> floats;
  for (std::size_t i = 0; i < float_units_; ++i)
    floats.push_back({units_->payload(i), units_->report(i).encoded_bytes});
  return floats;
}

/// For checks of a step in which nothing but codes came down.
void DeviceBucket::fetch_floats() const {
  if (has_floats_) return;
  std::byte* to = floats_.grow(float_elements_ * sizeof(float));
  for (const DevicePayload& floats : device_floats()) {
    device_.memory->download(to, floats.data, floats.bytes);
    to += floats.bytes;
  }
  device_.memory->wait();
  has_floats_ = true;
}

void DeviceBucket::skip() {
  begin_payload();
  took_ = {};
  if (rounds_) rounds_->begin();
  units_->skip();
}

RoundsTime DeviceBucket::exchange(Pattern& pattern, std::span<float> /*aggregate*/) {
  RoundsTime time;
  pace_.reset();
  const double begin = now_seconds();
  const auto floats = [&](const DeviceRoom& room) {
    return std::span(reinterpret_cast<float*>(room.data()), float_elements_);
  };
  if (sums_ && rounds_) {
    time = rounds_->run(pattern, factor(), pace_);
    for (std::size_t round = 0; round < rounds_->count(); ++round) {
      payload_.bytes += rounds_->sent(round).size_bytes();
      payload_.summed_bytes += rounds_->sent(round).size_bytes();
    }
    took_.down += rounds_->copies().down;
    took_.up += rounds_->copies().up;
  } else if (sums_ && codes_) {
    took_.down += codes_->exchange(pattern, floats(means_), factor());
  } else if (sums_ && float_units_ > 0) {
    bus_.pass(floats_down_);
    took_.down += bus_.take(floats_down_);
    pattern.all_reduce(floats(floats_), floats(means_), factor());
  }
  if (sums_ && halves_) {
    halves_bus_.pass(halves_down_);
    took_.down += halves_bus_.take(halves_down_);
    halves_->prepare({own_halves_.data(), halves_->bytes()});
    halves_->exchange(pattern);
  }
  if (gathers_ && !sparse_) messages().exchange(pattern);
  if (gathers_ && sparse_) {
    gather_.wait_for_own();
    split_own();
  }
  time.exchange = now_seconds() - begin - time.compress;
  if (!gathers_ || !sparse_) return time;
  const RoundsTime again = sparse_->exchange(pattern, factor(), split_);
  time.exchange += again.exchange;
  time.compress += again.compress;
  time.compress_cpu += again.compress_cpu;
  payload_.bytes += sparse_->pair_bytes();
  payload_.summed_bytes += sparse_->pair_bytes();
  return time;
}

/// Payloads come down in the one order in which all workers push them: each leaves as soon as it is
/// there, and the next bucket's after the last of them.
void DeviceBucket::push(Pattern& pattern) {
  split_own();
  answers_->pushed().push(
      pattern, [&](std::size_t i) { return sent(i); }, split_,
      [&](std::size_t i) { return gather_.come(i); });
}

bool DeviceBucket::pull(Pattern& pattern) {
  if (!answers_->pull(pattern, [&](std::size_t i) { return sent(i); })) return false;
  payload_.pulled_bytes += answers_->pushed().pulled_bytes();
  return true;
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

/// In the order of ranks, on which the bits of a sum depend. The own payloads never left.
void DeviceBucket::decode_gathered() {
  if (sparse_) took_.up += sparse_->put(aggregate_ + summed_elements_);
  if (answers_)
    took_.up += answers_->add([&](std::size_t i) { return sent(i); }, offsets_, aggregate_);
  for (int rank = 0; !answers_ && !sparse_ && rank < ranks_; ++rank) {
    const auto payloads =
        rank == rank_ ? std::span<const DevicePayload>(payloads_) : messages().payloads_of(rank);
    for (std::size_t i = summed_; i < units(); ++i)
      if (sent(i))
        units_->begin_decode(i, payloads[i - summed_].data, payloads[i - summed_].bytes, factor(),
                             aggregate_ + offsets_[i]);
    units_->finish_decodes();
  }
  const BucketCopies took = messages().finish();
  took_.down += took.down;
  took_.up += took.up;
}

bool DeviceBucket::sent_as_it_lies() const {
  for (std::size_t i = 0; i < units(); ++i)
    if (!sent(i) || !compressor(i).verbatim()) return false;
  return true;
}

bool DeviceBucket::takes_mean(const Pattern& pattern) const {
  return !sparse_ && UnitBucket::takes_mean(pattern);
}

void DeviceBucket::expected_gathered(const Pattern& pattern,
                                     std::span<const std::span<const float>> contributions,
                                     std::span<float> out) const {
  if (!sparse_) return UnitBucket::expected_gathered(pattern, contributions, out);
  sparse_->expected(pattern, contributions, factor(), out);
}

void DeviceBucket::save_state(std::vector<std::byte>& state) {
  if (sparse_) sparse_->give_back();
  units_->save_state(state);
}

void DeviceBucket::load_state(ByteReader& state) {
  if (sparse_) sparse_->forget();
  units_->load_state(state);
}

// Whoever compresses changes, worker or server: the sum of what is decoded is the mean then.
bool DeviceBucket::incremental(std::size_t unit) const {
  const Compressor* const pull = answers_ ? answers_->pushed().decoder(unit) : nullptr;
  return compressor(unit).incremental() || (pull != nullptr && pull->incremental());
}

void DeviceBucket::expected_sums(const Pattern& pattern,
                                 std::span<const std::span<const float>> contributions,
                                 std::span<float> out) const {
  if (!rounds_ || !pattern.lossy(ElementType::kFloat32))
    return UnitBucket::expected_sums(pattern, contributions, out);
  // The means of the rounds have references of their own; this is what they decode to.
  for (std::size_t i = 0; i < float_units_; ++i)
    compressor(i).decode_add(rounds_->result(i), 1.0F, part(i, out));
}

std::span<const std::byte> DeviceBucket::own_summed(std::size_t unit) const {
  if (unit >= float_units_)
    return {own_halves_.data() + halves_->place(offsets_[unit]),
            units_->report(unit).encoded_bytes};
  if (rounds_) return rounds_->own_payload(unit);
  fetch_floats();
  return {floats_.data() + offsets_[unit] * sizeof(float), units_->report(unit).encoded_bytes};
}

Distortion DeviceBucket::distortion(const Gradients& gradients, std::uint64_t index) const {
  Distortion all;
  split_own();
  for (std::size_t i = 0; i < units(); ++i)
    if (sent(i)) all += units_->distortion(i, gradients, index, own_payload(i));
  return all;
}

}  // namespace thinpipe
