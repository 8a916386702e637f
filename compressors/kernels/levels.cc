// One random number an element decides between the level below and the one above.
#include "compressors/kernels/levels.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/levels.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/counter_random-inl.h"
#include "compressors/kernels/vector_loop-inl.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_LEVELS_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_LEVELS_ONCE
namespace thinpipe {
namespace {
struct Rounding {
  float step, inverse;
  std::int32_t levels;
  RandomKey key;
  std::size_t first;
};

}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

std::size_t Quantize(const float* c, std::size_t n, const Rounding& rounding, float* left,
                     std::uint8_t* HWY_RESTRICT codes) {
  std::size_t zeros = 0;
  ForEachVector(n, [&](auto d, std::size_t i) {
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<std::uint8_t, decltype(d)> d8;
    const auto x = hn::LoadU(d, c + i);
    const auto magnitude = hn::Abs(x);
    const auto sound = hn::Lt(magnitude, hn::Set(d, std::numeric_limits<float>::infinity()));
    const auto scaled = hn::Mul(hn::IfThenElseZero(sound, magnitude), hn::Set(d, rounding.inverse));
    const auto dithered = hn::Add(scaled, CounterUniform(d, rounding.key, rounding.first + i));
    const auto most = hn::Set(di, rounding.levels);
    const auto level = hn::ConvertTo(di, hn::Min(dithered, hn::ConvertTo(d, most)));
    const auto is_zero = hn::Eq(level, hn::Zero(di));
    zeros += hn::CountTrue(di, is_zero);
    const auto negative = hn::IfThenZeroElse(is_zero, hn::BroadcastSignBit(hn::BitCast(di, x)));
    const auto sign = hn::And(negative, hn::Add(most, hn::Set(di, 1)));
    hn::StoreU(hn::DemoteTo(d8, hn::Or(level, sign)), d8, codes + i);
    const auto decoded = hn::Mul(hn::ConvertTo(d, level), hn::Set(d, rounding.step));
    StoreLeft(d, x, hn::CopySign(decoded, x), left, i);
  });
  return n - zeros;
}

void Add(const std::uint8_t* HWY_RESTRICT codes, float step, std::int32_t levels,
         float* HWY_RESTRICT out, std::size_t n) {
  ForEachVector(n, [&](auto d, std::size_t i) {
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<std::uint8_t, decltype(d)> d8;
    const auto code = hn::PromoteTo(di, hn::LoadU(d8, codes + i));
    const auto most = hn::Set(di, levels);
    const auto magnitude = hn::ConvertTo(d, hn::And(code, most));
    const auto level =
        hn::IfThenElse(hn::RebindMask(d, hn::Gt(code, most)), hn::Neg(magnitude), magnitude);
    hn::StoreU(hn::Add(hn::LoadU(d, out + i), hn::Mul(level, hn::Set(d, step))), d, out + i);
  });
}

#if HWY_TARGET == HWY_SCALAR
// No vectors of bytes here: the callers' loops do everything.
std::size_t Pack(const std::uint8_t*, std::size_t, int, std::uint8_t*) { return 0; }
std::size_t Unpack(const std::uint8_t*, std::size_t, int, std::uint8_t*) { return 0; }
#else
/// Packs whole vectors of codes of 2 or 4 bits. @returns the codes done.
std::size_t Pack(const std::uint8_t* HWY_RESTRICT codes, std::size_t n, int bits,
                 std::uint8_t* HWY_RESTRICT packed) {
  std::size_t i = 0;
  if (bits == 4) {
    const hn::ScalableTag<std::uint16_t> d;
    const hn::Rebind<std::uint8_t, decltype(d)> d8;
    const hn::Repartition<std::uint8_t, decltype(d)> bytes;
    const std::size_t count = hn::Lanes(bytes);
    for (; i + count <= n; i += count) {
      const auto pairs = hn::BitCast(d, hn::LoadU(bytes, codes + i));
      const auto joined = hn::Or(pairs, hn::ShiftRight<4>(pairs));
      hn::StoreU(hn::TruncateTo(d8, joined), d8, packed + i / 2);
    }
  } else if (bits == 2) {
    const hn::ScalableTag<std::uint32_t> d;
    const hn::Rebind<std::uint8_t, decltype(d)> d8;
    const hn::Repartition<std::uint8_t, decltype(d)> bytes;
    const std::size_t count = hn::Lanes(bytes);
    for (; i + count <= n; i += count) {
      const auto fours = hn::BitCast(d, hn::LoadU(bytes, codes + i));
      const auto pairs = hn::Or(fours, hn::ShiftRight<6>(fours));
      const auto joined = hn::Or(pairs, hn::ShiftRight<12>(pairs));
      hn::StoreU(hn::TruncateTo(d8, joined), d8, packed + i / 4);
    }
  }
  return i;
}

/// The reverse. @returns the codes done.
std::size_t Unpack(const std::uint8_t* HWY_RESTRICT packed, std::size_t n, int bits,
                   std::uint8_t* HWY_RESTRICT codes) {
  std::size_t i = 0;
  if (bits == 4) {
    const hn::ScalableTag<std::uint16_t> d;
    const hn::Rebind<std::uint8_t, decltype(d)> d8;
    const hn::Repartition<std::uint8_t, decltype(d)> bytes;
    const std::size_t count = hn::Lanes(bytes);
    const auto mask = hn::Set(d, 0x0f0f);
    for (; i + count <= n; i += count) {
      const auto joined = hn::PromoteTo(d, hn::LoadU(d8, packed + i / 2));
      const auto pairs = hn::And(hn::Or(joined, hn::ShiftLeft<4>(joined)), mask);
      hn::StoreU(hn::BitCast(bytes, pairs), bytes, codes + i);
    }
  } else if (bits == 2) {
    const hn::ScalableTag<std::uint32_t> d;
    const hn::Rebind<std::uint8_t, decltype(d)> d8;
    const hn::Repartition<std::uint8_t, decltype(d)> bytes;
    const std::size_t count = hn::Lanes(bytes);
    const auto mask = hn::Set(d, 0x03030303U);
    for (; i + count <= n; i += count) {
      const auto joined = hn::PromoteTo(d, hn::LoadU(d8, packed + i / 4));
      const auto pairs = hn::Or(joined, hn::ShiftLeft<12>(joined));
      const auto fours = hn::And(hn::Or(pairs, hn::ShiftLeft<6>(pairs)), mask);
      hn::StoreU(hn::BitCast(bytes, fours), bytes, codes + i);
    }
  }
  return i;
}
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(Quantize);
HWY_EXPORT(Add);
HWY_EXPORT(Pack);
HWY_EXPORT(Unpack);
}  // namespace

std::size_t stochastic_levels(std::span<const float> c, float step, int bits, RandomKey key,
                              std::size_t first, std::span<float> remainder, std::uint8_t* codes) {
  float* const left = remainder.empty() ? nullptr : remainder.data();
  const float inverse = step == 0 ? 0 : 1 / step;
  return HWY_DYNAMIC_DISPATCH(Quantize)(
      c.data(), c.size(),
      {.step = step, .inverse = inverse, .levels = levels_of(bits), .key = key, .first = first},
      left, codes);
}

void add_levels(const std::uint8_t* codes, float step, int bits, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(Add)(codes, step, levels_of(bits), out.data(), out.size());
}

void pack_codes(const std::uint8_t* codes, std::size_t n, int bits, std::uint8_t* packed) {
  std::size_t i = HWY_DYNAMIC_DISPATCH(Pack)(codes, n, bits, packed);
  packed += i * static_cast<std::size_t>(bits) / 8;
  std::uint32_t pending = 0;
  int filled = 0;
  for (; i < n; ++i) {
    pending |= std::uint32_t{codes[i]} << filled;
    for (filled += bits; filled >= 8; filled -= 8, pending >>= 8) {
      *packed++ = static_cast<std::uint8_t>(pending);
    }
  }
  if (filled > 0) *packed = static_cast<std::uint8_t>(pending);
}

bool unpack_codes(const std::uint8_t* packed, std::size_t n, int bits, std::uint8_t* codes) {
  std::size_t i = HWY_DYNAMIC_DISPATCH(Unpack)(packed, n, bits, codes);
  packed += i * static_cast<std::size_t>(bits) / 8;
  std::uint32_t pending = 0;
  int filled = 0;
  for (; i < n; ++i) {
    if (filled < bits) {
      pending |= std::uint32_t{*packed++} << filled;
      filled += 8;
    }
    codes[i] = static_cast<std::uint8_t>(pending & ((1U << bits) - 1));
    pending >>= bits;
    filled -= bits;
  }
  return pending == 0;
}

}  // namespace thinpipe
#endif  // HWY_ONCE
