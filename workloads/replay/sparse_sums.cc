#include "workloads/replay/sparse_sums.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "workloads/collectives/sparse_pairs.h"

namespace thinpipe {

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

}  // namespace thinpipe
