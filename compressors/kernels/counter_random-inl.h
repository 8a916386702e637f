// counter_random.h in vectors, for inclusion by kernels: compiled once for every instruction set.
#include "compressors/kernels/counter_random.h"

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

/// counter_random() of the elements index, index + 1, ...; DU holds unsigned 32-bit lanes.
template <class DU>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<DU> CounterRandom(DU du, RandomKey key, std::size_t index) {
  namespace hn = hwy::HWY_NAMESPACE;
  // Iota of a constant is one; that of a variable would be written to memory lane by lane.
  const auto indices = hn::Add(hn::Set(du, static_cast<std::uint32_t>(index)), hn::Iota(du, 0));
  auto x = hn::Xor(indices, hn::Set(du, key.first));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(du, kHashFirst));
  x = hn::Xor(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(du, key.second));
  x = hn::Mul(x, hn::Set(du, kHashSecond));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

/// counter_uniform() of the same elements.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> CounterUniform(D d, RandomKey key, std::size_t index) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, hn::ShiftRight<8>(CounterRandom(du, key, index)));
  return hn::Mul(hn::ConvertTo(d, bits), hn::Set(d, 0x1p-24F));
}

}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // per target
