#include "workloads/synthetic/draw.h"

#include <algorithm>
#include <bit>
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
constexpr int kMantissaBits = 23;
constexpr std::int32_t kOneBits = 0x3f800000;  // 1.0f

/// The piece that f lies in, counted from that of 2^lowest_exponent.
template <class Table, class D>
HWY_INLINE auto PieceOf(D /*d*/, hn::Vec<D> f, int lowest_exponent) {
  const hn::RebindToSigned<D> di;
  const auto first = hn::Set(di, (kExponentBias + lowest_exponent) * (1 << Table::kBits));
  return hn::Sub(hn::ShiftRight<kMantissaBits - Table::kBits>(hn::BitCast(di, f)), first);
}

/// base + t slope of a piece.
template <class Table, class D, class VI>
HWY_INLINE hn::Vec<D> PieceValue(D d, const Table& table, VI piece, hn::Vec<D> f) {
  const hn::RebindToSigned<D> di;
  constexpr std::int32_t kRestBits = (1 << (kMantissaBits - Table::kBits)) - 1;
  const auto rest = hn::And(hn::BitCast(di, f), hn::Set(di, kRestBits));
  const auto t = hn::BitCast(d, hn::Or(rest, hn::Set(di, kOneBits)));
#if HWY_TARGET == HWY_SCALAR
  const StraightPiece word = table.pieces[static_cast<std::size_t>(hn::GetLane(piece))];
  const auto base = hn::Set(d, std::bit_cast<float>(static_cast<std::uint32_t>(word)));
  const auto slope = hn::Set(d, std::bit_cast<float>(static_cast<std::uint32_t>(word >> 32)));
#else
  // Words of even lanes and of odd ones: a gather of half as many brings twice as much.
  const hn::Repartition<std::uint64_t, D> words;
  const hn::RebindToSigned<decltype(words)> places;
  const auto both = hn::BitCast(words, piece);
  const auto even = hn::And(both, hn::Set(words, 0xffffffffU));
  const auto odd = hn::ShiftRight<32>(both);
  const auto at_even = hn::GatherIndex(words, table.pieces.data(), hn::BitCast(places, even));
  const auto at_odd = hn::GatherIndex(words, table.pieces.data(), hn::BitCast(places, odd));
  const auto base = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(at_odd)), hn::BitCast(d, at_even));
  const auto slope =
      hn::OddEven(hn::BitCast(d, at_odd), hn::BitCast(d, hn::ShiftRight<32>(at_even)));
#endif
  return hn::Add(base, hn::Mul(t, slope));
}

/// Of a mirrored table.
template <class D, class VU>
HWY_INLINE hn::Vec<D> MirroredQuantile(D d, const QuantileTable& table, VU random) {
  const hn::RebindToSigned<D> di;
  constexpr int kCountedBits = 31;
  constexpr auto kPart = static_cast<std::int32_t>(QuantileTable::kPart);
  const auto bits = hn::BitCast(di, random);
  const auto from_outside = hn::Xor(bits, hn::BroadcastSignBit(bits));
  const auto count = hn::Min(from_outside, hn::Xor(from_outside, hn::Set(di, 0x7fffffff)));
  // 2^31 f: the factor only moves the exponent.
  const auto f = hn::Add(hn::ConvertTo(d, count), hn::Set(d, 0.5F));
  const auto of_outer = PieceOf<QuantileTable>(d, f, QuantileTable::kLowestExponent + kCountedBits);
  const auto piece =
      hn::Add(of_outer, hn::IfThenElseZero(hn::Gt(from_outside, count), hn::Set(di, kPart)));
  // The first two parts are negative; r's highest bit is set where the value is not.
  const auto sign = hn::And(bits, hn::Set(di, hwy::LimitsMin<std::int32_t>()));
  return hn::Xor(PieceValue(d, table, piece, f), hn::BitCast(d, sign));
}

template <class D, class VU>
HWY_INLINE hn::Vec<D> AnyQuantile(D d, const QuantileTable& table, VU random) {
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
  constexpr auto kPart = static_cast<std::int32_t>(QuantileTable::kPart);
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
  const auto f =
      hn::Min(hn::Mul(hn::Add(hn::ConvertTo(d, count), hn::Set(d, 0.5F)), share), hn::Set(d, 0.5F));
  auto piece = hn::Max(PieceOf<QuantileTable>(d, f, QuantileTable::kLowestExponent), hn::Zero(di));
  piece = hn::Add(piece, hn::IfThenElseZero(hn::RebindMask(di, is_inner), hn::Set(di, kPart)));
  piece =
      hn::Add(piece, hn::IfThenZeroElse(hn::RebindMask(di, is_negative), hn::Set(di, 2 * kPart)));
  return hn::IfThenElseZero(hn::RebindMask(d, is_value), PieceValue(d, table, piece, f));
}

/// `quantile` (d, random) gives the values.
template <class Quantile>
HWY_INLINE void DrawBlocks(Quantile quantile, float scale, RandomKey key, std::size_t first,
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
      hn::StoreU(hn::Mul(factor, quantile(d, random)), d, to + lane);
      hn::StoreU(hn::Mul(factor, quantile(d, hn::RotateRight<16>(random))), d, to + lane + kLanes);
    }
    if (to == last) std::memcpy(out + i, last, (n - i) * sizeof(float));
  }
}

void DrawValues(const QuantileTable& table, float scale, RandomKey key, std::size_t first,
                float* HWY_RESTRICT out, std::size_t n) {
  if (table.mirrored) {
    const auto quantile = [&](auto d, auto random)
                              HWY_ATTR { return MirroredQuantile(d, table, random); };
    DrawBlocks(quantile, scale, key, first, out, n);
  } else {
    const auto quantile = [&](auto d, auto random)
                              HWY_ATTR { return AnyQuantile(d, table, random); };
    DrawBlocks(quantile, scale, key, first, out, n);
  }
}

template <class D>
HWY_INLINE hn::Vec<D> MirroredMapped(D d, const CopulaTable& table, hn::Vec<D> z) {
  const auto f = hn::Min(hn::Max(hn::Abs(z), hn::Set(d, 0x1p-24F)), hn::Set(d, 0x1.fffffep3F));
  const auto piece = PieceOf<CopulaTable>(d, f, CopulaTable::kLowestExponent);
  // The first part is negative.
  return hn::Xor(PieceValue(d, table, piece, f), hn::AndNot(z, hn::Set(d, -0.0F)));
}

template <class D>
HWY_INLINE hn::Vec<D> Mapped(D d, const CopulaTable& table, hn::Vec<D> z) {
  if (table.mirrored) return MirroredMapped(d, table, z);
  const hn::RebindToSigned<D> di;
  constexpr auto kPart = static_cast<std::int32_t>(CopulaTable::kPart);
  const auto low = hn::Set(d, table.low), high = hn::Set(d, table.high);
  const auto is_negative = hn::Lt(z, low);
  const auto is_value = hn::Or(is_negative, hn::Ge(z, high));
  const auto distance = hn::IfThenElse(is_negative, hn::Sub(low, z), hn::Sub(z, high));
  const auto f = hn::Min(hn::Max(distance, hn::Set(d, 0x1p-24F)), hn::Set(d, 0x1.fffffep3F));
  auto piece = PieceOf<CopulaTable>(d, f, CopulaTable::kLowestExponent);
  piece = hn::Add(piece, hn::IfThenZeroElse(hn::RebindMask(di, is_negative), hn::Set(di, kPart)));
  return hn::IfThenElseZero(is_value, PieceValue(d, table, piece, f));
}

/// step_values(), or, where `table` and `all_out` are null, step_normals().
void StepValues(const QuantileTable& normal, const NormalStep& step, const CopulaTable* table,
                float scale, std::size_t first, float* all_z, float* all_out, std::size_t n) {
  const hn::CappedTag<float, kLanes> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto keep = hn::Set(d, step.keep);
  const auto own_weight = hn::Set(d, step.own_weight);
  const auto common_weight = hn::Set(d, step.common_weight);
  const auto factor = hn::Set(d, scale);
  const bool is_shared = step.common_weight != 0, is_kept = step.keep != 0;
  RowRandom own(step.own), common(step.common);
  HWY_ALIGN float last_z[kBlock] = {};
  HWY_ALIGN float last_out[kBlock];
  for (std::size_t i = 0; i < n; i += kBlock) {
    const std::size_t count = std::min(kBlock, n - i);
    float* z = all_z == nullptr ? nullptr : all_z + i;
    float* out = all_out == nullptr ? nullptr : all_out + i;
    if (count < kBlock) {
      if (z != nullptr) {
        std::memcpy(last_z, z, count * sizeof(float));
        z = last_z;
      }
      if (out != nullptr) out = last_out;
    }
    own.start((first + i) / 2);
    common.start((first + i) / 2);
    const auto advance = [&](std::size_t lane, auto mine, auto ours) HWY_ATTR {
      auto value = hn::Mul(own_weight, MirroredQuantile(d, normal, mine));
      if (is_kept) value = hn::Add(hn::Mul(keep, hn::LoadU(d, z + lane)), value);
      if (is_shared) {
        value = hn::Add(value, hn::Mul(common_weight, MirroredQuantile(d, normal, ours)));
      }
      if (z != nullptr) hn::StoreU(value, d, z + lane);
      if (out != nullptr) {
        hn::StoreU(hn::Mul(factor, Mapped(d, *table, value)), d, out + lane);
      }
    };
    for (std::size_t lane = 0; lane < kLanes; lane += hn::Lanes(d)) {
      const auto mine = own.vector(du, lane);
      const auto ours = is_shared ? common.vector(du, lane) : mine;
      advance(lane, mine, ours);
      advance(lane + kLanes, hn::RotateRight<16>(mine), hn::RotateRight<16>(ours));
    }
    if (z == last_z) std::memcpy(all_z + i, last_z, count * sizeof(float));
    if (out == last_out) std::memcpy(all_out + i, last_out, count * sizeof(float));
  }
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
HWY_EXPORT(StepValues);
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
    HWY_DYNAMIC_DISPATCH(StepValues)
    (normal, step, nullptr, 1, begin, z.data() + begin, nullptr, end - begin);
  });
}

void step_values(const QuantileTable& normal, const NormalStep& step, const CopulaTable& table,
                 float scale, std::span<float> z, std::span<float> out) {
  parallel_stretches(out.size(), kDrawGrain, [&](std::size_t begin, std::size_t end) {
    float* kept = z.empty() ? nullptr : z.data() + begin;
    HWY_DYNAMIC_DISPATCH(StepValues)
    (normal, step, &table, scale, begin, kept, out.data() + begin, end - begin);
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
