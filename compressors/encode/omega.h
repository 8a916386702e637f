// Elias omega codes: short for small numbers, without a limit.
#pragma once

#include <bit>
#include <cstdint>

#include "compressors/wire/bits.h"

namespace thinpipe {

/// Bits of the code of n >= 1 (Elias, 1975, the recursive code of QSGD's appendix A.2).
constexpr int omega_size(std::uint64_t n) {
  int bits = 1;
  while (n > 1) {
    const int group = static_cast<int>(std::bit_width(n));
    bits += group;
    n = static_cast<std::uint64_t>(group) - 1;
  }
  return bits;
}

/// Groups of bits, each the length of the next less one, highest bit first; then a zero.
inline void put_omega(std::uint64_t n, BitWriter& out) {
  std::uint64_t groups[8];  // more than the seven of the longest 64-bit number
  int count = 0;
  for (; n > 1; n = static_cast<std::uint64_t>(std::bit_width(n)) - 1) groups[count++] = n;
  while (count > 0) {
    const std::uint64_t group = groups[--count];
    for (int bit = static_cast<int>(std::bit_width(group)) - 1; bit >= 0; --bit) {
      out.put((group >> bit) & 1, 1);
    }
  }
  out.put(0, 1);
}

/// @throws PayloadError when it is over `maximum` or the bits end.
inline std::uint64_t get_omega(BitReader& in, std::uint64_t maximum) {
  std::uint64_t n = 1;
  while (in.get(1) != 0) {
    if (n >= 40) throw PayloadError("an Elias code in the payload is too long");
    std::uint64_t group = 1;
    for (std::uint64_t bit = 0; bit < n; ++bit) group = (group << 1) | in.get(1);
    n = group;
  }
  if (n > maximum) throw PayloadError("an Elias code in the payload is over its limit");
  return n;
}

}  // namespace thinpipe
