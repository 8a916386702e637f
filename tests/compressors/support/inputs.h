// Generates seeded inputs that are the same on every machine, because they use no library's
// distributions and no transcendental functions. Also compares floats by their bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compressors/kernels/random.h"

namespace thinpipe::testing {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Uniform in [-1, 1), 24 bits.
inline float uniform(SplitMix64& random) {
  return static_cast<float>(static_cast<std::int64_t>(random.next() >> 39) - (1 << 24)) /
         static_cast<float>(1 << 24);
}

/// A sum of four uniforms: bell-shaped.
inline std::vector<float> bell(std::size_t n, std::uint64_t seed) {
  SplitMix64 random(seed);
  std::vector<float> x(n);
  for (float& value : x) {
    value = uniform(random);
    for (int i = 0; i < 3; ++i) value += uniform(random);
  }
  return x;
}

/// A product of a bell and a reciprocal: tails like 1 / x, as gradients have.
inline std::vector<float> heavy(std::size_t n, std::uint64_t seed) {
  SplitMix64 random(seed + 1000);
  std::vector<float> x = bell(n, seed);
  for (float& value : x) value *= 0.001F / (std::fabs(uniform(random)) + 0.0001F);
  return x;
}

struct NamedInput {
  std::string name;
  std::vector<float> values;
};

/// Finite inputs of many sizes and shapes, the empty one among them; also heavy tails of `more`
/// sizes.
inline std::vector<NamedInput> finite_inputs(std::initializer_list<std::size_t> more = {}) {
  std::vector<NamedInput> inputs;
  for (std::size_t n : {0, 1, 2, 3, 5, 7, 63, 64, 70, 257, 1000, 9001, 40000}) {
    inputs.push_back({"bell " + std::to_string(n), bell(n, n + 1)});
    inputs.push_back({"heavy " + std::to_string(n), heavy(n, n + 2)});
  }
  constexpr float kDenormal = std::numeric_limits<float>::denorm_min();
  for (std::size_t n : {1, 70, 1001, 20000}) {
    inputs.push_back({"zeros " + std::to_string(n), std::vector<float>(n, 0.0F)});
    inputs.push_back({"equal " + std::to_string(n), std::vector<float>(n, -0.5F)});
    std::vector<float> tiny(n);
    std::vector<float> few(n);  // few distinct values, both zeros: ties everywhere
    for (std::size_t i = 0; i < n; ++i) {
      tiny[i] = kDenormal * static_cast<float>(i % 7) * (i % 2 == 0 ? 1.0F : -1.0F);
      few[i] =
          (i * 7 % 5 == 0 ? -0.0F : static_cast<float>(i * 7 % 5)) * (i % 3 == 0 ? -1.0F : 1.0F);
    }
    inputs.push_back({"denormals " + std::to_string(n), tiny});
    inputs.push_back({"ties " + std::to_string(n), few});
    std::vector<float> huge = bell(n, 5);
    for (float& value : huge) value *= std::numeric_limits<float>::max() / 4;
    inputs.push_back({"huge " + std::to_string(n), huge});
  }
  for (std::size_t n : more) inputs.push_back({"heavy " + std::to_string(n), heavy(n, n + 2)});
  return inputs;
}

/// Inputs with NaN and infinities.
inline std::vector<NamedInput> non_finite_inputs() {
  std::vector<NamedInput> inputs;
  for (std::size_t n : {1, 70, 1003, 20000}) {
    for (const auto& [name, value] : {std::pair{"nan", kNan}, std::pair{"-nan", -kNan},
                                      std::pair{"inf", kInfinity}, std::pair{"-inf", -kInfinity}}) {
      std::vector<float> one = heavy(n, 9);
      one[n / 2] = value;
      inputs.push_back({std::string("one ") + name + " in " + std::to_string(n), one});
      inputs.push_back(
          {std::string("all ") + name + " " + std::to_string(n), std::vector<float>(n, value)});
    }
    std::vector<float> mixed = heavy(n, 10);
    for (std::size_t i = 0; i < n; i += 3) mixed[i] = i % 2 == 0 ? kNan : kInfinity;
    inputs.push_back({"mixed " + std::to_string(n), mixed});
  }
  return inputs;
}

/// `inputs`, and those with NaN and infinities.
inline std::vector<NamedInput> with_non_finite(std::vector<NamedInput> inputs = finite_inputs()) {
  for (NamedInput& input : non_finite_inputs()) inputs.push_back(std::move(input));
  return inputs;
}

/// `inputs` without the huge ones, whose sums and squares overflow floats.
inline std::vector<NamedInput> without_huge(std::vector<NamedInput> inputs = finite_inputs()) {
  std::erase_if(inputs, [](const NamedInput& input) { return input.name.starts_with("huge"); });
  return inputs;
}

/// Returns the greatest magnitude, or 0 for no values.
inline double largest_magnitude(std::span<const float> x) {
  double most = 0;
  for (float value : x) most = std::max(most, std::fabs(static_cast<double>(value)));
  return most;
}

inline std::vector<std::uint32_t> bits(std::span<const float> values) {
  std::vector<std::uint32_t> result(values.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = std::bit_cast<std::uint32_t>(values[i]);
  }
  return result;
}

inline std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

/// The Euclidean norm of a - b.
inline double distance_of(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

inline double norm_of(std::span<const float> x) {
  return distance_of(x, std::vector<float>(x.size()));
}

}  // namespace thinpipe::testing
