// Reads blocks of the tensor as four interleaved streams, which use more of the memory bandwidth
// than one. Also sums the squares of many short blocks.
#include "compressors/kernels/sums.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "compressors/kernels/keys.h"
#include "compressors/kernels/parallel.h"
#include "compressors/kernels/streams.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/moments.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
// after it
#include "hwy/highway.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_MOMENTS_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_MOMENTS_ONCE
namespace thinpipe {
namespace {
constexpr std::size_t kRows = kMomentRows;
constexpr std::size_t kBlockRows = kMomentBlockRows;
constexpr std::size_t kBlock = kMomentBlock;
/// Blocks summed side by side: as many as additions overlap, and 4 KiB of partial sums.
constexpr std::size_t kBlocksBeside = 8;

/// Moments that the kernels compute.
struct PartMoments {
  double sum = 0;
  std::size_t count = 0;
  std::int32_t max_key = 0;

  void join(const PartMoments& other) {
    sum += other.sum;
    count += other.count;
    max_key = std::max(max_key, other.max_key);
  }
};

/// Returns the sum of a block alone: a GPU sums blocks side by side.
inline double sum_of(const double (&sums)[kPartials]) {
  double total = 0;
  for (double sum : sums) total += sum;
  return total;
}
}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Adds one block of four streams of `rows` rows each.
void AddBlock(const float* HWY_RESTRICT x, std::size_t rows, PartMoments& moments) {
  const hn::CappedTag<float, kRowLanes> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t stride = rows * kRowLanes;
  HWY_ALIGN float partial[kPartials];
  HWY_ALIGN double sums[kPartials] = {};
  HWY_ALIGN std::int32_t keys[kRowLanes] = {};
  for (std::size_t row = 0; row < rows; row += kRows) {
    const std::size_t some = std::min(kRows, rows - row);
    for (std::size_t lane = 0; lane < kRowLanes; lane += lanes) {
      const float* p = x + row * kRowLanes + lane;
      auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
      auto m0 = hn::Load(di, keys + lane), m1 = hn::Zero(di);
      for (std::size_t i = 0; i < some; ++i, p += kRowLanes) {
        if (lane == 0) ask_rows(p, stride);
        const auto a0 = hn::Abs(hn::LoadU(d, p));
        const auto a1 = hn::Abs(hn::LoadU(d, p + stride));
        const auto a2 = hn::Abs(hn::LoadU(d, p + 2 * stride));
        const auto a3 = hn::Abs(hn::LoadU(d, p + 3 * stride));
        s0 = hn::Add(s0, a0);
        s1 = hn::Add(s1, a1);
        s2 = hn::Add(s2, a2);
        s3 = hn::Add(s3, a3);
        // Maxima are of integers, because floating-point maxima lose a NaN.
        m0 = hn::Max(m0, hn::Max(hn::BitCast(di, a0), hn::BitCast(di, a1)));
        m1 = hn::Max(m1, hn::Max(hn::BitCast(di, a2), hn::BitCast(di, a3)));
      }
      hn::Store(s0, d, partial + lane);
      hn::Store(s1, d, partial + kRowLanes + lane);
      hn::Store(s2, d, partial + 2 * kRowLanes + lane);
      hn::Store(s3, d, partial + 3 * kRowLanes + lane);
      hn::Store(hn::Max(m0, m1), di, keys + lane);
    }
    for (std::size_t i = 0; i < kPartials; ++i) sums[i] += static_cast<double>(partial[i]);
  }
  moments.sum += sum_of(sums);
  for (std::int32_t key : keys) moments.max_key = std::max(moments.max_key, key);
}

/// Adds the tail of one block of four streams of `rows` rows each.
void AddTailBlock(const float* HWY_RESTRICT x, std::size_t rows, std::int32_t limit,
                  PartMoments& moments) {
  const hn::CappedTag<float, kRowLanes> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t stride = rows * kRowLanes;
  const auto below = hn::Set(di, just_below(limit));
  HWY_ALIGN float partial[kPartials];
  HWY_ALIGN double sums[kPartials] = {};
  for (std::size_t row = 0; row < rows; row += kRows) {
    const std::size_t some = std::min(kRows, rows - row);
    for (std::size_t lane = 0; lane < kRowLanes; lane += lanes) {
      const float* p = x + row * kRowLanes + lane;
      auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
      auto n = hn::Zero(di);
      const auto add = [&](auto& sum, const float* at) {
        const auto a = hn::Abs(hn::LoadU(d, at));
        const auto mask = hn::Gt(hn::BitCast(di, a), below);
        sum = hn::Add(sum, hn::IfThenElseZero(hn::RebindMask(d, mask), a));
        n = hn::Sub(n, hn::VecFromMask(di, mask));
      };
      for (std::size_t i = 0; i < some; ++i, p += kRowLanes) {
        if (lane == 0) ask_next_block(p, stride);
        add(s0, p);
        add(s1, p + stride);
        add(s2, p + 2 * stride);
        add(s3, p + 3 * stride);
      }
      hn::Store(s0, d, partial + lane);
      hn::Store(s1, d, partial + kRowLanes + lane);
      hn::Store(s2, d, partial + 2 * kRowLanes + lane);
      hn::Store(s3, d, partial + 3 * kRowLanes + lane);
      moments.count += static_cast<std::size_t>(hn::GetLane(hn::SumOfLanes(di, n)));
    }
    for (std::size_t i = 0; i < kPartials; ++i) sums[i] += static_cast<double>(partial[i]);
  }
  moments.sum += sum_of(sums);
}

/// Adds the squares of blocks of four streams of `rows` rows each, in double.
void AddSquareBlocks(const float* HWY_RESTRICT x, std::size_t begin, std::size_t blocks,
                     std::size_t rows, PartMoments& moments) {
  const hn::CappedTag<double, kRowLanes / 2> d;
  const hn::Rebind<float, decltype(d)> df;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t stride = rows * kRowLanes;
  HWY_ALIGN double partial[kPartials];
  for (; blocks > 0; --blocks, begin += kBlock) {
    HWY_ALIGN double sums[kPartials] = {};
    for (std::size_t row = 0; row < rows; row += kRows) {
      const std::size_t some = std::min(kRows, rows - row);
      for (std::size_t lane = 0; lane < kRowLanes; lane += lanes) {
        const float* p = x + begin + row * kRowLanes + lane;
        auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
        const auto add = [&](auto& sum, const float* at) HWY_ATTR {
          const auto value = hn::PromoteTo(d, hn::LoadU(df, at));
          sum = hn::Add(sum, hn::Mul(value, value));
        };
        for (std::size_t i = 0; i < some; ++i, p += kRowLanes) {
          if (lane == 0) ask_next_block(p, stride);
          add(s0, p);
          add(s1, p + stride);
          add(s2, p + 2 * stride);
          add(s3, p + 3 * stride);
        }
        hn::Store(s0, d, partial + lane);
        hn::Store(s1, d, partial + kRowLanes + lane);
        hn::Store(s2, d, partial + 2 * kRowLanes + lane);
        hn::Store(s3, d, partial + 3 * kRowLanes + lane);
      }
      for (std::size_t i = 0; i < kPartials; ++i) sums[i] += partial[i];
    }
    moments.sum += sum_of(sums);
  }
}

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
HWY_EXPORT(AddBlock);
HWY_EXPORT(AddTailBlock);
HWY_EXPORT(AddSquareBlocks);
HWY_EXPORT(SquaresSideBySide);

/// Adds one element's magnitude.
void add_one(float x, PartMoments& moments) {
  moments.sum += static_cast<double>(std::fabs(x));
  moments.max_key = std::max(moments.max_key, key_of(x, KeyOrder::kMagnitude));
}

}  // namespace

Moments magnitude_moments(std::span<const float> x, const PendingSum* sum) {
  const PartMoments total = add_blocks_of<PartMoments>(
      x.size(), sum,
      [&](std::size_t begin, std::size_t rows, PartMoments& moments) {
        HWY_DYNAMIC_DISPATCH(AddBlock)(x.data() + begin, rows, moments);
      },
      [&](std::size_t i, PartMoments& moments) { add_one(x[i], moments); });
  return {total.sum, magnitude_of(total.max_key)};
}

TailMoments tail_moments(std::span<const float> x, std::int32_t limit,
                         const std::function<void(std::size_t, std::size_t)>& read) {
  const UseThreads threads(read ? 1 : current_threads());
  const PartMoments total = add_blocks<PartMoments>(
      x.size(),
      [&](std::size_t begin, std::size_t blocks, std::size_t rows, PartMoments& moments) {
        for (; blocks > 0; --blocks, begin += kBlock) {
          HWY_DYNAMIC_DISPATCH(AddTailBlock)(x.data() + begin, rows, limit, moments);
          // The first call has the rows after the last whole block, which are read at the end.
          if (read && rows == kBlockRows) read(begin, begin + kBlock);
        }
      },
      [&](std::size_t i, PartMoments& moments) {
        if (key_of(x[i], KeyOrder::kMagnitude) < limit) return;
        moments.sum += static_cast<double>(std::fabs(x[i]));
        ++moments.count;
      });
  if (read) read(x.size() / kBlock * kBlock, x.size());
  return {total.sum, total.count};
}

double sum_of_squares(std::span<const float> x) {
  return add_blocks<PartMoments>(
             x.size(),
             [&](std::size_t begin, std::size_t blocks, std::size_t rows, PartMoments& moments) {
               HWY_DYNAMIC_DISPATCH(AddSquareBlocks)(x.data(), begin, blocks, rows, moments);
             },
             [&](std::size_t i, PartMoments& moments) {
               moments.sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
             })
      .sum;
}

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
