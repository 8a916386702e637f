// What the all-reduces of a step's rounds took and brought.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace thinpipe {

/// Floats round after round, tensor after tensor, in the host's memory.
class RoundFloats {
 public:
  virtual ~RoundFloats() = default;
  RoundFloats(const RoundFloats&) = delete;
  RoundFloats& operator=(const RoundFloats&) = delete;

  /// Of a round that was run: what this rank sent and what came back. count() is 0 before the
  /// first of a step.
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

}  // namespace thinpipe
