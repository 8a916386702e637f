#include "workloads/synthetic/draw.h"

#include <algorithm>
#include <cstring>

#include "compressors/kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "workloads/synthetic/draw.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/counter_random-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Lanes of a row of random numbers; two rows share their bits (paired_random).
constexpr std::size_t kLanes = RowRandom::kRow;
constexpr std::size_t kBlock = 2 * kLanes;
constexpr std::int32_t kExponentBias = 127;
constexpr std::int32_t kMantissaBits = 23;
constexpr int kShift = kMantissaBits - kPieceBits;
constexpr std::int32_t kRestBits = (1 << kShift) - 1;
constexpr std::int32_t kOneBits = 0x3f800000;  // 1.0f

/// The piece that f lies in, from 0; below 0 for an f before the first.
template <class D>
HWY_INLINE auto PieceOf(D /*d*/, hn::Vec<D> f, int lowest_exponent) {
  const hn::RebindToSigned<D> di;
  const auto first = hn::Set(di, (kExponentBias + lowest_exponent) << kPieceBits);
  return hn::Sub(hn::ShiftRight<kShift>(hn::BitCast(di, f)), first);
}

/// c0 + t (c1 + t c2) of a piece, t being f's mantissa beyond the piece's begin.
template <class D, class VI>
HWY_INLINE hn::Vec<D> PieceValue(D d, const float* c0, const float* c1, const float* c2, VI piece,
                                 hn::Vec<D> f) {
  const hn::RebindToSigned<D> di;
  const auto rest = hn::And(hn::BitCast(di, f), hn::Set(di, kRestBits));
  const auto t = hn::Sub(hn::BitCast(d, hn::Or(rest, hn::Set(di, kOneBits))), hn::Set(d, 1.0F));
  const auto inner =
      hn::Add(hn::GatherIndex(d, c1, piece), hn::Mul(t, hn::GatherIndex(d, c2, piece)));
  return hn::Add(hn::GatherIndex(d, c0, piece), hn::Mul(t, inner));
}

template <class D, class VU>
HWY_INLINE hn::Vec<D> Quantile(D d, const QuantileTable& table, VU random) {
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
  constexpr auto kSegments = static_cast<std::int32_t>(QuantileTable::kSegments);
  const auto below = hn::Set(du, table.below);
  const auto is_negative = hn::Lt(random, below);
  const auto from_outside = hn::IfThenElse(is_negative, random, hn::Not(random));
  const auto size = hn::IfThenElse(is_negative, below, hn::Set(du, table.above));
  const auto from_inside = hn::Sub(hn::Sub(size, hn::Set(du, 1)), from_outside);
  const auto is_value = hn::Lt(from_outside, size);
  const auto is_inner = hn::Lt(from_inside, from_outside);
  const auto count = hn::BitCast(di, hn::Min(from_outside, from_inside));
  const auto share = hn::IfThenElse(hn::RebindMask(d, is_negative), hn::Set(d, table.share[0]),
                                    hn::Set(d, table.share[1]));
  // Zeros have any count; the bounds keep their piece within the table.
  const auto f = hn::Min(hn::Mul(hn::Add(hn::ConvertTo(d, count), hn::Set(d, 0.5F)), share),
                         hn::Set(d, 0x1.fffffep-2F));
  auto piece = hn::Max(PieceOf(d, f, QuantileTable::kLowestExponent), hn::Zero(di));
  piece = hn::Add(piece, hn::IfThenElseZero(hn::RebindMask(di, is_inner), hn::Set(di, kSegments)));
  piece = hn::Add(piece,
                  hn::IfThenZeroElse(hn::RebindMask(di, is_negative), hn::Set(di, 2 * kSegments)));
  return hn::IfThenElseZero(
      hn::RebindMask(d, is_value),
      PieceValue(d, table.c0.data(), table.c1.data(), table.c2.data(), piece, f));
}

void DrawValues(const QuantileTable& table, float scale, RandomKey key, std::size_t first,
                float* HWY_RESTRICT out, std::size_t n) {
  const hn::CappedTag<float, kLanes> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto factor = hn::Set(d, scale);
  RowRandom row(key);
  HWY_ALIGN float last[kBlock];
  for (std::size_t i = 0; i < n; i += kBlock) {
    float* to = i + kBlock <= n ? out + i : last;
    row.start((first + i) / 2);
    for (std::size_t lane = 0; lane < kLanes; lane += hn::Lanes(d)) {
      const auto random = row.vector(du, lane);
      hn::StoreU(hn::Mul(factor, Quantile(d, table, random)), d, to + lane);
      hn::StoreU(hn::Mul(factor, Quantile(d, table, hn::RotateRight<16>(random))), d,
                 to + lane + kLanes);
    }
    if (to == last) std::memcpy(out + i, last, (n - i) * sizeof(float));
  }
}

void StepNormals(const QuantileTable& normal, const NormalStep& step, std::size_t first,
                 float* HWY_RESTRICT z, std::size_t n) {
  const hn::CappedTag<float, kLanes> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto keep = hn::Set(d, step.keep);
  const auto own_weight = hn::Set(d, step.own_weight);
  const auto common_weight = hn::Set(d, step.common_weight);
  const bool shared = step.common_weight != 0;
  RowRandom own(step.own), common(step.common);
  HWY_ALIGN float last[kBlock] = {};
  for (std::size_t i = 0; i < n; i += kBlock) {
    const std::size_t count = std::min(kBlock, n - i);
    float* at = z + i;
    if (count < kBlock) {
      std::memcpy(last, at, count * sizeof(float));
      at = last;
    }
    own.start((first + i) / 2);
    common.start((first + i) / 2);
    const auto advance = [&](float* place, auto mine, auto ours) HWY_ATTR {
      auto value = hn::Add(hn::Mul(keep, hn::LoadU(d, place)),
                           hn::Mul(own_weight, Quantile(d, normal, mine)));
      if (shared) value = hn::Add(value, hn::Mul(common_weight, Quantile(d, normal, ours)));
      hn::StoreU(value, d, place);
    };
    for (std::size_t lane = 0; lane < kLanes; lane += hn::Lanes(d)) {
      const auto mine = own.vector(du, lane);
      const auto ours = common.vector(du, lane);
      advance(at + lane, mine, ours);
      advance(at + lane + kLanes, hn::RotateRight<16>(mine), hn::RotateRight<16>(ours));
    }
    if (at == last) std::memcpy(z + i, last, count * sizeof(float));
  }
}

template <class D>
HWY_INLINE hn::Vec<D> Mapped(D d, const CopulaTable& table, hn::Vec<D> z) {
  const hn::RebindToSigned<D> di;
  constexpr auto kSegments = static_cast<std::int32_t>(CopulaTable::kSegments);
  const auto low = hn::Set(d, table.low), high = hn::Set(d, table.high);
  const auto is_negative = hn::Lt(z, low);
  const auto is_value = hn::Or(is_negative, hn::Ge(z, high));
  const auto distance = hn::IfThenElse(is_negative, hn::Sub(low, z), hn::Sub(z, high));
  const auto f = hn::Min(hn::Max(distance, hn::Set(d, 0x1p-24F)), hn::Set(d, 0x1.fffffep3F));
  auto piece = PieceOf(d, f, CopulaTable::kLowestExponent);
  piece =
      hn::Add(piece, hn::IfThenZeroElse(hn::RebindMask(di, is_negative), hn::Set(di, kSegments)));
  return hn::IfThenElseZero(
      is_value, PieceValue(d, table.c0.data(), table.c1.data(), table.c2.data(), piece, f));
}

void MapNormals(const CopulaTable& table, float scale, const float* z, float* out, std::size_t n) {
  const hn::CappedTag<float, kLanes> d;
  const auto factor = hn::Set(d, scale);
  HWY_ALIGN float last[kLanes] = {};
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    if (i + hn::Lanes(d) <= n) {
      hn::StoreU(hn::Mul(factor, Mapped(d, table, hn::LoadU(d, z + i))), d, out + i);
      continue;
    }
    std::memcpy(last, z + i, (n - i) * sizeof(float));
    hn::StoreU(hn::Mul(factor, Mapped(d, table, hn::LoadU(d, last))), d, last);
    std::memcpy(out + i, last, (n - i) * sizeof(float));
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(DrawValues);
HWY_EXPORT(StepNormals);
HWY_EXPORT(MapNormals);

// Stretches begin where a block of random numbers does.
constexpr std::size_t kDrawGrain = 32;
}  // namespace

void draw_values(const QuantileTable& table, float scale, RandomKey key, std::span<float> out) {
  parallel_stretches(out.size(), kDrawGrain, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(DrawValues)(table, scale, key, begin, out.data() + begin, end - begin);
  });
}

void step_normals(const QuantileTable& normal, const NormalStep& step, std::span<float> z) {
  parallel_stretches(z.size(), kDrawGrain, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(StepNormals)(normal, step, begin, z.data() + begin, end - begin);
  });
}

void map_normals(const CopulaTable& table, float scale, std::span<const float> z,
                 std::span<float> out) {
  parallel_stretches(z.size(), kDrawGrain, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(MapNormals)
    (table, scale, z.data() + begin, out.data() + begin, end - begin);
  });
}

}  // namespace thinpipe
#endif  // HWY_ONCE
