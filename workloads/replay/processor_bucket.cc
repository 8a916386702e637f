#include "workloads/replay/processor_bucket.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "compressors/registry.h"
#include "workloads/replay/message.h"
#include "workloads/replay/pieces.h"
#include "workloads/replay/shared_scales.h"
#include "workloads/replay/states.h"

namespace thinpipe {

struct ProcessorBucket::Unit {
  std::unique_ptr<Compressor> compressor;
  std::unique_ptr<Compressor> pull;    // decodes what servers answer; null where `compressor` does
  std::size_t offset = 0;              // of its first element in the bucket's part of the aggregate
  bool sent = false;                   // in the last step
  Pieces pieces;                       // where there are servers
  std::size_t first_piece = 0;         // among those of replay_units()
  std::size_t first_pushed = 0;        // of these, among what was pushed
  std::span<const std::byte> payload;  // of summed units
  bool has_target = false;             // the number of elements that it aims at is no rank's own

  bool sends(std::uint64_t exchange) const { return (exchange + 1) % compressor->period() == 0; }
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
    : plan_(plan),
      number_(number),
      ranks_(ranks),
      has_servers_(servers != nullptr),
      pace_(time_scale, settings.threads) {
  const auto first_gathered =
      std::stable_partition(plan_.units.begin(), plan_.units.end(), [&](const PlannedUnit& unit) {
        return servers == nullptr && aggregation_of(unit.compressor) == Aggregation::kAllReduce;
      });
  summed_ = static_cast<std::size_t>(first_gathered - plan_.units.begin());
  std::size_t floats = 0, message = 0, pieces = 0;
  int most_rounds = 1;
  bool shares = false;
  std::vector<Compressor*> summed, selected;
  for (std::size_t i = 0; i < plan_.units.size(); ++i) {
    const PlannedUnit& planned = plan_.units[i];
    Unit& unit = units_.emplace_back();
    unit.compressor = make_compressor(planned.compressor, planned.info, settings);
    unit.has_target = find_method(planned.compressor.name).has_target;
    unit.offset = elements_;
    elements_ += planned.info.elements;
    if (i >= summed_) {
      message += kMessageLengthBytes + unit.compressor->max_encoded_size();
      shares = shares || (servers == nullptr && unit.compressor->shares_scale());
      if (servers != nullptr) {
        unit.pull = make_pull_compressor(planned.info, planned.compressor, *servers, settings);
        unit.pieces = pieces_of(planned.info.elements, planned.compressor, *servers);
        unit.first_piece = first_unit + pieces;
        pieces += unit.pieces.count;
      }
      selected.push_back(unit.compressor.get());
      if (sparse_sums && !unit.compressor->has_pairs())
        throw InputError(
            fmt::format("{}: its payloads are no elements with positions; expected a method that "
                        "chooses elements, for a sparse all-reduce",
                        planned.compressor.to_string()));
      continue;
    }
    floats += unit.compressor->max_encoded_size();
    most_rounds = std::max(most_rounds, unit.compressor->rounds());
    summed.push_back(unit.compressor.get());
    if (i > 0 && unit.compressor->period() != summed_period_)
      throw InputError(fmt::format(
          "{} and {} leave together and are summed, but not in the same steps; expected methods of "
          "one delay, or --overlap bucket with buckets that part them",
          plan_.units[0].compressor.to_string(), planned.compressor.to_string()));
    summed_period_ = unit.compressor->period();
  }
  summed_elements_ = summed_ < units_.size() ? units_[summed_].offset : elements_;
  message_.resize(message);
  payloads_.resize(units_.size() - summed_);
  if (servers != nullptr) push_order_ = push_order(plan_.units, *servers);
  pushed_.reserve(pieces);
  answers_.reserve(pieces);
  if (most_rounds > 1)
    rounds_ = std::make_unique<Rounds>(std::move(summed), settings.threads);
  else
    encoded_.resize(floats);
  if (shares) scales_.resize(units_.size() - summed_);
  if (sparse_sums && !selected.empty()) sparse_ = std::make_unique<SparseSums>(std::move(selected));
  verbatim_ =
      summed_ > 0 && std::all_of(units_.begin(), units_.begin() + std::ptrdiff_t(summed_),
                                 [](const Unit& unit) { return unit.compressor->verbatim(); });
}

ProcessorBucket::~ProcessorBucket() = default;

std::size_t ProcessorBucket::message_capacity() const {
  return std::max({sparse_ ? 0 : message_.size(), encoded_.size(), scales_.size() * sizeof(float)});
}

bool ProcessorBucket::sends(std::uint64_t exchange) const {
  return std::any_of(units_.begin(), units_.end(),
                     [&](const Unit& unit) { return unit.sends(exchange); });
}

std::uint64_t ProcessorBucket::period() const {
  std::uint64_t period = 1;
  for (const Unit& unit : units_) period = std::lcm(period, unit.compressor->period());
  return period;
}

void ProcessorBucket::add_up(Gradients& gradients, std::uint64_t index) {
  for (std::size_t i = 0; i < units_.size(); ++i) gradients.add(number_, i, plan_.units[i], index);
}

void ProcessorBucket::take_scales(const Gradients& gradients, std::uint64_t index) {
  for (std::size_t i = summed_; i < units_.size(); ++i) {
    Unit& unit = units_[i];
    const bool takes =
        unit.compressor->shares_scale() && unit.sends(index / gradients.local_steps());
    scales_[i - summed_] =
        takes ? unit.compressor->prepare(gradients.input(number_, i, plan_.units[i], index)) : 0;
  }
}

void ProcessorBucket::share_scales(Pattern& pattern) {
  share_greatest_scales(pattern, scales_, std::span(plan_.units).subspan(summed_));
}

void ProcessorBucket::encode_unit(std::size_t i, const GradientInput& input) {
  Unit& unit = units_[i];
  EncodeReport encoded;
  if (i >= summed_) {
    encoded = unit.compressor->encode(input, std::span(message_).subspan(message_size_));
    if (sparse_) {
      const std::size_t pairs = sparse_->add(
          i - summed_, std::span(message_).subspan(message_size_, encoded.encoded_bytes),
          unit.has_target ? std::optional(encoded.target_elements) : std::nullopt);
      payload_.bytes += pairs;
      payload_.summed_bytes += pairs;
    } else {
      payload_.bytes += encoded.encoded_bytes;
    }
    const auto length = static_cast<std::uint32_t>(encoded.encoded_bytes);
    std::memcpy(message_.data() + (i - summed_) * kMessageLengthBytes, &length,
                kMessageLengthBytes);
    message_size_ += encoded.encoded_bytes;
  } else if (rounds_) {
    encoded = rounds_->encode(input);
  } else {
    const std::span<std::byte> room = std::span(encoded_).subspan(floats_.size());
    encoded = unit.compressor->encode(input, room);
    unit.payload = room.first(encoded.encoded_bytes);
    floats_ = std::span(encoded_).first(floats_.size() + encoded.encoded_bytes);
    payload_.bytes += encoded.encoded_bytes;
    payload_.summed_bytes += encoded.encoded_bytes;
  }
  payload_.target += encoded.target_elements;
  payload_.selected += encoded.selected_elements;
}

/// Summed units that would only be copied, one after the other, are sent from where they lie one
/// after the other, as a framework sends a bucket of which its gradients are views.
bool ProcessorBucket::take_as_they_lie(const Gradients& gradients, std::uint64_t index) {
  if (!verbatim_) return false;
  std::span<const float> all;
  for (std::size_t i = 0; i < summed_; ++i) {
    const auto values = gradients.input(number_, i, plan_.units[i], index).values;
    if (values.empty()) continue;
    if (all.empty()) all = values.first(0);
    if (values.data() != all.data() + all.size()) return false;
    all = std::span(all.data(), all.size() + values.size());
  }
  floats_ = std::as_bytes(all);
  std::size_t at = 0;
  for (std::size_t i = 0; i < summed_; ++i) {
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
  return units_[unit].compressor->incremental() ||
         (units_[unit].pull && units_[unit].pull->incremental());
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
  payload_ = {};
  sums_ = gathers_ = as_it_lies_ = false;
  floats_ = {};
  message_size_ = payloads_.size() * kMessageLengthBytes;
  std::fill_n(message_.begin(), message_size_, std::byte{0});
  if (rounds_) rounds_->begin();
  if (sparse_) sparse_->begin();
  for (std::size_t i = take_as_they_lie(gradients, index) ? summed_ : 0; i < units_.size(); ++i) {
    Unit& unit = units_[i];
    GradientInput input = gradients.input(number_, i, plan_.units[i], index);
    unit.sent = unit.sends(index / gradients.local_steps());
    if (!unit.sent) {
      unit.compressor->hold(input);
      continue;
    }
    (i < summed_ ? sums_ : gathers_) = true;
    if (i >= summed_ && !scales_.empty() && unit.compressor->shares_scale())
      input.shared_scale = scales_[i - summed_];
    encode_unit(i, input);
  }
}

void ProcessorBucket::skip() {
  payload_ = {};
  floats_ = {};
  sums_ = gathers_ = as_it_lies_ = false;
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
  } else if (sums_) {
    // A dense payload is an array of floats already: it is summed from where it was written to
    // where the aggregate is wanted.
    const std::span<const float> own(reinterpret_cast<const float*>(floats_.data()),
                                     floats_.size() / sizeof(float));
    pattern.all_reduce(own, aggregate.first(summed_elements_), 1.0F / static_cast<float>(ranks_));
  }
  if (gathers_ && sparse_)
    sparse_->exchange(pattern, 1.0F / static_cast<float>(ranks_));
  else if (gathers_)
    arrived_ = &pattern.all_gather(std::span(message_).first(message_size_));
  time.exchange = now_seconds() - begin - time.compress;
  return time;
}

void ProcessorBucket::decode(std::span<float> aggregate) {
  if (!sums_ || rounds_) std::fill_n(aggregate.begin(), summed_elements_, 0.0F);
  if (sums_ && rounds_)
    for (std::size_t i = 0; i < summed_; ++i)
      units_[i].compressor->decode_add(rounds_->result(i), 1.0F, part(i, aggregate));
  const std::span<float> gathered = aggregate.subspan(summed_elements_);
  if (gathers_ && sparse_) {
    sparse_->decode(gathered);
  } else {
    std::fill(gathered.begin(), gathered.end(), 0.0F);
  }
  if (gathers_ && has_servers_) decode_answers(aggregate);
  if (gathers_ && !sparse_ && !has_servers_) {
    const float factor = 1.0F / static_cast<float>(ranks_);
    for (const std::span<const std::byte> message : *arrived_) {
      split_message(message, payloads_);
      for (std::size_t i = summed_; i < units_.size(); ++i)
        if (units_[i].sent)
          units_[i].compressor->decode_add(payloads_[i - summed_], factor, part(i, aggregate));
    }
  }
}

void ProcessorBucket::push(Pattern& pattern) {
  pushed_.clear();
  if (gathers_) split_message(std::span(message_).first(message_size_), payloads_);
  for (const std::size_t i : push_order_) {
    Unit& unit = units_[i];
    if (!unit.sent) continue;
    unit.first_pushed = pushed_.size();
    const std::size_t each = unit.pieces.push_bytes;
    for (std::size_t piece = 0; piece < unit.pieces.count; ++piece) {
      const std::size_t begin = unit.pieces.first_byte(piece);
      const bool last = piece + 1 == unit.pieces.count;
      pushed_.push_back({unit.first_piece + piece,
                         payloads_[i].subspan(begin, last ? payloads_[i].size() - begin : each)});
    }
  }
  push_ = pattern.push(pushed_);
}

bool ProcessorBucket::pull(Pattern& pattern) {
  if (!pattern.pull(push_)) return false;
  answers_.clear();
  for (const UnitPayload& pushed : pushed_) {
    answers_.push_back(pattern.pulled(pushed.unit));
    payload_.pulled_bytes += answers_.back().size();
  }
  return true;
}

/// Of a unit in pieces what they are together: as they lie where they lie one after the other.
std::span<const std::byte> ProcessorBucket::answer_to(const Unit& unit) {
  const auto answers = std::span(answers_).subspan(unit.first_pushed, unit.pieces.count);
  std::span<const std::byte> all = answers.front();
  for (const std::span<const std::byte> answer : answers.subspan(1)) {
    if (answer.data() != all.data() + all.size()) {
      joined_.clear();
      for (const auto& one : answers) joined_.insert(joined_.end(), one.begin(), one.end());
      return joined_;
    }
    all = {all.data(), all.size() + answer.size()};
  }
  return all;
}

void ProcessorBucket::decode_answers(std::span<float> aggregate) {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const Unit& unit = units_[i];
    if (!unit.sent) continue;
    const Compressor& decoder = unit.pull ? *unit.pull : *unit.compressor;
    try {
      decoder.decode_add(answer_to(unit), 1.0F, part(i, aggregate));
    } catch (const PayloadError& error) {
      throw PayloadError(
          fmt::format("a server's answer, unit '{}': {}", plan_.units[i].info.name, error.what()));
    }
  }
}

std::span<float> ProcessorBucket::part(std::size_t unit, std::span<float> aggregate) const {
  return aggregate.subspan(units_[unit].offset, units_[unit].compressor->elements());
}

/// Of gathered units after split_message() of the own message.
std::span<const std::byte> ProcessorBucket::own_payload(std::size_t i) const {
  if (i >= summed_) return payloads_[i - summed_];
  if (rounds_) return rounds_->own_payload(i);
  return units_[i].payload;
}

Distortion ProcessorBucket::distortion(const Gradients& gradients, std::uint64_t index) const {
  Distortion all;
  if (gathers_) split_message(std::span(message_).first(message_size_), payloads_);
  for (std::size_t i = 0; i < units_.size(); ++i)
    if (units_[i].sent)
      all += units_[i].compressor->distortion(gradients.input(number_, i, plan_.units[i], index),
                                              own_payload(i));
  return all;
}

void ProcessorBucket::own_contribution(std::span<float> out) const {
  std::fill(out.begin(), out.end(), 0.0F);
  if (gathers_) split_message(std::span(message_).first(message_size_), payloads_);
  for (std::size_t i = 0; i < units_.size(); ++i)
    if (units_[i].sent) units_[i].compressor->decode_add(own_payload(i), 1.0F, part(i, out));
}

bool ProcessorBucket::takes_mean(const Pattern& pattern) const {
  return !sparse_ && (summed_ == 0 || !pattern.lossy());
}

void ProcessorBucket::expected(const Pattern& pattern,
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
  if (sums_ && rounds_ && pattern.lossy()) {
    // The means of the rounds have references of their own; this is what they decode to.
    for (std::size_t i = 0; i < summed_; ++i)
      units_[i].compressor->decode_add(rounds_->result(i), 1.0F, part(i, out));
  } else if (sums_) {
    pattern.expected_all_reduce(parts(0, summed_elements_), factor, out.first(summed_elements_));
  }
  if (gathers_ && sparse_)
    sparse_->expected(pattern, parts(summed_elements_, rest), factor, out.last(rest));
  else if (gathers_)
    pattern.Pattern::expected_all_reduce(parts(summed_elements_, rest), factor, out.last(rest));
}

}  // namespace thinpipe
