// Reads Golomb-Rice codes: a quotient in unary, then a remainder of fixed length
// (encode/gap_codes.cc). A code may begin in one segment and end in the next. A segment's state is
// the number of bits at its beginning that belong to the remainder of a code from an earlier
// segment. The state is 0 if the segment begins within a quotient or with a new code.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/state_scan.h"

namespace thinpipe::cuda {

/// The Golomb-Rice codes of one payload, as a stream for state_scan.h.
struct GolombStream {
  static constexpr std::uint32_t kMaxRemainder = 31;
  static constexpr std::uint32_t kStates = kMaxRemainder + 1;
  static constexpr std::uint32_t kSegments = 16;
  static constexpr std::uint32_t kBits = 1024;  ///< bits of a segment

  const PayloadView& payload;
  std::uint64_t begin = 0;      ///< bit of the payload at which the codes begin
  std::uint64_t bits = 0;       ///< number of bits of all codes
  std::uint32_t remainder = 0;  ///< number of bits of each code's remainder

  THINPIPE_KERNEL GolombStream(const PayloadView& of, PayloadParts& parts) : payload(of) {
    if (parts.problem != PayloadProblem::kNone) return;
    const std::uint32_t left = payload.bytes - parts.positions;
    if (parts.count == 0 ? left != 0 : left == 0) parts.problem = PayloadProblem::kLength;
    if (parts.problem != PayloadProblem::kNone || left == 0) return;
    remainder = payload.byte_at(parts.positions);
    if (remainder > kMaxRemainder) parts.problem = PayloadProblem::kPosition;
    begin = std::uint64_t{8} * (parts.positions + 1);
    bits = std::uint64_t{8} * (left - 1);
  }
  THINPIPE_KERNEL static PayloadView view_of(const DecodeJob& job) { return job.payload; }
  THINPIPE_KERNEL std::uint32_t segments() const {
    return static_cast<std::uint32_t>((bits + kBits - 1) / kBits);
  }
  THINPIPE_KERNEL std::uint32_t states() const { return remainder + 1; }
  /// Returns whether the totals are those of a valid payload. Padding zeros after the last code are
  /// read as the start of a quotient, which leaves state 0.
  THINPIPE_KERNEL bool good(const PayloadParts& parts, const Passed& all) const {
    return all.count == parts.count && all.state == 0;
  }

  /// Reads a segment and adds its number of codes and its elements to `passed`, the totals before
  /// the segment. Calls body(i, end) for each code that ends in the segment. The code is the i-th
  /// of the payload and ends right before bit `end` of the stream.
  template <class Body>
  THINPIPE_KERNEL void read(std::uint32_t segment, Passed& passed, Body body) const {
    std::uint64_t at = std::uint64_t{kBits} * segment;
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
