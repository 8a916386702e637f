// Codes and decodes blocks of any element format. The encoder takes a few blocks at a time: it
// finds their scales, then codes their elements and packs the codes, all in first-level cache.
// Compiled once per instruction set.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "compressors/kernels/blocks.h"
#include "compressors/kernels/counter_random-inl.h"
#include "compressors/kernels/hadamard-inl.h"
#include "compressors/kernels/streams.h"
#include "compressors/kernels/vector_loop-inl.h"
#include "hwy/highway.h"

#if defined(THINPIPE_COMPRESSORS_KERNELS_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_COMPRESSORS_KERNELS_BLOCKS_INL_H_
#undef THINPIPE_COMPRESSORS_KERNELS_BLOCKS_INL_H_
#else
#define THINPIPE_COMPRESSORS_KERNELS_BLOCKS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {

/// Types and functions of blocks, separate from the kernels that include other headers.
namespace block {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using DI = hn::RebindToSigned<D>;
using DU = hn::RebindToUnsigned<D>;
using D8 = hn::Rebind<std::uint8_t, D>;
using V = hn::Vec<D>;
using VI = hn::Vec<DI>;
using VU = hn::Vec<DU>;

/// Returns words as numbers in [0, 1) of 24 bits.
HWY_INLINE V RandomUnit(VU words) {
  const D d;
  const DI di;
  return hn::Mul(hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<8>(words))), hn::Set(d, 0x1p-24F));
}

HWY_INLINE V WithSigns(V x, const BlockRotation& rotation, std::size_t i) {
  return hn::Xor(x, hn::BitCast(D(), hn::LoadU(DU(), rotation.sign_bits.data() + i)));
}

/// Returns 1 / sqrt(n), which makes the transform orthonormal; both operations are exactly rounded.
HWY_INLINE V Norm(std::size_t n) { return hn::Set(D(), 1.0F / std::sqrt(static_cast<float>(n))); }

// Codes of 4 bits, two to a byte.

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void PackNibbles(const std::uint8_t* codes, std::size_t count, std::uint8_t* packed) {
  for (std::size_t i = 0; 2 * i < count; ++i) {
    packed[i] = static_cast<std::uint8_t>(codes[2 * i] | (codes[2 * i + 1] << 4));
  }
}

HWY_INLINE void UnpackNibbles(const std::uint8_t* packed, std::size_t count, std::uint8_t* codes) {
  for (std::size_t i = 0; 2 * i < count; ++i) {
    codes[2 * i] = packed[i] & 15;
    codes[2 * i + 1] = packed[i] >> 4;
  }
}
#else
using D16 = hn::CappedTag<std::uint16_t, 16>;
using DPair = hn::Repartition<std::uint8_t, D16>;  ///< two codes of 8 bits in each lane of D16
using DHalf = hn::Rebind<std::uint8_t, D16>;

/// Packs `count` 4-bit codes, one to a byte, into bytes of two codes each. The earlier code is in
/// the lower half of a byte. `count` is a multiple of 32.
HWY_INLINE void PackNibbles(const std::uint8_t* HWY_RESTRICT codes, std::size_t count,
                            std::uint8_t* HWY_RESTRICT packed) {
  for (std::size_t i = 0; 2 * i < count; i += hn::Lanes(D16())) {
    const auto pair = hn::BitCast(D16(), hn::LoadU(DPair(), codes + 2 * i));
    const auto joined = hn::Or(pair, hn::ShiftRight<4>(pair));
    hn::StoreU(hn::TruncateTo(DHalf(), joined), DHalf(), packed + i);
  }
}

HWY_INLINE void UnpackNibbles(const std::uint8_t* HWY_RESTRICT packed, std::size_t count,
                              std::uint8_t* HWY_RESTRICT codes) {
  for (std::size_t i = 0; 2 * i < count; i += hn::Lanes(D16())) {
    const auto pair = hn::PromoteTo(D16(), hn::LoadU(DHalf(), packed + i));
    const auto spread = hn::And(hn::Or(pair, hn::ShiftLeft<4>(pair)), hn::Set(D16(), 0x0f0f));
    hn::StoreU(hn::BitCast(DPair(), spread), DPair(), codes + 2 * i);
  }
}
#endif

// Decoding.

/// Workspace for one block.
struct DecodeRoom {
  alignas(64) float values[kMaxBlock];
  alignas(64) float source[kMaxBlock];  ///< the output where a block is not full
  alignas(64) std::uint8_t codes[kMaxBlock];
  alignas(64) std::uint8_t packed[kMaxBlock];
};

template <class Codec>
BlockProblem DecodeAll(const BlockDecoding& job) {
  const BlockFormat& format = job.format;
  const std::byte* scales = job.scales;
  const std::uint8_t* codes = job.codes;
  float* const out = job.out;
  const std::size_t n = job.n;
  const D d;
  const DI di;
  const D8 d8;
  const std::size_t lanes = hn::Lanes(d);
  DecodeRoom room;
  const bool nibbles = element_bits(format.element) == 4;
  const auto times = hn::Set(d, job.factor);
  for (std::size_t at = 0; at < n; at += format.block, scales += scale_bytes(format.scale)) {
    const std::size_t size = std::min(format.block, n - at);
    const std::size_t coded = coded_elements(format, size);
    const bool whole = size == format.block;
    const std::size_t padded = (coded + kMinBlock - 1) / kMinBlock * kMinBlock;
    const float scale = read_scale(format, scales);
    if (scale < 0) return BlockProblem::kScale;
    const std::size_t bytes = nibbles ? (coded + 1) / 2 : coded;
    const std::uint8_t* source = codes;
    if (!whole) {
      std::memset(room.packed, 0, padded);
      std::memcpy(room.packed, codes, bytes);
      source = room.packed;
    }
    if (nibbles) {
      UnpackNibbles(source, padded, room.codes);
      source = room.codes;
    }
    codes += bytes;
    if (nibbles && coded % 2 != 0 && source[coded] != 0) return BlockProblem::kPadding;
    const auto step = hn::Set(d, scale);
    auto most = hn::Zero(di);
    for (std::size_t i = 0; i < padded; i += lanes) {
      const auto code = hn::PromoteTo(di, hn::LoadU(d8, source + i));
      most = hn::Max(most, hn::And(code, hn::Set(di, Codec::kMagnitude)));
      hn::Store(hn::Mul(Codec::Decode(code), step), d, room.values + i);
    }
    if (hn::GetLane(hn::MaxOfLanes(di, most)) > Codec::kMaxCode) return BlockProblem::kCode;
    if (format.hadamard) {
      HadamardInPlace(room.values, padded);
      const auto norm = Norm(padded);
      for (std::size_t i = 0; i < padded; i += lanes) {
        const auto x = hn::Mul(hn::Load(d, room.values + i), norm);
        hn::Store(WithSigns(x, job.rotation, i), d, room.values + i);
      }
    }
    float* to = out + at;
    if (!whole) {
      std::memcpy(room.source, to, size * sizeof(float));
      std::memset(room.source + size, 0, (padded - size) * sizeof(float));
      to = room.source;
    }
    for (std::size_t i = 0; i < padded; i += lanes) {
      const auto term = hn::Mul(times, hn::Load(d, room.values + i));
      hn::StoreU(hn::Add(hn::LoadU(d, to + i), term), d, to + i);
    }
    if (!whole) std::memcpy(out + at, room.source, size * sizeof(float));
  }
  return BlockProblem::kNone;
}

// Encoding.

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

/// Writes the codes of `n` elements; `first`, the index of the first one, is a multiple of
/// RowRandom::kRow, as is n. If `left` is not null, also writes c - decoded to `left` and
/// may use `values` as workspace. `values` may be the array that holds the elements.
template <class Codec, bool stochastic, bool rotated>
HWY_INLINE void CodeBlock(const float* x, const float* c, std::size_t n, WrittenScale scale,
                          RowRandom& numbers, std::size_t first, const BlockRotation& rotation,
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
      if (i % RowRandom::kRow == 0) numbers.start(first + i);
      random = numbers.vector(du, i % RowRandom::kRow);
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
                                   RowRandom& numbers, EncodeRoom& room) {
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
      if (job.format.scale != BlockScale::kGiven) most = MostOf<false>(values, n);
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
        room.from[b], c + at, n, room.scales[b], numbers, first + at, job.rotation,
        left == nullptr ? nullptr : left + at, room.values + at, room.codes + at);
    // One code other than 0 changes all elements of a rotated block.
    if (rotated && CountNonzero<Codec>(room.codes + at, n) != 0) nonzero += n;
  }
  return rotated ? nonzero : CountNonzero<Codec>(room.codes, count * n);
}

template <class Codec, bool stochastic, bool rotated>
std::size_t EncodeAll(const BlockEncoding& job) {
  EncodeRoom room;
  RowRandom numbers(job.key);
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
        job, from, count, block, job.first + at, to, scales, numbers, room);
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
