// Golomb-Rice codes. The writer computes codes a vector at a time and joins four codes before it
// writes them, so that only a quarter as many writes wait for the write before. The reader cannot
// know where a code begins before it has read the code before it. It reduces this chain of
// dependences to a count of zeros and a shift per code. It also reads two chains of codes side by
// side, the second from a guessed bit on (see ReadTwo), or sixteen chains in the lanes of vectors
// (rice_lanes-inl.h).
#include "compressors/kernels/rice.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "compressors/wire/bits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/rice.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/rice_lanes-inl.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_RICE_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_RICE_ONCE
namespace thinpipe {
namespace {
/// Positions whose codes are computed before any is written; they stay in the first-level cache.
constexpr std::size_t kBlock = 256;
/// Codes joined into one word of at most BitWriter::kMaxBits.
constexpr std::size_t kGroup = 4;
/// Length recorded for every code of more than 31 bits. It exceeds what a word holds, so a group
/// with such a code is written code by code.
constexpr std::uint32_t kLong = BitWriter::kMaxBits + 1;

/// Least number of positions for which two chains are faster than one, and space for the codes that
/// the first chain still has to read to reach the second.
constexpr std::size_t kTwoLeast = 256;
constexpr std::size_t kSpare = 32;

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

/// Computes codes and their lengths of positions[1 .. kBlock]; each depends on the position before
/// it.
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
    // Shifts must be below 32; where this limit applies, the code has more than 31 bits: kLong.
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
      if (HWY_LIKELY(all <= BitWriter::kMaxBits)) {
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

/// A run of codes read from one bit on.
struct Chain {
  std::size_t at;            ///< byte of the first bit that is not in the window
  std::uint64_t window = 0;  ///< the next bits; above `held` bits: later bits, or zeros
  std::uint64_t held = 0;    ///< bits of the window, at most 63
  std::uint64_t next;        ///< the lowest position that may follow

  std::uint64_t bit() const { return std::uint64_t{8} * at - held; }
};

HWY_INLINE std::uint64_t LoadWord(const std::byte* in) {
  std::uint64_t word;
  std::memcpy(&word, in, sizeof word);
  return word;
}

/// Starts a chain. Eight bytes must follow that bit.
HWY_INLINE Chain StartChain(const std::byte* in, std::uint64_t bit, std::uint64_t next) {
  return {.at = bit / 8 + 7,
          .window = LoadWord(in + bit / 8) >> (bit % 8),
          .held = 56 - bit % 8,
          .next = next};
}

/// Reads the next `group` codes of a chain; eight bytes must exist from chain.at on.
/// @returns false, with the chain's position unchanged, when these codes have more bits than the
/// chain's window holds.
template <int group>
HWY_INLINE bool TakeCodes(const std::byte* in, int bits, std::uint64_t mask, Chain& chain,
                          std::uint32_t* HWY_RESTRICT positions) {
  // Refills the window to at least 56 bits without waiting for the previous bits: after Giesen,
  // "Reading bits in far too many ways", part 2, variant 4.
  chain.window |= LoadWord(in + chain.at) << chain.held;
  chain.at += (63 - chain.held) >> 3;
  chain.held |= 56;
  std::uint64_t window = chain.window;
  std::uint64_t next = chain.next;
  std::uint64_t length = static_cast<std::uint64_t>(group) * static_cast<std::uint64_t>(bits + 1);
  for (int i = 0; i < group; ++i) {
    const auto zeros = static_cast<std::uint64_t>(std::countr_zero(window));
    const std::uint64_t shift = zeros & 63;  // an empty window gives 64: too long anyway
    const std::uint64_t rest = window >> 1;
    next += (zeros << bits) + ((rest >> shift) & mask);
    positions[i] = static_cast<std::uint32_t>(next++);
    window = (rest >> bits) >> shift;  // only this shift waits for the count
    length += zeros;
  }
  if (HWY_UNLIKELY(length > chain.held)) return false;
  chain.window = window;
  chain.held -= length;
  chain.next = next;
  return true;
}

/// Reads about n codes as two independent chains, so that one chain works while the other waits.
/// The second chain starts where the middle of the codes should be, usually within a code. A chain
/// from a wrong bit synchronises after a few codes. From the first bit where both chains see a code
/// begin, all codes of the second chain are right, because a code depends only on the bits from its
/// own beginning on. The positions of the second chain then lack only the sum of the codes before
/// that bit, which is added. If the chains do not meet, the codes of the first chain are used and
/// those of the second are discarded.
template <int group>
std::size_t ReadTwo(std::span<const std::byte> in, int bits, double mean_bits, RiceCursor& cursor,
                    std::uint32_t* HWY_RESTRICT positions, std::size_t n) {
  const std::size_t half = (n - kSpare) / 2 / group * group;
  const double distance =
      std::min(mean_bits * static_cast<double>(half), 8 * static_cast<double>(in.size()));
  const std::uint64_t guess = cursor.bit + static_cast<std::uint64_t>(distance);
  if (guess / 8 + 16 > in.size()) return 0;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  std::uint32_t* const ahead = positions + half + kSpare;  // counted from 0
  Chain first = StartChain(in.data(), cursor.bit, cursor.next);
  Chain second = StartChain(in.data(), guess, 0);
  std::size_t read = 0;
  // The second chain is ahead at first; later its end may be the nearer one.
  while (read < half && std::max(first.at, second.at) + 8 <= in.size()) {
    const Chain before = first;
    if (!TakeCodes<group>(in.data(), bits, mask, first, positions + read)) break;
    if (!TakeCodes<group>(in.data(), bits, mask, second, ahead + read)) {
      first = before;  // so that both have read as many
      break;
    }
    read += group;
  }
  std::uint64_t bit = first.bit();
  std::uint64_t next = first.next;
  std::uint64_t bit_ahead = guess;
  std::uint64_t next_ahead = 0;
  std::size_t count = read;
  std::size_t skip = 0;  // wrong codes of the second chain
  bool meet = bit + rice::kFar > bit_ahead;
  while (meet && bit != bit_ahead) {
    if (bit < bit_ahead) {
      meet = count < half + kSpare && rice::TakeCode(in, bits, bit, next);
      if (meet) positions[count++] = static_cast<std::uint32_t>(next - 1);
    } else {
      meet = skip < read && rice::TakeCode(in, bits, bit_ahead, next_ahead);
      ++skip;
    }
  }
  if (!meet || skip > read) {
    cursor = {.bit = bit, .next = next};
    return count;
  }
  const hn::ScalableTag<std::uint32_t> d;
  const std::uint64_t before = next - next_ahead;
  const auto offset = hn::Set(d, static_cast<std::uint32_t>(before));
  std::size_t i = skip;
  // Positions move downwards in memory, so that nothing is overwritten before it is read.
  for (; i + hn::Lanes(d) <= read; i += hn::Lanes(d), count += hn::Lanes(d)) {
    hn::StoreU(hn::Add(hn::LoadU(d, ahead + i), offset), d, positions + count);
  }
  for (; i < read; ++i) positions[count++] = ahead[i] + static_cast<std::uint32_t>(before);
  cursor = {.bit = second.bit(), .next = before + second.next};
  return count;
}

template <int group>
std::size_t ReadAll(std::span<const std::byte> in, int bits, double mean_bits, RiceCursor& cursor,
                    std::uint32_t* HWY_RESTRICT positions, std::size_t n) {
  std::size_t i = 0;
  if (n >= kTwoLeast) i = ReadTwo<group>(in, bits, mean_bits, cursor, positions, n);
  if (cursor.bit / 8 + 8 > in.size()) return i;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  Chain chain = StartChain(in.data(), cursor.bit, cursor.next);
  while (i + group <= n && chain.at + 8 <= in.size() &&
         TakeCodes<group>(in.data(), bits, mask, chain, positions + i)) {
    i += group;
  }
  cursor = {.bit = chain.bit(), .next = chain.next};
  for (; i < n && n - i < group && rice::TakeCode(in, bits, cursor.bit, cursor.next); ++i) {
    positions[i] = static_cast<std::uint32_t>(cursor.next - 1);
  }
  return i;
}

/// Reads codes in groups of as many codes as nearly always fit 56 bits. Each code has b bits and a
/// unary part, whose mean is 1.6 to 2.6 bits where the writer chose b.
std::size_t ReadScalar(std::span<const std::byte> in, int bits, double mean_bits,
                       RiceCursor& cursor, std::uint32_t* positions, std::size_t n) {
  if (bits <= 7) return ReadAll<4>(in, bits, mean_bits, cursor, positions, n);
  if (bits <= 11) return ReadAll<3>(in, bits, mean_bits, cursor, positions, n);
  if (bits <= 20) return ReadAll<2>(in, bits, mean_bits, cursor, positions, n);
  return ReadAll<1>(in, bits, mean_bits, cursor, positions, n);
}

std::size_t RiceDecode(std::span<const std::byte> in, int bits, double mean_bits,
                       RiceCursor& cursor, std::uint32_t* positions, std::size_t n) {
  std::size_t i = 0;
#if HWY_TARGET <= HWY_AVX3
  while (n - i >= rice::kMinCodes) {
    const std::size_t some = std::min(n - i, rice::kMaxCodes);
    const std::size_t read = rice::ReadLanes(in, bits, mean_bits, cursor, {positions + i, some});
    i += read;
    if (read < some / 2) break;  // lanes are not faster for such codes
  }
#endif
  return i + ReadScalar(in, bits, mean_bits, cursor, positions + i, n - i);
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

std::size_t rice_decode(std::span<const std::byte> payload, int bits, double mean_bits,
                        RiceCursor& cursor, std::span<std::uint32_t> positions) {
  return HWY_DYNAMIC_DISPATCH(RiceDecode)(payload, bits, mean_bits, cursor, positions.data(),
                                          positions.size());
}

}  // namespace thinpipe
#endif  // HWY_ONCE
