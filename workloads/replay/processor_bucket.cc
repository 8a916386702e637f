#include "workloads/replay/processor_bucket.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "compressors/registry.h"
#include "workloads/replay/message.h"

namespace thinpipe {

struct ProcessorBucket::Unit {
  std::unique_ptr<Compressor> compressor;
  bool sent = false;                   // in the last step
  std::span<const std::byte> payload;  // of summed units
  bool has_target = false;             // the number of elements that it aims at is no rank's own
};

ProcessorBucket::ProcessorBucket(const PlannedBucket& plan, std::size_t number,
                                 const CompressorSettings& settings, int ranks, double time_scale,
                                 bool sparse_sums)
    : ProcessorBucket(plan, number, settings, ranks, time_scale, sparse_sums, nullptr, 0) {}

ProcessorBucket::ProcessorBucket(const PlannedBucket& plan, std::size_t number,
                                 const CompressorSettings& settings, const PushPullOptions& servers,
                                 std::size_t first_unit)
    : ProcessorBucket(plan, number, settings, 1, 1, false, &servers, first_unit) {}

ProcessorBucket::ProcessorBucket(const PlannedBucket& plan, std::size_t number,
                                 const CompressorSettings& settings, int ranks, double time_scale,
                                 bool sparse_sums, const PushPullOptions* servers,
                                 std::size_t first_unit)
    : UnitBucket(plan, number, ranks, servers == nullptr), pace_(time_scale, settings.threads) {
  std::size_t floats = 0, message = 0;
  int most_rounds = 1;
  std::vector<Compressor*> summed, selected;
  for (const PlannedUnit& planned : plan_.units) {
    Unit& unit = units_.emplace_back();
    unit.compressor = make_compressor(planned.compressor, planned.info, settings);
    unit.has_target = find_method(planned.compressor.name).has_target;
    if (units_.size() > float_units_ && units_.size() <= summed_) continue;  // in halves_
    if (units_.size() <= float_units_) {
      floats += unit.compressor->max_encoded_size();
      most_rounds = std::max(most_rounds, unit.compressor->rounds());
      summed.push_back(unit.compressor.get());
      continue;
    }
    message += kMessageLengthBytes + unit.compressor->max_encoded_size();
    selected.push_back(unit.compressor.get());
  }
  if (sparse_sums) check_pairs();
  check_delays();
  message_.resize(message);
  if (servers != nullptr)
    pushed_ = std::make_unique<PushedUnits>(plan_, *servers, first_unit, settings);
  else
    make_room_for_scales();
  if (most_rounds > 1)
    rounds_ = std::make_unique<Rounds>(std::move(summed), settings.threads);
  else
    encoded_.resize(floats);
  if (!half_groups_.empty()) {
    halves_ = std::make_unique<HalfSums>(plan_, half_groups_, ranks_);
    own_halves_.resize(halves_->bytes());
  }
  if (sparse_sums && !selected.empty()) sparse_ = std::make_unique<SparseSums>(selected);
  verbatim_ =
      float_units_ > 0 && std::all_of(units_.begin(), units_.begin() + std::ptrdiff_t(float_units_),
                                      [](const Unit& unit) { return unit.compressor->verbatim(); });
}

ProcessorBucket::~ProcessorBucket() = default;

std::size_t ProcessorBucket::message_capacity() const {
  return std::max({sparse_ ? 0 : message_.size(), encoded_.size(), scales_.size() * sizeof(float)});
}

const Compressor& ProcessorBucket::compressor(std::size_t unit) const {
  return *units_[unit].compressor;
}

bool ProcessorBucket::sent(std::size_t unit) const { return units_[unit].sent; }

void ProcessorBucket::add_up(Gradients& gradients, std::uint64_t index) {
  for (std::size_t i = 0; i < units_.size(); ++i) gradients.add(number_, i, plan_.units[i], index);
}

void ProcessorBucket::take_scales(const Gradients& gradients, std::uint64_t index) {
  for (std::size_t i = summed_; i < units_.size(); ++i) {
    Unit& unit = units_[i];
    const bool takes =
        unit.compressor->shares_scale() && sends_unit(i, index / gradients.local_steps());
    scales_[i - summed_] =
        takes ? unit.compressor->prepare(gradients.input(number_, i, plan_.units[i], index)) : 0;
  }
}

void ProcessorBucket::encode_unit(std::size_t i, const GradientInput& input) {
  Unit& unit = units_[i];
  EncodeReport encoded;
  std::size_t bytes = 0;  // those of rounds are counted when they are exchanged
  if (i >= summed_) {
    encoded = unit.compressor->encode(input, std::span(message_).subspan(message_size_));
    bytes = encoded.encoded_bytes;
    if (sparse_)
      bytes = sparse_->add(i - summed_,
                           std::span(message_).subspan(message_size_, encoded.encoded_bytes),
                           unit.has_target ? std::optional(encoded.target_elements) : std::nullopt);
    const auto length = static_cast<std::uint32_t>(encoded.encoded_bytes);
    std::memcpy(message_.data() + (i - summed_) * kMessageLengthBytes, &length,
                kMessageLengthBytes);
    message_size_ += encoded.encoded_bytes;
  } else if (i >= float_units_) {
    const auto place =
        std::span(own_halves_)
            .subspan(halves_->place(offsets_[i]), unit.compressor->max_encoded_size());
    encoded = unit.compressor->encode(input, place);
    unit.payload = place;
    bytes = encoded.encoded_bytes;
  } else if (rounds_) {
    encoded = rounds_->encode(input);
  } else {
    const std::span<std::byte> room = std::span(encoded_).subspan(floats_.size());
    encoded = unit.compressor->encode(input, room);
    unit.payload = room.first(encoded.encoded_bytes);
    floats_ = std::span(encoded_).first(floats_.size() + encoded.encoded_bytes);
    bytes = encoded.encoded_bytes;
  }
  add_to_payload(i, encoded, bytes, i < summed_ || sparse_);
}

/// Summed units that would only be copied, one after the other, are sent from where they lie one
/// after the other, as a framework sends a bucket of which its gradients are views.
bool ProcessorBucket::take_as_they_lie(const Gradients& gradients, std::uint64_t index) {
  if (!verbatim_) return false;
  std::span<const float> all;
  for (std::size_t i = 0; i < float_units_; ++i) {
    const auto values = gradients.input(number_, i, plan_.units[i], index).values;
    if (values.empty()) continue;
    if (all.empty()) all = values.first(0);
    if (values.data() != all.data() + all.size()) return false;
    all = std::span(all.data(), all.size() + values.size());
  }
  floats_ = std::as_bytes(all);
  std::size_t at = 0;
  for (std::size_t i = 0; i < float_units_; ++i) {
    const std::size_t size = units_[i].compressor->elements() * sizeof(float);
    units_[i].sent = true;
    units_[i].payload = floats_.subspan(at, size);
    at += size;
  }
  payload_.bytes += at;
  payload_.summed_bytes += at;
  payload_.selected += all.size();
  sums_ = as_it_lies_ = true;
  return true;
}

// Whoever compresses changes, worker or server: the sum of what is decoded is the mean then.
bool ProcessorBucket::incremental(std::size_t unit) const {
  const Compressor* const pull = pushed_ ? pushed_->decoder(unit) : nullptr;
  return compressor(unit).incremental() || (pull != nullptr && pull->incremental());
}

void ProcessorBucket::save_state(std::vector<std::byte>& state) {
  if (sparse_) sparse_->give_back();
  for (const Unit& unit : units_) append_state(*unit.compressor, state);
}

void ProcessorBucket::load_state(ByteReader& state) {
  if (sparse_) sparse_->forget();
  for (Unit& unit : units_) take_state(state, *unit.compressor);
}

void ProcessorBucket::encode(const Gradients& gradients, std::uint64_t index) {
  begin_payload();
  as_it_lies_ = false;
  floats_ = {};
  message_size_ = split_.size() * kMessageLengthBytes;
  std::fill_n(message_.begin(), message_size_, std::byte{0});
  if (rounds_) rounds_->begin();
  if (sparse_) sparse_->begin();
  for (std::size_t i = take_as_they_lie(gradients, index) ? float_units_ : 0; i < units_.size();
       ++i) {
    Unit& unit = units_[i];
    GradientInput input = gradients.input(number_, i, plan_.units[i], index);
    unit.sent = sends_unit(i, index / gradients.local_steps());
    if (!unit.sent) {
      unit.compressor->hold(input);
      continue;
    }
    if (i >= summed_ && !scales_.empty() && unit.compressor->shares_scale())
      input.shared_scale = scales_[i - summed_];
    encode_unit(i, input);
  }
  if (sums_ && halves_) halves_->prepare(own_halves_);
}

void ProcessorBucket::skip() {
  begin_payload();
  floats_ = {};
  as_it_lies_ = false;
  if (rounds_) rounds_->begin();
  for (Unit& unit : units_) unit.sent = false;
}

RoundsTime ProcessorBucket::exchange(Pattern& pattern, std::span<float> aggregate) {
  RoundsTime time;
  pace_.reset();
  std::size_t summed_in_rounds = 0;
  const double begin = now_seconds();
  if (sums_ && rounds_) {
    time = rounds_->run(pattern, ranks_, pace_);
    for (std::size_t round = 0; round < rounds_->count(); ++round)
      summed_in_rounds += rounds_->sent(round).size_bytes();
    payload_.summed_bytes += summed_in_rounds;
    payload_.bytes += summed_in_rounds;
  } else if (sums_ && float_units_ > 0) {
    // A dense payload is an array of floats already: it is summed from where it was written to
    // where the aggregate is wanted.
    const std::span<const float> own(reinterpret_cast<const float*>(floats_.data()),
                                     floats_.size() / sizeof(float));
    pattern.all_reduce(own, aggregate.first(float_elements_), factor());
  }
  if (sums_ && halves_) halves_->exchange(pattern);
  if (gathers_ && sparse_)
    sparse_->exchange(pattern, factor());
  else if (gathers_)
    arrived_ = &pattern.all_gather(std::span(message_).first(message_size_));
  time.exchange = now_seconds() - begin - time.compress;
  return time;
}

void ProcessorBucket::decode(std::span<float> aggregate) {
  if (!sums_ || rounds_) std::fill_n(aggregate.begin(), float_elements_, 0.0F);
  if (sums_ && rounds_)
    for (std::size_t i = 0; i < float_units_; ++i)
      units_[i].compressor->decode_add(rounds_->result(i), 1.0F, part(i, aggregate));
  if (sums_ && halves_)
    halves_->decode(aggregate);
  else
    std::fill_n(aggregate.begin() + std::ptrdiff_t(float_elements_),
                summed_elements_ - float_elements_, 0.0F);
  const std::span<float> gathered = aggregate.subspan(summed_elements_);
  if (gathers_ && sparse_) return sparse_->decode(gathered);
  std::fill(gathered.begin(), gathered.end(), 0.0F);
  if (gathers_) pushed_ ? decode_answers(aggregate) : decode_gathered(aggregate);
}

void ProcessorBucket::decode_gathered(std::span<float> aggregate) {
  for (const std::span<const std::byte> message : *arrived_) {
    split_message(message, split_);
    for (std::size_t i = summed_; i < units(); ++i)
      if (units_[i].sent)
        units_[i].compressor->decode_add(split_[i - summed_], factor(), part(i, aggregate));
  }
}

void ProcessorBucket::push(Pattern& pattern) {
  split_own();
  pushed_->push(
      pattern, [&](std::size_t i) { return units_[i].sent; }, split_);
}

bool ProcessorBucket::pull(Pattern& pattern) {
  if (!pushed_->pull(pattern)) return false;
  payload_.pulled_bytes += pushed_->pulled_bytes();
  return true;
}

void ProcessorBucket::decode_answers(std::span<float> aggregate) {
  for (std::size_t i = 0; i < units(); ++i) {
    if (!units_[i].sent) continue;
    const Compressor* const pull = pushed_->decoder(i);
    const Compressor& decoder = pull != nullptr ? *pull : compressor(i);
    try {
      decoder.decode_add(joined_pieces(pushed_->answers(i), joined_), 1.0F, part(i, aggregate));
    } catch (const PayloadError& error) {
      throw PayloadError(
          fmt::format("a server's answer, unit '{}': {}", plan_.units[i].info.name, error.what()));
    }
  }
}

std::span<const std::byte> ProcessorBucket::own_summed(std::size_t i) const {
  return rounds_ && i < float_units_ ? rounds_->own_payload(i) : units_[i].payload;
}

Distortion ProcessorBucket::distortion(const Gradients& gradients, std::uint64_t index) const {
  Distortion all;
  split_own();
  for (std::size_t i = 0; i < units(); ++i)
    if (units_[i].sent)
      all += units_[i].compressor->distortion(gradients.input(number_, i, plan_.units[i], index),
                                              own_payload(i));
  return all;
}

bool ProcessorBucket::takes_mean(const Pattern& pattern) const {
  return !sparse_ && UnitBucket::takes_mean(pattern);
}

void ProcessorBucket::expected_sums(const Pattern& pattern,
                                    std::span<const std::span<const float>> contributions,
                                    std::span<float> out) const {
  if (!rounds_ || !pattern.lossy(ElementType::kFloat32))
    return UnitBucket::expected_sums(pattern, contributions, out);
  // The means of the rounds have references of their own; this is what they decode to.
  for (std::size_t i = 0; i < float_units_; ++i)
    units_[i].compressor->decode_add(rounds_->result(i), 1.0F, part(i, out));
}

void ProcessorBucket::expected_gathered(const Pattern& pattern,
                                        std::span<const std::span<const float>> contributions,
                                        std::span<float> out) const {
  if (!sparse_) return UnitBucket::expected_gathered(pattern, contributions, out);
  sparse_->expected(pattern, contributions, factor(), out);
}

}  // namespace thinpipe
