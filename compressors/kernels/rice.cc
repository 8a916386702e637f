// Codes are made a vector at a time and joined four at a time before they are written: what one
// code depends on of the one before is then a quarter of the work. Reading cannot know where a code
// begins before the one before it was read; it keeps that chain to a count of zeros and a shift.
#include "compressors/kernels/rice.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "compressors/wire/bits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/rice.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_RICE_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_RICE_ONCE
namespace thinpipe {
namespace {
/// Positions whose codes are made before any is written; they stay in the first-level cache.
constexpr std::size_t kBlock = 256;
/// Codes joined into one word of at most BitWriter::kMostBits.
constexpr std::size_t kGroup = 4;
/// Stands for the length of a code of more than 31 bits; no group with it fits a word.
constexpr std::uint32_t kLong = BitWriter::kMostBits + 1;

void put_code(BitWriter& out, std::uint64_t zeros, int bits) {
  out.put_unary(zeros >> bits);
  out.put(zeros & ((std::uint64_t{1} << bits) - 1), bits);
}
}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Codes and their lengths of positions[1 .. kBlock], the one before each being in front of it.
HWY_INLINE void MakeCodes(const std::uint32_t* HWY_RESTRICT positions, int bits,
                          std::uint32_t* HWY_RESTRICT codes, std::uint32_t* HWY_RESTRICT lengths) {
  const hn::CappedTag<std::uint32_t, kBlock> d;
  const auto one = hn::Set(d, 1U);
  const auto mask = hn::Set(d, (1U << bits) - 1);
  const auto shift = static_cast<int>(bits);
  for (std::size_t i = 0; i < kBlock; i += hn::Lanes(d)) {
    const auto zeros =
        hn::Sub(hn::Sub(hn::LoadU(d, positions + i + 1), hn::LoadU(d, positions + i)), one);
    const auto quotient = hn::ShiftRightSame(zeros, shift);
    const auto length = hn::Add(quotient, hn::Set(d, static_cast<std::uint32_t>(bits) + 1));
    // Shifts must be below 32; where the limit bites, the code has more than 31 bits: kLong.
    const auto unary = hn::Min(quotient, hn::Set(d, 30U));
    const auto code =
        hn::Or(hn::Shl(one, unary), hn::Shl(hn::And(zeros, mask), hn::Add(unary, one)));
    hn::Store(code, d, codes + i);
    hn::Store(hn::IfThenElse(hn::Gt(length, hn::Set(d, 31U)), hn::Set(d, kLong), length), d,
              lengths + i);
  }
}

std::size_t RiceEncode(const std::uint32_t* positions, std::size_t n, int bits, std::byte* out,
                       std::size_t room) {
  BitWriter writer(std::span(out, room));
  if (n == 0) return 0;
  put_code(writer, positions[0], bits);
  HWY_ALIGN std::uint32_t codes[kBlock];
  HWY_ALIGN std::uint32_t lengths[kBlock];
  std::size_t i = 1;
  for (; i + kBlock <= n; i += kBlock) {
    MakeCodes(positions + i - 1, bits, codes, lengths);
    for (std::size_t j = 0; j < kBlock; j += kGroup) {
      const std::uint64_t low = lengths[j];
      const std::uint64_t middle = low + lengths[j + 1];
      const std::uint64_t high = lengths[j + 2];
      const std::uint64_t all = middle + high + lengths[j + 3];
      if (HWY_LIKELY(all <= BitWriter::kMostBits)) {
        const std::uint64_t first = codes[j] | std::uint64_t{codes[j + 1]} << low;
        const std::uint64_t last = codes[j + 2] | std::uint64_t{codes[j + 3]} << high;
        writer.put(first | last << middle, static_cast<int>(all));
      } else {
        for (std::size_t k = i + j; k < i + j + kGroup; ++k) {
          put_code(writer, positions[k] - positions[k - 1] - 1, bits);
        }
      }
    }
  }
  for (; i < n; ++i) put_code(writer, positions[i] - positions[i - 1] - 1, bits);
  return writer.finish();
}

/// One code off the front of `window`; adds its length to `length`.
struct Code {
  std::uint64_t quotient;
  std::uint64_t remainder;
};
HWY_INLINE Code TakeCode(std::uint64_t& window, int bits, std::uint64_t mask,
                         std::uint64_t& length) {
  const auto zeros = static_cast<std::uint64_t>(std::countr_zero(window));
  // A window that is used up gives 64; the shifts then do no matter.
  const std::uint64_t shift = zeros & 63;
  const std::uint64_t remainder = ((window >> 1) >> shift) & mask;
  window = ((window >> 1) >> bits) >> shift;  // only the last shift waits for the count
  length += zeros + static_cast<std::uint64_t>(bits) + 1;
  return {zeros, remainder};
}

std::size_t RiceDecode(const std::byte* in, std::size_t size, int bits, RiceCursor& cursor,
                       std::uint32_t* HWY_RESTRICT positions, std::size_t n) {
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  std::uint64_t bit = cursor.bit;
  std::uint64_t next = cursor.next;
  std::size_t i = 0;
  // The lowest `held` <= 63 bits of `window` are the stream's next; above them are the bits that
  // follow, or zeros. `at` is the byte that the first bit not held is in.
  std::uint64_t window = 0;
  std::size_t at = bit / 8;
  if (at + sizeof window > size) return 0;
  std::memcpy(&window, in + at, sizeof window);
  window >>= bit % 8;
  std::uint64_t held = 56 - bit % 8;
  at += 7;
  for (; i + kGroup <= n && at + sizeof window <= size; i += kGroup) {
    // Fill up to 56 bits or more without waiting for the bits before: after Giesen, "Reading bits
    // in far too many ways", part 2, variant 4.
    std::uint64_t word;
    std::memcpy(&word, in + at, sizeof word);
    window |= word << held;
    at += (63 - held) >> 3;
    held |= 56;
    std::uint64_t length = 0;
    std::uint64_t rest = window;
    const Code a = TakeCode(rest, bits, mask, length);
    const Code b = TakeCode(rest, bits, mask, length);
    const Code c = TakeCode(rest, bits, mask, length);
    const Code d = TakeCode(rest, bits, mask, length);
    if (HWY_UNLIKELY(length > held)) break;
    window = rest;
    held -= length;
    bit += length;
    positions[i] = static_cast<std::uint32_t>(next += (a.quotient << bits) + a.remainder);
    positions[i + 1] = static_cast<std::uint32_t>(next += (b.quotient << bits) + b.remainder + 1);
    positions[i + 2] = static_cast<std::uint32_t>(next += (c.quotient << bits) + c.remainder + 1);
    positions[i + 3] = static_cast<std::uint32_t>(next += (d.quotient << bits) + d.remainder + 1);
    ++next;
  }
  cursor.bit = bit;
  cursor.next = next;
  return i;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(RiceEncode);
HWY_EXPORT(RiceDecode);
}  // namespace

std::size_t rice_encode(std::span<const std::uint32_t> positions, int bits,
                        std::span<std::byte> out) {
  return HWY_DYNAMIC_DISPATCH(RiceEncode)(positions.data(), positions.size(), bits, out.data(),
                                          out.size());
}

std::size_t rice_decode(std::span<const std::byte> payload, int bits, RiceCursor& cursor,
                        std::span<std::uint32_t> positions) {
  return HWY_DYNAMIC_DISPATCH(RiceDecode)(payload.data(), payload.size(), bits, cursor,
                                          positions.data(), positions.size());
}

}  // namespace thinpipe
#endif  // HWY_ONCE
