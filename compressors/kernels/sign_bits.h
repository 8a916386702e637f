// One bit a value: packing signs, and the statistics of either sign.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/both.h"
#include "compressors/encode/scale.h"
#include "compressors/kernels/sum.h"

namespace thinpipe {

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

/// What they are made from.
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

/// Of a block's elements that are finite, in double: where the sums of all of them are not.
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

}  // namespace thinpipe
