// Finds the k-th greatest of many keys, digit by digit, from counts of each digit's values.
#pragma once

#include <cstdint>

#include "base/both.h"
#include "compressors/cuda/kernels/job.h"

namespace thinpipe::cuda {

/// Ranks have 32 bits: digits of 11, 11 and 10.
constexpr int kDigits = 3;
THINPIPE_BOTH constexpr int shift_of_digit(int digit) {
  return digit == 0 ? 21 : digit == 1 ? 10 : 0;
}
THINPIPE_BOTH constexpr int bits_of_digit(int digit) { return digit == 2 ? 10 : 11; }

/// State of a search.
struct DigitSearch {
  std::uint32_t known = 0;  ///< the digits found so far
  std::uint32_t rank = 0;   ///< of the key among those that begin with `known`, from 1

  /// Returns whether a key counts in the search for a digit.
  THINPIPE_BOTH bool matches(std::uint32_t key, int digit) const {
    return digit == 0 || key >> (shift_of_digit(digit) + bits_of_digit(digit)) == known;
  }
  THINPIPE_BOTH static std::uint32_t value(std::uint32_t key, int digit) {
    return key >> shift_of_digit(digit) & ((std::uint32_t{1} << bits_of_digit(digit)) - 1);
  }
};

/// Advances a search for the k-th greatest key by one digit. `bins` holds, for each of the digit's
/// kBins values, the number of keys with this value. All threads of a block take part; `search` is
/// in shared memory.
template <class Block>
THINPIPE_KERNEL void find_digit(Block& block, const std::uint32_t* bins, int digit,
                                DigitSearch& search) {
  constexpr int kPerThread = static_cast<int>(kBins) / Block::kSize;
  static_assert(kPerThread * Block::kSize == static_cast<int>(kBins));
  typename Block::template Local<std::uint32_t> greater;
  typename Block::template Local<DigitSearch> before;
  // From the greatest value down.
  block.each([&](int t) {
    std::uint32_t sum = 0;
    for (int i = 0; i < kPerThread; ++i)
      sum += bins[static_cast<int>(kBins) - 1 - (t * kPerThread + i)];
    greater[t] = sum;
    before[t] = search;
  });
  block.prefix(greater);
  block.each([&](int t) {
    std::uint32_t above = greater[t];
    for (int i = 0; i < kPerThread; ++i) {
      const int value = static_cast<int>(kBins) - 1 - (t * kPerThread + i);
      const std::uint32_t own = bins[value];
      const std::uint32_t rank = before[t].rank;
      if (above < rank && rank <= above + own) {
        search.known = before[t].known << bits_of_digit(digit) | static_cast<std::uint32_t>(value);
        search.rank = rank - above;
      }
      above += own;
    }
  });
}

}  // namespace thinpipe::cuda
