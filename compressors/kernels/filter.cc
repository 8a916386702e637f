// Passes over compacted elements and over bitmaps. In place, the results of a vector are stored no
// further than its own position.
#include "compressors/kernels/select.h"

#include <atomic>
#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/filter.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
// after it
#include "compressors/kernels/keys-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using DI = hn::ScalableTag<std::int32_t>;
using DF = hn::RebindToFloat<DI>;

void KeysOf(const float* values, std::size_t n, KeyOrder order, std::int32_t* keys) {
  const DI d;
  const DF df;
  with_order(order, [&](auto o) {
    std::size_t i = 0;
    for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
      hn::StoreU(Keys<decltype(o)::value>(d, hn::LoadU(df, values + i)), d, keys + i);
    }
    for (; i < n; ++i) keys[i] = key_of(values[i], decltype(o)::value);
    return 0;
  });
}

template <KeyOrder order>
HWY_INLINE KeysBetween BetweenOrder(const float* HWY_RESTRICT values, std::size_t n,
                                    std::int32_t low, std::int32_t high,
                                    std::int32_t* HWY_RESTRICT keys) {
  const DI d;
  const DF df;
  const auto below = hn::Set(d, just_below(low));
  const auto most = hn::Set(d, high);
  KeysBetween found;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const auto key = Keys<order>(d, hn::LoadU(df, values + i));
    const auto above = hn::Gt(key, most);
    const auto mask = hn::AndNot(above, hn::Gt(key, below));
    hn::StoreU(CompressLanes(key, mask), d, keys + found.kept);
    found.kept += hn::CountTrue(d, mask);
    found.above += hn::CountTrue(d, above);
  }
  for (; i < n; ++i) {
    const std::int32_t key = key_of(values[i], order);
    keys[found.kept] = key;
    found.kept += key >= low && key <= high ? 1 : 0;
    found.above += key > high ? 1 : 0;
  }
  return found;
}

KeysBetween Between(const float* values, std::size_t n, KeyOrder order, std::int32_t low,
                    std::int32_t high, std::int32_t* keys) {
  return with_order(
      order, [&](auto o) { return BetweenOrder<decltype(o)::value>(values, n, low, high, keys); });
}

std::size_t CountKeys(const std::int32_t* keys, std::size_t n, std::int32_t limit) {
  const DI d;
  const auto below = hn::Set(d, just_below(limit));
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    count += hn::CountTrue(d, hn::Gt(hn::LoadU(d, keys + i), below));
  }
  for (; i < n; ++i) count += keys[i] >= limit ? 1 : 0;
  return count;
}

std::size_t KeepKeys(std::int32_t* keys, std::size_t n, std::int32_t low, std::int32_t high) {
  const DI d;
  const auto below = hn::Set(d, just_below(low));
  const auto most = hn::Set(d, high);
  std::size_t kept = 0;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const auto key = hn::LoadU(d, keys + i);
    const auto mask = hn::AndNot(hn::Gt(key, most), hn::Gt(key, below));
    hn::StoreU(CompressLanes(key, mask), d, keys + kept);
    kept += hn::CountTrue(d, mask);
  }
  for (; i < n; ++i) {
    const std::int32_t key = keys[i];
    keys[kept] = key;
    kept += key >= low && key <= high ? 1 : 0;
  }
  return kept;
}

/// Counts bits in vectors of words; portable code for one word takes a dozen instructions.
std::size_t CountBits(const std::uint64_t* words, std::size_t n) {
  const hn::ScalableTag<std::uint64_t> d;
  auto sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    sum = hn::Add(sum, hn::PopulationCount(hn::LoadU(d, words + i)));
  }
  std::size_t count = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < n; ++i) count += static_cast<std::size_t>(std::popcount(words[i]));
  return count;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(KeysOf);
HWY_EXPORT(Between);
HWY_EXPORT(CountKeys);
HWY_EXPORT(KeepKeys);
HWY_EXPORT(CountBits);
}  // namespace

void keys_of(std::span<const float> values, KeyOrder order, std::int32_t* keys) {
  HWY_DYNAMIC_DISPATCH(KeysOf)(values.data(), values.size(), order, keys);
}

KeysBetween keys_between(std::span<const float> values, KeyOrder order, std::int32_t low,
                         std::int32_t high, std::int32_t* keys) {
  Stretches stretches(values.size());
  std::atomic<std::size_t> above = 0;
  stretches.run([&](std::size_t begin, std::size_t n) {
    const KeysBetween found =
        HWY_DYNAMIC_DISPATCH(Between)(values.data() + begin, n, order, low, high, keys + begin);
    above += found.above;
    return found.kept;
  });
  return {.kept = stretches.join(keys), .above = above};
}

std::size_t count_keys(std::span<const std::int32_t> keys, std::int32_t limit) {
  return HWY_DYNAMIC_DISPATCH(CountKeys)(keys.data(), keys.size(), limit);
}

std::size_t keep_keys(std::span<std::int32_t> keys, std::int32_t low, std::int32_t high) {
  return HWY_DYNAMIC_DISPATCH(KeepKeys)(keys.data(), keys.size(), low, high);
}

std::size_t count_bits(std::span<const std::uint64_t> words) {
  return HWY_DYNAMIC_DISPATCH(CountBits)(words.data(), words.size());
}

}  // namespace thinpipe
#endif  // HWY_ONCE
