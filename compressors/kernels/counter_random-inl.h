// random.h in vectors, for inclusion by kernels: compiled once per instruction set.
#include "compressors/kernels/random.h"

#if defined(THINPIPE_COUNTER_RANDOM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_COUNTER_RANDOM_INL_H_
#undef THINPIPE_COUNTER_RANDOM_INL_H_
#else
#define THINPIPE_COUNTER_RANDOM_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {

/// Returns counter_random() of the elements index, index + 1, ...; DU holds unsigned 32-bit lanes.
template <class DU>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<DU> CounterRandom(DU du, RandomKey key, std::size_t index) {
  namespace hn = hwy::HWY_NAMESPACE;
  // Highway's Iota with a constant start compiles to a constant vector. With a variable start, it
  // would be written to memory lane by lane.
  const auto indices = hn::Add(hn::Set(du, static_cast<std::uint32_t>(index)), hn::Iota(du, 0));
  auto x = hn::Xor(indices, hn::Set(du, key.first));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(du, kHashFirst));
  x = hn::Xor(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(du, key.second));
  x = hn::Mul(x, hn::Set(du, kHashSecond));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

/// Returns counter_uniform() of the same elements.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> CounterUniform(D d, RandomKey key, std::size_t index) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, hn::ShiftRight<8>(CounterRandom(du, key, index)));
  return hn::Mul(hn::ConvertTo(d, bits), hn::Set(d, 0x1p-24F));
}

/// Computes CounterRandom() for rows of 16 elements, each beginning at a multiple of 16. For such a
/// row, the first half of the hash is one number for the whole row plus one of 16 possible vectors.
/// That vector seldom changes from row to row, so it is kept.
class RowRandom {
 public:
  static constexpr std::size_t kRow = 16;

  explicit HWY_INLINE RowRandom(RandomKey key) : key_(key) { set_low(0); }

  /// Prepares the 16 elements from `index` on, a multiple of 16; call it before vector().
  HWY_INLINE void start(std::size_t index) {
    // Between lanes, only the lowest four bits of x ^ (x >> 16) differ. The product with kHashFirst
    // is therefore the product of the upper bits, common to all lanes, plus the product of the
    // lowest four bits.
    const std::uint32_t x = static_cast<std::uint32_t>(index) ^ key_.first;
    const std::uint32_t folded = x ^ (x >> 16);
    if (HWY_UNLIKELY(folded % kRow != low_)) set_low(folded % kRow);
    high_ = (folded - folded % kRow) * kHashFirst;
  }
  /// Returns the numbers of elements lane, lane + 1, ... of the row.
  template <class DU>
  HWY_INLINE hwy::HWY_NAMESPACE::Vec<DU> vector(DU du, std::size_t lane) const {
    namespace hn = hwy::HWY_NAMESPACE;
    auto x = hn::Add(hn::Set(du, high_), hn::Load(du, products_ + lane));
    x = hn::Xor(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(du, key_.second));
    x = hn::Mul(x, hn::Set(du, kHashSecond));
    return hn::Xor(x, hn::ShiftRight<16>(x));
  }

 private:
  HWY_INLINE void set_low(std::uint32_t low) {
    low_ = low;
    for (std::uint32_t lane = 0; lane < kRow; ++lane) products_[lane] = (low ^ lane) * kHashFirst;
  }

  alignas(64) std::uint32_t products_[kRow];
  RandomKey key_;
  std::uint32_t low_ = 0;
  std::uint32_t high_ = 0;
};

/// Calls body(d, i, random) for vectors of floats that together cover [0, n); a vector begins at
/// element i. `random` holds paired_random() of the indices `first` + i, `first` + i + 1, ...
/// Elements before the first and after the last whole block of 32 use one-lane vectors.
template <class Body>
HWY_INLINE void ForEachRandom(std::size_t n, RandomKey key, std::size_t first, Body body) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr std::size_t kHalf = RowRandom::kRow;
  const hn::CappedTag<float, kHalf> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::CappedTag<float, 1> one;
  const hn::RebindToUnsigned<decltype(one)> one_u;
  const auto single = [&](std::size_t i) {
    body(one, i, hn::Set(one_u, paired_random(key, first + i)));
  };
  std::size_t i = 0;
  for (; i < n && (first + i) % (2 * kHalf) != 0; ++i) single(i);
  RowRandom row(key);
  for (; i + 2 * kHalf <= n; i += 2 * kHalf) {
    row.start((first + i) / 2);
    for (std::size_t lane = 0; lane < kHalf; lane += hn::Lanes(d)) {
      const auto random = row.vector(du, lane);
      body(d, i + lane, random);
      body(d, i + kHalf + lane, hn::RotateRight<16>(random));
    }
  }
  for (; i < n; ++i) single(i);
}

}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // per target
