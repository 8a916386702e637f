// One step's exchange of compressors that take several rounds of all-reduces (PowerSGD).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "workloads/collectives/collective.h"
#include "workloads/replay/pace.h"

namespace thinpipe {

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
