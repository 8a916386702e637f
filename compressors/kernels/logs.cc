// Exponents add up, mantissas multiply; denormals, which have another format, are added one by one.
#include "compressors/kernels/logs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "compressors/kernels/parallel.h"
#include "compressors/kernels/streams.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/logs.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_LOGS_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_LOGS_ONCE
namespace thinpipe {
namespace {
/// Rows between two flushes: a product of 96 numbers under 2 is far from overflowing.
constexpr std::size_t kRows = 96;
constexpr std::int32_t kMagnitudeBits = 0x7fffffff;
constexpr std::int32_t kMantissaBits = 0x007fffff;
constexpr std::int32_t kOne = 0x3f800000;     // 1.0f
constexpr std::int32_t kNormal = 0x00800000;  // the least normal number
constexpr std::int64_t kBias = 127;

/// Of some rows of the four streams.
struct Block {
  alignas(64) std::array<float, kPartials> sums;
  alignas(64) std::array<float, kPartials> products;
  std::int64_t exponents;  ///< biased; of normal numbers
  std::size_t small;       ///< zeros and denormals
  std::size_t zeros;
};
}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void ReadRows(const float* HWY_RESTRICT x, std::size_t stride, std::size_t rows, Block* block) {
  const hn::CappedTag<float, kRowLanes> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN std::int32_t exponents[kRowLanes];
  HWY_ALIGN std::int32_t small[kRowLanes];
  HWY_ALIGN std::int32_t zeros[kRowLanes];
  const auto one = hn::Set(di, kOne);
  for (std::size_t lane = 0; lane < kRowLanes; lane += lanes) {
    auto e = hn::Zero(di), few = hn::Zero(di), none = hn::Zero(di);
    auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
    auto p0 = hn::Set(d, 1.0F), p1 = p0, p2 = p0, p3 = p0;
    const auto look = [&](const float* at, auto& sum, auto& product) HWY_ATTR {
      const auto key = hn::And(hn::BitCast(di, hn::LoadU(d, at)), hn::Set(di, kMagnitudeBits));
      sum = hn::Add(sum, hn::BitCast(d, key));
      const auto is_small = hn::Lt(key, hn::Set(di, kNormal));
      const auto mantissa = hn::Or(hn::And(key, hn::Set(di, kMantissaBits)), one);
      product = hn::Mul(product, hn::BitCast(d, hn::IfThenElse(is_small, one, mantissa)));
      e = hn::Add(e, hn::ShiftRight<23>(key));  // 0 for small ones
      few = hn::Sub(few, hn::VecFromMask(di, is_small));
      none = hn::Sub(none, hn::VecFromMask(di, hn::Eq(key, hn::Zero(di))));
    };
    const float* p = x + lane;
    for (std::size_t row = 0; row < rows; ++row, p += kRowLanes) {
      if (lane == 0) ask_rows(p, stride);
      look(p, s0, p0);
      look(p + stride, s1, p1);
      look(p + 2 * stride, s2, p2);
      look(p + 3 * stride, s3, p3);
    }
    float* sums = block->sums.data() + lane;
    float* products = block->products.data() + lane;
    hn::Store(s0, d, sums);
    hn::Store(s1, d, sums + kRowLanes);
    hn::Store(s2, d, sums + 2 * kRowLanes);
    hn::Store(s3, d, sums + 3 * kRowLanes);
    hn::Store(p0, d, products);
    hn::Store(p1, d, products + kRowLanes);
    hn::Store(p2, d, products + 2 * kRowLanes);
    hn::Store(p3, d, products + 3 * kRowLanes);
    hn::Store(e, di, exponents + lane);
    hn::Store(few, di, small + lane);
    hn::Store(none, di, zeros + lane);
  }
  block->exponents = 0;
  block->small = block->zeros = 0;
  for (std::size_t lane = 0; lane < kRowLanes; ++lane) {
    block->exponents += exponents[lane];
    block->small += static_cast<std::size_t>(small[lane]);
    block->zeros += static_cast<std::size_t>(zeros[lane]);
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

/// A product of positive doubles, as mantissa in [1, 2) and exponent.
class Product {
 public:
  /// @param factor normal and positive
  void multiply(double factor) {
    const auto bits = std::bit_cast<std::uint64_t>(factor);
    exponent_ += static_cast<std::int64_t>(bits >> 52) - 1023;
    mantissa_ *= std::bit_cast<double>((bits & 0xfffffffffffff) | 0x3ff0000000000000);
    if (mantissa_ >= 2) {
      mantissa_ *= 0.5;
      ++exponent_;
    }
  }
  void shift(std::int64_t exponent) { exponent_ += exponent; }
  double log() const {
    return static_cast<double>(exponent_) * std::numbers::ln2 + std::log(mantissa_);
  }

 private:
  double mantissa_ = 1;
  std::int64_t exponent_ = 0;
};

/// One by one. A float is a normal double, whatever it is.
void multiply_magnitudes(std::span<const float> x, bool denormals_only, Product& product) {
  for (float value : x) {
    const std::int32_t bits = std::bit_cast<std::int32_t>(value) & kMagnitudeBits;
    if (bits == 0 || (denormals_only && bits >= kNormal)) continue;
    product.multiply(static_cast<double>(std::bit_cast<float>(bits)));
  }
}

}  // namespace

namespace {

LogMoments log_moments_of_part(std::span<const float> x) {
  LogMoments moments{.sum_magnitude = 0, .sum_log = 0, .nonzero = x.size(), .count = x.size()};
  std::array<double, kPartials> sums{};
  Product product;
  Block block;
  const std::size_t all_rows = x.size() / kPartials;  // per stream
  const std::size_t stride = all_rows * kRowLanes;
  for (std::size_t row = 0; row < all_rows; row += kRows) {
    const std::size_t rows = std::min(kRows, all_rows - row);
    HWY_DYNAMIC_DISPATCH(ReadRows)(x.data() + row * kRowLanes, stride, rows, &block);
    for (std::size_t i = 0; i < kPartials; ++i) {
      sums[i] += static_cast<double>(block.sums[i]);
      product.multiply(static_cast<double>(block.products[i]));
    }
    const auto normal = static_cast<std::int64_t>(rows * kPartials - block.small);
    product.shift(block.exponents - kBias * normal);
    moments.nonzero -= block.zeros;
    if (block.small == block.zeros) continue;
    for (std::size_t stream = 0; stream < kStreams; ++stream) {
      multiply_magnitudes(x.subspan(stream * stride + row * kRowLanes, rows * kRowLanes), true,
                          product);
    }
  }
  for (double sum : sums) moments.sum_magnitude += sum;
  const auto rest = x.subspan(kStreams * stride);
  multiply_magnitudes(rest, false, product);
  for (float value : rest) {
    moments.sum_magnitude += static_cast<double>(std::fabs(value));
    moments.nonzero -= value == 0 ? 1 : 0;
  }
  moments.sum_log = product.log();
  return moments;
}

}  // namespace

LogMoments log_moments(std::span<const float> x) {
  std::array<LogMoments, kMaxSumParts> parts;
  parallel_sum_parts(x.size(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    parts[part] = log_moments_of_part(x.subspan(begin, end - begin));
  });
  LogMoments total{.sum_magnitude = 0, .sum_log = 0, .nonzero = 0, .count = x.size()};
  for (const LogMoments& part : std::span(parts).first(sum_parts(x.size()))) {
    total.sum_magnitude += part.sum_magnitude;
    total.sum_log += part.sum_log;
    total.nonzero += part.nonzero;
  }
  return total;
}

}  // namespace thinpipe
#endif  // HWY_ONCE
