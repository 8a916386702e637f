// Gaps between positions in codes of variable length: Golomb-Rice and Elias.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>
#include <string>

#include "compressors/encode/position_codec.h"
#include "compressors/kernels/rice.h"

namespace thinpipe {
namespace {

// Golomb-Rice: the quotient of gap - 1 by 2^b in unary, then b bits of the remainder.

/// Positions read between two checks of their range.
constexpr std::size_t kBatch = 4096;

/// Returns the density from which on golomb_bits() gives less than `bits`.
double density_limit(int bits) {
  return -std::expm1(std::log(std::numbers::phi - 1) / std::ldexp(1.0, bits - 1));
}

/// Reads one code of any length. @throws PayloadError
std::uint32_t take_code(PositionCursor& cursor) {
  const std::uint64_t quotient = cursor.bits.get_unary();
  const std::uint64_t remainder = cursor.bits.get(cursor.parameter);
  // A multiple of a quotient above d cannot be in range; below it nothing overflows.
  const std::uint64_t multiple = std::min(quotient, cursor.elements) << cursor.parameter;
  return cursor.take(cursor.next + multiple + remainder);
}

class GolombCodec : public PositionCodec {
 public:
  std::size_t max_size(std::size_t max_count, std::size_t elements) const override {
    if (elements == 0) return 0;
    // `count` positions cost count * (b + 1) bits, plus one bit for every 2^b elements that the
    // gaps skip. For a fixed b, the largest count costs most. The smallest b occurs with all
    // max_count positions. A larger b occurs only with fewer positions: at most as many as the
    // greatest density at which golomb_bits() returns that b.
    const int smallest =
        golomb_bits(static_cast<double>(max_count) / static_cast<double>(elements));
    std::size_t worst = 0;
    for (int bits = smallest; bits <= kMaxGolombBits; ++bits) {
      const double limit = bits == 0 ? 1 : density_limit(bits);
      const auto densest =
          static_cast<std::size_t>(std::ceil(limit * static_cast<double>(elements))) + 1;
      const std::size_t count = std::min(max_count, densest);
      worst = std::max(worst, count * static_cast<std::size_t>(bits + 1) + (elements >> bits));
    }
    return 1 + (worst + 7) / 8;
  }
  void encode(std::span<const std::uint32_t> positions, std::size_t elements,
              ByteWriter& out) const override {
    if (positions.empty()) return;
    const int bits =
        golomb_bits(static_cast<double>(positions.size()) / static_cast<double>(elements));
    out.put(static_cast<std::uint8_t>(bits));
    out.advance(rice_encode(positions, bits, out.free()));
  }
  PositionCursor start(ByteReader bytes, std::size_t count, std::size_t elements) const override {
    PositionCursor cursor{.bytes = bytes, .count = count, .elements = elements};
    if (count == 0) return cursor;
    cursor.parameter = cursor.bytes.get<std::uint8_t>("the Golomb parameter");
    if (cursor.parameter > kMaxGolombBits) {
      throw PayloadError("Golomb parameter " + std::to_string(cursor.parameter) +
                         " in the payload; expected at most " + std::to_string(kMaxGolombBits));
    }
    cursor.bits = BitReader(cursor.bytes.rest());
    return cursor;
  }
  void decode(PositionCursor& cursor, std::span<std::uint32_t> positions) const override {
    while (!positions.empty()) {
      const auto block = positions.first(std::min(kBatch, positions.size()));
      RiceCursor rice{.bit = cursor.bits.at(), .next = cursor.next};
      const double mean_bits =
          static_cast<double>(cursor.bits.remaining()) / static_cast<double>(cursor.count);
      const std::size_t read =
          rice_decode(cursor.bits.bytes(), cursor.parameter, mean_bits, rice, block);
      cursor.bits.skip(rice.bit - cursor.bits.at());
      cursor.accept_up_to(rice.next);
      // The kernel stops before a code that is long or near the end.
      const std::size_t careful = std::min(block.size(), read + kCareful);
      for (std::size_t i = read; i < careful; ++i) block[i] = take_code(cursor);
      positions = positions.subspan(careful);
      cursor.count -= careful;
    }
  }
  void finish(const PositionCursor& cursor) const override {
    cursor.bytes.expect_end();
    cursor.bits.expect_end();
  }
  double expected_bits(double density) const override {
    return golomb_mean_bits(density, golomb_bits(density));
  }

 private:
  /// Number of codes that decode() reads one by one where the kernel rice_decode() stopped: the
  /// group of up to four codes that the kernel did not read.
  static constexpr std::size_t kCareful = 4;
};

// Elias's universal codes of gaps n >= 1, the distance to the previous position. N is the number of
// binary digits after n's leading one. The gamma code consists of N in unary, then those N digits.
// The delta code consists of N + 1 in gamma code, then those N digits. (Elias, "Universal codeword
// sets and representations of the integers", 1975.)

/// Limits of N, and of the number of digits of N + 1 after its leading one. They follow from the at
/// most 32 binary digits of a gap.
constexpr std::uint64_t kMaxDigits = 31;
constexpr std::uint64_t kMaxDeltaDigits = 5;

/// Returns N, the number of binary digits after n's leading one. Requires n >= 1. Setting the
/// lowest bit does not change N, but shows static analysis that n is not 0.
int digits_of(std::uint64_t n) { return 63 - std::countl_zero(n | 1); }

void put_gamma(BitWriter& out, std::uint64_t n) {
  const int digits = digits_of(n);
  const std::uint64_t low = n - (std::uint64_t{1} << digits);
  if (2 * digits < BitWriter::kMaxBits) {
    out.put((std::uint64_t{1} | low << 1) << digits, 2 * digits + 1);
  } else {
    out.put_unary(static_cast<std::uint64_t>(digits));
    out.put(low, digits);
  }
}

std::uint64_t get_gamma(BitReader& in, std::uint64_t most_digits) {
  const std::uint64_t digits = in.get_unary();
  if (digits > most_digits) {
    throw PayloadError("an Elias code of " + std::to_string(digits) +
                       " digits in the payload; expected at most " + std::to_string(most_digits));
  }
  return std::uint64_t{1} << digits | in.get(static_cast<int>(digits));
}

/// Codec of both codes. `Code` provides put, get and the two figures of its lengths.
template <class Code>
class EliasCodec : public PositionCodec {
 public:
  std::size_t max_size(std::size_t max_count, std::size_t elements) const override {
    return (Code::most_bits(max_count, elements) + 7) / 8;
  }
  void encode(std::span<const std::uint32_t> positions, std::size_t /*elements*/,
              ByteWriter& out) const override {
    BitWriter writer(out.free());
    std::uint64_t next = 0;
    for (std::uint32_t position : positions) {
      Code::put(writer, position - next + 1);
      next = std::uint64_t{position} + 1;
    }
    out.advance(writer.finish());
  }
  PositionCursor start(ByteReader bytes, std::size_t /*count*/,
                       std::size_t elements) const override {
    PositionCursor cursor{.bytes = bytes, .elements = elements};
    cursor.bits = BitReader(cursor.bytes.rest());
    return cursor;
  }
  void decode(PositionCursor& cursor, std::span<std::uint32_t> positions) const override {
    BitReader bits = cursor.bits;
    for (std::uint32_t& position : positions) {
      position = cursor.take(cursor.next + Code::get(bits) - 1);
    }
    cursor.bits = bits;
  }
  void finish(const PositionCursor& cursor) const override { cursor.bits.expect_end(); }
  double expected_bits(double density) const override { return Code::mean_bits(density); }
};

/// Returns P(n >= 2^j) of the gap n at density p: (1 - p)^(2^j - 1); `power` is 2^j.
double reaches(double density, double power) {
  if (density >= 1) return power <= 1 ? 1 : 0;
  return std::exp((power - 1) * std::log1p(-density));
}

/// Returns the mean of N, the sum of P(N >= j) over j >= 1.
double mean_digits(double density) {
  double mean = 0;
  for (int j = 1; j <= static_cast<int>(kMaxDigits); ++j) {
    mean += reaches(density, std::ldexp(1.0, j));
  }
  return mean;
}

/// Returns an upper bound of the sum of N over `count` gaps that sum to at most `elements`, for a
/// given j. The bound holds because N = floor(log2 n) <= j - 1 + n / 2^j for every j >= 0 and n >=
/// 1. (The right side is the line through (2^j, j) and (2^(j+1), j + 1). These lines are the sides
/// of a concave polygon through points of log2, which lies above the floor.) For j >= 1 the bound
/// grows with the count, so it also holds for fewer gaps.
std::uint64_t most_digits_in_all(std::uint64_t count, std::uint64_t elements, int j) {
  return count * static_cast<std::uint64_t>(j - 1) + (elements >> j);
}

struct Gamma {
  static void put(BitWriter& out, std::uint64_t n) { put_gamma(out, n); }
  static std::uint64_t get(BitReader& in) { return get_gamma(in, kMaxDigits); }
  /// Returns a bound of the bits: 2N + 1 bits each.
  static std::uint64_t most_bits(std::uint64_t count, std::uint64_t elements) {
    std::uint64_t least = UINT64_MAX;  // every j gives a bound
    for (int j = 1; j <= 32; ++j) {
      least = std::min(least, count + 2 * most_digits_in_all(count, elements, j));
    }
    return least;
  }
  static double mean_bits(double density) { return 1 + 2 * mean_digits(density); }
};

struct Delta {
  static void put(BitWriter& out, std::uint64_t n) {
    const int digits = digits_of(n);
    put_gamma(out, static_cast<std::uint64_t>(digits) + 1);
    out.put(n - (std::uint64_t{1} << digits), digits);
  }
  static std::uint64_t get(BitReader& in) {
    const std::uint64_t digits = get_gamma(in, kMaxDeltaDigits) - 1;
    if (digits > kMaxDigits) {
      throw PayloadError("an Elias code of " + std::to_string(digits) +
                         " digits in the payload; expected at most " + std::to_string(kMaxDigits));
    }
    return std::uint64_t{1} << digits | in.get(static_cast<int>(digits));
  }
  /// Returns an upper bound of the bits of all gaps. A gap takes N + 2 floor(log2(N + 1)) + 1 bits.
  /// The inequality in most_digits_in_all(), applied to N + 1 with i >= 0 as its j, bounds this by
  /// (1 + 2 / 2^i) N + 2 (i - 1) + 2 / 2^i + 1. The code multiplies by 2^i to stay exact.
  static std::uint64_t most_bits(std::uint64_t count, std::uint64_t elements) {
    std::uint64_t least = UINT64_MAX;
    for (int j = 1; j <= 32; ++j) {
      const std::uint64_t digits = most_digits_in_all(count, elements, j);
      least = std::min(least, 3 * digits + count);  // i = 0: 2 (i - 1) + 2 + 1 = 1
      for (int i = 1; i <= 5; ++i) {
        const std::uint64_t power = std::uint64_t{1} << i;
        const std::uint64_t each = power * (2 * static_cast<std::uint64_t>(i) - 1) + 2;
        least = std::min(least, ((power + 2) * digits + each * count) / power);
      }
    }
    return least;
  }
  static double mean_bits(double density) {
    // floor(log2(N + 1)) >= i where N >= 2^i - 1, that is n >= 2^(2^i - 1).
    double mean = mean_digits(density) + 1;
    for (int i = 1; i <= static_cast<int>(kMaxDeltaDigits); ++i) {
      mean += 2 * reaches(density, std::ldexp(1.0, (1 << i) - 1));
    }
    return mean;
  }
};

}  // namespace

int golomb_bits(double density) {
  if (density >= 1) return 0;
  const double ratio = std::log(std::numbers::phi - 1) / std::log1p(-density);
  const double bits = 1 + std::floor(std::log2(ratio));
  return static_cast<int>(std::clamp(bits, 0.0, static_cast<double>(kMaxGolombBits)));
}

double golomb_mean_bits(double density, int bits) {
  const double none = std::exp(std::ldexp(std::log1p(-density), bits));
  return bits + 1 / (1 - none);
}

std::unique_ptr<PositionCodec> make_golomb_codec() { return std::make_unique<GolombCodec>(); }

std::unique_ptr<PositionCodec> make_elias_gamma_codec() {
  return std::make_unique<EliasCodec<Gamma>>();
}
std::unique_ptr<PositionCodec> make_elias_delta_codec() {
  return std::make_unique<EliasCodec<Delta>>();
}

double position_entropy_bits(double density) {
  if (density >= 1) return 0;
  // log1p keeps the second term's digits where the density is small.
  return -std::log2(density) - (1 - density) / density * std::log1p(-density) * std::numbers::log2e;
}

}  // namespace thinpipe
