#include "workloads/exchange/element_sum.h"

#include <algorithm>

#include "compressors/kernels/half_sum.h"

namespace thinpipe {

namespace {

// The compiler makes vectors of these where arrays are known to be apart.
void add_to_own(std::span<float> target, const float* __restrict own,
                const float* __restrict theirs, float scale) {
  float* __restrict sums = target.data();
  for (std::size_t i = 0; i < target.size(); ++i) sums[i] = (own[i] + theirs[i]) * scale;
}

void add_to_sums(std::span<float> target, const float* __restrict theirs, float scale) {
  float* __restrict sums = target.data();
  for (std::size_t i = 0; i < target.size(); ++i) sums[i] = (sums[i] + theirs[i]) * scale;
}

template <class To, class From>
std::span<To> elements(std::span<From> bytes) {
  return {reinterpret_cast<To*>(bytes.data()), bytes.size() / sizeof(To)};
}

}  // namespace

void add_elements(ElementType type, std::span<const std::byte> a, std::span<const std::byte> b,
                  float scale, std::span<std::byte> sums) {
  if (type != ElementType::kFloat32)
    return half_add(elements<const std::uint16_t>(a), elements<const std::uint16_t>(b), scale,
                    half_format(type), elements<std::uint16_t>(sums));
  const auto theirs = elements<const float>(b);
  if (a.data() == sums.data())
    add_to_sums(elements<float>(sums), theirs.data(), scale);
  else
    add_to_own(elements<float>(sums), elements<const float>(a).data(), theirs.data(), scale);
}

void scale_elements(ElementType type, std::span<const std::byte> a, float scale,
                    std::span<std::byte> out) {
  if (type != ElementType::kFloat32) {
    half_scale(elements<const std::uint16_t>(a), scale, half_format(type),
               elements<std::uint16_t>(out));
    return;
  }
  const auto values = elements<const float>(a);
  std::transform(values.begin(), values.end(), elements<float>(out).begin(),
                 [scale](float value) { return value * scale; });
}

}  // namespace thinpipe
