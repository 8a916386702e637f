// Sums and sums of squares in double, over four interleaved streams.
#include "compressors/kernels/sums.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "compressors/kernels/keys.h"
#include "compressors/kernels/streams.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/dispersion.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
// once per target
#include "compressors/kernels/keys-inl.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_DISPERSION_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_DISPERSION_ONCE
namespace thinpipe {
namespace {
/// Rows processed at a time. 64 rows of four streams are 16 KiB. They stay in the first-level cache
/// while the kernel reads them several times, each time for other lanes: as many as fit one vector
/// of doubles.
constexpr std::size_t kRows = 64;
}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <bool magnitudes>
HWY_INLINE void AddRowsOf(const float* HWY_RESTRICT x, std::size_t stride, std::size_t rows,
                          double* HWY_RESTRICT sums, double* HWY_RESTRICT squares) {
  const hn::CappedTag<double, kRowLanes / 2> d;
  const hn::Rebind<float, decltype(d)> df;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t lane = 0; lane < kRowLanes; lane += lanes) {
    const auto value_at = [&](const float* at) HWY_ATTR {
      const auto value = hn::PromoteTo(d, hn::LoadU(df, at));
      if constexpr (magnitudes) {
        return hn::Abs(value);
      } else {
        return value;
      }
    };
    auto s0 = hn::Load(d, sums + lane), s1 = hn::Load(d, sums + kRowLanes + lane),
         s2 = hn::Load(d, sums + 2 * kRowLanes + lane),
         s3 = hn::Load(d, sums + 3 * kRowLanes + lane);
    auto q0 = hn::Load(d, squares + lane), q1 = hn::Load(d, squares + kRowLanes + lane),
         q2 = hn::Load(d, squares + 2 * kRowLanes + lane),
         q3 = hn::Load(d, squares + 3 * kRowLanes + lane);
    const float* p = x + lane;
    for (std::size_t row = 0; row < rows; ++row, p += kRowLanes) {
      if (lane == 0) ask_next_block(p, stride);
      const auto v0 = value_at(p);
      const auto v1 = value_at(p + stride);
      const auto v2 = value_at(p + 2 * stride);
      const auto v3 = value_at(p + 3 * stride);
      s0 = hn::Add(s0, v0);
      s1 = hn::Add(s1, v1);
      s2 = hn::Add(s2, v2);
      s3 = hn::Add(s3, v3);
      q0 = hn::Add(q0, hn::Mul(v0, v0));
      q1 = hn::Add(q1, hn::Mul(v1, v1));
      q2 = hn::Add(q2, hn::Mul(v2, v2));
      q3 = hn::Add(q3, hn::Mul(v3, v3));
    }
    hn::Store(s0, d, sums + lane);
    hn::Store(s1, d, sums + kRowLanes + lane);
    hn::Store(s2, d, sums + 2 * kRowLanes + lane);
    hn::Store(s3, d, sums + 3 * kRowLanes + lane);
    hn::Store(q0, d, squares + lane);
    hn::Store(q1, d, squares + kRowLanes + lane);
    hn::Store(q2, d, squares + 2 * kRowLanes + lane);
    hn::Store(q3, d, squares + 3 * kRowLanes + lane);
  }
}

void AddRows(bool magnitudes, const float* x, std::size_t stride, std::size_t rows, double* sums,
             double* squares) {
  if (magnitudes) {
    AddRowsOf<true>(x, stride, rows, sums, squares);
  } else {
    AddRowsOf<false>(x, stride, rows, sums, squares);
  }
}

/// Returns the greatest key of the same rows, which are still in the first-level cache.
std::int32_t MaxKeyOfRows(const float* x, std::size_t stride, std::size_t rows) {
  std::int32_t most = 0;
  for (std::size_t stream = 0; stream < kStreams; ++stream) {
    most = std::max(most, MaxKeyOf(x + stream * stride, rows * kRowLanes));
  }
  return most;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(AddRows);
HWY_EXPORT(MaxKeyOfRows);

/// Quantities that a pass computes.
enum class Look { kSigned, kMagnitudes, kSignedAndMost };

struct Part {
  double sum = 0;
  double squares = 0;
  std::int32_t max_key = 0;

  void join(const Part& other) {
    sum += other.sum;
    squares += other.squares;
    max_key = std::max(max_key, other.max_key);
  }
};

/// Adds one block of four streams of `rows` rows each to `part`. Every kMomentRows rows have sums
/// of their own, which GPU threads can compute in parallel. These sums are then added together.
void add_block(const float* x, std::size_t rows, Look look, Part& part) {
  std::array<double, kPartials> all_sums{};
  std::array<double, kPartials> all_squares{};
  const std::size_t stride = rows * kRowLanes;
  for (std::size_t flush = 0; flush < rows; flush += kMomentRows) {
    alignas(64) std::array<double, kPartials> sums{};
    alignas(64) std::array<double, kPartials> squares{};
    const std::size_t end = std::min(flush + kMomentRows, rows);
    for (std::size_t row = flush; row < end; row += kRows) {
      const float* const at = x + row * kRowLanes;
      const std::size_t some = std::min(kRows, end - row);
      HWY_DYNAMIC_DISPATCH(AddRows)
      (look == Look::kMagnitudes, at, stride, some, sums.data(), squares.data());
      if (look != Look::kSignedAndMost) continue;
      part.max_key = std::max(part.max_key, HWY_DYNAMIC_DISPATCH(MaxKeyOfRows)(at, stride, some));
    }
    for (std::size_t i = 0; i < kPartials; ++i) {
      all_sums[i] += sums[i];
      all_squares[i] += squares[i];
    }
  }
  double sum = 0;
  double squares = 0;
  for (double partial : all_sums) sum += partial;
  for (double partial : all_squares) squares += partial;
  part.sum += sum;
  part.squares += squares;
}

Spread spread_of(std::span<const float> x, const PendingSum* pending, Look look) {
  const Part all = add_blocks_of<Part>(
      x.size(), pending,
      [&](std::size_t begin, std::size_t rows, Part& part) {
        add_block(x.data() + begin, rows, look, part);
      },
      [&](std::size_t i, Part& part) {
        const auto value = static_cast<double>(look == Look::kMagnitudes ? std::fabs(x[i]) : x[i]);
        part.sum += value;
        part.squares += value * value;
        part.max_key = std::max(part.max_key, key_of(x[i], KeyOrder::kMagnitude));
      });
  Spread spread;
  spread.sum = all.sum;
  spread.squares = all.squares;
  spread.count = x.size();
  spread.max_magnitude = magnitude_of(all.max_key);
  return spread;
}
}  // namespace

Dispersion signed_dispersion(std::span<const float> x, const PendingSum* sum) {
  return spread_of(x, sum, Look::kSigned);
}
Dispersion magnitude_dispersion(std::span<const float> x, const PendingSum* sum) {
  return spread_of(x, sum, Look::kMagnitudes);
}
Spread signed_spread(std::span<const float> x) {
  return spread_of(x, nullptr, Look::kSignedAndMost);
}

}  // namespace thinpipe
#endif  // HWY_ONCE
