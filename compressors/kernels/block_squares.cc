#include "compressors/kernels/sums.h"

#include <algorithm>
#include <cstddef>

#include "compressors/kernels/streams.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/block_squares.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_BLOCK_SQUARES_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_BLOCK_SQUARES_ONCE
namespace thinpipe {
namespace {
/// Blocks summed side by side: as many as additions overlap, and 4 KiB of partial sums.
constexpr std::size_t kBlocksBeside = 8;
}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Computes the partial sums of four streams of `rows` rows each, in the order of
/// AddSquareBlocks().
HWY_INLINE void PartialSquares(const float* HWY_RESTRICT x, std::size_t rows,
                               double* HWY_RESTRICT partial) {
  const hn::CappedTag<double, kRowLanes / 2> d;
  const hn::Rebind<float, decltype(d)> df;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t stride = rows * kRowLanes;
  // Eight sums side by side hide the latency of an addition.
  for (std::size_t lane = 0; lane < kRowLanes; lane += 2 * lanes) {
    const float* p = x + lane;
    auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
    auto t0 = hn::Zero(d), t1 = hn::Zero(d), t2 = hn::Zero(d), t3 = hn::Zero(d);
    const auto add = [&](auto& sum, const float* at) HWY_ATTR {
      const auto value = hn::PromoteTo(d, hn::LoadU(df, at));
      sum = hn::Add(sum, hn::Mul(value, value));
    };
    for (std::size_t i = 0; i < rows; ++i, p += kRowLanes) {
      if (lane == 0) {
        for (std::size_t s = 0; s < kStreams; ++s) ask_far_ahead(p + s * stride);
      }
      add(s0, p);
      add(t0, p + lanes);
      add(s1, p + stride);
      add(t1, p + stride + lanes);
      add(s2, p + 2 * stride);
      add(t2, p + 2 * stride + lanes);
      add(s3, p + 3 * stride);
      add(t3, p + 3 * stride + lanes);
    }
    double* const to = partial + lane;
    hn::Store(s0, d, to);
    hn::Store(t0, d, to + lanes);
    hn::Store(s1, d, to + kRowLanes);
    hn::Store(t1, d, to + kRowLanes + lanes);
    hn::Store(s2, d, to + 2 * kRowLanes);
    hn::Store(t2, d, to + 2 * kRowLanes + lanes);
    hn::Store(s3, d, to + 3 * kRowLanes);
    hn::Store(t3, d, to + 3 * kRowLanes + lanes);
  }
}

/// Computes the sums of kBlocksBeside blocks of `rows` rows per stream.
void SquaresSideBySide(const float* x, std::size_t rows, double* sums) {
  alignas(64) double partial[kBlocksBeside][kPartials];
  for (std::size_t b = 0; b < kBlocksBeside; ++b)
    PartialSquares(x + b * rows * kPartials, rows, partial[b]);
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
  for (std::size_t i = 0; i < kPartials; ++i) {
    s0 += partial[0][i];
    s1 += partial[1][i];
    s2 += partial[2][i];
    s3 += partial[3][i];
    s4 += partial[4][i];
    s5 += partial[5][i];
    s6 += partial[6][i];
    s7 += partial[7][i];
  }
  const double all[kBlocksBeside] = {s0, s1, s2, s3, s4, s5, s6, s7};
  std::copy(all, all + kBlocksBeside, sums);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(SquaresSideBySide);
}  // namespace

void sums_of_squares(std::span<const float> x, std::size_t block, std::span<double> sums) {
  std::size_t done = 0;
  // Whole rows only, and no more than are summed without a flush.
  if (block % kPartials == 0 && block / kPartials <= kMomentRows) {
    for (; (done + kBlocksBeside) * block <= x.size(); done += kBlocksBeside)
      HWY_DYNAMIC_DISPATCH(SquaresSideBySide)
    (x.data() + done * block, block / kPartials, sums.data() + done);
  }
  for (; done < sums.size(); ++done)
    sums[done] = sum_of_squares(x.subspan(done * block, std::min(block, x.size() - done * block)));
}

}  // namespace thinpipe
#endif  // HWY_ONCE
