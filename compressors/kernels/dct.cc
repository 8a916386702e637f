// The fast cosine transform, which splits a line into the sums and the differences of mirrored
// elements. The even coefficients are a transform of the sums, of half the length. The odd
// coefficients are the product of the differences with a cosine matrix of half the length. The sums
// are split again in the same way. Vectors hold sixteen lines side by side. The file also copies
// rectangles of a matrix to chunks and back. The Walsh-Hadamard transform of one array is here too,
// for tests of hadamard-inl.h.
#include "compressors/kernels/transforms.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/dct.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/hadamard-inl.h"
#include "compressors/kernels/vector_loop-inl.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_DCT_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_DCT_ONCE
namespace thinpipe {
namespace {
constexpr std::size_t kSide = 16;  ///< lines at a time

/// The cosine matrices of all line lengths n, one after the other. The matrix of n begins at
/// (n/2)^2 / 3, rounded down, because the matrices before it have 1, 4, 16, ... elements.
struct Cosines {
  std::array<float, 1365> values;

  Cosines() : values() {
    for (std::size_t n = 2; n <= kMaxDct; n *= 2) {
      float* at = values.data() + first_cosine(n);
      for (std::size_t k = 0; k < n / 2; ++k) {
        for (std::size_t i = 0; i < n / 2; ++i) {
          const auto angle = static_cast<double>((2 * i + 1) * (2 * k + 1)) /
                             static_cast<double>(2 * n) * std::numbers::pi;
          *at++ = static_cast<float>(std::cos(angle));
        }
      }
    }
  }
};
}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kSide>;

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
using D4 = hn::CappedTag<float, 4>;
using V4 = hn::Vec<D4>;

/// Sets columns[i] to column i of four rows.
HWY_INLINE void Transpose(const float* from, std::size_t step, V4* columns) {
  const D4 d;
  const hn::Repartition<std::uint64_t, D4> pairs;
  const auto a = hn::LoadU(d, from);
  const auto b = hn::LoadU(d, from + step);
  const auto e = hn::LoadU(d, from + 2 * step);
  const auto f = hn::LoadU(d, from + 3 * step);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
  const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto ef_low = hn::BitCast(pairs, hn::InterleaveLower(d, e, f));
  const auto ef_high = hn::BitCast(pairs, hn::InterleaveUpper(d, e, f));
  columns[0] = hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ef_low));
  columns[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ef_low));
  columns[2] = hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ef_high));
  columns[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ef_high));
}

/// Sets x[i * kSide + l] = from[l * step + i] for i under 4 and all kSide lines l. Its stores are
/// as wide as the later loads, because a load would wait for several narrower stores.
template <class Vector = V4>  // a template, so that other widths are not compiled
HWY_INLINE void TakeFour(const float* from, std::size_t step, float* HWY_RESTRICT x) {
  constexpr std::size_t kWidth = hn::MaxLanes(D());
  [[maybe_unused]] const hn::CappedTag<float, 8> d8;
  for (std::size_t l = 0; l < kSide; l += kWidth) {
    Vector squares[kWidth / 4][4];
    for (std::size_t q = 0; q < kWidth / 4; ++q) {
      Transpose(from + (l + 4 * q) * step, step, squares[q]);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      float* const to = x + i * kSide + l;
      if constexpr (kWidth == 16) {
        const auto low = hn::Combine(d8, squares[1][i], squares[0][i]);
        const auto high = hn::Combine(d8, squares[3][i], squares[2][i]);
        hn::Store(hn::Combine(D(), high, low), D(), to);
      } else if constexpr (kWidth == 8) {
        hn::Store(hn::Combine(d8, squares[1][i], squares[0][i]), d8, to);
      } else {
        hn::Store(squares[0][i], D4(), to);
      }
    }
  }
}

/// Sets to[l * step + i] = x[i * kSide + l], i under 4: the reverse.
HWY_INLINE void PutFour(const float* HWY_RESTRICT x, float* to, std::size_t step) {
  for (std::size_t l = 0; l < kSide; l += 4) {
    V4 columns[4];
    Transpose(x + l, kSide, columns);
    for (std::size_t i = 0; i < 4; ++i) hn::StoreU(columns[i], D4(), to + (l + i) * step);
  }
}

bool IsWhole(const Lines& lines, std::size_t count) {
  return count == kSide && lines.step == 1 && lines.length % 4 == 0;
}
#endif

HWY_INLINE void CopyRow(const float* from, float* to) {
  const D d;
  for (std::size_t lane = 0; lane < kSide; lane += hn::Lanes(d)) {
    hn::StoreU(hn::LoadU(d, from + lane), d, to + lane);
  }
}

/// Copies `count` lines from `base` on to x.
void TakeLines(const Lines& lines, const float* base, std::size_t count, float* HWY_RESTRICT x) {
  if (count == kSide && lines.line_step == 1) {
    for (std::size_t i = 0; i < lines.length; ++i) CopyRow(base + i * lines.step, x + i * kSide);
    return;
  }
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
  if (IsWhole(lines, count)) {
    for (std::size_t i = 0; i < lines.length; i += 4) {
      TakeFour(base + i, lines.line_step, x + i * kSide);
    }
    return;
  }
#endif
  if (count < kSide) std::memset(x, 0, lines.length * kSide * sizeof(float));
  for (std::size_t i = 0; i < lines.length; ++i) {
    const float* const from = base + i * lines.step;
    for (std::size_t l = 0; l < count; ++l) x[i * kSide + l] = from[l * lines.line_step];
  }
}

/// Copies `count` lines of x back to `base`.
void PutLines(const Lines& lines, const float* HWY_RESTRICT x, std::size_t count, float* base) {
  if (count == kSide && lines.line_step == 1) {
    for (std::size_t i = 0; i < lines.length; ++i) CopyRow(x + i * kSide, base + i * lines.step);
    return;
  }
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
  if (IsWhole(lines, count)) {
    for (std::size_t i = 0; i < lines.length; i += 4) {
      PutFour(x + i * kSide, base + i, lines.line_step);
    }
    return;
  }
#endif
  for (std::size_t i = 0; i < lines.length; ++i) {
    float* const to = base + i * lines.step;
    for (std::size_t l = 0; l < count; ++l) to[l * lines.line_step] = x[i * kSide + l];
  }
}

/// Columns of a matrix that are multiplied; the columns left out are zeros for all lines.
struct Columns {
  std::array<std::uint32_t, kMaxDct / 2> index;
  std::size_t count = 0;
};

/// Computes one row of Multiply().
HWY_INLINE void MultiplyRow(const float* HWY_RESTRICT row, const Columns& columns,
                            const float* HWY_RESTRICT in, float factor, float* HWY_RESTRICT out) {
  const D d;
  for (std::size_t lane = 0; lane < kSide; lane += hn::Lanes(d)) {
    auto sum = hn::Zero(d);
    for (std::size_t j = 0; j < columns.count; ++j) {
      const std::size_t c = columns.index[j];
      sum = hn::Add(sum, hn::Mul(hn::Load(d, in + c * kSide + lane), hn::Set(d, row[c])));
    }
    hn::Store(hn::Mul(sum, hn::Set(d, factor)), d, out + lane);
  }
}

#if !HWY_HAVE_SCALABLE  // sizeless vectors form no arrays
/// Computes rows r to r + rows - 1 of Multiply(). It computes these sums side by side, which hides
/// the latency of an addition.
template <std::size_t rows>
HWY_INLINE void MultiplyRows(const float* HWY_RESTRICT matrix, std::size_t n, std::size_t r,
                             const Columns& columns, const float* HWY_RESTRICT in, float factor,
                             float* HWY_RESTRICT out, std::size_t step) {
  const D d;
  const float* const row = matrix + r * n;
  for (std::size_t lane = 0; lane < kSide; lane += hn::Lanes(d)) {
    hn::Vec<D> sums[rows];
    for (std::size_t i = 0; i < rows; ++i) sums[i] = hn::Zero(d);
    for (std::size_t j = 0; j < columns.count; ++j) {
      const std::size_t c = columns.index[j];
      const auto x = hn::Load(d, in + c * kSide + lane);
      for (std::size_t i = 0; i < rows; ++i) {
        sums[i] = hn::Add(sums[i], hn::Mul(x, hn::Set(d, row[i * n + c])));
      }
    }
    for (std::size_t i = 0; i < rows; ++i) {
      hn::Store(hn::Mul(sums[i], hn::Set(d, factor)), d, out + (r + i) * step + lane);
    }
  }
}
#endif

/// Sets the lines' element at out + r * step to `factor` times the sum of in[c] * matrix[r * n + c]
/// over the columns c, for r < n. The cosine matrix equals its transpose, so this function serves
/// both the transform and its inverse. Columns of zeros may be left out without changing a bit,
/// because a sum that starts from +0 is never -0.
void Multiply(const float* HWY_RESTRICT matrix, std::size_t n, const Columns& columns,
              const float* HWY_RESTRICT in, float factor, float* HWY_RESTRICT out,
              std::size_t step) {
  std::size_t r = 0;
#if !HWY_HAVE_SCALABLE
  for (; r + 8 <= n; r += 8) MultiplyRows<8>(matrix, n, r, columns, in, factor, out, step);
  for (; r + 4 <= n; r += 4) MultiplyRows<4>(matrix, n, r, columns, in, factor, out, step);
#endif
  for (; r < n; ++r) MultiplyRow(matrix + r * n, columns, in, factor, out + r * step);
}

Columns AllColumns(std::size_t n) {
  Columns columns;
  for (; columns.count < n; ++columns.count) {
    columns.index[columns.count] = static_cast<std::uint32_t>(columns.count);
  }
  return columns;
}

/// Copies n columns of all lines, `step` apart, times `factor`. @returns the columns that are not 0
/// in every line.
Columns TakeScaled(const float* HWY_RESTRICT from, std::size_t step, std::size_t n, float factor,
                   float* HWY_RESTRICT to) {
  const D d;
  Columns columns;
  for (std::size_t c = 0; c < n; ++c) {
    bool zero = true;
    for (std::size_t lane = 0; lane < kSide; lane += hn::Lanes(d)) {
      const auto x = hn::Mul(hn::Load(d, from + c * step + lane), hn::Set(d, factor));
      hn::Store(x, d, to + c * kSide + lane);
      zero = zero && hn::AllTrue(d, hn::Eq(x, hn::Zero(d)));
    }
    columns.index[columns.count] = static_cast<std::uint32_t>(c);
    columns.count += zero ? 0 : 1;
  }
  return columns;
}

/// Arrays of element i of all lines, then element i + 1 ...
struct Workspace {
  alignas(64) float elements[kMaxDct * kSide];
  alignas(64) float coefficients[kMaxDct * kSide];
  alignas(64) float differences[kMaxDct / 2 * kSide];
  alignas(64) float odd[kMaxDct / 2 * kSide];
};

/// Computes plus[i] = a[i] + b[i], minus[i] = a[i] - b[i] for one element of all lines.
HWY_INLINE void Butterfly(const float* a, const float* b, float* plus, float* minus) {
  const D d;
  for (std::size_t lane = 0; lane < kSide; lane += hn::Lanes(d)) {
    const auto va = hn::Load(d, a + lane);
    const auto vb = hn::Load(d, b + lane);
    hn::Store(hn::Add(va, vb), d, plus + lane);
    hn::Store(hn::Sub(va, vb), d, minus + lane);
  }
}

/// Factors of the coefficients, which make the transform orthonormal.
struct Weights {
  float first, others;
};

/// Computes the coefficients level by level, and overwrites the elements. Each level writes its odd
/// coefficients to their final positions: at length m = n / 2^level, coefficient 2k + 1 goes to
/// (2k + 1) 2^level.
void Forward(const float* cosines, std::size_t n, Weights weights, Workspace& work) {
  std::size_t stride = 1;
  for (std::size_t m = n; m >= 2; m /= 2, stride *= 2) {
    for (std::size_t i = 0; i < m / 2; ++i) {
      float* const low = work.elements + i * kSide;
      Butterfly(low, work.elements + (m - 1 - i) * kSide, low, work.differences + i * kSide);
    }
    Multiply(cosines + first_cosine(m), m / 2, AllColumns(m / 2), work.differences, weights.others,
             work.coefficients + stride * kSide, 2 * stride * kSide);
  }
  TakeScaled(work.elements, kSide, 1, weights.first, work.coefficients);
}

/// Computes the elements.
void Inverse(const float* cosines, std::size_t n, Weights weights, Workspace& work) {
  TakeScaled(work.coefficients, kSide, 1, weights.first, work.elements);
  std::size_t stride = n / 2;
  for (std::size_t m = 2; m <= n; m *= 2, stride /= 2) {
    // The inverse transform reads sent coefficients: most are zeros.
    const Columns columns = TakeScaled(work.coefficients + stride * kSide, 2 * stride * kSide,
                                       m / 2, weights.others, work.differences);
    Multiply(cosines + first_cosine(m), m / 2, columns, work.differences, 1, work.odd, kSide);
    for (std::size_t i = 0; i < m / 2; ++i) {
      float* const low = work.elements + i * kSide;
      Butterfly(low, work.odd + i * kSide, low, work.elements + (m - 1 - i) * kSide);
    }
  }
}

void Transform(const Lines& lines, const float* cosines, bool inverse) {
  Workspace work;
  const std::size_t n = lines.length;
  const Weights weights{.first = std::sqrt(1.0F / static_cast<float>(n)),
                        .others = std::sqrt(2.0F / static_cast<float>(n))};
  for (std::size_t line = 0; line < lines.count; line += kSide) {
    const std::size_t count = std::min(kSide, lines.count - line);
    float* const base = lines.base + line * lines.line_step;
    TakeLines(lines, base, count, inverse ? work.coefficients : work.elements);
    (inverse ? Inverse : Forward)(cosines, n, weights, work);
    PutLines(lines, inverse ? work.elements : work.coefficients, count, base);
  }
}

// Rectangles of a matrix are copied to chunks and back, a row at a time. A chunk is small and in
// the caches.

/// Prefetches the same row of the chunk to the right, which is probably next. The rows of a chunk
/// are too short for the hardware's prefetchers.
HWY_INLINE void AskNextChunk(const Patch& patch, const float* at) {
  constexpr int kSecondLevel = 2;
  __builtin_prefetch(at + patch.columns, 0, kSecondLevel);
}

/// Calls row(offset in the matrix, offset in the chunk) for every row.
template <class Row>
HWY_INLINE void ForEachRow(const Patch& patch, Row row) {
  for (std::size_t y = 0; y < patch.rows; ++y) row(y * patch.step, y * patch.chunk_step);
}

void Take(const Patch& patch, const float* matrix, float* HWY_RESTRICT chunk) {
  ForEachRow(patch, [&](std::size_t from, std::size_t to) HWY_ATTR {
    ForEachVector(patch.columns, [&](auto d, std::size_t i) HWY_ATTR {
      AskNextChunk(patch, matrix + from + i);
      const auto most = hn::Set(d, kMaxDctInput);
      const auto x = hn::LoadU(d, matrix + from + i);
      const auto limited = hn::Max(hn::Min(x, most), hn::Neg(most));
      hn::StoreU(hn::IfThenZeroElse(hn::IsNaN(x), limited), d, chunk + to + i);
    });
  });
}

void Leave(const Patch& patch, const float* matrix, const float* HWY_RESTRICT chunk, float* left) {
  ForEachRow(patch, [&](std::size_t at, std::size_t from) HWY_ATTR {
    ForEachVector(patch.columns, [&](auto d, std::size_t i) HWY_ATTR {
      AskNextChunk(patch, matrix + at + i);
      StoreLeft(d, hn::LoadU(d, matrix + at + i), hn::LoadU(d, chunk + from + i), left + at, i);
    });
  });
}

void Add(const Patch& patch, const float* HWY_RESTRICT chunk, float factor, float* matrix) {
  ForEachRow(patch, [&](std::size_t at, std::size_t from) HWY_ATTR {
    ForEachVector(patch.columns, [&](auto d, std::size_t i) HWY_ATTR {
      AskNextChunk(patch, matrix + at + i);
      const auto term = hn::Mul(hn::Set(d, factor), hn::LoadU(d, chunk + from + i));
      hn::StoreU(hn::Add(hn::LoadU(d, matrix + at + i), term), d, matrix + at + i);
    });
  });
}

// The Walsh-Hadamard transform.

void Hadamard(float* HWY_RESTRICT x, std::size_t n, float norm) {
  HadamardInPlace(x, n);
  const hn::CappedTag<float, 16> d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    hn::Store(hn::Mul(hn::Load(d, x + i), hn::Set(d, norm)), d, x + i);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(Transform);
HWY_EXPORT(Take);
HWY_EXPORT(Leave);
HWY_EXPORT(Add);
HWY_EXPORT(Hadamard);

void transform(const Lines& lines, bool inverse) {
  if (lines.length < 2) return;
  HWY_DYNAMIC_DISPATCH(Transform)(lines, dct_cosines().data(), inverse);
}
}  // namespace

std::span<const float> dct_cosines() {
  static const Cosines cosines;
  return cosines.values;
}

void dct(const Lines& lines) { transform(lines, false); }
void inverse_dct(const Lines& lines) { transform(lines, true); }

void take_dct_input(const Patch& patch, const float* matrix, float* chunk) {
  HWY_DYNAMIC_DISPATCH(Take)(patch, matrix, chunk);
}
void leave_decoded(const Patch& patch, const float* matrix, const float* chunk, float* left) {
  HWY_DYNAMIC_DISPATCH(Leave)(patch, matrix, chunk, left);
}
void add_decoded(const Patch& patch, const float* chunk, float factor, float* matrix) {
  HWY_DYNAMIC_DISPATCH(Add)(patch, chunk, factor, matrix);
}

void hadamard(std::span<float> x) {
  assert(x.size() >= 16 && (x.size() & (x.size() - 1)) == 0);
  // Both operations are exactly rounded on every machine.
  const float norm = 1.0F / std::sqrt(static_cast<float>(x.size()));
  HWY_DYNAMIC_DISPATCH(Hadamard)(x.data(), x.size(), norm);
}

}  // namespace thinpipe
#endif  // HWY_ONCE
