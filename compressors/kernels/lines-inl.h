// Copies sixteen lines of an array (kernels/transforms.h) side by side and back, for inclusion by
// kernels: compiled once per instruction set.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "compressors/kernels/transforms.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_LINES_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_LINES_ONCE
namespace thinpipe {
namespace {
constexpr std::size_t kSide = 16;  ///< lines at a time
}  // namespace
}  // namespace thinpipe
#endif

#if defined(THINPIPE_LINES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_LINES_INL_H_
#undef THINPIPE_LINES_INL_H_
#else
#define THINPIPE_LINES_INL_H_
#endif

#include "hwy/highway.h"

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

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // per target
