// Golomb-Rice codes as they are read (encode/gap_codes.cc). A stretch's state is the number of
// remainder bits still to come from the code before it, 0 where zeros of a quotient are counted.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/state_scan.h"

namespace thinpipe::cuda {

/// The codes of a payload.
struct GolombStream {
  static constexpr std::uint32_t kMostRemainder = 31;
  static constexpr std::uint32_t kStates = kMostRemainder + 1;
  static constexpr std::uint32_t kStretches = 16;
  static constexpr std::uint32_t kBits = 1024;  ///< of a stretch

  const PayloadView& payload;
  std::uint64_t begin = 0;  ///< bit of the payload
  std::uint64_t bits = 0;   ///< from there
  std::uint32_t remainder = 0;

  THINPIPE_KERNEL GolombStream(const PayloadView& of, PayloadParts& parts) : payload(of) {
    if (parts.problem != PayloadProblem::kNone) return;
    const std::uint32_t left = payload.bytes - parts.positions;
    if (parts.count == 0 ? left != 0 : left == 0) parts.problem = PayloadProblem::kLength;
    if (parts.problem != PayloadProblem::kNone || left == 0) return;
    remainder = payload.byte_at(parts.positions);
    if (remainder > kMostRemainder) parts.problem = PayloadProblem::kPosition;
    begin = std::uint64_t{8} * (parts.positions + 1);
    bits = std::uint64_t{8} * (left - 1);
  }
  THINPIPE_KERNEL static PayloadView view_of(const DecodeJob& job) { return job.payload; }
  THINPIPE_KERNEL std::uint32_t stretches() const {
    return static_cast<std::uint32_t>((bits + kBits - 1) / kBits);
  }
  THINPIPE_KERNEL std::uint32_t states() const { return remainder + 1; }
  /// Behind the last code there are zeros, which a quotient may begin with.
  THINPIPE_KERNEL bool good(const PayloadParts& parts, const Passed& all) const {
    return all.count == parts.count && all.state == 0;
  }

  /// body(i, end): a position ends at bit `end` of the stream.
  template <class Body>
  THINPIPE_KERNEL void read(std::uint32_t stretch, Passed& passed, Body body) const {
    std::uint64_t at = std::uint64_t{kBits} * stretch;
    const std::uint64_t end = at + kBits < bits ? at + kBits : bits;
    while (at < end) {
      const auto left = end - at < 32 ? static_cast<std::uint32_t>(end - at) : 32;
      const std::uint32_t word = payload.bits_at(begin + at);
      if (passed.state == 0) {
        const std::uint32_t zeros = lowest(word);
        if (zeros >= left) {
          passed.elements += std::uint64_t{left} << remainder;
          at += left;
          continue;
        }
        passed.elements += std::uint64_t{zeros} << remainder;
        at += zeros + 1;
        passed.state = remainder;
      } else {
        const std::uint32_t some = passed.state < left ? passed.state : left;
        const std::uint64_t taken = word & ((std::uint64_t{1} << some) - 1);
        passed.elements += taken << (remainder - passed.state);
        at += some;
        passed.state -= some;
      }
      if (passed.state > 0) continue;
      ++passed.elements;
      body(passed.count, at);
      ++passed.count;
    }
  }
};

}  // namespace thinpipe::cuda
