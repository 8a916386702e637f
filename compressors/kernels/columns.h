// Statistics and values of the columns of a row-major matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thinpipe {

/// Rows whose sums are kept in float before they go into doubles.
constexpr std::size_t kColumnRows = 64;

/// Of a row x of n values: positive[j] += x[j] and counts[j] += 1 where x[j] is not negative,
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

}  // namespace thinpipe
