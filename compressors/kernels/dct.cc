// Sums and differences of mirrored elements halve the transform: the sums' is one of half the
// length, the differences' a matrix of half the length, and so on. Sixteen lines lie side by side.
#include "compressors/kernels/dct.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/dct.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_DCT_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_DCT_ONCE
namespace thinpipe {
namespace {
constexpr std::size_t kSide = 16;  ///< lines at a time

/// For n = 2, 4 ... 64 the matrix cos(pi (2i + 1)(2k + 1) / (2n)), k and i under n/2; that of n
/// begins at (n/2)^2 / 3, rounded down: the sizes before it are 1, 4, 16 ...
struct Cosines {
  std::array<float, 1365> values;

  Cosines() : values() {
    for (std::size_t n = 2; n <= kMaxDct; n *= 2) {
      float* at = values.data() + first(n);
      for (std::size_t k = 0; k < n / 2; ++k) {
        for (std::size_t i = 0; i < n / 2; ++i) {
          const auto angle = static_cast<double>((2 * i + 1) * (2 * k + 1)) /
                             static_cast<double>(2 * n) * std::numbers::pi;
          *at++ = static_cast<float>(std::cos(angle));
        }
      }
    }
  }
  static constexpr std::size_t first(std::size_t n) { return (n / 2) * (n / 2) / 3; }
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

/// out[r] = sum over c < n of in[c] * m(r, c), r < n, for all lines; m(r, c) = matrix[r * n + c],
/// or of its transpose. The cosine matrix is symmetric, so one function serves both directions.
void Multiply(const float* HWY_RESTRICT matrix, std::size_t n, const float* HWY_RESTRICT in,
              float* HWY_RESTRICT out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t lane = 0; lane < kSide; lane += lanes) {
    std::size_t r = 0;
    for (; r + 4 <= n; r += 4) {
      const float* row = matrix + r * n;
      auto s0 = hn::Zero(d);
      auto s1 = s0;
      auto s2 = s0;
      auto s3 = s0;
      for (std::size_t c = 0; c < n; ++c) {
        const auto x = hn::Load(d, in + c * kSide + lane);
        s0 = hn::Add(s0, hn::Mul(x, hn::Set(d, row[c])));
        s1 = hn::Add(s1, hn::Mul(x, hn::Set(d, row[n + c])));
        s2 = hn::Add(s2, hn::Mul(x, hn::Set(d, row[2 * n + c])));
        s3 = hn::Add(s3, hn::Mul(x, hn::Set(d, row[3 * n + c])));
      }
      hn::Store(s0, d, out + r * kSide + lane);
      hn::Store(s1, d, out + (r + 1) * kSide + lane);
      hn::Store(s2, d, out + (r + 2) * kSide + lane);
      hn::Store(s3, d, out + (r + 3) * kSide + lane);
    }
    for (; r < n; ++r) {
      auto sum = hn::Zero(d);
      for (std::size_t c = 0; c < n; ++c) {
        const auto x = hn::Load(d, in + c * kSide + lane);
        sum = hn::Add(sum, hn::Mul(x, hn::Set(d, matrix[r * n + c])));
      }
      hn::Store(sum, d, out + r * kSide + lane);
    }
  }
}

struct Workspace {
  alignas(64) float x[kMaxDct * kSide];  ///< the lines: element i of all, then i + 1 ...
  alignas(64) float sums[kMaxDct * kSide];
  alignas(64) float differences[kMaxDct / 2 * kSide];
  alignas(64) float odd[kMaxDct / 2 * kSide];
};

/// plus[i] = a[i] + b[i], minus[i] = a[i] - b[i] for one element of all lines.
HWY_INLINE void Butterfly(const float* a, const float* b, float* plus, float* minus) {
  const D d;
  for (std::size_t lane = 0; lane < kSide; lane += hn::Lanes(d)) {
    const auto va = hn::Load(d, a + lane);
    const auto vb = hn::Load(d, b + lane);
    hn::Store(hn::Add(va, vb), d, plus + lane);
    hn::Store(hn::Sub(va, vb), d, minus + lane);
  }
}

HWY_INLINE void Scale(float* x, float factor) {
  const D d;
  for (std::size_t lane = 0; lane < kSide; lane += hn::Lanes(d)) {
    hn::Store(hn::Mul(hn::Load(d, x + lane), hn::Set(d, factor)), d, x + lane);
  }
}

void ScaleAll(float* x, std::size_t n, float first, float others) {
  Scale(x, first);
  for (std::size_t k = 1; k < n; ++k) Scale(x + k * kSide, others);
}

/// Each level leaves its odd coefficients at their places: of length m = n / 2^level, coefficient
/// 2k + 1 goes to (2k + 1) 2^level.
void Forward(const float* cosines, std::size_t n, Workspace& work) {
  std::memcpy(work.sums, work.x, n * kSide * sizeof(float));
  std::size_t stride = 1;
  for (std::size_t m = n; m >= 2; m /= 2, stride *= 2) {
    for (std::size_t i = 0; i < m / 2; ++i) {
      float* const low = work.sums + i * kSide;
      Butterfly(low, work.sums + (m - 1 - i) * kSide, low, work.differences + i * kSide);
    }
    Multiply(cosines + Cosines::first(m), m / 2, work.differences, work.odd);
    for (std::size_t k = 0; k < m / 2; ++k) {
      std::memcpy(work.x + (2 * k + 1) * stride * kSide, work.odd + k * kSide,
                  kSide * sizeof(float));
    }
  }
  std::memcpy(work.x, work.sums, kSide * sizeof(float));
}

void Inverse(const float* cosines, std::size_t n, Workspace& work) {
  std::memcpy(work.sums, work.x, kSide * sizeof(float));
  std::size_t stride = n / 2;
  for (std::size_t m = 2; m <= n; m *= 2, stride /= 2) {
    for (std::size_t k = 0; k < m / 2; ++k) {
      std::memcpy(work.differences + k * kSide, work.x + (2 * k + 1) * stride * kSide,
                  kSide * sizeof(float));
    }
    Multiply(cosines + Cosines::first(m), m / 2, work.differences, work.odd);
    for (std::size_t i = 0; i < m / 2; ++i) {
      float* const low = work.sums + i * kSide;
      Butterfly(low, work.odd + i * kSide, low, work.sums + (m - 1 - i) * kSide);
    }
  }
  std::memcpy(work.x, work.sums, n * kSide * sizeof(float));
}

void Transform(const Lines& lines, const float* cosines, bool inverse) {
  Workspace work;
  const std::size_t n = lines.length;
  const float first = std::sqrt(1.0F / static_cast<float>(n));
  const float others = std::sqrt(2.0F / static_cast<float>(n));
  for (std::size_t line = 0; line < lines.count; line += kSide) {
    const std::size_t count = std::min(kSide, lines.count - line);
    float* const base = lines.base + line * lines.line_step;
    if (count < kSide) std::memset(work.x, 0, n * kSide * sizeof(float));
    for (std::size_t i = 0; i < n; ++i) {
      const float* from = base + i * lines.step;
      for (std::size_t l = 0; l < count; ++l) work.x[i * kSide + l] = from[l * lines.line_step];
    }
    if (inverse) {
      ScaleAll(work.x, n, first, others);
      Inverse(cosines, n, work);
    } else {
      Forward(cosines, n, work);
      ScaleAll(work.x, n, first, others);
    }
    for (std::size_t i = 0; i < n; ++i) {
      float* to = base + i * lines.step;
      for (std::size_t l = 0; l < count; ++l) to[l * lines.line_step] = work.x[i * kSide + l];
    }
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

void transform(const Lines& lines, bool inverse) {
  static const Cosines cosines;
  if (lines.length < 2) return;
  HWY_DYNAMIC_DISPATCH(Transform)(lines, cosines.values.data(), inverse);
}
}  // namespace

void dct(const Lines& lines) { transform(lines, false); }
void inverse_dct(const Lines& lines) { transform(lines, true); }

}  // namespace thinpipe
#endif  // HWY_ONCE
