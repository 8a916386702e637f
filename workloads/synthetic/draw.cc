#include "workloads/synthetic/draw.h"

#include <cstring>

#include "compressors/kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "workloads/synthetic/draw.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/counter_random-inl.h"
#include "workloads/synthetic/pieces-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Lanes of a row of random numbers; two rows use the same bits (paired_random).
constexpr std::size_t kLanes = RowRandom::kRow;
constexpr std::size_t kBlock = 2 * kLanes;

template <bool kZeros, class D, class VU>
HWY_INLINE hn::Vec<D> Quantile(D d, const QuantileTable& table, VU random) {
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
  constexpr int kBits = QuantileTable::kBits;
  constexpr int kPlaceBits = PieceTable::kSignedPlaceBits + kBits;
  const auto v = hn::And(hn::BitCast(di, random), hn::Set(di, 0x7fffffff));
  const auto f = hn::ConvertTo(d, Distance<kZeros>(di, table, v));
  // The highest random bit is the part's number.
  const auto part = hn::And(hn::ShiftRight<31 - kPlaceBits>(random), hn::Set(du, 1U << kPlaceBits));
  const auto place =
      hn::Or(hn::ShiftRight<PieceTable::kMantissaBits - kBits>(hn::BitCast(du, f)), part);
  return PieceValue<kBits>(d, table, place, f);
}

template <bool kZeros, bool kStream>
HWY_INLINE void DrawBlocks(const QuantileTable& table, float scale, RandomKey key,
                           std::size_t first, float* HWY_RESTRICT out, std::size_t n) {
  const hn::CappedTag<float, kLanes> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto factor = hn::Set(d, scale);
  RowRandom row(key);
  const auto block = [&](std::size_t i, auto store) HWY_ATTR {
    row.start((first + i) / 2);
    for (std::size_t lane = 0; lane < kLanes; lane += hn::Lanes(d)) {
      const auto random = row.vector(du, lane);
      store(hn::Mul(factor, Quantile<kZeros>(d, table, random)), lane);
      store(hn::Mul(factor, Quantile<kZeros>(d, table, hn::RotateRight<16>(random))),
            lane + kLanes);
    }
  };
  std::size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    block(i, [&](auto values, std::size_t at)
                 HWY_ATTR { StoreValues<kStream>(d, values, out + i + at); });
  }
  if (i < n) {
    HWY_ALIGN float last[kBlock];
    block(i, [&](auto values, std::size_t at) HWY_ATTR { hn::Store(values, d, last + at); });
    std::memcpy(out + i, last, (n - i) * sizeof(float));
  }
}

void DrawValues(const QuantileTable& table, float scale, RandomKey key, std::size_t first,
                float* HWY_RESTRICT out, std::size_t n, bool stream) {
  if (table.has_zeros()) {
    if (stream) return DrawBlocks<true, true>(table, scale, key, first, out, n);
    return DrawBlocks<true, false>(table, scale, key, first, out, n);
  }
  if (stream) return DrawBlocks<false, true>(table, scale, key, first, out, n);
  return DrawBlocks<false, false>(table, scale, key, first, out, n);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(DrawValues);

// Ranges of a thread begin at blocks of random numbers.
constexpr std::size_t kDrawGrain = 32;
}  // namespace

void draw_values(const QuantileTable& table, float scale, RandomKey key, std::span<float> out) {
  const bool stream = is_streamed(out);
  parallel_stretches(out.size(), kDrawGrain, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(DrawValues)
    (table, scale, key, begin, out.data() + begin, end - begin, stream);
    if (stream) hwy::FlushStream();
  });
}

}  // namespace thinpipe
#endif  // HWY_ONCE
