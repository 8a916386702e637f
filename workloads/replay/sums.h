// Units of a bucket that are not all-gathered as payloads: summed in 16 bits, summed as pairs and
// selected again, or exchanged in several rounds of all-reduces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/registry.h"
#include "workloads/collectives/collective.h"
#include "workloads/replay/pace.h"
#include "workloads/replay/plan.h"

namespace thinpipe {

// Units that all-reduces sum in 16 bits.

/// Neighbouring units whose payloads one all-reduce sums.
struct SumGroup {
  Summation summation;
  std::size_t first = 0, last = 0;      ///< units [first, last)
  std::size_t begin = 0, elements = 0;  ///< of the bucket
};

/// A step: prepare(), exchange(), decode().
class HalfSums {
 public:
  /// @param plan  of the bucket; must outlive this
  /// @param groups  of 16-bit elements, one after the other, at least one
  HalfSums(const PlannedBucket& plan, std::vector<SumGroup> groups, int ranks);

  /// Returns the size of all groups' payloads, one after the other.
  std::size_t bytes() const { return sums_.size() * sizeof(std::uint16_t); }
  /// Returns the first byte of an element of the bucket, in the payloads of all groups.
  std::size_t place(std::size_t element) const {
    return (element - groups_.front().begin) * sizeof(std::uint16_t);
  }

  /// Divides the payloads of groups with `predivides` by the number of ranks. The caller must not
  /// change the payloads until exchange() has ended.
  /// @throws RunError naming a unit with an element at or above its type's greatest magnitude
  void prepare(std::span<const std::byte> own);
  void exchange(AllReduce& all_reduce);
  /// Writes the means as floats, each at its element of the bucket.
  /// @throws RunError naming a unit with a sum that is too large for its type
  void decode(std::span<float> bucket) const;

 private:
  /// Returns a group's elements among those of all groups.
  template <class Half>
  std::span<Half> of(std::span<Half> all, const SumGroup& group) const {
    return all.subspan(group.begin - groups_.front().begin, group.elements);
  }
  [[noreturn]] void refuse_overflow(const SumGroup& group, std::span<const std::uint16_t> halves,
                                    const char* what) const;

  const PlannedBucket& plan_;
  std::vector<SumGroup> groups_;
  int ranks_;
  std::span<const std::uint16_t> own_;
  std::vector<std::uint16_t> divided_, sums_;
};

// Units whose elements are summed as pairs and selected again, instead of having their payloads
// all-gathered.

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

// Compressors that take several rounds of all-reduces (PowerSGD).

/// Input and output of the all-reduces of a step's rounds, in the host's memory. The floats are
/// stored round after round and, within a round, tensor after tensor.
class RoundFloats {
 public:
  virtual ~RoundFloats() = default;
  RoundFloats(const RoundFloats&) = delete;
  RoundFloats& operator=(const RoundFloats&) = delete;

  /// Returns a tensor's payload: result() that of the aggregate, which is the same on every rank,
  /// own_payload() that of this rank's contribution. Valid until the next call.
  virtual std::span<const std::byte> result(std::size_t tensor) const = 0;
  virtual std::span<const std::byte> own_payload(std::size_t tensor) const = 0;

  /// count() returns the number of rounds that the step has run (0 before its first round). sent()
  /// returns the floats that this rank sent in a round, and mean() their mean over ranks.
  std::size_t count() const { return ends_.size(); }
  std::span<const float> sent(std::size_t round) const { return of_round(own_, round); }
  std::span<const float> mean(std::size_t round) const { return of_round(means_, round); }
  /// Returns the greatest number of floats that all rounds of a step send.
  std::size_t capacity() const { return means_.size(); }

 protected:
  RoundFloats() = default;

  std::span<float> own_, means_;
  std::vector<std::size_t> ends_;  ///< of the rounds in own_ and means_

 private:
  std::span<const float> of_round(std::span<const float> values, std::size_t round) const {
    const std::size_t begin = round == 0 ? 0 : ends_[round - 1];
    return values.subspan(begin, ends_[round] - begin);
  }
};

/// Durations of a bucket's exchange, in seconds.
struct ExchangeTime {
  double exchange = 0;      ///< in collectives
  double compress = 0;      ///< codec work in between: on the rounds' means, on pairs
  double compress_cpu = 0;  ///< CPU time of `compress`
  double codec = 0;         ///< `compress` at this machine's own speed (pace.h)
  double overrun = 0;       ///< by which `compress` lasted longer than its pace allows
};

/// Rounds in the host's memory. The floats of all tensors in a round are one array, which is
/// all-reduced at once. Tensors with fewer rounds (vectors, which PowerSGD sends unchanged) end
/// earlier. A step: begin(); encode() of every tensor, in order; run(); then decode the payloads.
class Rounds : public RoundFloats {
 public:
  /// Allocates all buffers. The compressors must outlive this at the same addresses.
  /// @param threads  of the compressors; with one, CPU time is the calling thread's
  Rounds(const std::vector<Compressor*>& compressors, int threads);

  /// Forgets the previous step.
  void begin() {
    used_ = next_ = 0;
    ends_.clear();
  }

  /// Encodes the next tensor for the first round.
  EncodeReport encode(const GradientInput& gradient);

  /// Runs all rounds with the other ranks. @param ranks  over which the mean is taken
  /// @param pace  of the compressors' work in between
  ExchangeTime run(AllReduce& all_reduce, int ranks, Pace& pace);

  std::span<const std::byte> result(std::size_t tensor) const override;
  std::span<const std::byte> own_payload(std::size_t tensor) const override;

 private:
  struct Tensor {
    Compressor* compressor;
    MultiRound* several;     ///< null: one round
    std::size_t payload_at;  ///< in payloads_
    std::size_t payload_size = 0;
    std::size_t at = 0, size = 0;  ///< of its floats in its last round
  };

  std::span<std::byte> free() { return std::as_writable_bytes(own_.subspan(used_)); }
  void add(Tensor& tensor, std::size_t bytes);

  std::vector<Tensor> tensors_;
  std::vector<float> own_floats_, mean_floats_;
  std::size_t used_ = 0;  ///< of own_
  std::size_t next_ = 0;  ///< tensor that encode() takes
  int most_rounds_ = 1;
  int threads_;
  std::vector<std::byte> payloads_;  ///< of the aggregate, for tensors of several rounds
  mutable std::vector<std::byte> own_payload_;
};

}  // namespace thinpipe
