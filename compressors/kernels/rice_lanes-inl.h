// Golomb-Rice codes read at many bits at once, one in each lane. Compiled once per instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/rice.h"
#include "compressors/wire/bits.h"

#if defined(THINPIPE_COMPRESSORS_KERNELS_RICE_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_COMPRESSORS_KERNELS_RICE_LANES_INL_H_
#undef THINPIPE_COMPRESSORS_KERNELS_RICE_LANES_INL_H_
#else
#define THINPIPE_COMPRESSORS_KERNELS_RICE_LANES_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace rice {

namespace hn = hwy::HWY_NAMESPACE;

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
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // once per target
