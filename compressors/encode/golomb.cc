// Golomb-Rice coded gaps: the quotient of gap - 1 by 2^b in unary, then b bits of the remainder.
#include "compressors/encode/golomb.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "compressors/encode/position_codec.h"
#include "compressors/kernels/rice.h"

namespace thinpipe {
namespace {

/// Positions read between two looks at their range.
constexpr std::size_t kBatch = 4096;

/// The density from which golomb_bits() gives less than `bits`.
double density_limit(int bits) {
  return -std::expm1(std::log(std::numbers::phi - 1) / std::ldexp(1.0, bits - 1));
}

/// One code, however long. @throws PayloadError
std::uint32_t take_code(PositionCursor& cursor) {
  const std::uint64_t quotient = cursor.bits.get_unary();
  const std::uint64_t remainder = cursor.bits.get(cursor.parameter);
  // No multiple of a quotient above d can be in range; below it nothing overflows.
  const std::uint64_t multiple = std::min(quotient, cursor.elements) << cursor.parameter;
  return cursor.take(cursor.next + multiple + remainder);
}

class GolombCodec : public PositionCodec {
 public:
  std::size_t max_size(std::size_t max_count, std::size_t elements) const override {
    if (elements == 0) return 0;
    // `count` positions cost count * (b + 1) bits and one more for every 2^b elements passed over.
    // For one b the largest count costs most. All max_count of them lead to the smallest b; a
    // larger b comes of fewer, which their density bounds.
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
      // The kernel stops at a code that is long or near the end, of which it read none.
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
  /// Codes read one by one where the kernel stopped: the four that it looked at.
  static constexpr std::size_t kCareful = 4;
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

}  // namespace thinpipe
