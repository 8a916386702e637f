// Vectorised look-up of values in a PieceTable. Kernels include this file once for every
// instruction set.
#include "workloads/synthetic/tables.h"

#if defined(THINPIPE_PIECES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_PIECES_INL_H_
#undef THINPIPE_PIECES_INL_H_
#else
#define THINPIPE_PIECES_INL_H_
#endif

#include <bit>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {

/// Returns the signed distance d of v. kZeros: whether the table has zeros.
template <bool kZeros, class DI>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<DI> Distance(DI di, const PieceTable& table,
                                                hwy::HWY_NAMESPACE::Vec<DI> v) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto above = hn::Sub(v, hn::Set(di, table.high));
  if constexpr (!kZeros) return above;
  const auto below = hn::Sub(v, hn::Set(di, table.low));
  return hn::Or(hn::Max(above, hn::Zero(di)), hn::Min(below, hn::Zero(di)));
}

/// Returns the value of a linear piece of the table: base + t slope.
/// @param place  index of the piece in table.pieces
/// @param f  the signed distance as a float; t is its mantissa without the bits that select the
/// piece
template <int kBits, class D, class VU>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> PieceValue(D d, const PieceTable& table, VU place,
                                                 hwy::HWY_NAMESPACE::Vec<D> f) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToUnsigned<D> du;
  constexpr std::uint32_t kRest = (1U << (PieceTable::kMantissaBits - kBits)) - 1;
  constexpr std::uint32_t kOne = 0x3f800000;  // 1.0f
  const auto rest = hn::And(hn::BitCast(du, f), hn::Set(du, kRest));
  const auto t = hn::BitCast(d, hn::Or(rest, hn::Set(du, kOne)));
#if HWY_TARGET == HWY_SCALAR
  const StraightPiece word = table.pieces[hn::GetLane(place)];
  const auto base = hn::Set(d, std::bit_cast<float>(static_cast<std::uint32_t>(word)));
  const auto slope = hn::Set(d, std::bit_cast<float>(static_cast<std::uint32_t>(word >> 32)));
#else
  // Gathers words of even lanes, then of odd lanes: half as many lanes of twice the width.
  const hn::Repartition<std::uint64_t, D> words;
  const hn::RebindToSigned<decltype(words)> places;
  const auto both = hn::BitCast(words, place);
  const auto even = hn::BitCast(places, hn::And(both, hn::Set(words, 0xffffffffU)));
  const auto odd = hn::BitCast(places, hn::ShiftRight<32>(both));
  const auto at_even = hn::BitCast(d, hn::GatherIndex(words, table.pieces.data(), even));
  const auto at_odd = hn::BitCast(d, hn::GatherIndex(words, table.pieces.data(), odd));
  const auto base = hn::OddEven(hn::DupEven(at_odd), at_even);
  const auto slope = hn::OddEven(at_odd, hn::DupOdd(at_even));
#endif
  return hn::Add(base, hn::Mul(t, slope));
}

/// Stores a vector of floats, past the caches if kStream.
template <bool kStream, class D>
HWY_INLINE void StoreValues(D d, hwy::HWY_NAMESPACE::Vec<D> values, float* HWY_RESTRICT to) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (kStream) {
    hn::Stream(values, d, to);
  } else {
    hn::StoreU(values, d, to);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // per target
