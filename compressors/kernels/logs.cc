// Exponents are added, mantissas multiplied; denormals, whose mantissas have no leading one, are
// made normal first.
#include "compressors/kernels/sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "compressors/kernels/exact_math.h"
#include "compressors/kernels/streams.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/logs.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_LOGS_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_LOGS_ONCE
namespace thinpipe {
namespace {
constexpr std::int32_t kMagnitudeBits = 0x7fffffff;
constexpr std::int32_t kMantissaBits = 0x007fffff;
constexpr std::int32_t kOne = 0x3f800000;     // 1.0f
constexpr std::int32_t kNormal = 0x00800000;  // the least normal number
constexpr std::int64_t kBias = 127;
constexpr std::int64_t kLift = 24;  // added to the exponents of denormals

/// Partial results of some rows of the four streams.
struct Rows {
  alignas(64) std::array<float, kPartials> sums{};
  alignas(64) std::array<float, kPartials> products;
  std::int64_t exponents = 0;  ///< biased
  std::int64_t denormals = 0;
  std::int64_t nonzero = 0;
};
}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Adds at most kProductRows rows to the sums and counts of `block`, and computes their products.
void ReadRows(const float* HWY_RESTRICT x, std::size_t stride, std::size_t rows, Rows* block) {
  const hn::CappedTag<float, kRowLanes> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN std::int32_t exponents[kRowLanes];
  HWY_ALIGN std::int32_t denormals[kRowLanes];
  HWY_ALIGN std::int32_t nonzero[kRowLanes];
  const auto one = hn::Set(di, kOne);
  for (std::size_t lane = 0; lane < kRowLanes; lane += lanes) {
    float* sums = block->sums.data() + lane;
    float* products = block->products.data() + lane;
    auto e = hn::Zero(di), few = hn::Zero(di), some = hn::Zero(di);
    auto s0 = hn::Load(d, sums), s1 = hn::Load(d, sums + kRowLanes),
         s2 = hn::Load(d, sums + 2 * kRowLanes), s3 = hn::Load(d, sums + 3 * kRowLanes);
    auto p0 = hn::Set(d, 1.0F), p1 = p0, p2 = p0, p3 = p0;
    const auto look = [&](const float* at, auto& sum, auto& product) HWY_ATTR {
      const auto key = hn::And(hn::BitCast(di, hn::LoadU(d, at)), hn::Set(di, kMagnitudeBits));
      const auto magnitude = hn::BitCast(d, key);
      sum = hn::Add(sum, magnitude);
      const auto is_some = hn::Gt(key, hn::Zero(di));
      const auto is_denormal = hn::And(hn::Lt(key, hn::Set(di, kNormal)), is_some);
      const auto lifted = hn::BitCast(di, hn::Mul(magnitude, hn::Set(d, 0x1p24F)));
      const auto bits = hn::IfThenElse(is_denormal, lifted, key);
      product =
          hn::Mul(product, hn::BitCast(d, hn::Or(hn::And(bits, hn::Set(di, kMantissaBits)), one)));
      e = hn::Add(e, hn::ShiftRight<23>(bits));
      few = hn::Sub(few, hn::VecFromMask(di, is_denormal));
      some = hn::Sub(some, hn::VecFromMask(di, is_some));
    };
    const float* p = x + lane;
    for (std::size_t row = 0; row < rows; ++row, p += kRowLanes) {
      if (lane == 0) ask_next_block(p, stride);
      look(p, s0, p0);
      look(p + stride, s1, p1);
      look(p + 2 * stride, s2, p2);
      look(p + 3 * stride, s3, p3);
    }
    hn::Store(s0, d, sums);
    hn::Store(s1, d, sums + kRowLanes);
    hn::Store(s2, d, sums + 2 * kRowLanes);
    hn::Store(s3, d, sums + 3 * kRowLanes);
    hn::Store(p0, d, products);
    hn::Store(p1, d, products + kRowLanes);
    hn::Store(p2, d, products + 2 * kRowLanes);
    hn::Store(p3, d, products + 3 * kRowLanes);
    hn::Store(e, di, exponents + lane);
    hn::Store(few, di, denormals + lane);
    hn::Store(some, di, nonzero + lane);
  }
  for (std::size_t lane = 0; lane < kRowLanes; ++lane) {
    block->exponents += exponents[lane];
    block->denormals += denormals[lane];
    block->nonzero += nonzero[lane];
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(ReadRows);

/// Adds one block of four streams of `rows` rows each, in the order of streams.h.
void add_block(const float* x, std::size_t rows, LogSum& part) {
  std::array<LogSum, kPartials> partials;
  LogSum all;
  const std::size_t stride = rows * kRowLanes;
  for (std::size_t flush = 0; flush < rows; flush += kMomentRows) {
    Rows block;
    std::array<double, kPartials> products;
    products.fill(1);
    const std::size_t end = std::min(flush + kMomentRows, rows);
    for (std::size_t row = flush; row < end; row += kProductRows) {
      HWY_DYNAMIC_DISPATCH(ReadRows)
      (x + row * kRowLanes, stride, std::min(kProductRows, end - row), &block);
      for (std::size_t i = 0; i < kPartials; ++i)
        products[i] *= static_cast<double>(block.products[i]);
    }
    for (std::size_t i = 0; i < kPartials; ++i) {
      partials[i].sum += static_cast<double>(block.sums[i]);
      partials[i].multiply(products[i]);
    }
    all.exponent += block.exponents - kBias * block.nonzero - kLift * block.denormals;
    all.nonzero += static_cast<std::uint64_t>(block.nonzero);
  }
  for (const LogSum& partial : partials) all.join(partial);
  part.join(all);
}

}  // namespace

LogMoments log_moments(std::span<const float> x, const PendingSum* sum) {
  const LogSum all = add_blocks_of<LogSum>(
      x.size(), sum,
      [&](std::size_t begin, std::size_t rows, LogSum& part) {
        add_block(x.data() + begin, rows, part);
      },
      [&](std::size_t i, LogSum& total) {
        const SplitMagnitude split(x[i]);
        total.sum += static_cast<double>(std::fabs(x[i]));
        total.multiply(static_cast<double>(split.mantissa));
        total.exponent += split.exponent;
        total.nonzero += split.nonzero ? 1 : 0;
      });
  return {.sum_magnitude = all.sum, .sum_log = all.log(), .nonzero = all.nonzero};
}

}  // namespace thinpipe
#endif  // HWY_ONCE
