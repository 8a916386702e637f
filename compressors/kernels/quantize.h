// Kernels of quantisers: levels, powers of two, ternary values, signs, 16-bit floats; and their
// decoders.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/both.h"
#include "compressors/element_type.h"
#include "compressors/kernels/random.h"
#include "compressors/kernels/sums.h"
#include "compressors/wire/scale.h"

namespace thinpipe {

// Rounding to 255 equal levels.

/// Sets codes[i] = c[i] * (1 / step) rounded, ties to even, limited to +-127. Non-finite elements
/// become 0, and so do all elements where step is 0. `remainder`, where not empty, becomes
/// c - step * code, 0 where that is not finite; it may be the same array as c.
/// @param step  level_step() of 127 levels of c's greatest magnitude, or of a greater one
/// @returns the number of codes that are not 0
std::size_t int8_quantize(std::span<const float> c, float step, std::span<float> remainder,
                          std::int8_t* codes);

/// Quantises buckets of `bucket` elements; the last may have fewer. Writes for each bucket the
/// level_step() of 127 levels of its greatest magnitude, as a 32-bit float, then its codes.
/// @returns the number of codes that are not 0.
std::size_t int8_buckets(std::span<const float> c, std::size_t bucket, std::span<float> remainder,
                         std::uint8_t* out);

/// Computes out += step * code.
void int8_add(const std::int8_t* codes, float step, std::span<float> out);

// Stochastic rounding to equal levels, as codes of a few bits (QSGD, TernGrad).

/// Returns the levels on either side of 0 that codes of so many bits hold.
THINPIPE_BOTH constexpr int levels_of(int bits) { return (1 << (bits - 1)) - 1; }

/// Returns the bytes of n codes.
THINPIPE_BOTH constexpr std::size_t packed_size(std::size_t n, int bits) {
  return (n * static_cast<std::size_t>(bits) + 7) / 8;
}

/// Stochastic rounding of elements to codes. Let y be min(|c| * (1 / step), levels_of(bits)),
/// rounded to a multiple of 2^(bits - 24). Let u be the element's paired_random() without its
/// lowest 8 + bits bits, as a fraction in [0, 1). Then level = floor(y + u), which never exceeds
/// levels_of(bits). The upper level has a probability equal to the fraction of y, so the rounding
/// is unbiased. Non-finite elements become 0, and so do all elements where step is 0. A code is the
/// level, with the bit above the level set where c < 0 and the level is not 0. `step` is a result
/// of level_step().
struct LevelRounding {
  int bits = 2;           ///< of a code, 2 to 8
  RandomKey key = {};     ///< of the tensor and step
  std::size_t first = 0;  ///< index in the tensor of c's first element
};

/// Writes packed_size() bytes: n codes, lowest bit first; the last byte is filled with zeros.
/// `remainder`, where not empty, becomes c - decoded (0 where not finite); it may be the same array
/// as c. @returns the number of levels that are not 0.
std::size_t pack_levels(std::span<const float> c, float step, const LevelRounding& rounding,
                        std::span<float> remainder, std::uint8_t* packed);

/// Writes the same codes, one byte each. @returns the number of levels that are not 0.
std::size_t stochastic_levels(std::span<const float> c, float step, const LevelRounding& rounding,
                              std::span<float> remainder, std::uint8_t* codes);

/// Upper end of a bucket's levels.
enum class LevelRange { kMax, kNorm };

/// Quantises buckets of `bucket` elements; the last may have fewer. Writes for each bucket the
/// level_step() of its greatest magnitude or of its l2_norm(), as a 32-bit float, then
/// packed_size() bytes of codes.
/// @returns the number of levels that are not 0.
std::size_t pack_level_buckets(std::span<const float> c, std::size_t bucket, LevelRange range,
                               const LevelRounding& rounding, std::span<float> remainder,
                               std::uint8_t* packed);

/// Returns the L2 norm, finite; 0 for an array with a NaN. Partial sums are fixed: the same bits on
/// every machine.
float l2_norm(std::span<const float> c);

/// Computes out += +-step * level. @returns false where the last byte is not filled with zeros.
bool add_packed_levels(const std::uint8_t* packed, float step, int bits, std::span<float> out);

// Stochastic rounding to powers of two (natural compression).

/// Rounds |c| = 2^e (1 + m) to 2^(e+1) with probability m, else to 2^e. exponents[i] is the biased
/// binary32 exponent of the result, and 0 for the value 0. A denormal becomes 2^-126 with
/// probability |c| / 2^-126, else 0. Exponents are at most 254: an infinity, and a value that would
/// round to infinity, becomes 2^127. A NaN becomes 0. Bit i of `signs` is the sign bit of c[i].
/// `remainder`, where not empty, becomes c - decoded (0 where not finite); it may be the same array
/// as c.
void natural_pack(std::span<const float> c, RandomKey key, std::span<float> remainder,
                  std::uint8_t* exponents, std::uint8_t* signs);

/// Computes out += factor * decoded. @returns false where an exponent is 255.
bool natural_unpack_add(const std::uint8_t* exponents, const std::uint8_t* signs, float factor,
                        std::span<float> out);

// Three-valued quantisation, five values to a byte (3LC sections 3.1 and 3.2).

/// Returns the bytes of `elements` ternary values: the length of each of the five partitions.
THINPIPE_BOTH constexpr std::size_t quartic_size(std::size_t elements) {
  return (elements + 4) / 5;
}

/// Returns the number of leading bytes whose five elements all exist. Every later byte has at least
/// one digit without an element; such a digit is 0.
THINPIPE_BOTH constexpr std::size_t full_quartic_bytes(std::size_t elements) {
  const std::size_t before_last = 4 * quartic_size(elements);
  return elements > before_last ? elements - before_last : 0;
}

/// Returns the scale of the decoded values, sparsity * max_magnitude. Where this product is
/// infinite or a NaN, returns the greatest float, because otherwise every decoded value would be
/// infinite or NaN.
THINPIPE_BOTH inline float ternary_scale(float sparsity, float max_magnitude) {
  const float scale = sparsity * max_magnitude;
  return std::isfinite(scale) ? scale : std::numeric_limits<float>::max();
}

/// The byte of five zeros.
constexpr std::uint8_t kQuarticZero = 121;
/// The greatest byte of five ternary values.
constexpr std::uint8_t kQuarticMax = 242;

/// Packs q = round(c / scale) limited to {-1, 0, 1}, halves away from zero. A NaN gives 0, and
/// scale = 0 gives 0 everywhere. Let L = quartic_size(), the number of bytes in `packed`. Byte i is
/// a number of five digits to base 3: the digits are q + 1 of elements i, i + L, ..., i + 4 L,
/// highest digit first. Elements past the end count as digit 0. `remainder`, where not empty,
/// becomes c - scale * q (0 where that is not finite); it may be the same array as c. @returns the
/// number of q that are not 0.
std::size_t ternary_pack(std::span<const float> c, float scale, std::span<float> remainder,
                         std::uint8_t* packed);

/// Packs buckets of `bucket` elements; the last may have fewer. Writes the ternary_scale() of each
/// bucket's greatest magnitude to `scales`, as a 32-bit float. Writes the ternary_pack() bytes of
/// the buckets to `packed`, one bucket after the other.
/// @returns the number of q that are not 0.
std::size_t ternary_pack_buckets(std::span<const float> c, std::size_t bucket, float sparsity,
                                 std::span<float> remainder, std::uint8_t* scales,
                                 std::uint8_t* packed);

/// Computes out[i] += value * q[i] for the bytes packed[0 ... count) that start at byte `first` of
/// an array packed from out.size() elements. Bytes must be at most kQuarticMax.
/// @returns false when a digit past the end of `out` is not 0.
bool ternary_unpack_add(const std::uint8_t* packed, std::size_t count, std::size_t first,
                        float value, std::span<float> out);

/// Packs stochastically: q = sign(c) where u * scale < |c|, else 0; u = counter_uniform() of the
/// element. For |c| <= scale, q is not 0 with probability |c| / scale. A NaN gives 0. Bytes and
/// remainder are those of ternary_pack(). @returns the number of q that are not 0.
std::size_t stochastic_ternary_pack(std::span<const float> c, float scale, RandomKey key,
                                    std::span<float> remainder, std::uint8_t* packed);

// Zero-run encoding of quartic bytes (3LC section 3.3).

/// Least byte value that encodes a run: n = 2 to 14 bytes of 121 (five zeros each) become one byte
/// 243 + (n - 2).
constexpr std::uint8_t kFirstRunByte = 243;
constexpr std::size_t kLongestRun = 14;

/// Returns the length of the run that a byte >= kFirstRunByte encodes, in bytes of five zeros.
THINPIPE_BOTH constexpr std::size_t run_length(std::uint8_t byte) {
  return static_cast<std::size_t>(byte - kFirstRunByte) + 2;
}

// One bit per value: packing signs, and the statistics of either sign.

/// Sums of the positive and of the negative values. Values x < 0 count as negative; all other
/// values, -0 and NaN included, do not.
struct SignedSums {
  double positive = 0;  ///< sum of x > 0
  double negative = 0;  ///< sum of x < 0, itself negative
  std::size_t negatives = 0;
};

/// The decoded values of the two bits.
struct SignValues {
  float positive = 0;
  float negative = 0;
};

/// Source of the sign values.
enum class SignScale {
  kMeans,      ///< the means of either sign; non-finite values add 0 to the sums
  kMagnitude,  ///< plus and minus the mean magnitude, limited to the greatest float; 0 with a NaN
};

/// Returns the decoded values. @param count  of all values; at least 1
THINPIPE_BOTH inline SignValues sign_values(SignScale scale, const SignedSums& sums,
                                            std::size_t count) {
  if (scale == SignScale::kMagnitude) {
    const float mean = finite(sums.positive / static_cast<double>(count));
    return {mean, -mean};
  }
  const std::size_t others = count - sums.negatives;
  return {others == 0 ? 0 : finite(sums.positive / static_cast<double>(others)),
          sums.negatives == 0 ? 0 : finite(sums.negative / static_cast<double>(sums.negatives))};
}

/// Elements of a block. The sum of a block has kSignLanes = 32 partial sums in float, one for each
/// GPU thread or vector lane.
constexpr std::size_t kSignBlock = 2048;
constexpr std::size_t kSignLanes = 32;
/// Parts of an array with a sum of their own.
constexpr std::size_t kSignParts = 64;

/// Returns the sums of a block's finite elements, in double. Used where the sums of all elements
/// are not finite.
THINPIPE_BOTH inline SignedSums finite_sums(const float* x, std::size_t n) {
  SignedSums sums;
  for (std::size_t i = 0; i < n; ++i) {
    if (x[i] - x[i] == 0) (x[i] < 0 ? sums.negative : sums.positive) += static_cast<double>(x[i]);
  }
  return sums;
}

/// Sets bit i where c[i] < 0, lowest bit of each byte first; the last byte is filled with zeros.
/// Returns the sums of the values. Every 2048 elements, 32 fixed partial sums in float are added to
/// doubles; the doubles are added to one sum for every 1/64 of the array. This order gives the same
/// bits on every machine and with any number of threads. kMeans leaves non-finite values out of the
/// sums, kMagnitude does not.
SignedSums pack_signs(std::span<const float> c, SignScale scale, std::uint8_t* bits);

/// Packs the signs of the sum, which is computed and stored in the same pass.
SignedSums pack_signs_of_sum(const PendingSum& sum, SignScale scale, std::uint8_t* bits);

/// Sets remainder = c - (c < 0 ? negative : positive), 0 where that is not finite; it may be the
/// same array as c.
void leave_signs(std::span<const float> c, SignValues values, std::span<float> remainder);

/// Packs signs in one pass where the decoded values are known beforehand. Writes bits as
/// pack_signs() does and the remainder, where not empty, as leave_signs() does.
void sign_pack(std::span<const float> c, SignValues values, std::span<float> remainder,
               std::uint8_t* bits);

/// Packs buckets of `bucket` elements; the last may have fewer. Writes for each bucket its two
/// decoded values as 32-bit floats (for kMagnitude only the positive value), then its bits.
/// @returns the number of elements that decode to something other than 0.
std::size_t sign_buckets(std::span<const float> c, std::size_t bucket, SignScale scale,
                         std::span<float> remainder, std::uint8_t* out);

/// Computes out += bit ? negative : positive.
void sign_unpack_add(const std::uint8_t* bits, SignValues values, std::span<float> out);

// Statistics and values of the columns of a row-major matrix.

/// Rows whose sums stay in float before they are added to doubles.
constexpr std::size_t kColumnRows = 64;

/// Adds a row x of n values: positive[j] += x[j] and counts[j] += 1 where x[j] is not negative,
/// negative[j] += x[j] where it is. Float counts are exact up to 2^24 rows.
void add_row_by_sign(const float* x, std::size_t n, float* positive, float* negative,
                     float* counts);

/// Sets left[j] = c[j] - (c[j] < 0 ? negative[j] : positive[j]), 0 where that is not finite. `left`
/// is the same array as c or does not overlap it.
void leave_row(const float* c, std::size_t n, const float* positive, const float* negative,
               float* left);

/// Computes out[j] += factor * (bit j ? negative[j] : positive[j]). `bits` must be readable up to
/// the byte of bit n - 1.
void add_row(const std::uint8_t* bits, std::size_t n, const float* positive, const float* negative,
             float factor, float* out);

// Conversion of whole tensors to 16-bit floats and back; element_type.h defines the rounding.

/// Sets halves[i] = to_half(c[i]), as bytes, at any address. `remainder`, where not empty, becomes
/// c - decoded, 0 where that is not finite; it may be the same array as c.
void half_pack(std::span<const float> c, HalfFormat format, std::span<float> remainder,
               std::uint8_t* halves);

/// Computes out += factor * decoded. @returns false where a half is not finite.
bool half_unpack_add(const std::uint8_t* halves, HalfFormat format, float factor,
                     std::span<float> out);
/// Sets out = decoded, likewise.
bool half_unpack(const std::uint8_t* halves, HalfFormat format, std::span<float> out);

// Sums of arrays of 16-bit floats, as an all-reduce computes them.

/// Sets out = (a + b) * scale in 32 bits, rounded once to the nearest 16-bit float, ties to even,
/// as NCCL adds (to_half_or_infinity). All arrays have one size; `out` may be `a` or `b`. Runs on
/// the calling thread alone.
void half_add(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b, float scale,
              HalfFormat format, std::span<std::uint16_t> out);

/// Sets out = a * scale, rounded as in half_add().
/// @returns false where an element of `a` is the greatest finite number, infinite or NaN, because
/// it may have been a greater value that did not fit.
bool half_scale(std::span<const std::uint16_t> a, float scale, HalfFormat format,
                std::span<std::uint16_t> out);

/// Returns true where no element is the greatest finite number, infinite or NaN.
bool half_fits(std::span<const std::uint16_t> a, HalfFormat format);

}  // namespace thinpipe
