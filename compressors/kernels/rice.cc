// Golomb-Rice codes. The writer computes codes a vector at a time and joins four codes before it
// writes them, so that only a quarter as many writes wait for the write before. The reader cannot
// know where a code begins before it has read the code before it. It reduces this chain of
// dependences to a count of zeros and a shift per code. It also reads two chains of codes side by
// side, the second from a guessed bit on (see ReadTwo), or sixteen chains in the lanes of vectors
// (see ReadLanes).
#include "compressors/kernels/rice.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "compressors/wire/bits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/rice.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

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

// Codes read at many bits at once, one in each lane.
namespace rice {

/// Greatest distance in bits over which two chains are made to meet by reading single codes.
constexpr std::uint64_t kFar = 1024;

/// Reads one code at `bit`. @returns false when it has more bits than one load provides.
HWY_INLINE bool TakeCode(std::span<const std::byte> in, int bits, std::uint64_t& bit,
                         std::uint64_t& next) {
  const std::uint64_t window = load_word(in, bit / 8) >> (bit % 8);
  const auto zeros = static_cast<std::uint64_t>(std::countr_zero(window));
  const std::uint64_t length = zeros + 1 + static_cast<std::uint64_t>(bits);
  if (length > BitReader::kMaxBits || bit + length > 8 * in.size()) return false;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  next += (zeros << bits) + ((window >> zeros >> 1) & mask) + 1;
  bit += length;
  return true;
}

#if HWY_TARGET <= HWY_AVX3
/// Vectors of chains: one vector works while the other waits.
constexpr std::size_t kVectors = 2;
constexpr std::size_t kLanes = 8;
constexpr std::size_t kChains = kVectors * kLanes;
/// Greatest number of codes of one call, and the least for which it is faster.
constexpr std::size_t kMaxCodes = 4096;
constexpr std::size_t kMinCodes = 1024;
/// Space, in codes per chain on average, for the codes that a chain still has to read to reach the
/// beginning of the next chain.
constexpr std::size_t kSpare = 8;
/// Least number of bits that an unaligned word of 64 provides.
constexpr std::uint64_t kShown = 57;

using D = hn::CappedTag<std::uint64_t, kLanes>;

/// Chains, one in each lane: the bit of the next code, and the lowest position it may encode.
struct Chains {
  hn::Vec<D> bit;
  hn::Vec<D> next;
};

/// Reads `group` codes of every chain. Writes each code's position plus 1 to `ends`: first the
/// entries of all chains' first codes, then, kChains entries further on, those of their next codes.
/// Eight bytes must exist from each chain's bit on.
/// @returns false, with the chains unchanged, where the codes of any chain have more bits than a
/// word provides.
template <int group>
HWY_INLINE bool TakeCodes(const std::byte* in, int bits, Chains& chains,
                          std::uint32_t* HWY_RESTRICT ends) {
  const D d;
  const hn::RebindToSigned<D> di;
  const hn::RebindToFloat<D> df;
  const hn::Rebind<std::uint32_t, D> d32;
  const auto offsets = hn::BitCast(di, hn::ShiftRight<3>(chains.bit));
  const auto words = hn::GatherOffset(di, reinterpret_cast<const std::int64_t*>(in), offsets);
  auto window = hn::Shr(hn::BitCast(d, words), hn::And(chains.bit, hn::Set(d, 7U)));
  window = hn::Or(window, hn::Set(d, std::uint64_t{1} << 62));  // ends every unary part
  const auto mask = hn::Set(d, (std::uint64_t{1} << bits) - 1);
  // A shift by a vector is one instruction; a shift by a number is two.
  const auto by = hn::Set(d, static_cast<std::uint64_t>(bits));
  auto next = chains.next;
  auto length = hn::Set(d, static_cast<std::uint64_t>(group * bits));
  // The loop computes q + 1 for a quotient q; the 1 too many is subtracted here.
  const auto again = hn::Set(d, 1 - (std::uint64_t{1} << bits));
  for (int i = 0; i < group; ++i) {
    const auto lowest = hn::And(window, hn::Sub(hn::Zero(d), window));
    // Computes the length of the unary part from the exponent of `lowest`, a power of two. An empty
    // window gives a negative length, which is very long as an unsigned number and is therefore
    // rejected below.
    const auto number = hn::ConvertTo(df, hn::BitCast(di, lowest));
    const auto unary = hn::Sub(hn::ShiftRight<52>(hn::BitCast(d, number)), hn::Set(d, 1022U));
    const auto rest = hn::Shr(window, unary);
    const auto zeros = hn::Add(hn::Shl(unary, by), hn::And(rest, mask));
    next = hn::Add(next, hn::Add(zeros, again));
    hn::StoreU(hn::TruncateTo(d32, next), d32, ends + static_cast<std::size_t>(i) * kChains);
    window = hn::Shr(rest, by);
    length = hn::Add(length, unary);
  }
  if (HWY_UNLIKELY(!hn::AllFalse(d, hn::Gt(length, hn::Set(d, kShown))))) return false;
  chains = {hn::Add(chains.bit, length), next};
  return true;
}

/// Sets to[i] = from[i * kChains] + offset, i < n.
HWY_INLINE void TakeColumn(const std::uint32_t* HWY_RESTRICT from, std::size_t n,
                           std::uint32_t offset, std::uint32_t* HWY_RESTRICT to) {
  const hn::CappedTag<std::uint32_t, 16> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto more = hn::Set(d, offset);
  const auto rows = hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<std::int32_t>(kChains)));
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    hn::StoreU(hn::Add(hn::GatherIndex(d, from + i * kChains, rows), more), d, to + i);
  }
  for (; i < n; ++i) to[i] = from[i * kChains] + offset;
}

/// Reads single codes from `from` on until a code begins at the same bit as a code of the chain
/// `to`.
/// @returns the number of wrong codes at the beginning of `to`, or more than `codes` where the two
/// do not meet.
inline std::size_t Meet(std::span<const std::byte> in, int bits, RiceCursor& from, RiceCursor& to,
                        std::size_t codes, std::span<std::uint32_t> positions, std::size_t& count) {
  std::size_t skip = 0;
  if (from.bit + kFar <= to.bit) return codes + 1;
  while (from.bit != to.bit) {
    if (from.bit < to.bit) {
      if (count == positions.size() || !TakeCode(in, bits, from.bit, from.next)) return codes + 1;
      positions[count++] = static_cast<std::uint32_t>(from.next - 1);
    } else {
      if (skip == codes || !TakeCode(in, bits, to.bit, to.next)) return codes + 1;
      ++skip;
    }
  }
  return skip;
}

/// Reads about as many codes as `positions` has space for, at most kMaxCodes, as independent
/// chains. Every chain but the first starts where the chain before it should end, usually within a
/// code. A chain from a wrong bit synchronises after a few codes. From the first bit where a chain
/// and the codes before it both see a code begin, all codes of the chain are right, because a code
/// depends only on the bits from its own beginning on. The chain's positions then lack only the sum
/// of the codes before that bit, which is added. If a chain does not meet the codes before it,
/// those codes are used, and the chain and all later ones are discarded.
template <int group>
std::size_t ReadLanes(std::span<const std::byte> in, int bits, double mean_bits, RiceCursor& cursor,
                      std::span<std::uint32_t> positions) {
  const D d;
  const std::size_t part = (positions.size() / kChains - kSpare) / group * group;
  const auto distance = static_cast<std::uint64_t>(
      std::min(mean_bits * static_cast<double>(part), 8 * static_cast<double>(in.size())));
  if (in.size() < 8) return 0;
  const auto last = hn::Set(d, std::uint64_t{8} * (in.size() - 8));
  HWY_ALIGN std::uint32_t ends[kMaxCodes];
  HWY_ALIGN std::uint64_t bit[kChains];
  HWY_ALIGN std::uint64_t next[kChains];
  for (std::size_t chain = 0; chain < kChains; ++chain) {
    bit[chain] = cursor.bit + chain * distance;
    next[chain] = chain == 0 ? cursor.next : 0;
  }
  Chains low = {hn::Load(d, bit), hn::Load(d, next)};
  Chains high = {hn::Load(d, bit + kLanes), hn::Load(d, next + kLanes)};
  std::size_t read = 0;  // codes of every chain
  while (read < part && hn::AllFalse(d, hn::Or(hn::Gt(low.bit, last), hn::Gt(high.bit, last)))) {
    const Chains before = low;
    if (!TakeCodes<group>(in.data(), bits, low, ends + read * kChains)) break;
    if (!TakeCodes<group>(in.data(), bits, high, ends + read * kChains + kLanes)) {
      low = before;  // so that all have read as many
      break;
    }
    read += group;
  }
  if (read == 0) return 0;
  const std::uint64_t begin = cursor.bit;
  hn::Store(low.bit, d, bit);
  hn::Store(low.next, d, next);
  hn::Store(high.bit, d, bit + kLanes);
  hn::Store(high.next, d, next + kLanes);
  std::size_t count = 0;
  for (std::size_t chain = 0; chain < kChains; ++chain) {
    RiceCursor start = {.bit = begin + chain * distance, .next = chain == 0 ? cursor.next : 0};
    const std::size_t skip = Meet(in, bits, cursor, start, read, positions, count);
    if (skip > read || count + (read - skip) > positions.size()) break;
    const std::uint64_t offset = cursor.next - start.next;
    TakeColumn(ends + skip * kChains + chain, read - skip, static_cast<std::uint32_t>(offset) - 1U,
               positions.data() + count);
    count += read - skip;
    cursor = {.bit = bit[chain], .next = offset + next[chain]};
  }
  return count;
}

/// Reads codes in groups of as many codes as nearly always fit kShown bits. Each code has b bits
/// and a unary part, whose mean is 1.6 to 2.6 bits where the writer chose b.
inline std::size_t ReadLanes(std::span<const std::byte> in, int bits, double mean_bits,
                             RiceCursor& cursor, std::span<std::uint32_t> positions) {
  if (bits <= 5) return ReadLanes<4>(in, bits, mean_bits, cursor, positions);
  if (bits <= 8) return ReadLanes<3>(in, bits, mean_bits, cursor, positions);
  if (bits <= 12) return ReadLanes<2>(in, bits, mean_bits, cursor, positions);
  return ReadLanes<1>(in, bits, mean_bits, cursor, positions);
}
#endif

}  // namespace rice

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
