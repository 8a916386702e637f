// Encodes blocks: for a few blocks at a time, finds their scales, then codes their elements and
// packs the codes, all in first-level cache. Compiled once per instruction set.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "compressors/kernels/block_lanes-inl.h"
#include "compressors/kernels/blocks.h"
#include "compressors/kernels/counter_random-inl.h"
#include "compressors/kernels/hadamard-inl.h"
#include "compressors/kernels/nibbles-inl.h"
#include "compressors/kernels/streams.h"
#include "compressors/kernels/vector_loop-inl.h"

#if defined(THINPIPE_COMPRESSORS_KERNELS_BLOCK_ENCODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_COMPRESSORS_KERNELS_BLOCK_ENCODE_INL_H_
#undef THINPIPE_COMPRESSORS_KERNELS_BLOCK_ENCODE_INL_H_
#else
#define THINPIPE_COMPRESSORS_KERNELS_BLOCK_ENCODE_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace block {

/// Limit of inputs: no gradient reaches it, and no transform of it overflows.
constexpr float kLargest = 0x1p100F;

/// Elements coded together.
constexpr std::size_t kGroup = kMaxBlock;

/// Workspace for a group, in first-level cache.
struct EncodeRoom {
  alignas(64) float values[kGroup];  ///< elements after limiting or rotation
  alignas(64) float source[kGroup];  ///< a block that is not full, padded with zeros
  alignas(64) std::uint8_t codes[kGroup];
  alignas(64) std::uint8_t packed[kGroup];
  const float* from[kGroup / kMinBlock];  ///< coded elements of each block of the group
  WrittenScale scales[kGroup / kMinBlock];
};

/// Writes x with NaN as 0 and magnitudes limited to kLargest. @returns the greatest magnitude's
/// bits.
HWY_NOINLINE inline std::int32_t Tame(const float* x, std::size_t n, float* HWY_RESTRICT values) {
  const DI di;
  const auto largest = hn::Set(di, std::bit_cast<std::int32_t>(kLargest));
  const auto sign = hn::Set(di, std::numeric_limits<std::int32_t>::min());
  auto most = hn::Zero(di);
  for (std::size_t i = 0; i < n; i += hn::Lanes(di)) {
    const auto bits = hn::LoadU(di, reinterpret_cast<const std::int32_t*>(x) + i);
    auto magnitude = hn::AndNot(sign, bits);
    const auto number = hn::Not(hn::Gt(magnitude, hn::Set(di, 0x7f800000)));
    magnitude = hn::IfThenElseZero(number, hn::Min(magnitude, largest));
    most = hn::Max(most, magnitude);
    hn::Store(hn::BitCast(D(), hn::Or(magnitude, hn::And(bits, sign))), D(), values + i);
  }
  return hn::GetLane(hn::MaxOfLanes(di, most));
}

/// Returns the greatest magnitude's bits; n is a multiple of kMinBlock. `ahead`: prefetches later
/// elements.
template <bool ahead>
HWY_INLINE std::int32_t MostOf(const float* x, std::size_t n) {
  const DI di;
  const std::size_t lanes = hn::Lanes(di);
  const auto magnitude = hn::Set(di, 0x7fffffff);
  const auto* bits = reinterpret_cast<const std::int32_t*>(x);
  auto m0 = hn::Zero(di);
  auto m1 = hn::Zero(di);
  for (std::size_t i = 0; i < n; i += 2 * lanes) {
    if (ahead) ask_far_ahead(bits + i);
    if (ahead) ask_far_ahead(bits + i + lanes);
    m0 = hn::Max(m0, hn::And(hn::LoadU(di, bits + i), magnitude));
    m1 = hn::Max(m1, hn::And(hn::LoadU(di, bits + i + lanes), magnitude));
  }
  return hn::GetLane(hn::MaxOfLanes(di, hn::Max(m0, m1)));
}

/// Computes values = the rotation of x, which may be values.
HWY_INLINE void Rotate(const float* x, std::size_t n, const BlockRotation& rotation,
                       float* values) {
  const D d;
  const auto norm = Norm(n);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    hn::Store(WithSigns(hn::Mul(hn::LoadU(d, x + i), norm), rotation, i), d, values + i);
  }
  HadamardInPlace(values, n);
}

/// Writes the codes of `n` elements. If `left` is not null, also writes c - decoded to `left` and
/// may use `values` as workspace. `values` may be the array that holds the elements.
template <class Codec, bool stochastic, bool rotated>
HWY_INLINE void CodeBlock(const float* x, const float* c, std::size_t n, WrittenScale scale,
                          RandomKey key, std::size_t first, const BlockRotation& rotation,
                          float* left, float* values, std::uint8_t* HWY_RESTRICT codes) {
  const D d;
  const DU du;
  const D8 d8;
  const auto inverse = hn::Set(d, scale.inverse);
  const auto step = hn::Set(d, scale.value);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    // At most about twice the greatest element, unless the scale was given.
    const auto y = hn::Mul(hn::LoadU(d, x + i), inverse);
    auto random = hn::Zero(du);
    if constexpr (stochastic) {
      random = CounterRandom(du, key, first + i);
    }
    const auto code = Codec::template Encode<stochastic>(y, random);
    hn::StoreU(hn::TruncateTo(d8, hn::BitCast(du, code)), d8, codes + i);
    if (left == nullptr) continue;
    const auto decoded = hn::Mul(Codec::Decode(code), step);
    if constexpr (rotated) {
      hn::Store(decoded, d, values + i);
    } else {
      StoreLeft(d, hn::LoadU(d, c + i), decoded, left, i);
    }
  }
  if (!rotated || left == nullptr) return;
  HadamardInPlace(values, n);
  const auto norm = Norm(n);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto decoded = WithSigns(hn::Mul(hn::Load(d, values + i), norm), rotation, i);
    StoreLeft(d, hn::LoadU(d, c + i), decoded, left, i);
  }
}

/// Returns how many of n codes, a multiple of kMinBlock, do not decode to 0.
template <class Codec>
HWY_INLINE std::size_t CountNonzero(const std::uint8_t* codes, std::size_t n) {
  if (!Codec::kHasZero) return n;
  const hn::CappedTag<std::uint8_t, kMinBlock> d8;
  const auto magnitude = hn::Set(d8, static_cast<std::uint8_t>(Codec::kMagnitude));
  std::size_t zeros = 0;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d8)) {
    const auto code = hn::And(hn::Load(d8, codes + i), magnitude);
    zeros += hn::CountTrue(d8, hn::Eq(code, hn::Zero(d8)));
  }
  return n - zeros;
}

/// Codes `count` blocks of n elements, n a multiple of kMinBlock, into room.codes. @returns an
/// upper bound of the elements that decode to something other than 0.
template <class Codec, bool stochastic, bool rotated>
HWY_INLINE std::size_t EncodeGroup(const BlockEncoding& job, const float* c, std::size_t count,
                                   std::size_t n, std::size_t first, float* left, std::byte* scales,
                                   EncodeRoom& room) {
  constexpr std::int32_t kMax = std::bit_cast<std::int32_t>(kLargest);
  for (std::size_t b = 0; b < count; ++b) {
    const float* x = c + b * n;
    float* const values = room.values + b * n;
    std::int32_t most = MostOf<true>(x, n);
    if (HWY_UNLIKELY(most > kMax)) {
      most = Tame(x, n, values);
      x = values;
    }
    if constexpr (rotated) {
      Rotate(x, n, job.rotation, values);
      most = MostOf<false>(values, n);
      x = values;
    }
    room.from[b] = x;
    room.scales[b] = write_scale(job.format, std::bit_cast<float>(most),
                                 scales + b * scale_bytes(job.format.scale));
  }
  std::size_t nonzero = 0;
  for (std::size_t b = 0; b < count; ++b) {
    const std::size_t at = b * n;
    CodeBlock<Codec, stochastic, rotated>(
        room.from[b], c + at, n, room.scales[b], job.key, first + at, job.rotation,
        left == nullptr ? nullptr : left + at, room.values + at, room.codes + at);
    // One code other than 0 changes all elements of a rotated block.
    if (rotated && CountNonzero<Codec>(room.codes + at, n) != 0) nonzero += n;
  }
  return rotated ? nonzero : CountNonzero<Codec>(room.codes, count * n);
}

template <class Codec, bool stochastic, bool rotated>
std::size_t EncodeAll(const BlockEncoding& job) {
  EncodeRoom room;
  const BlockFormat& format = job.format;
  const bool nibbles = element_bits(format.element) == 4;
  const std::size_t together = std::max<std::size_t>(1, kGroup / format.block);
  std::size_t nonzero = 0;
  std::byte* scales = job.scales;
  std::uint8_t* codes = job.codes;
  for (std::size_t at = 0; at < job.n;) {
    const std::size_t whole = std::min(together, (job.n - at) / format.block);
    const std::size_t size = whole == 0 ? job.n - at : whole * format.block;
    const std::size_t coded = coded_elements(format, size);
    std::size_t block = format.block;
    const float* from = job.c + at;
    float* const left = job.remainder == nullptr ? nullptr : job.remainder + at;
    float* to = left;
    if (whole == 0) {
      block = rotated ? coded : (size + kMinBlock - 1) / kMinBlock * kMinBlock;
      std::memset(room.source, 0, block * sizeof(float));
      std::memcpy(room.source, from, size * sizeof(float));
      from = room.source;
      if (left != nullptr) to = room.source;
    }
    // Both cases share one call, which is inlined.
    const std::size_t count = std::max<std::size_t>(1, whole);
    const std::size_t some = EncodeGroup<Codec, stochastic, rotated>(
        job, from, count, block, job.first + at, to, scales, room);
    if (to != left) std::memcpy(left, to, size * sizeof(float));
    nonzero += std::min(some, size);
    if (nibbles) {
      if (coded % 2 != 0) room.codes[coded] = 0;
      PackNibbles(room.codes, count * block, whole == 0 ? room.packed : codes);
      if (whole == 0) std::memcpy(codes, room.packed, (coded + 1) / 2);
      codes += (coded + 1) / 2;
    } else {
      std::memcpy(codes, room.codes, coded);
      codes += coded;
    }
    scales += count * scale_bytes(format.scale);
    at += size;
  }
  return nonzero;
}

template <class Codec>
std::size_t EncodeWith(const BlockEncoding& job) {
  if (job.format.hadamard) {
    return job.format.stochastic ? EncodeAll<Codec, true, true>(job)
                                 : EncodeAll<Codec, false, true>(job);
  }
  return job.format.stochastic ? EncodeAll<Codec, true, false>(job)
                               : EncodeAll<Codec, false, false>(job);
}

}  // namespace block
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // once per target
