// Computes products of a matrix with thin factors. Each vector of a matrix row stays in a register
// while it is multiplied with up to four columns of the factor.
#include "compressors/kernels/transforms.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/low_rank.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_LOW_RANK_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_LOW_RANK_ONCE
namespace thinpipe {
namespace {
constexpr std::size_t kPartials = kLowRankPartials;
constexpr std::size_t kColumns = 4;  ///< at a time
constexpr std::size_t kRows = 4;     ///< of the matrix for one load and store of q
}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kPartials>;

/// Calls body(d, j) for whole vectors, then for single elements.
template <class Body>
HWY_INLINE void for_each_column(std::size_t n, Body body) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes) body(d, j);
  const hn::CappedTag<float, 1> one;
  for (; j < n; ++j) body(one, j);
}

/// Computes p[0 ... kCount) of one row.
template <std::size_t kCount>
HWY_INLINE void RowTimes(const float* HWY_RESTRICT row, std::size_t columns,
                         const float* HWY_RESTRICT q, float* HWY_RESTRICT dots) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t whole = columns / kPartials * kPartials;
  HWY_ALIGN float partial[kCount][kPartials];
  for (std::size_t lane = 0; lane < kPartials; lane += lanes) {
    hn::Vec<D> s0 = hn::Zero(d);
    hn::Vec<D> s1 = s0;
    hn::Vec<D> s2 = s0;
    hn::Vec<D> s3 = s0;
    for (std::size_t j = lane; j < whole; j += kPartials) {
      const auto x = hn::LoadU(d, row + j);
      s0 = hn::Add(s0, hn::Mul(x, hn::LoadU(d, q + j)));
      if constexpr (kCount > 1) s1 = hn::Add(s1, hn::Mul(x, hn::LoadU(d, q + columns + j)));
      if constexpr (kCount > 2) s2 = hn::Add(s2, hn::Mul(x, hn::LoadU(d, q + 2 * columns + j)));
      if constexpr (kCount > 3) s3 = hn::Add(s3, hn::Mul(x, hn::LoadU(d, q + 3 * columns + j)));
    }
    hn::Store(s0, d, partial[0] + lane);
    if constexpr (kCount > 1) hn::Store(s1, d, partial[1] + lane);
    if constexpr (kCount > 2) hn::Store(s2, d, partial[2] + lane);
    if constexpr (kCount > 3) hn::Store(s3, d, partial[3] + lane);
  }
  for (std::size_t k = 0; k < kCount; ++k) {
    float sum = 0;
    for (const float value : partial[k]) sum += value;
    for (std::size_t j = whole; j < columns; ++j) {
      const float product = row[j] * q[k * columns + j];
      sum += product;
    }
    dots[k] = sum;
  }
}

void Left(std::size_t rows, std::size_t columns, std::size_t rank, const float* m, const float* q,
          float* p) {
  for (std::size_t first = 0; first < rank; first += kColumns) {
    const std::size_t count = std::min(kColumns, rank - first);
    for (std::size_t i = 0; i < rows; ++i) {
      float dots[kColumns];
      const float* row = m + i * columns;
      const float* from = q + first * columns;
      if (count == 4) RowTimes<4>(row, columns, from, dots);
      if (count == 3) RowTimes<3>(row, columns, from, dots);
      if (count == 2) RowTimes<2>(row, columns, from, dots);
      if (count == 1) RowTimes<1>(row, columns, from, dots);
      for (std::size_t k = 0; k < count; ++k) p[(first + k) * rows + i] = dots[k];
    }
  }
}

/// Adds kCount rows from `from` on, each times its weights, to the rank columns of q: row r has the
/// weight weights[k * rows + r] for column k. With `fresh`, q begins as zeros. The rows' vectors
/// are in the first-level cache after the first column.
template <std::size_t kCount>
HWY_INLINE void AddRowsTimes(const float* HWY_RESTRICT from, std::size_t rows, std::size_t columns,
                             std::size_t rank, const float* HWY_RESTRICT weights, bool fresh,
                             float* HWY_RESTRICT q) {
  for_each_column(columns, [&](auto d, std::size_t j) HWY_ATTR {
    for (std::size_t k = 0; k < rank; ++k) {
      float* const to = q + k * columns + j;
      auto sum = hn::Zero(d);
      if (!fresh) sum = hn::LoadU(d, to);
      for (std::size_t row = 0; row < kCount; ++row) {
        const auto x = hn::LoadU(d, from + row * columns + j);
        sum = hn::Add(sum, hn::Mul(x, hn::Set(d, weights[k * rows + row])));
      }
      hn::StoreU(sum, d, to);
    }
  });
}

/// Computes q = m^T p of rows [first, end).
void RightOfStretch(std::size_t first, std::size_t end, std::size_t rows, std::size_t columns,
                    std::size_t rank, const float* m, const float* p, float* q) {
  std::size_t i = first;
  for (; i + kRows <= end; i += kRows) {
    AddRowsTimes<kRows>(m + i * columns, rows, columns, rank, p + i, i == first, q);
  }
  for (; i < end; ++i) {
    AddRowsTimes<1>(m + i * columns, rows, columns, rank, p + i, i == first, q);
  }
}

void Right(std::size_t rows, std::size_t columns, std::size_t rank, const float* m, const float* p,
           float* HWY_RESTRICT workspace, float* HWY_RESTRICT q) {
  RightOfStretch(0, std::min(kLowRankStretch, rows), rows, columns, rank, m, p, q);
  for (std::size_t first = kLowRankStretch; first < rows; first += kLowRankStretch) {
    RightOfStretch(first, std::min(first + kLowRankStretch, rows), rows, columns, rank, m, p,
                   workspace);
    for_each_column(rank * columns, [&](auto d, std::size_t j) {
      hn::StoreU(hn::Add(hn::LoadU(d, q + j), hn::LoadU(d, workspace + j)), d, q + j);
    });
  }
}

/// Returns the sum over the rank for one vector of a row, in order.
template <class DX>
HWY_INLINE hn::Vec<DX> Product(DX d, const float* p, std::size_t rows, const float* q,
                               std::size_t columns, std::size_t rank, std::size_t j) {
  auto sum = hn::Mul(hn::Set(d, p[0]), hn::LoadU(d, q + j));
  for (std::size_t k = 1; k < rank; ++k) {
    sum = hn::Add(sum, hn::Mul(hn::Set(d, p[k * rows]), hn::LoadU(d, q + k * columns + j)));
  }
  return sum;
}

void AddProduct(std::size_t rows, std::size_t columns, std::size_t rank, const float* p,
                const float* q, float factor, float* out) {
  for (std::size_t i = 0; i < rows; ++i) {
    float* to = out + i * columns;
    for_each_column(columns, [&](auto d, std::size_t j) {
      const auto value = Product(d, p + i, rows, q, columns, rank, j);
      hn::StoreU(hn::Add(hn::LoadU(d, to + j), hn::Mul(hn::Set(d, factor), value)), d, to + j);
    });
  }
}

void Subtract(std::size_t rows, std::size_t columns, std::size_t rank, const float* p,
              const float* q, const float* m, float* left) {
  for (std::size_t i = 0; i < rows; ++i) {
    const float* from = m + i * columns;
    float* to = left + i * columns;
    for_each_column(columns, [&](auto d, std::size_t j) {
      const auto value = Product(d, p + i, rows, q, columns, rank, j);
      const auto rest = hn::Sub(hn::LoadU(d, from + j), value);
      const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
      hn::StoreU(hn::IfThenElseZero(hn::Lt(hn::Abs(rest), infinity), rest), d, to + j);
    });
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(Left);
HWY_EXPORT(Right);
HWY_EXPORT(AddProduct);
HWY_EXPORT(Subtract);
}  // namespace

void low_rank_left(const LowRankShape& shape, const float* m, const float* q, float* p) {
  HWY_DYNAMIC_DISPATCH(Left)(shape.rows, shape.columns, shape.rank, m, q, p);
}

void low_rank_right(const LowRankShape& shape, const float* m, const float* p,
                    std::span<float> workspace, float* q) {
  HWY_DYNAMIC_DISPATCH(Right)(shape.rows, shape.columns, shape.rank, m, p, workspace.data(), q);
}

std::size_t low_rank_workspace(const LowRankShape& shape) {
  return shape.rows > kLowRankStretch ? shape.columns * shape.rank : 0;
}

void low_rank_add(const LowRankShape& shape, const float* p, const float* q, float factor,
                  float* out) {
  if (shape.rank == 0) return;
  HWY_DYNAMIC_DISPATCH(AddProduct)(shape.rows, shape.columns, shape.rank, p, q, factor, out);
}

void low_rank_subtract(const LowRankShape& shape, const float* p, const float* q, const float* m,
                       float* left) {
  if (shape.rank == 0) return;
  HWY_DYNAMIC_DISPATCH(Subtract)(shape.rows, shape.columns, shape.rank, p, q, m, left);
}

}  // namespace thinpipe
#endif  // HWY_ONCE
