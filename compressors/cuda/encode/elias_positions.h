// Elias gamma and delta codes of gaps (encode/gap_codes.cc).
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/laid_positions.h"
#include "compressors/cuda/kernels/state_scan.h"

namespace thinpipe::cuda {

/// Gamma code: up to 31 zeros, a one, and as many digits as zeros.
struct GammaCode {
  static constexpr std::uint32_t kMaxDigits = 31;

  THINPIPE_KERNEL static std::uint32_t bits(std::uint32_t n) { return 2 * highest(n) + 1; }
  template <class Block>
  THINPIPE_KERNEL static void put(Block& block, std::uint32_t* words, std::uint64_t bit,
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
  template <class Block>
  THINPIPE_KERNEL static void put(Block& block, std::uint32_t* words, std::uint64_t bit,
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
struct EliasPositions {
  static constexpr bool kChained = true;

  THINPIPE_KERNEL static EliasPositions of(const Job& /*job*/, std::uint32_t /*count*/) {
    return {};
  }
  THINPIPE_KERNEL static std::uint32_t head(std::uint32_t /*count*/) { return 0; }
  THINPIPE_KERNEL static std::uint64_t most(std::uint32_t count, std::uint32_t n) {
    return count == 0 ? 0 : (Code::most(count, n) + 7) / 8;
  }
  THINPIPE_KERNEL std::uint32_t bits(std::uint32_t gap) const { return Code::bits(gap + 1); }
  template <class Block>
  THINPIPE_KERNEL void put(Block& block, std::uint32_t* words, std::uint64_t bit,
                           std::uint32_t /*position*/, std::uint32_t gap) const {
    Code::put(block, words, bit, gap + 1);
  }
};

/// The Elias codes of one payload, as a stream for state_scan.h. A segment may begin with up to 62
/// bits of a code from an earlier segment. The segment's state is the bit at which its first own
/// code begins.
template <class Code>
struct EliasStream {
  static constexpr std::uint32_t kStuck = 63;  ///< no valid code where one should begin
  static constexpr std::uint32_t kStates = 64;
  static constexpr std::uint32_t kSegments = 8;
  static constexpr std::uint32_t kBits = 2048;  ///< of a segment

  const PayloadView& payload;
  std::uint64_t begin = 0;  ///< first bit in the payload
  std::uint64_t bits = 0;   ///< bits of all codes

  THINPIPE_KERNEL EliasStream(const PayloadView& of, PayloadParts& parts) : payload(of) {
    if (parts.problem != PayloadProblem::kNone) return;
    const std::uint32_t left = payload.bytes - parts.positions;
    if ((parts.count == 0) != (left == 0)) parts.problem = PayloadProblem::kLength;
    begin = std::uint64_t{8} * parts.positions;
    bits = std::uint64_t{8} * left;
  }
  THINPIPE_KERNEL static PayloadView view_of(const DecodeJob& job) { return job.payload; }
  THINPIPE_KERNEL std::uint32_t segments() const {
    return static_cast<std::uint32_t>((bits + kBits - 1) / kBits);
  }
  THINPIPE_KERNEL static std::uint32_t states() { return kStates; }
  /// ReadStates checks the bits after the last code.
  THINPIPE_KERNEL static bool good(const PayloadParts& parts, const Passed& all) {
    return all.count == parts.count;
  }

  template <class Body>
  THINPIPE_KERNEL void read(std::uint32_t segment, Passed& passed, Body body) const {
    if (passed.state == kStuck) return;
    const std::uint64_t first = std::uint64_t{kBits} * segment;
    const std::uint64_t end = first + kBits < bits ? first + kBits : bits;
    std::uint64_t at = first + passed.state;
    while (at < end) {
      std::uint32_t gap = 0;
      const std::uint32_t length = Code::read(payload, begin + at, gap);
      if (length == 0 || at + length > bits) {
        passed.state = kStuck;
        return;
      }
      at += length;
      passed.elements += gap;
      body(passed.count, at);
      ++passed.count;
    }
    passed.state = static_cast<std::uint32_t>(at - end);
  }
};

}  // namespace thinpipe::cuda
