// Values from latent normal numbers (draw.h).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "compressors/kernels/parallel.h"
#include "workloads/synthetic/draw.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "workloads/synthetic/latents.cc"
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

constexpr std::size_t kRow = NormalPool::kRow;
constexpr std::size_t kHalf = kRow / 2;
// Odd, near 2^16 times the golden section: multiplication spreads values over the lower 16 bits.
constexpr std::int16_t kSpread = -25033;

// Rows whose windows are drawn at once.
constexpr std::size_t kRows = 16;
// Prefetch distance in latents: 1 KiB.
constexpr std::size_t kAhead = 512;

/// Pointers to the three windows of a row's innovations.
struct Windows {
  const std::int16_t *first, *second, *third;
};

/// Draws the positions of the windows in the normal pool from which kRows rows take their
/// innovations. Each row takes two 32-bit random numbers and uses three of their four halves, one
/// for each window.
class Places {
 public:
  HWY_INLINE Places(const std::int16_t* pool, RandomKey key) : pool_(pool), key_(key) {}

  HWY_INLINE void draw(std::size_t first_row) {
    const hn::CappedTag<std::uint32_t, kNumbers> du;
    constexpr std::uint32_t kEach = NormalPool::kSize - 1;
    const auto mask = hn::Set(du, kEach << 16 | kEach);
    for (std::size_t i = 0; i < kNumbers; i += hn::Lanes(du)) {
      hn::Store(hn::And(CounterRandom(du, key_, 2 * first_row + i), mask), du, numbers_ + i);
    }
  }
  HWY_INLINE Windows windows(std::size_t row) const {
    const std::uint32_t two = numbers_[2 * row], one = numbers_[2 * row + 1];
    return {pool_ + (two & 0xffff), pool_ + (two >> 16), pool_ + (one & 0xffff)};
  }

 private:
  static constexpr std::size_t kNumbers = 2 * kRows;
  alignas(64) std::uint32_t numbers_[kNumbers];
  const std::int16_t* pool_;
  RandomKey key_;
};

/// A step's result for 16-bit lanes of a row.
template <class V>
struct Latents {
  V z, rest;  ///< the latent, and 16 further bits of it
};

template <bool kKept, bool kShared, class DS>
HWY_INLINE Latents<hn::Vec<DS>> Advance(DS ds, const LatentStep& step, const Windows& own,
                                        const Windows& common, const std::int16_t* z,
                                        std::size_t lane) {
  const auto plus = hn::Add(hn::LoadU(ds, own.first + lane), hn::LoadU(ds, own.second + lane));
  const auto mine = hn::Sub(plus, hn::LoadU(ds, own.third + lane));
  auto next = hn::MulFixedPoint15(mine, hn::Set(ds, step.own_weight));
  if constexpr (kShared) {
    const auto sum =
        hn::Add(hn::LoadU(ds, common.first + lane), hn::LoadU(ds, common.second + lane));
    const auto ours = hn::Sub(sum, hn::LoadU(ds, common.third + lane));
    next = hn::SaturatedAdd(next, hn::MulFixedPoint15(ours, hn::Set(ds, step.common_weight)));
  }
  if constexpr (kKept) {
    const auto before = hn::LoadU(ds, z + lane);
    next = hn::SaturatedAdd(next, hn::MulFixedPoint15(before, hn::Set(ds, step.keep)));
  }
  return {next, hn::Mul(plus, hn::Set(ds, kSpread))};
}

template <bool kZeros, class D>
HWY_INLINE hn::Vec<D> Mapped(D d, const CopulaTable& table, hn::Vec<hn::RebindToSigned<D>> v) {
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
  constexpr int kBits = CopulaTable::kBits;
  const auto f = hn::ConvertTo(d, Distance<kZeros>(di, table, v));
  const auto place = hn::ShiftRight<PieceTable::kMantissaBits - kBits>(hn::BitCast(du, f));
  return PieceValue<kBits>(d, table, place, f);
}

/// Maps the latents of a row to values and calls store(values, position). Element i < 16 comes from
/// latent 2 i of the row, element 16 + i from latent 2 i + 1: the halves of a 32-bit lane.
template <bool kZeros, class Get, class Store>
HWY_INLINE void MapRow(const CopulaTable& table, float scale, Get get, Store store) {
#if HWY_TARGET == HWY_SCALAR
  const hn::CappedTag<std::int16_t, 1> ds;
#else
  const hn::CappedTag<std::int16_t, kRow> ds;
#endif
  const std::size_t lanes = hn::Lanes(ds);
#if HWY_TARGET == HWY_SCALAR
  const hn::CappedTag<float, 1> d;
  const hn::RebindToSigned<decltype(d)> di;
  for (std::size_t lane = 0; lane < kRow; lane += lanes) {
    const auto latent = get(ds, lane);
    const auto high = static_cast<std::uint16_t>(hn::GetLane(latent.z));
    const auto low = static_cast<std::uint16_t>(hn::GetLane(latent.rest));
    const auto v = hn::Set(di, static_cast<std::int32_t>(std::uint32_t{high} << 16 | low));
    store(hn::Mul(hn::Set(d, scale), Mapped<kZeros>(d, table, v)), lane / 2 + lane % 2 * kHalf);
  }
#else
  const hn::CappedTag<float, kHalf> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto factor = hn::Set(d, scale);
  const auto lower = hn::Set(du, 0xffffU);
  for (std::size_t lane = 0; lane < kRow; lane += lanes) {
    const auto latent = get(ds, lane);
    const auto z = hn::BitCast(du, latent.z), rest = hn::BitCast(du, latent.rest);
    const auto even = hn::Or(hn::ShiftLeft<16>(z), hn::And(rest, lower));
    const auto odd = hn::Or(hn::AndNot(lower, z), hn::ShiftRight<16>(rest));
    store(hn::Mul(factor, Mapped<kZeros>(d, table, hn::BitCast(di, even))), lane / 2);
    store(hn::Mul(factor, Mapped<kZeros>(d, table, hn::BitCast(di, odd))), lane / 2 + kHalf);
  }
#endif
}

template <bool kKept, bool kShared, bool kZeros, bool kStream>
void StepRows(const LatentStep& step, const CopulaTable& table, float scale, std::size_t first,
              std::int16_t* all_z, float* out, std::size_t n) {
#if HWY_TARGET == HWY_SCALAR
  const hn::CappedTag<float, 1> d;
#else
  const hn::CappedTag<float, kHalf> d;
#endif
  const LatentStep at = step;  // a copy, so that stores to z cannot force a reload
  Places own(normal_pool().data(), at.own), common(normal_pool().data(), at.common);
  const auto row = [&](std::size_t i, auto store) HWY_ATTR {
    const Windows mine = own.windows(i / kRow % kRows);
    const Windows ours = kShared ? common.windows(i / kRow % kRows) : mine;
    // Between streaming stores the hardware does not prefetch the latents early enough.
    if (kKept) hwy::Prefetch(all_z + std::min(i + kAhead, n - 1));
    std::int16_t* z = all_z == nullptr ? nullptr : all_z + i;
    const auto get = [&](auto ds, std::size_t lane) HWY_ATTR {
      const auto latent = Advance<kKept, kShared>(ds, at, mine, ours, z, lane);
      if (z != nullptr) hn::StoreU(latent.z, ds, z + lane);
      return latent;
    };
    MapRow<kZeros>(table, scale, get, store);
  };
  for (std::size_t block = 0; block < n; block += kRows * kRow) {
    own.draw((first + block) / kRow);
    if constexpr (kShared) common.draw((first + block) / kRow);
    const std::size_t end = std::min(n, block + kRows * kRow);
    std::size_t i = block;
    for (; i + kRow <= end; i += kRow) {
      row(i, [&](auto values, std::size_t place)
                 HWY_ATTR { StoreValues<kStream>(d, values, out + i + place); });
    }
    if (i == end) continue;
    HWY_ALIGN float last[kRow];
    row(i, [&](auto values, std::size_t place) HWY_ATTR { hn::StoreU(values, d, last + place); });
    std::memcpy(out + i, last, (end - i) * sizeof(float));
  }
}

template <bool kKept, bool kShared>
void StepTable(const LatentStep& step, const CopulaTable& table, float scale, std::size_t first,
               std::int16_t* z, float* out, std::size_t n, bool stream) {
  if (table.has_zeros()) {
    if (stream) return StepRows<kKept, kShared, true, true>(step, table, scale, first, z, out, n);
    return StepRows<kKept, kShared, true, false>(step, table, scale, first, z, out, n);
  }
  if (stream) return StepRows<kKept, kShared, false, true>(step, table, scale, first, z, out, n);
  StepRows<kKept, kShared, false, false>(step, table, scale, first, z, out, n);
}

void StepValues(const LatentStep& step, const CopulaTable& table, float scale, std::size_t first,
                std::int16_t* z, float* out, std::size_t n, bool stream) {
  const bool kept = step.keep != 0, shared = step.common_weight != 0;
  if (kept && shared) return StepTable<true, true>(step, table, scale, first, z, out, n, stream);
  if (kept) return StepTable<true, false>(step, table, scale, first, z, out, n, stream);
  if (shared) return StepTable<false, true>(step, table, scale, first, z, out, n, stream);
  StepTable<false, false>(step, table, scale, first, z, out, n, stream);
}

/// Advances the latents of whole rows without making values.
template <bool kKept, bool kShared>
void StepOnly(const LatentStep& step, std::size_t first, std::int16_t* z, std::size_t n) {
#if HWY_TARGET == HWY_SCALAR
  const hn::CappedTag<std::int16_t, 1> ds;
#else
  const hn::CappedTag<std::int16_t, kRow> ds;
#endif
  Places own(normal_pool().data(), step.own), common(normal_pool().data(), step.common);
  for (std::size_t i = 0; i < n; i += kRow) {
    const std::size_t row = i / kRow % kRows;
    if (row == 0) {
      own.draw((first + i) / kRow);
      if constexpr (kShared) common.draw((first + i) / kRow);
    }
    const Windows mine = own.windows(row);
    const Windows ours = kShared ? common.windows(row) : mine;
    for (std::size_t lane = 0; lane < kRow; lane += hn::Lanes(ds)) {
      const auto latent = Advance<kKept, kShared>(ds, step, mine, ours, z + i, lane);
      hn::StoreU(latent.z, ds, z + i + lane);
    }
  }
}

void StepLatents(const LatentStep& step, std::size_t first, std::int16_t* z, std::size_t n) {
  const bool kept = step.keep != 0, shared = step.common_weight != 0;
  if (kept && shared) return StepOnly<true, true>(step, first, z, n);
  if (kept) return StepOnly<true, false>(step, first, z, n);
  if (shared) return StepOnly<false, true>(step, first, z, n);
  StepOnly<false, false>(step, first, z, n);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(StepValues);
HWY_EXPORT(StepLatents);

std::int16_t fixed_point(double weight) {
  return static_cast<std::int16_t>(std::min(std::floor(weight * 32768 + 0.5), 32767.0));
}

}  // namespace

LatentStep::LatentStep(std::uint64_t own_stream, std::uint64_t common_stream, std::size_t step,
                       double keep_, double share)
    : own(random_key(own_stream, step)),
      common(random_key(common_stream, step)),
      keep(fixed_point(keep_)) {
  // The rounded `keep` enters the variance of the innovations, so that the total variance stays 1.
  const double kept = keep / 32768.0;
  const double unit = CopulaTable::kSigma / 65536 / normal_pool().sigma();
  const double fresh = std::sqrt(1 - kept * kept) * unit;
  own_weight = fixed_point(fresh * std::sqrt(1 - share));
  common_weight = fixed_point(fresh * std::sqrt(share));
}

void step_latents(const LatentStep& step, std::span<std::int16_t> z) {
  parallel_stretches(z.size(), NormalPool::kRow, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(StepLatents)(step, begin, z.data() + begin, end - begin);
  });
}

void step_values(const LatentStep& step, const CopulaTable& table, float scale,
                 std::span<std::int16_t> z, std::span<float> out) {
  const bool stream = is_streamed(out);
  parallel_stretches(out.size(), NormalPool::kRow, [&](std::size_t begin, std::size_t end) {
    std::int16_t* kept = z.empty() ? nullptr : z.data() + begin;
    HWY_DYNAMIC_DISPATCH(StepValues)
    (step, table, scale, begin, kept, out.data() + begin, end - begin, stream);
    if (stream) hwy::FlushStream();
  });
}

}  // namespace thinpipe
#endif  // HWY_ONCE
