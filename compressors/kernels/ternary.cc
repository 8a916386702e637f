// The five partitions are five streams: a vector of each makes a vector of bytes.
#include "compressors/kernels/ternary.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>

#include "compressors/kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/ternary.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Weights = std::array<float, 5>;

/// Packs whole vectors of bytes from `begin` on. @returns the end of the bytes done; adds to
/// `nonzero`. c and remainder may be the same array.
std::size_t Pack(const float* c, std::size_t partition, std::size_t begin, std::size_t bytes,
                 float scale, float limit, float* remainder, std::uint8_t* HWY_RESTRICT packed,
                 std::size_t* nonzero) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const std::size_t lanes = hn::Lanes(d);
  constexpr Weights kWeights = {81, 27, 9, 3, 1};
  const auto at_least = hn::Set(d, limit);
  const auto step = hn::Set(d, scale);
  const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  auto counts = hn::Zero(di);
  std::size_t i = begin;
  for (; i + lanes <= bytes; i += lanes) {
    auto code = hn::Set(d, static_cast<float>(kQuarticZero));
    for (std::size_t part = 0; part < kWeights.size(); ++part) {
      const auto x = hn::LoadU(d, c + part * partition + i);
      const auto magnitude = hn::Abs(x);
      // |c / scale| >= 1/2 without a division: 2 |c| is exact or infinite.
      const auto sent = hn::Ge(hn::Add(magnitude, magnitude), at_least);
      code = hn::Add(code, hn::IfThenElseZero(sent, hn::CopySign(hn::Set(d, kWeights[part]), x)));
      counts = hn::Sub(counts, hn::VecFromMask(di, hn::RebindMask(di, sent)));
      if (remainder != nullptr) {
        const auto left = hn::Sub(x, hn::IfThenElseZero(sent, hn::CopySign(step, x)));
        const auto finite = hn::Lt(hn::Abs(left), infinity);
        hn::StoreU(hn::IfThenElseZero(finite, left), d, remainder + part * partition + i);
      }
    }
    hn::StoreU(hn::DemoteTo(d8, hn::ConvertTo(di, code)), d8, packed + i);
  }
  HWY_ALIGN std::int32_t lane_counts[HWY_MAX_BYTES / sizeof(std::int32_t)];
  hn::Store(counts, di, lane_counts);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    *nonzero += static_cast<std::size_t>(lane_counts[lane]);
  }
  return i;
}

/// Unpacks whole vectors of bytes. @returns the bytes done.
std::size_t Unpack(const std::uint8_t* HWY_RESTRICT packed, std::size_t count,
                   std::size_t partition, float value, float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const std::size_t lanes = hn::Lanes(d);
  const auto step = hn::Set(d, value);
  const auto one = hn::Set(di, 1);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto rest = hn::PromoteTo(di, hn::LoadU(d8, packed + i));
    const auto add = [&](std::size_t part, auto digit) {
      float* to = out + part * partition + i;
      const auto term = hn::Mul(hn::ConvertTo(d, hn::Sub(digit, one)), step);
      hn::StoreU(hn::Add(hn::LoadU(d, to), term), d, to);
    };
    // Divisions by 81, 27, 9 and 3 as products and shifts, exact for the dividends that occur
    // (up to 242, 80, 26 and 8; a test tries all).
    const auto d0 = hn::ShiftRight<14>(hn::Mul(rest, hn::Set(di, 203)));
    rest = hn::Sub(rest, hn::Mul(d0, hn::Set(di, 81)));
    const auto d1 = hn::ShiftRight<9>(hn::Mul(rest, hn::Set(di, 19)));
    rest = hn::Sub(rest, hn::Mul(d1, hn::Set(di, 27)));
    const auto d2 = hn::ShiftRight<9>(hn::Mul(rest, hn::Set(di, 57)));
    rest = hn::Sub(rest, hn::Mul(d2, hn::Set(di, 9)));
    const auto d3 = hn::ShiftRight<5>(hn::Mul(rest, hn::Set(di, 11)));
    rest = hn::Sub(rest, hn::Mul(d3, hn::Set(di, 3)));
    add(0, d0);
    add(1, d1);
    add(2, d2);
    add(3, d3);
    add(4, rest);
  }
  return i;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {

HWY_EXPORT(Pack);
HWY_EXPORT(Unpack);

/// Bytes from 0 on all of whose five elements exist.
std::size_t full_bytes(std::size_t elements) {
  const std::size_t before_last = 4 * quartic_size(elements);
  return elements > before_last ? elements - before_last : 0;
}

constexpr std::array<int, 5> kPowers = {81, 27, 9, 3, 1};
constexpr std::size_t kLine = 64;  // bytes: no two threads write to one cache line of `packed`

/// One byte, the slow way; adds to `nonzero`.
std::uint8_t pack_byte(std::span<const float> c, std::size_t bytes, std::size_t i, float scale,
                       float limit, float* left, std::size_t& nonzero) {
  int code = 0;
  for (std::size_t part = 0; part < kPowers.size(); ++part) {
    const std::size_t at = part * bytes + i;
    if (at >= c.size()) break;
    const float magnitude = std::fabs(c[at]);
    const bool sent = magnitude + magnitude >= limit;
    const int q = !sent ? 0 : std::signbit(c[at]) ? -1 : 1;
    code += kPowers[part] * (q + 1);
    nonzero += sent ? 1 : 0;
    if (left != nullptr) {
      const float difference = c[at] - scale * static_cast<float>(q);
      left[at] = std::isfinite(difference) ? difference : 0.0F;
    }
  }
  return static_cast<std::uint8_t>(code);
}

}  // namespace

std::size_t ternary_pack(std::span<const float> c, float scale, std::span<float> remainder,
                         std::uint8_t* packed) {
  const std::size_t bytes = quartic_size(c.size());
  // Nothing, not even an infinity, reaches a NaN.
  const float limit = scale == 0 ? std::numeric_limits<float>::quiet_NaN() : scale;
  float* const left = remainder.empty() ? nullptr : remainder.data();
  const auto pack = [&](std::size_t begin, std::size_t end) {
    std::size_t sent = 0;
    std::size_t i = std::min(end, full_bytes(c.size()));
    if (begin < i) {
      i = HWY_DYNAMIC_DISPATCH(Pack)(c.data(), bytes, begin, i, scale, limit, left, packed, &sent);
    } else {
      i = begin;
    }
    for (; i < end; ++i) packed[i] = pack_byte(c, bytes, i, scale, limit, left, sent);
    return sent;
  };
  std::atomic<std::size_t> nonzero = 0;
  parallel_stretches(bytes, kLine,
                     [&](std::size_t begin, std::size_t end) { nonzero += pack(begin, end); });
  return nonzero;
}

bool ternary_unpack_add(const std::uint8_t* packed, std::size_t count, std::size_t first,
                        float value, std::span<float> out) {
  const std::size_t partition = quartic_size(out.size());
  const std::size_t full = full_bytes(out.size());
  const std::size_t whole = first < full ? std::min(count, full - first) : 0;
  std::size_t i = 0;
  constexpr std::size_t kWorthwhile = 16;  // shorter runs are done before a vector would start
  if (whole >= kWorthwhile) {
    i = HWY_DYNAMIC_DISPATCH(Unpack)(packed, whole, partition, value, out.data() + first);
  }
  for (; i < count; ++i) {
    int rest = packed[i];
    for (std::size_t part = 0; part < kPowers.size(); ++part) {
      const int digit = rest / kPowers[part];
      rest -= digit * kPowers[part];
      const std::size_t at = part * partition + first + i;
      if (at < out.size()) {
        out[at] += static_cast<float>(digit - 1) * value;
      } else if (digit != 0) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace thinpipe
#endif  // HWY_ONCE
