// One step's exchange of compressors that take several rounds of all-reduces (PowerSGD).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "workloads/exchange/pattern.h"
#include "workloads/replay/pace.h"

namespace thinpipe {

/// Input and output of the all-reduces of a step's rounds: floats round after round, tensor after
/// tensor, in the host's memory.
class RoundFloats {
 public:
  virtual ~RoundFloats() = default;
  RoundFloats(const RoundFloats&) = delete;
  RoundFloats& operator=(const RoundFloats&) = delete;

  /// Floats of a round that was run: those that this rank sent, and the mean that came back.
  /// count() is 0 before the first of a step.
  std::size_t count() const { return ends_.size(); }
  std::span<const float> sent(std::size_t round) const { return piece(own_, round); }
  std::span<const float> mean(std::size_t round) const { return piece(means_, round); }
  /// Floats that all rounds of a step send at most.
  std::size_t capacity() const { return means_.size(); }

 protected:
  RoundFloats() = default;

  std::span<float> own_, means_;
  std::vector<std::size_t> ends_;  ///< of the rounds in these

 private:
  std::span<const float> piece(std::span<const float> values, std::size_t round) const {
    const std::size_t begin = round == 0 ? 0 : ends_[round - 1];
    return values.subspan(begin, ends_[round] - begin);
  }
};

/// Seconds that running the rounds took.
struct RoundsTime {
  double exchange = 0;      ///< in all-reduces
  double compress = 0;      ///< in between: what the compressors made of the means
  double compress_cpu = 0;  ///< processor time of that
};

/// The floats of all tensors that take part in a round are one array, which is all-reduced at once;
/// tensors that take fewer rounds (vectors, which PowerSGD sends as they are) leave earlier.
/// A step: begin(); encode() of every tensor, in order; run(); then payloads can be decoded.
class Rounds : public RoundFloats {
 public:
  /// The compressors must stay where they are. Buffers are made once.
  /// @param threads  what the compressors were made with; says whose processor time counts
  Rounds(const std::vector<Compressor*>& compressors, int threads);

  /// Forgets the step before.
  void begin();

  /// Encodes the next tensor for the first round.
  EncodeReport encode(const GradientInput& gradient);

  /// Runs all rounds with the other ranks. @param ranks  how many take the mean
  /// @param pace  of what the compressors do in between
  RoundsTime run(Pattern& pattern, int ranks, Pace& pace);

  /// The payload of the aggregate, the same on every rank; and of this rank's part.
  std::span<const std::byte> result(std::size_t tensor) const;
  std::span<const std::byte> own_payload(std::size_t tensor) const;

 private:
  struct Tensor {
    Compressor* compressor;
    std::size_t payload_at;  ///< in payloads_
    std::size_t payload_size = 0;
    std::size_t at = 0, size = 0;  ///< of its floats in the last round it took part in
  };

  std::span<std::byte> free();
  void add(Tensor& tensor, std::size_t bytes);

  std::vector<Tensor> tensors_;
  std::vector<float> own_room_, means_room_;
  std::size_t used_ = 0;  ///< of own_
  std::size_t next_ = 0;  ///< tensor that encode() takes
  int most_rounds_ = 1;
  int threads_;
  std::vector<std::byte> payloads_;  ///< of the aggregate, for tensors of several rounds
  mutable std::vector<std::byte> own_payload_;
};

}  // namespace thinpipe
