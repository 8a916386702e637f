#include "workloads/replay/sums.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "compressors/kernels/quantize.h"
#include "workloads/collectives/sparse_pairs.h"

namespace thinpipe {

HalfSums::HalfSums(const PlannedBucket& plan, std::vector<SumGroup> groups, int ranks)
    : plan_(plan), groups_(std::move(groups)), ranks_(ranks) {
  const SumGroup& last = groups_.back();
  sums_.resize(last.begin + last.elements - groups_.front().begin);
  if (std::any_of(groups_.begin(), groups_.end(),
                  [](const SumGroup& group) { return group.summation.predivides; }))
    divided_.resize(sums_.size());
}

void HalfSums::refuse_overflow(const SumGroup& group, std::span<const std::uint16_t> halves,
                               const char* what) const {
  const HalfFormat format = half_format(group.summation.element);
  std::size_t unit = group.first;
  for (std::size_t at = 0; unit + 1 < group.last; at += plan_.units[unit++].info.elements)
    if (!half_fits(halves.subspan(at, plan_.units[unit].info.elements), format)) break;
  throw RunError(fmt::format(
      "unit '{}': {} has a magnitude at or above the greatest {} value, {:g}, so the sum would be "
      "wrong; "
      "expected {}smaller gradients (a smaller loss scale)",
      plan_.units[unit].info.name, what, to_string(group.summation.element),
      format == HalfFormat::kFp16 ? 65504.0 : 0x1.fep127,
      format == HalfFormat::kFp16 ? "bf16, or " : ""));
}

void HalfSums::prepare(std::span<const std::byte> own) {
  own_ = {reinterpret_cast<const std::uint16_t*>(own.data()), sums_.size()};
  const float factor = 1.0F / static_cast<float>(ranks_);
  for (const SumGroup& group : groups_) {
    const auto halves = of(own_, group);
    const HalfFormat format = half_format(group.summation.element);
    const bool fits = group.summation.predivides
                          ? half_scale(halves, factor, format, of(std::span(divided_), group))
                          : half_fits(halves, format);
    if (!fits) refuse_overflow(group, halves, "a gradient");
  }
}

void HalfSums::exchange(AllReduce& all_reduce) {
  for (const SumGroup& group : groups_) {
    const bool divided = group.summation.predivides;
    const auto from = of(divided ? std::span<const std::uint16_t>(divided_) : own_, group);
    all_reduce.all_reduce(group.summation.element, std::as_bytes(from),
                          std::as_writable_bytes(of(std::span(sums_), group)),
                          divided ? 1.0F : 1.0F / static_cast<float>(ranks_));
  }
}

void HalfSums::decode(std::span<float> bucket) const {
  for (const SumGroup& group : groups_) {
    const auto halves = of(std::span(sums_), group);
    if (!half_unpack(reinterpret_cast<const std::uint8_t*>(halves.data()),
                     half_format(group.summation.element),
                     bucket.subspan(group.begin, group.elements)))
      refuse_overflow(group, halves, "the sum of an element over all ranks");
  }
}

SparseSums::SparseSums(const std::vector<Compressor*>& compressors)
    : SparseSums({compressors.begin(), compressors.end()},
                 [compressors](std::size_t unit, std::span<const std::uint32_t> positions,
                               std::span<const float> values) {
                   dynamic_cast<SparsePayload&>(*compressors[unit]).give_back(positions, values);
                 }) {}

SparseSums::SparseSums(const std::vector<const Compressor*>& compressors, GiveBack give_back)
    : give_back_(std::move(give_back)) {
  std::size_t most = 0;
  for (const Compressor* compressor : compressors) {
    const auto& payload = dynamic_cast<const SparsePayload&>(*compressor);
    units_.push_back({compressor->elements(), elements_, &payload});
    elements_ += compressor->elements();
    most += payload.max_pairs();
  }
  if (elements_ > std::numeric_limits<std::uint32_t>::max())
    throw InputError(
        fmt::format("a sparse all-reduce of {} elements; expected at most {}; use smaller buckets, "
                    "with --overlap bucket",
                    elements_, std::numeric_limits<std::uint32_t>::max()));
  indices_.resize(most);
  values_.resize(most);
}

void SparseSums::give_back() {
  if (returned_) return;
  returned_ = true;
  const auto indices = sum_.returned.indices;
  std::size_t at = 0;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const Unit& unit = units_[i];
    const std::size_t end = unit.offset + unit.elements;
    positions_.clear();
    const std::size_t first = at;
    for (; at < indices.size() && indices[at] < end; ++at)
      positions_.push_back(indices[at] - static_cast<std::uint32_t>(unit.offset));
    if (!positions_.empty())
      give_back_(i, positions_, sum_.returned.values.subspan(first, at - first));
  }
}

std::size_t SparseSums::add(std::size_t index, std::span<const std::byte> payload,
                            std::optional<std::size_t> k) {
  const Unit& unit = units_[index];
  const auto indices = std::span(indices_).subspan(count_);
  const std::size_t count =
      unit.payload->decode_pairs(payload, indices, std::span(values_).subspan(count_));
  for (std::uint32_t& position : indices.first(count))
    position += static_cast<std::uint32_t>(unit.offset);
  count_ += count;
  if (k)
    k_ += *k;
  else
    without_target_ = without_target_.value_or(0) + count;
  return count * sizeof(SparsePair);
}

void SparseSums::exchange(SparseAllReduce& sparse, float factor) {
  if (without_target_) k_ += sparse.mean_count(*without_target_, elements_);
  sum_ = sparse.sparse_all_reduce(
      {std::span(indices_).first(count_), std::span(values_).first(count_)}, k_, elements_, factor);
  returned_ = false;
}

// In rounds, compressors write floats where the all-reduce reads them, and read means where it
// writes them.

Rounds::Rounds(const std::vector<Compressor*>& compressors, int threads) : threads_(threads) {
  std::size_t bytes = 0, longest = 0;
  for (Compressor* compressor : compressors) {
    tensors_.push_back({.compressor = compressor,
                        .several = dynamic_cast<MultiRound*>(compressor),
                        .payload_at = bytes});
    // The payload of a tensor's aggregate is at least as large as the floats of all its rounds.
    // Neither exceeds max_encoded_size(), which therefore suffices for both.
    bytes += compressor->max_encoded_size();
    longest = std::max(longest, compressor->max_encoded_size());
    most_rounds_ = std::max(most_rounds_, rounds_of(*compressor));
  }
  // next_round() needs max_encoded_size() free bytes wherever it writes.
  own_floats_.resize(bytes / sizeof(float) + longest / sizeof(float));
  mean_floats_.resize(bytes / sizeof(float));
  own_ = own_floats_;
  means_ = mean_floats_;
  payloads_.resize(bytes);
  own_payload_.resize(longest);
  ends_.reserve(static_cast<std::size_t>(most_rounds_));
}

void Rounds::add(Tensor& tensor, std::size_t bytes) {
  if (bytes % sizeof(float) != 0 || used_ + bytes / sizeof(float) > means_.size())
    throw RunError(
        fmt::format("a compressor sends {} bytes in a round after {} bytes; expected whole floats, "
                    "and at most {} bytes in all rounds",
                    bytes, used_ * sizeof(float), means_.size() * sizeof(float)));
  tensor.at = used_;
  tensor.size = bytes / sizeof(float);
  used_ += tensor.size;
}

EncodeReport Rounds::encode(const GradientInput& gradient) {
  Tensor& tensor = tensors_.at(next_++);
  const EncodeReport report = tensor.several != nullptr
                                  ? tensor.several->first_round(gradient, free())
                                  : tensor.compressor->encode(gradient, free());
  add(tensor, report.encoded_bytes);
  return report;
}

ExchangeTime Rounds::run(AllReduce& all_reduce, int ranks, Pace& pace) {
  ExchangeTime time;
  std::size_t from = 0;
  for (int round = 1; round <= most_rounds_; ++round) {
    const double begin = now_seconds();
    const std::size_t end = used_, size = end - from;
    all_reduce.all_reduce(own_.subspan(from, size), means_.subspan(from, size),
                          1.0F / static_cast<float>(ranks));
    ends_.push_back(end);
    from = end;
    const double exchanged = now_seconds();
    const double cpu = now_seconds(processor_clock(threads_));
    pace.begin();
    for (Tensor& tensor : tensors_) {
      if (tensor.several == nullptr || tensor.several->rounds() < round) continue;
      const auto mean = means_.subspan(tensor.at, tensor.size);
      if (round < tensor.several->rounds())
        add(tensor, tensor.several->next_round(mean, free()));
      else
        tensor.payload_size = tensor.several->next_round(
            mean,
            std::span(payloads_).subspan(tensor.payload_at, tensor.compressor->max_encoded_size()));
    }
    pace.end();
    time.exchange += exchanged - begin;
    time.compress += now_seconds() - exchanged;
    time.compress_cpu += now_seconds(processor_clock(threads_)) - cpu;
  }
  time.codec = pace.own();
  time.overrun = pace.overrun();
  return time;
}

std::span<const std::byte> Rounds::result(std::size_t index) const {
  const Tensor& tensor = tensors_[index];
  // A tensor that is summed unchanged needs only its mean.
  if (tensor.several == nullptr) return std::as_bytes(means_.subspan(tensor.at, tensor.size));
  return std::span(payloads_).subspan(tensor.payload_at, tensor.payload_size);
}

std::span<const std::byte> Rounds::own_payload(std::size_t index) const {
  const Tensor& tensor = tensors_[index];
  if (tensor.several == nullptr) return std::as_bytes(own_.subspan(tensor.at, tensor.size));
  return std::span(own_payload_).first(tensor.several->own_payload(own_payload_));
}

}  // namespace thinpipe
