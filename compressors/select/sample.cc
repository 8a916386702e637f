// Draws samples. Random elements are misses of all caches: the places of the next few are asked for
// while the last ones arrive. A line costs one miss for 16 elements.
#include "compressors/select/sample.h"

#include <algorithm>
#include <array>

#include "compressors/random.h"

namespace thinpipe {
namespace {

constexpr std::size_t kLine = 16;
/// Misses under way at once; memory systems serve some ten to twenty for a core.
constexpr std::size_t kAhead = 32;

/// keys[i] = key of element place(), n times.
template <class Place>
void gather(const Signal& x, KeyOrder order, Place place, std::span<std::int32_t> keys) {
  std::array<std::size_t, kAhead> places;
  const auto ask = [&](std::size_t slot) {
    places[slot] = place();
    x.prefetch(places[slot]);
  };
  const std::size_t n = keys.size();
  for (std::size_t i = 0; i < std::min(n, kAhead); ++i) ask(i);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t slot = i % kAhead;
    keys[i] = key_of(x.at(places[slot]), order);
    if (i + kAhead < n) ask(slot);
  }
}

}  // namespace

void sample_keys(const Signal& x, KeyOrder order, Sampling sampling, std::uint64_t seed,
                 std::uint64_t step, std::span<std::int32_t> keys) {
  const std::size_t n = keys.size();
  SplitMix64 random(SplitMix64::mix(seed ^ SplitMix64::mix(step)));
  if (sampling == Sampling::kLines && x.size() >= kLine) {
    std::size_t first = 0;
    std::size_t next = 0;
    const auto in_line = [&] {
      if (next % kLine == 0) first = kLine * random.below(x.size() / kLine);
      return first + next++ % kLine;
    };
    return gather(x, order, in_line, keys);
  }
  if (sampling == Sampling::kStrided) {
    std::size_t i = 0;
    return gather(
        x, order, [&] { return (2 * i++ + 1) * x.size() / (2 * n); }, keys);
  }
  gather(
      x, order, [&] { return random.below(x.size()); }, keys);
}

}  // namespace thinpipe
