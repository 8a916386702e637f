// Elias gamma and delta codes and Golomb-Rice codes of gaps (encode/gap_codes.cc).
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/laid_positions.h"
#include "compressors/cuda/kernels/state_scan.h"

namespace thinpipe::cuda {

/// Gamma code: up to 31 zeros, a one, and as many digits as zeros.
struct GammaCode {
  static constexpr std::uint32_t kMaxDigits = 31;

  THINPIPE_KERNEL static std::uint32_t bits(std::uint32_t n) { return 2 * highest(n) + 1; }
  THINPIPE_KERNEL static void put(auto& block, std::uint32_t* words, std::uint64_t bit,
                                  std::uint32_t n) {
    const std::uint32_t digits = highest(n);
    lay(block, words, bit + digits, 1 | (n - (std::uint32_t{1} << digits)) << 1);
  }
  /// Returns an upper bound of the bits of `count` gaps that sum to at most n. It is close to the
  /// smallest bound that most_digits_in_all() in gap_codes.cc gives.
  THINPIPE_KERNEL static std::uint64_t most(std::uint32_t count, std::uint32_t n) {
    return count + 2 * most_digits(count, n);
  }
  THINPIPE_KERNEL static std::uint64_t most_digits(std::uint32_t count, std::uint32_t n) {
    const std::uint32_t mean = n / count;
    const std::uint32_t j = mean < 2 ? 1 : highest(mean);
    return std::uint64_t{count} * (j - 1) + (n >> j);
  }
  /// Reads the code at bit `bit` of the payload. @returns its length in bits; 0: no valid code
  THINPIPE_KERNEL static std::uint32_t read(const PayloadView& payload, std::uint64_t bit,
                                            std::uint32_t most_digits, std::uint32_t& n) {
    const std::uint32_t digits = lowest(payload.bits_at(bit));
    if (digits > most_digits) return 0;
    const std::uint32_t one = std::uint32_t{1} << digits;
    n = one | (payload.bits_at(bit + digits + 1) & (one - 1));
    return 2 * digits + 1;
  }
  THINPIPE_KERNEL static std::uint32_t read(const PayloadView& payload, std::uint64_t bit,
                                            std::uint32_t& n) {
    return read(payload, bit, kMaxDigits, n);
  }
};

/// Delta code: the number of digits plus one in gamma code, then the digits.
struct DeltaCode {
  static constexpr std::uint32_t kMaxGammaDigits = 5;

  THINPIPE_KERNEL static std::uint32_t bits(std::uint32_t n) {
    const std::uint32_t digits = highest(n);
    return GammaCode::bits(digits + 1) + digits;
  }
  THINPIPE_KERNEL static void put(auto& block, std::uint32_t* words, std::uint64_t bit,
                                  std::uint32_t n) {
    const std::uint32_t digits = highest(n);
    GammaCode::put(block, words, bit, digits + 1);
    lay(block, words, bit + GammaCode::bits(digits + 1), n - (std::uint32_t{1} << digits));
  }
  /// Returns Delta::most_bits() in gap_codes.cc for one i near the best.
  THINPIPE_KERNEL static std::uint64_t most(std::uint32_t count, std::uint32_t n) {
    const std::uint64_t digits = GammaCode::most_digits(count, n);
    const std::uint32_t i = highest(static_cast<std::uint32_t>(digits / count) + 2);
    const std::uint64_t power = std::uint64_t{1} << i;
    return ((power + 2) * digits + (power * (2 * i - 1) + 2) * count) / power;
  }
  THINPIPE_KERNEL static std::uint32_t read(const PayloadView& payload, std::uint64_t bit,
                                            std::uint32_t& n) {
    std::uint32_t more = 0;
    const std::uint32_t bits = GammaCode::read(payload, bit, kMaxGammaDigits, more);
    if (bits == 0 || more - 1 > GammaCode::kMaxDigits) return 0;
    const std::uint32_t digits = more - 1;
    const std::uint32_t one = std::uint32_t{1} << digits;
    n = one | (payload.bits_at(bit + bits) & (one - 1));
    return bits + digits;
  }
};

/// Positions as Elias codes, written by LayPositions (laid_positions.h).
template <class Code>
struct EliasPositions : ConstantCode<EliasPositions<Code>> {
  THINPIPE_KERNEL static std::uint64_t most(std::uint32_t count, std::uint32_t n) {
    return count == 0 ? 0 : (Code::most(count, n) + 7) / 8;
  }
  THINPIPE_KERNEL std::uint32_t bits(std::uint32_t gap) const { return Code::bits(gap + 1); }
  THINPIPE_KERNEL void put(auto& block, std::uint32_t* words, std::uint64_t bit,
                           std::uint32_t /*position*/, std::uint32_t gap) const {
    Code::put(block, words, bit, gap + 1);
  }
};

/// The Elias codes of one payload, as a stream for state_scan.h. A segment may begin with up to 62
/// bits of a code from an earlier segment.
template <class Code>
struct EliasStream : CodeStream {
  const PayloadView& payload;

  THINPIPE_KERNEL EliasStream(const PayloadView& of, PayloadParts& parts) : payload(of) {
    if (parts.problem != PayloadProblem::kNone) return;
    const std::uint32_t left = payload.bytes - parts.positions;
    if ((parts.count == 0) != (left == 0)) parts.problem = PayloadProblem::kLength;
    begin = std::uint64_t{8} * parts.positions;
    bits = std::uint64_t{8} * left;
  }
  THINPIPE_KERNEL static PayloadView view_of(const DecodeJob& job) { return job.payload; }
  /// ReadStates checks the bits after the last code.
  THINPIPE_KERNEL static bool good(const PayloadParts& parts, const Passed& all) {
    return all.count == parts.count;
  }

  THINPIPE_KERNEL void read(std::uint32_t segment, Passed& passed, auto body) const {
    const auto read_gap = [&](std::uint64_t bit, std::uint32_t& gap) {
      return Code::read(payload, bit, gap);
    };
    read_codes(segment, passed, read_gap, [&](std::uint64_t end) { body(passed.count, end); });
  }
};

constexpr std::uint32_t kMaxRemainder = 31;  ///< bits

/// The Golomb-Rice codes of one payload, as a stream for state_scan.h: a quotient in unary, then a
/// remainder of fixed length. A code may begin in one segment and end in the next. A segment's
/// state is the number of bits at its beginning that belong to the remainder of a code from an
/// earlier segment. The state is 0 if the segment begins within a quotient or with a new code.
struct GolombStream : BitStream<kMaxRemainder + 1, 16, 1024> {
  const PayloadView& payload;
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
  THINPIPE_KERNEL std::uint32_t states() const { return remainder + 1; }
  /// Returns whether the totals are those of a valid payload. Padding zeros after the last code are
  /// read as the start of a quotient, which leaves state 0.
  THINPIPE_KERNEL bool good(const PayloadParts& parts, const Passed& all) const {
    return all.count == parts.count && all.state == 0;
  }

  /// Reads a segment and adds its number of codes and its elements to `passed`, the totals before
  /// the segment. Calls body(i, end) for each code that ends in the segment. The code is the i-th
  /// of the payload and ends right before bit `end` of the stream.
  THINPIPE_KERNEL void read(std::uint32_t segment, Passed& passed, auto body) const {
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
