// Linear maps with the same bits on every machine: the Walsh-Hadamard and the cosine transform, and
// products with the thin factors of PowerSGD.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/both.h"
#include "base/splitmix64.h"

namespace thinpipe {

/// Replaces x by H x / sqrt(n), H the n x n Walsh-Hadamard matrix in natural order: its own
/// inverse. n = x.size() is a power of two, at least 16; x is aligned to 64 bytes. The same bits on
/// every machine.
void hadamard(std::span<float> x);

/// Fills `bits` with 0 or 2^31: sign flips that depend on the seed alone.
inline void random_signs(std::uint64_t seed, std::span<std::uint32_t> bits) {
  SplitMix64 random(seed);
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (i % 64 == 0) word = random.next();
    bits[i] = static_cast<std::uint32_t>(word >> (i % 64) & 1U) << 31;
  }
}

// The discrete cosine transform of many short lines at once.

/// The longest line.
constexpr std::size_t kMaxDct = 64;

/// Returns the index in dct_cosines() of the first cosine for lines of n elements, n = 2, 4 ...
/// kMaxDct. The cosines for n are a matrix of n/2 rows k and n/2 columns i with the elements cos(pi
/// (2i + 1)(2k + 1) / (2n)).
THINPIPE_BOTH constexpr std::size_t first_cosine(std::size_t n) { return (n / 2) * (n / 2) / 3; }
/// Returns the cosines of all lengths.
std::span<const float> dct_cosines();

/// Limit of inputs: no gradient reaches it, and no transform of it overflows.
constexpr float kMaxDctInput = 0x1p100F;
THINPIPE_BOTH inline float dct_input(float x) {
  return std::isnan(x)       ? 0.0F
         : x < -kMaxDctInput ? -kMaxDctInput
         : x > kMaxDctInput  ? kMaxDctInput
                             : x;
}

/// Lines in an array: line l has its elements at base[l * line_step + i * step].
struct Lines {
  float* base = nullptr;
  std::size_t count = 0;
  std::size_t line_step = 0;
  std::size_t length = 0;  ///< a power of two, 1 to kMaxDct
  std::size_t step = 1;
};

/// Replaces every line x by its orthonormal DCT-II: X[k] = w_k sum_i x[i]
/// cos(pi (2i + 1) k / (2n)), w_0 = sqrt(1/n), w_k = sqrt(2/n). Cosines are the C library's,
/// rounded from double to float.
void dct(const Lines& lines);

/// Replaces every line by its inverse transform (DCT-III), which is the transpose.
void inverse_dct(const Lines& lines);

/// A rectangle of a matrix in memory, and the same rows in a chunk.
struct Patch {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t step = 0;        ///< floats between the beginnings of two rows of the matrix
  std::size_t chunk_step = 0;  ///< likewise of the chunk
};

/// Copies a rectangle of a matrix, each element as dct_input() returns it.
void take_dct_input(const Patch& patch, const float* matrix, float* chunk);
/// Sets left = matrix - chunk in the rectangle, 0 where that is not finite. `left` has the rows of
/// the matrix, and may be the matrix.
void leave_decoded(const Patch& patch, const float* matrix, const float* chunk, float* left);
/// Computes matrix += factor * chunk in the rectangle.
void add_decoded(const Patch& patch, const float* chunk, float factor, float* matrix);

// Order of the computation of PowerSGD's factors, on CPUs and on GPUs: sums are cut into ranges
// that can be summed side by side.

/// Partial sums of a row's product with a column of q: one vector of AVX-512, two of AVX2.
constexpr std::size_t kLowRankPartials = 16;
/// Number of the matrix's rows in one range, for q = m^T p. Within a range, the rows, each times
/// its element of p, are added one after the other; then the sums of the ranges are added in order.
/// With 256 rows, the partial sums are only 1/256 of the matrix, and a matrix of 26 million
/// elements still occupies 100 000 threads of a GPU (one per column and range).
constexpr std::size_t kLowRankStretch = 256;
/// Partial sums of the dot product of two columns of p, within a range: product i is added to
/// partial sum i modulo kDotLanes. Then the upper half of the partial sums is added to the lower
/// half, and so on until one sum is left. Finally the sums of the ranges are added in order.
constexpr std::size_t kDotLanes = 256;
constexpr std::size_t kDotStretch = 4096;

/// Returns a random number for a column of zeros: the sum of four uniform random numbers (the paper
/// draws from a normal distribution).
THINPIPE_BOTH inline float low_rank_random(std::uint64_t word) {
  std::int64_t sum = -2L * 65535;
  for (int part = 0; part < 4; ++part)
    sum += static_cast<std::int64_t>((word >> (16 * part)) & 0xffff);
  return static_cast<float>(sum) * 0x1p-16F;
}

/// Returns x minus its projection on an earlier column, for a product or an element.
THINPIPE_BOTH inline double less_share(double x, double share, double other) {
  const double product = share * other;
  return x - product;
}
/// Returns how often columns are orthonormalised: the first time leaves errors where some are
/// nearly dependent.
THINPIPE_BOTH constexpr std::size_t orthogonalize_passes(std::size_t columns) {
  return columns > 1 ? 2 : 1;
}

/// Returns the factor that scales a column to length 1. The column's squared length was `before`
/// and is `left` after its projections were subtracted. Returns 0 where `left` is only rounding
/// noise.
THINPIPE_BOTH inline double unit_scale(double before, double left) {
  constexpr double kDependent = 1e-12;
  return left > kDependent * before ? 1 / std::sqrt(left) : 0;
}

/// A row-major matrix and factors of rank r. Factors are stored by columns: p holds r arrays of
/// `rows` floats, q r arrays of `columns`.
struct LowRankShape {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t rank = 0;
};

/// Computes p = m q. Every dot product uses 16 partial sums in float, then their sum in order.
void low_rank_left(const LowRankShape& shape, const float* m, const float* q, float* p);

/// Computes q = m^T p. Adds the products of a range's rows one after the other, then the sums of
/// the ranges in order (kLowRankStretch).
/// @param workspace  low_rank_workspace() floats, which are overwritten
void low_rank_right(const LowRankShape& shape, const float* m, const float* p,
                    std::span<float> workspace, float* q);
/// Returns the floats of workspace.
std::size_t low_rank_workspace(const LowRankShape& shape);

/// Computes out += factor * (p q^T), the sum over the rank in order.
void low_rank_add(const LowRankShape& shape, const float* p, const float* q, float factor,
                  float* out);

/// Computes left = m - p q^T, 0 where that is not finite; `left` may be m.
void low_rank_subtract(const LowRankShape& shape, const float* p, const float* q, const float* m,
                       float* left);

}  // namespace thinpipe
