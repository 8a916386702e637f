// Random numbers that are the same on every worker and every machine.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "base/both.h"
#include "base/splitmix64.h"

namespace thinpipe {

/// Returns FNV-1a of a tensor's name, which does not depend on the standard library.
inline std::uint64_t hash_name(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char letter : name) hash = (hash ^ letter) * 0x100000001b3;
  return hash;
}

// Numbers for stochastic rounding: a hash of a key and an element's index, so that each number can
// be drawn independently, in any order and in vectors of any width.

/// Key of one tensor in one step of one worker.
struct RandomKey {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
};

/// Returns the seed from which all keys of one worker's tensor derive. The seed depends on the
/// rank, because the workers' roundings must be independent: otherwise their errors would add up
/// instead of averaging out.
inline std::uint64_t random_stream(std::uint64_t seed, int rank, std::string_view tensor) {
  const std::uint64_t worker =
      SplitMix64::mix(seed + 0x9e3779b97f4a7c15 * (static_cast<std::uint64_t>(rank) + 1));
  return SplitMix64::mix(worker ^ hash_name(tensor));
}

inline RandomKey random_key(std::uint64_t stream, std::uint64_t step) {
  const std::uint64_t mixed = SplitMix64::mix(stream + 0x9e3779b97f4a7c15 * (step + 1));
  return {.first = static_cast<std::uint32_t>(mixed),
          .second = static_cast<std::uint32_t>(mixed >> 32)};
}

// The multipliers and shifts of lowbias32 (Wellons, 2018, "Prospecting for hash functions"), whose
// avalanche bias is the lowest known for two multiplications. The index and the first word of the
// key enter before the multiplications, the second word between them. If the second word entered at
// the start, too, two keys would give the same numbers in another order.
constexpr std::uint32_t kHashFirst = 0x7feb352d;
constexpr std::uint32_t kHashSecond = 0x846ca68b;

/// Returns 32 random bits for an element.
THINPIPE_BOTH inline std::uint32_t counter_random(RandomKey key, std::uint32_t index) {
  std::uint32_t x = index ^ key.first;
  x = (x ^ (x >> 16)) * kHashFirst;
  x = (x ^ (x >> 15) ^ key.second) * kHashSecond;
  return x ^ (x >> 16);
}

/// Returns a number uniform in [0, 1): the upper 24 bits, all that a float holds.
THINPIPE_BOTH inline float counter_uniform(RandomKey key, std::uint32_t index) {
  return static_cast<float>(counter_random(key, index) >> 8) * 0x1p-24F;
}

/// Returns 32 random bits for an element at half the cost of counter_random(). In each block of 32
/// elements, the last 16 reuse the numbers of the first 16 with the two halves of each number
/// exchanged. Each number alone is uniform in all its bits. The upper halves of two such numbers
/// are different halves of one hash and so independent.
THINPIPE_BOTH inline std::uint32_t paired_random(RandomKey key, std::uint64_t index) {
  const std::uint32_t number =
      counter_random(key, static_cast<std::uint32_t>(index / 32 * 16 + index % 16));
  return index % 32 < 16 ? number : std::rotr(number, 16);
}

}  // namespace thinpipe
