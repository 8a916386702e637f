// Units of a bucket whose elements are summed as pairs and selected again, instead of having their
// payloads all-gathered.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "workloads/collectives/collective.h"

namespace thinpipe {

/// Sums of sparse units. Units follow each other in one long sparse vector. A step: begin(); add()
/// the payload of every unit that is sent, in order; exchange(); decode().
class SparseSums {
 public:
  /// Restores values to a unit's residual (SparsePayload::give_back). Positions are valid until it
  /// returns, values until the next exchange.
  using GiveBack = std::function<void(std::size_t unit, std::span<const std::uint32_t> positions,
                                      std::span<const float> values)>;

  /// The compressors, each a SparsePayload, must outlive this at the same addresses.
  /// @throws InputError for too many elements
  explicit SparseSums(const std::vector<Compressor*>& compressors);
  /// The same for residuals that compressors do not have themselves.
  SparseSums(const std::vector<const Compressor*>& compressors, GiveBack give_back);

  std::size_t elements() const { return elements_; }

  /// Restores to the residuals the values that the last exchange dropped. Called at the beginning
  /// of the next step, so that Compressor::distortion() can be called before.
  void begin() {
    count_ = k_ = 0;
    without_target_.reset();
    give_back();
  }
  /// Restores these values at once, before a checkpoint.
  void give_back();
  /// Drops these values, after a checkpoint was loaded.
  void forget() { returned_ = true; }
  /// Adds the pairs of a unit's payload. `k` is the unit's target number of elements. A unit
  /// without a target has none on any rank. For such units the mean over ranks of their number of
  /// pairs is selected (SparseAllReduce::mean_count).
  /// @returns the bytes of the pairs
  std::size_t add(std::size_t unit, std::span<const std::byte> payload,
                  std::optional<std::size_t> k);
  /// Sums and selects with the other ranks.
  void exchange(SparseAllReduce& sparse, float factor);
  /// Returns the result of the last exchange; valid until the next one.
  const SparseView& sum() const { return sum_.sum; }
  /// Writes the result as elements() floats, 0 where no element was selected.
  void decode(std::span<float> sum) const {
    std::fill(sum.begin(), sum.end(), 0.0F);
    for (std::size_t i = 0; i < sum_.sum.size(); ++i) sum[sum_.sum.indices[i]] = sum_.sum.values[i];
  }

  /// Computes the result of the last exchange from every rank's vector in full.
  void expected(const SparseAllReduce& sparse, std::span<const std::span<const float>> vectors,
                float factor, std::span<float> out) const {
    sparse.expected_sparse(vectors, k_, factor, out);
  }

 private:
  struct Unit {
    std::size_t elements;
    std::size_t offset;  // of its first element
    const SparsePayload* payload;
  };

  std::vector<Unit> units_;
  GiveBack give_back_;
  std::size_t elements_ = 0;
  std::vector<std::uint32_t> indices_;  ///< of this rank's pairs, the first count_
  std::vector<float> values_;
  std::size_t count_ = 0;
  std::size_t k_ = 0;                          ///< of all units that are sent
  std::optional<std::size_t> without_target_;  ///< pairs of units without a target, if any
  SparseSum sum_;                              ///< of the last exchange
  bool returned_ = true;
  std::vector<std::uint32_t> positions_;  ///< within a unit
};

}  // namespace thinpipe
