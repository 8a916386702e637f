#include "workloads/replay/host_bucket.h"

#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "compressors/registry.h"

namespace thinpipe {
namespace {

// Returns the pieces joined: in place where they are contiguous, else copied to `joined`.
std::span<const std::byte> joined_pieces(std::span<const std::span<const std::byte>> pieces,
                                         std::vector<std::byte>& joined) {
  std::span<const std::byte> all = pieces.front();
  for (const std::span<const std::byte> piece : pieces.subspan(1)) {
    if (piece.data() != all.data() + all.size()) {
      joined.clear();
      for (const auto& one : pieces) joined.insert(joined.end(), one.begin(), one.end());
      return joined;
    }
    all = {all.data(), all.size() + piece.size()};
  }
  return all;
}

}  // namespace

HostBucket::HostBucket(const PlannedBucket& plan, std::size_t number, std::size_t first_unit,
                       const BucketSettings& settings)
    : Bucket(plan, number, settings), pace_(settings.time_scale, settings.compressors.threads) {
  std::size_t floats = 0, message = 0;
  int most_rounds = 1;
  std::vector<Compressor*> summed, selected;
  for (const PlannedUnit& planned : plan_.units) {
    Unit& unit = units_.emplace_back();
    unit.compressor = make_compressor(planned.compressor, planned.info, settings.compressors);
    unit.shared_scale = dynamic_cast<SharedScale*>(unit.compressor.get());
    unit.has_target = find_method(planned.compressor.name).has_target;
    if (units_.size() > float_units_ && units_.size() <= summed_) continue;  // in halves_
    if (units_.size() <= float_units_) {
      floats += unit.compressor->max_encoded_size();
      most_rounds = std::max(most_rounds, rounds_of(*unit.compressor));
      summed.push_back(unit.compressor.get());
      continue;
    }
    message += kMessageLengthBytes + unit.compressor->max_encoded_size();
    selected.push_back(unit.compressor.get());
  }
  if (settings.sparse_sums) check_pairs();
  check_delays();
  message_.resize(message);
  if (settings.servers)
    pushed_ =
        std::make_unique<PushedUnits>(plan_, *settings.servers, first_unit, settings.compressors);
  else
    make_scales();
  if (most_rounds > 1)
    rounds_ = std::make_unique<Rounds>(std::move(summed), settings.compressors.threads);
  else
    encoded_.resize(floats);
  if (!half_groups_.empty()) {
    halves_ = std::make_unique<HalfSums>(plan_, half_groups_, ranks_);
    own_halves_.resize(halves_->bytes());
  }
  if (settings.sparse_sums && !selected.empty()) sparse_ = std::make_unique<SparseSums>(selected);
  verbatim_ =
      float_units_ > 0 && std::all_of(units_.begin(), units_.begin() + std::ptrdiff_t(float_units_),
                                      [](const Unit& unit) { return unit.compressor->verbatim(); });
}

void HostBucket::take_scales(const Gradients& gradients, std::uint64_t index) {
  for (std::size_t i = summed_; i < units_.size(); ++i) {
    Unit& unit = units_[i];
    const bool takes =
        unit.shared_scale != nullptr && sends_unit(i, index / gradients.local_steps());
    scales_[i - summed_] =
        takes ? unit.shared_scale->prepare(gradients.input(number_, i, plan_.units[i], index)) : 0;
  }
}

void HostBucket::encode_unit(std::size_t i, const GradientInput& input) {
  Unit& unit = units_[i];
  EncodeReport encoded;
  std::size_t bytes = 0;  // bytes of rounds are counted when they are exchanged
  if (i >= summed_) {
    encoded = unit.compressor->encode(input, std::span(message_).subspan(message_size_));
    bytes = encoded.encoded_bytes;
    if (sparse_)
      bytes = sparse_->add(i - summed_,
                           std::span(message_).subspan(message_size_, encoded.encoded_bytes),
                           unit.has_target ? std::optional(encoded.target_elements) : std::nullopt);
    const std::uint32_t length = length_field(encoded.encoded_bytes);
    std::memcpy(message_.data() + (i - summed_) * kMessageLengthBytes, &length,
                kMessageLengthBytes);
    message_size_ += encoded.encoded_bytes;
  } else if (i >= float_units_) {
    const auto space =
        std::span(own_halves_)
            .subspan(halves_->place(offsets_[i]), unit.compressor->max_encoded_size());
    encoded = unit.compressor->encode(input, space);
    unit.payload = space;
    bytes = encoded.encoded_bytes;
  } else if (rounds_) {
    encoded = rounds_->encode(input);
  } else {
    const std::span<std::byte> free = std::span(encoded_).subspan(floats_.size());
    encoded = unit.compressor->encode(input, free);
    unit.payload = free.first(encoded.encoded_bytes);
    floats_ = std::span(encoded_).first(floats_.size() + encoded.encoded_bytes);
    bytes = encoded.encoded_bytes;
  }
  add_to_payload(i, encoded, bytes, i < summed_ || sparse_);
}

/// Lets the all-reduce send the gradients from where they are, if encoding would only copy them and
/// if those of all units that are summed are contiguous. PyTorch's DDP sends a bucket in the same
/// way if gradients are views of it (gradient_as_bucket_view).
/// @returns whether the units are sent without a copy
bool HostBucket::take_as_they_lie(const Gradients& gradients, std::uint64_t index) {
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

void HostBucket::encode(const Gradients& gradients, std::uint64_t index) {
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
    if (i >= summed_ && !scales_.empty() && unit.shared_scale != nullptr)
      input.shared_scale = scales_[i - summed_];
    encode_unit(i, input);
  }
  if (sums_ && halves_) halves_->prepare(own_halves_);
}

void HostBucket::skip() {
  begin_payload();
  floats_ = {};
  as_it_lies_ = false;
  if (rounds_) rounds_->begin();
  for (Unit& unit : units_) unit.sent = false;
}

void HostBucket::exchange(std::span<float> aggregate) {
  zero_ = false;
  if (sums_ && rounds_) {
    pace_.reset();
    time_ = rounds_->run(operation<AllReduce>(collective()), ranks_, pace_);
    add_rounds_to_payload();
  } else if (sums_ && float_units_ > 0) {
    // A dense payload is an array of floats already. The all-reduce reads it from its buffer,
    // without a copy, and writes the aggregate to another array.
    const std::span<const float> own(reinterpret_cast<const float*>(floats_.data()),
                                     floats_.size() / sizeof(float));
    operation<AllReduce>(collective()).all_reduce(own, aggregate.first(float_elements_), factor());
  }
  if (sums_ && halves_) halves_->exchange(operation<AllReduce>(collective()));
  if (gathers_ && sparse_)
    sparse_->exchange(operation<SparseAllReduce>(collective()), factor());
  else if (gathers_)
    arrived_ =
        &operation<AllGather>(collective()).all_gather(std::span(message_).first(message_size_));
}

void HostBucket::decode(std::span<float> aggregate) {
  zero_ = !sums_ && !gathers_;
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

void HostBucket::decode_gathered(std::span<float> aggregate) {
  for (const std::span<const std::byte> message : *arrived_) {
    split_message(message, split_);
    for (std::size_t i = summed_; i < units(); ++i)
      if (units_[i].sent)
        units_[i].compressor->decode_add(split_[i - summed_], factor(), part(i, aggregate));
  }
}

void HostBucket::decode_answers(std::span<float> aggregate) {
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

}  // namespace thinpipe
