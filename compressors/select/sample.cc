// Draws samples. Random elements are misses of all caches: the places of the next few are asked for
// while the last ones arrive. A line costs one miss for 16 elements.
#include "compressors/select/sample.h"

#include <algorithm>
#include <array>

#include "compressors/kernels/parallel.h"
#include "compressors/random.h"

namespace thinpipe {
namespace {

constexpr std::size_t kLine = 16;
/// Misses under way at once; memory systems serve some ten to twenty for a core.
constexpr std::size_t kDrawnAhead = 64;

/// Keys of runs of `length` neighbours, the i-th run from place(i) on, on the current threads. The
/// last run is as long as there is room.
template <std::size_t length, class Place>
void gather(const Signal& x, KeyOrder order, Place place, std::span<std::int32_t> keys) {
  // A miss takes as long as reading hundreds of elements in line: worth threads for fewer keys.
  const int threads = threads_for(x.size());
  const auto parts = static_cast<std::size_t>(threads);
  const std::size_t runs = (keys.size() + length - 1) / length;
  parallel_parts(parts, threads, [&](std::size_t part) {
    const std::size_t begin = runs * part / parts;
    const std::size_t end = runs * (part + 1) / parts;
    std::array<std::size_t, kDrawnAhead> places;
    const auto ask = [&](std::size_t i) {
      places[i % kDrawnAhead] = place(i);
      x.prefetch(places[i % kDrawnAhead]);
    };
    for (std::size_t i = begin; i < std::min(end, begin + kDrawnAhead); ++i) ask(i);
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t at = places[i % kDrawnAhead];
      const std::size_t some = std::min(length, keys.size() - i * length);
      for (std::size_t j = 0; j < some; ++j) keys[i * length + j] = key_of(x.at(at + j), order);
      if (i + kDrawnAhead < end) ask(i + kDrawnAhead);
    }
  });
}

}  // namespace

void sample_keys(const Signal& x, KeyOrder order, Sampling sampling, std::uint64_t seed,
                 std::uint64_t step, std::span<std::int32_t> keys) {
  const std::size_t n = keys.size();
  const SplitMix64 first(SplitMix64::mix(seed ^ SplitMix64::mix(step)));
  // The i-th of the random numbers below `limit`.
  const auto drawn = [&](std::size_t i, std::size_t limit) {
    SplitMix64 random = first;
    random.skip(i);
    return random.below(limit);
  };
  if (sampling == Sampling::kLines && x.size() >= kLine) {
    return gather<kLine>(
        x, order, [&](std::size_t i) { return kLine * drawn(i, x.size() / kLine); }, keys);
  }
  if (sampling == Sampling::kStrided) {
    return gather<1>(
        x, order, [&](std::size_t i) { return (2 * i + 1) * x.size() / (2 * n); }, keys);
  }
  gather<1>(
      x, order, [&](std::size_t i) { return drawn(i, x.size()); }, keys);
}

}  // namespace thinpipe
