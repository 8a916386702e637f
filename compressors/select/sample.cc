// Draws samples; a line costs one cache miss for 16 elements.
#include "compressors/select/sample.h"

#include <algorithm>

#include "compressors/random.h"

namespace thinpipe {
namespace {

constexpr std::size_t kLine = 16;

}  // namespace

void sample_keys(std::span<const float> x, KeyOrder order, Sampling sampling, std::uint64_t seed,
                 std::uint64_t step, std::span<std::int32_t> keys) {
  const std::size_t n = keys.size();
  SplitMix64 random(SplitMix64::mix(seed ^ SplitMix64::mix(step)));
  if (sampling == Sampling::kLines && x.size() >= kLine) {
    for (std::size_t i = 0; i < n; i += kLine) {
      const float* line = x.data() + kLine * random.below(x.size() / kLine);
      const std::size_t some = std::min(kLine, n - i);
      for (std::size_t j = 0; j < some; ++j) keys[i + j] = key_of(line[j], order);
    }
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at =
        sampling == Sampling::kStrided ? (2 * i + 1) * x.size() / (2 * n) : random.below(x.size());
    keys[i] = key_of(x[at], order);
  }
}

}  // namespace thinpipe
