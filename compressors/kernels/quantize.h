// Kernels of quantisers: levels, powers of two, ternary values, signs, 16-bit floats; and back.
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

/// codes[i] = c[i] * (1 / step) rounded, ties to even, limited to +-127; what is not finite becomes
/// 0, and so does everything where step is 0. Where `remainder` is not empty it becomes
/// c - step * code, 0 where that is not finite; it may be the same array as c.
/// @param step  level_step() of 127 levels of c's greatest magnitude, or of a greater one
/// @returns the number of codes that are not 0
std::size_t int8_quantize(std::span<const float> c, float step, std::span<float> remainder,
                          std::int8_t* codes);

/// Buckets of `bucket` elements, the last may have fewer: each level_step() of 127 levels of its
/// greatest magnitude as a 32-bit float, then its codes.
std::size_t int8_buckets(std::span<const float> c, std::size_t bucket, std::span<float> remainder,
                         std::uint8_t* out);

/// out += step * code
void int8_add(const std::int8_t* codes, float step, std::span<float> out);

// Stochastic rounding to equal levels, as codes of a few bits (QSGD, TernGrad).

/// Levels on either side of 0 that codes of so many bits hold.
THINPIPE_BOTH constexpr int levels_of(int bits) { return (1 << (bits - 1)) - 1; }

/// Bytes of n codes.
THINPIPE_BOTH constexpr std::size_t packed_size(std::size_t n, int bits) {
  return (n * static_cast<std::size_t>(bits) + 7) / 8;
}

/// How elements become codes. With y = min(|c| * (1 / step), levels_of(bits)), rounded to a
/// multiple of 2^(bits - 24), and u = paired_random() of the element without its lower 8 + bits
/// bits, as a fraction: level = floor(y + u), which never exceeds levels_of(bits). Non-finite
/// elements become 0, and so do all elements where step is 0. A code is the level, with the bit
/// above it set where c < 0 and the level is not 0. `step` is one of level_step().
struct LevelRounding {
  int bits = 2;           ///< of a code, 2 to 8
  RandomKey key = {};     ///< of the tensor and step
  std::size_t first = 0;  ///< the tensor's element that c begins with
};

/// packed_size() bytes: n codes, lowest bit first; the last byte is filled with zeros. Where
/// `remainder` is not empty it becomes c - decoded (0 where not finite); it may be the same array
/// as c. @returns the number of levels that are not 0.
std::size_t pack_levels(std::span<const float> c, float step, const LevelRounding& rounding,
                        std::span<float> remainder, std::uint8_t* packed);

/// The same codes, a byte each.
std::size_t stochastic_levels(std::span<const float> c, float step, const LevelRounding& rounding,
                              std::span<float> remainder, std::uint8_t* codes);

/// Upper end of a bucket's levels.
enum class LevelRange { kMax, kNorm };

/// Buckets of `bucket` elements, the last may have fewer: each the level_step() of its greatest
/// magnitude or of l2_norm() as a 32-bit float, then packed_size() bytes.
std::size_t pack_level_buckets(std::span<const float> c, std::size_t bucket, LevelRange range,
                               const LevelRounding& rounding, std::span<float> remainder,
                               std::uint8_t* packed);

/// The L2 norm, finite; 0 for an array with a NaN. By fixed partial sums: the same bits on every
/// machine.
float l2_norm(std::span<const float> c);

/// out += +-step * level. @returns false where the last byte is not filled with zeros.
bool add_packed_levels(const std::uint8_t* packed, float step, int bits, std::span<float> out);

// Stochastic rounding to powers of two (natural compression).

/// |c| = 2^e (1 + m) becomes 2^(e+1) with probability m, else 2^e: exponents[i] is the biased
/// exponent of a binary32, 0 standing for 0 (a denormal becomes 2^-126 with probability
/// |c| / 2^-126). At most 254: an infinity and what would be rounded to one become 2^127; a NaN
/// becomes 0. Bit i of `signs` is the sign bit of c[i]. Where `remainder` is not empty it becomes
/// c - decoded (0 where not finite); it may be the same array as c.
void natural_pack(std::span<const float> c, RandomKey key, std::span<float> remainder,
                  std::uint8_t* exponents, std::uint8_t* signs);

/// out += factor * decoded. @returns false where an exponent is 255.
bool natural_unpack_add(const std::uint8_t* exponents, const std::uint8_t* signs, float factor,
                        std::span<float> out);

// Three-valued quantisation, five values to a byte (3LC sections 3.1 and 3.2).

/// Bytes for `elements` ternary values: the length of each of the five partitions.
THINPIPE_BOTH constexpr std::size_t quartic_size(std::size_t elements) {
  return (elements + 4) / 5;
}

/// Bytes from 0 on all of whose five elements exist. A byte after them has a digit 0 that stands
/// for none.
THINPIPE_BOTH constexpr std::size_t full_quartic_bytes(std::size_t elements) {
  const std::size_t before_last = 4 * quartic_size(elements);
  return elements > before_last ? elements - before_last : 0;
}

/// Scale of the decoded values, at most the greatest float: a product that overflows, an infinity
/// or a NaN would make every decoded value infinite or NaN.
THINPIPE_BOTH inline float ternary_scale(float sparsity, float max_magnitude) {
  const float scale = sparsity * max_magnitude;
  return std::isfinite(scale) ? scale : std::numeric_limits<float>::max();
}

/// The byte of five zeros.
constexpr std::uint8_t kQuarticZero = 121;
/// The greatest byte that five ternary values make.
constexpr std::uint8_t kQuarticMax = 242;

/// q = round(c / scale) limited to {-1, 0, 1}, halves away from zero; NaN gives 0, scale = 0 gives
/// 0 everywhere. Byte i of `packed` (quartic_size bytes) holds q + 1 of elements i, i + L, ...,
/// i + 4 L with weights 81, 27, 9, 3, 1, L = quartic_size; elements past the end count as digit 0.
/// Where `remainder` is not empty, it becomes c - scale * q (0 where that is not finite); it may be
/// the same array as c. @returns the number of q that are not 0.
std::size_t ternary_pack(std::span<const float> c, float scale, std::span<float> remainder,
                         std::uint8_t* packed);

/// Buckets of `bucket` elements, the last may have fewer: for each ternary_scale() of its greatest
/// magnitude, a 32-bit float at `scales`, and ternary_pack() of it, one after the other at
/// `packed`.
std::size_t ternary_pack_buckets(std::span<const float> c, std::size_t bucket, float sparsity,
                                 std::span<float> remainder, std::uint8_t* scales,
                                 std::uint8_t* packed);

/// out[i] += value * q[i] for the bytes packed[0 ... count) that start at byte `first` of an array
/// packed from out.size() elements. Bytes must be at most kQuarticMax.
/// @returns false when a digit past the end of `out` is not 0.
bool ternary_unpack_add(const std::uint8_t* packed, std::size_t count, std::size_t first,
                        float value, std::span<float> out);

/// The stochastic one: q = sign(c) where u * scale < |c|, else 0; u = counter_uniform() of the
/// element: for |c| <= scale, q is not 0 with probability |c| / scale. A NaN gives 0. Bytes and
/// remainder are those of ternary_pack(). @returns the number of q that are not 0.
std::size_t stochastic_ternary_pack(std::span<const float> c, float scale, RandomKey key,
                                    std::span<float> remainder, std::uint8_t* packed);

// Zero-run encoding of quartic bytes (3LC section 3.3).

/// 2 to 14 bytes of 121 become one byte 243 + (n - 2).
constexpr std::uint8_t kFirstRunByte = 243;
constexpr std::size_t kLongestRun = 14;

/// Zeros that a byte >= kFirstRunByte stands for.
THINPIPE_BOTH constexpr std::size_t run_length(std::uint8_t byte) {
  return static_cast<std::size_t>(byte - kFirstRunByte) + 2;
}

// One bit a value: packing signs, and the statistics of either sign.

/// Values x < 0 are negative, all others (-0 and NaN too) are not.
struct SignedSums {
  double positive = 0;  ///< sum of x > 0
  double negative = 0;  ///< sum of x < 0, itself negative
  std::size_t negatives = 0;
};

/// The two values that bits stand for.
struct SignValues {
  float positive = 0;
  float negative = 0;
};

/// Source of the sign values.
enum class SignScale {
  kMeans,      ///< the means of either sign; what is not finite adds 0 to the sums
  kMagnitude,  ///< plus and minus the mean magnitude, limited to the greatest float; 0 with a NaN
};

/// @param count  of all values; at least 1
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

/// Elements whose sums are added up by 32 threads, or lanes, each of them in float: SignLanes.
constexpr std::size_t kSignBlock = 2048;
constexpr std::size_t kSignLanes = 32;
/// Parts of an array with a sum of their own.
constexpr std::size_t kSignParts = 64;

/// Sums of a block's finite elements, in double, where the sums of all elements are not finite.
THINPIPE_BOTH inline SignedSums finite_sums(const float* x, std::size_t n) {
  SignedSums sums;
  for (std::size_t i = 0; i < n; ++i) {
    if (x[i] - x[i] == 0) (x[i] < 0 ? sums.negative : sums.positive) += static_cast<double>(x[i]);
  }
  return sums;
}

/// Sets bit i where c[i] < 0, lowest bit of each byte first; the last byte is filled with zeros.
/// Sums by 32 fixed partial sums in float, emptied into doubles every 2048 elements, and these into
/// one for every 1/64 of the array: the same bits on every machine and any number of threads. For
/// kMeans what is not finite is left out, for kMagnitude it is not.
SignedSums pack_signs(std::span<const float> c, SignScale scale, std::uint8_t* bits);

/// The same of the sum, which is computed and stored in the same pass.
SignedSums pack_signs_of_sum(const PendingSum& sum, SignScale scale, std::uint8_t* bits);

/// remainder = c - (c < 0 ? negative : positive), 0 where that is not finite; it may be the same
/// array as c.
void leave_signs(std::span<const float> c, SignValues values, std::span<float> remainder);

/// Bits as pack_signs(), and the remainder, where it is not empty, as leave_signs(): for values
/// that are known beforehand.
void sign_pack(std::span<const float> c, SignValues values, std::span<float> remainder,
               std::uint8_t* bits);

/// Buckets of `bucket` elements, the last may have fewer: each its values as 32-bit floats (for
/// kMagnitude only the positive one) and its bits. @returns how many decode to something other
/// than 0.
std::size_t sign_buckets(std::span<const float> c, std::size_t bucket, SignScale scale,
                         std::span<float> remainder, std::uint8_t* out);

/// out += bit ? negative : positive
void sign_unpack_add(const std::uint8_t* bits, SignValues values, std::span<float> out);

// Statistics and values of the columns of a row-major matrix.

/// Rows whose sums are kept in float before they go into doubles.
constexpr std::size_t kColumnRows = 64;

/// For a row x of n values: positive[j] += x[j] and counts[j] += 1 where x[j] is not negative,
/// negative[j] += x[j] where it is. Float counts are exact up to 2^24 rows.
void add_row_by_sign(const float* x, std::size_t n, float* positive, float* negative,
                     float* counts);

/// left[j] = c[j] - (c[j] < 0 ? negative[j] : positive[j]), 0 where that is not finite; the same
/// array as c or apart.
void leave_row(const float* c, std::size_t n, const float* positive, const float* negative,
               float* left);

/// out[j] += factor * (bit j ? negative[j] : positive[j]); readable up to the byte of bit n - 1.
void add_row(const std::uint8_t* bits, std::size_t n, const float* positive, const float* negative,
             float factor, float* out);

// Whole tensors to 16-bit floats and back; element_type.h says how a value is rounded.

/// halves[i] = to_half(c[i]), as bytes, at any address. Where `remainder` is not empty it becomes
/// c - decoded, 0 where that is not finite; it may be the same array as c.
void half_pack(std::span<const float> c, HalfFormat format, std::span<float> remainder,
               std::uint8_t* halves);

/// out += factor * decoded. @returns false where a half is not finite.
bool half_unpack_add(const std::uint8_t* halves, HalfFormat format, float factor,
                     std::span<float> out);
/// out = decoded, likewise.
bool half_unpack(const std::uint8_t* halves, HalfFormat format, std::span<float> out);

// Sums of arrays of 16-bit floats, as an all-reduce makes them.

/// out = (a + b) * scale in 32 bits, rounded once to the nearest 16-bit float, ties to even, as
/// NCCL adds (to_half_or_infinity). All of one size; `out` may be `a` or `b`. On the calling thread
/// alone.
void half_add(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b, float scale,
              HalfFormat format, std::span<std::uint16_t> out);

/// out = a * scale, rounded likewise. @returns false where an element of `a` is the greatest finite
/// number, infinite or NaN: it may stand for something greater that did not fit.
bool half_scale(std::span<const std::uint16_t> a, float scale, HalfFormat format,
                std::span<std::uint16_t> out);

/// Whether no element is the greatest finite number, infinite or NaN.
bool half_fits(std::span<const std::uint16_t> a, HalfFormat format);

}  // namespace thinpipe
