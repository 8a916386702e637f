// Zero-run encoding: bytes of five zeros are what a sparse tensor mostly has. Eight bytes are
// looked at in one word.
#include "compressors/encode/zero_run.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "compressors/kernels/ternary.h"

namespace thinpipe {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101;
constexpr std::uint64_t kHighs = 0x80 * kOnes;

/// Eight bytes, each 0 where it is kQuarticZero.
std::uint64_t differences(const std::uint8_t* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word ^ (kQuarticZero * kOnes);
}

/// The first byte from i on that is not kQuarticZero; `count` where there is none.
std::size_t end_of_zeros(const std::uint8_t* packed, std::size_t i, std::size_t count) {
  for (; i + 8 <= count; i += 8) {
    const std::uint64_t word = differences(packed + i);
    if (word != 0) return i + static_cast<std::size_t>(std::countr_zero(word)) / 8;
  }
  while (i < count && packed[i] == kQuarticZero) ++i;
  return i;
}

/// The first byte from i on that is kQuarticZero; `count` where there is none.
std::size_t end_of_literals(const std::uint8_t* packed, std::size_t i, std::size_t count) {
  for (; i + 8 <= count; i += 8) {
    const std::uint64_t word = differences(packed + i);
    // Subtracting 1 borrows from the high bit of a byte that is 0; the lowest such bit is right.
    const std::uint64_t zeros = (word - kOnes) & ~word & kHighs;
    if (zeros != 0) return i + static_cast<std::size_t>(std::countr_zero(zeros)) / 8;
  }
  while (i < count && packed[i] != kQuarticZero) ++i;
  return i;
}

}  // namespace

std::size_t zero_run_encode(const std::uint8_t* packed, std::size_t count, std::uint8_t* out) {
  std::size_t written = 0;
  for (std::size_t i = 0; i < count;) {
    const std::size_t literals = end_of_literals(packed, i, count);
    std::memcpy(out + written, packed + i, literals - i);
    written += literals - i;
    i = end_of_zeros(packed, literals, count);
    const std::size_t run = i - literals;
    const std::size_t longest = run / kLongestRun;
    std::memset(out + written, kFirstRunByte + (kLongestRun - 2), longest);
    written += longest;
    const std::size_t rest = run % kLongestRun;
    if (rest == 0) continue;
    out[written++] =
        rest == 1 ? kQuarticZero : static_cast<std::uint8_t>(kFirstRunByte + (rest - 2));
  }
  return written;
}

}  // namespace thinpipe
