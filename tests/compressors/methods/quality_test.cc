// What compressors keep and what it takes, kept in golden_quality.csv and reviewed as a diff.
// THINPIPE_UPDATE_GOLDEN=1 rewrites the file.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include "compressors/kernels/random.h"
#include "compressors/wire/checks.h"
#include "tests/compressors/support/golden.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

// Exact draws from distributions by comparing uniforms alone: no logarithm, so the same bits on
// every machine.

/// Uniform in [0, 1), 53 bits.
double unit(SplitMix64& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

/// True with probability e^-z, 0 <= z <= 1 (von Neumann, 1951): the run of uniforms that descends
/// from z has an even length. It is n or longer with probability z^n / n!.
bool survives(SplitMix64& random, double z) {
  bool even = true;
  for (double last = z;; even = !even) {
    const double next = unit(random);
    if (next >= last) return even;
    last = next;
  }
}

/// Density e^-x: whole steps are survived with e^-1 each, the fraction is accepted with e^-x.
double exponential(SplitMix64& random) {
  double whole = 0;
  while (survives(random, 1)) ++whole;
  for (;;) {
    const double fraction = unit(random);
    if (survives(random, fraction)) return whole + fraction;
  }
}

/// Standard normal (Karney, 2016, algorithm N): k with probability ~ e^(-k^2 / 2), then x in [0, 1)
/// accepted with e^(-x (2 k + x) / 2).
double normal(SplitMix64& random) {
  for (;;) {
    int k = 0;
    while (survives(random, 0.5)) ++k;
    bool kept = true;
    for (int i = k * (k - 1); i > 0 && kept; --i) kept = survives(random, 0.5);
    if (!kept) continue;
    const double x = unit(random);
    const double slope = x * (2 * k + x) / (2 * k + 2);  // at most 1
    for (int i = 0; i <= k && kept; ++i) kept = survives(random, slope);
    if (kept) return random.next() % 2 == 0 ? k + x : -(k + x);
  }
}

/// Of `laplace`, `normals` (the product of two normals), `pareto` (generalised, shape 1/4) and
/// `normal`; unit scale.
std::vector<float> drawn(const std::string& distribution, std::size_t n, std::uint64_t seed) {
  SplitMix64 random(SplitMix64::mix(seed) ^ hash_name(distribution));
  std::vector<float> values(n);
  for (float& value : values) {
    double x = 0;
    if (distribution == "laplace") {
      x = exponential(random);
    } else if (distribution == "pareto") {
      // (u^-a - 1) / a; a square root is exact to the last bit everywhere.
      x = 4 * (1 / std::sqrt(std::sqrt(1 - unit(random))) - 1);
    } else {
      x = normal(random);
      if (distribution == "normals") x *= normal(random);
      value = static_cast<float>(x);
      continue;
    }
    value = static_cast<float>(random.next() % 2 == 0 ? x : -x);
  }
  return values;
}

constexpr std::uint64_t kQualitySteps = 12;  // error feedback at work; the longest period is 10

/// One tensor of one rank over kQualitySteps steps.
struct Series {
  TensorInfo tensor;
  int rank = 0;
  std::array<std::vector<float>, kQualitySteps> gradients;
  std::array<std::vector<float>, kQualitySteps> squares;
};

struct Input {
  std::string name;
  std::vector<Series> series;
};

Input captured() {
  const Trace trace = testing::captured_trace();
  Input input{"captured", {}};
  for (std::size_t rank = 0; rank < trace.ranks(); ++rank) {
    for (std::size_t i = 0; i < trace.tensors().size(); ++i) {
      const TraceTensor& tensor = trace.tensors()[i];
      Series series{{tensor.name, tensor.shape, tensor.elements}, static_cast<int>(rank), {}, {}};
      for (std::size_t step = 0; step < kQualitySteps; ++step) {
        const auto g = trace.gradient(rank, step % trace.steps(), i);
        const auto q = trace.squares(rank, step % trace.steps(), i);
        series.gradients[step].assign(g.begin(), g.end());
        series.squares[step].assign(q.begin(), q.end());
      }
      input.series.push_back(std::move(series));
    }
  }
  return input;
}

Input drawn(const std::string& distribution) {
  constexpr std::size_t kElements = 10000;
  Series series{{"layer.weight", testing::matrix_shape(kElements), kElements}, 0, {}, {}};
  for (std::uint64_t step = 0; step < kQualitySteps; ++step) {
    series.gradients[step] = drawn(distribution, kElements, step);
    series.squares[step] = testing::squares_of(series.gradients[step]);
  }
  return {distribution, {series}};
}

std::string row(const std::string& spec, const Input& input) {
  std::size_t bytes = 0;
  std::size_t elements = 0;  // of all exchanges
  std::size_t selected = 0;
  std::size_t target = 0;
  Distortion distortion;
  std::uint32_t digest = 0;
  for (const Series& series : input.series) {
    const auto compressor = make_compressor(parse_spec(spec), series.tensor, {.rank = series.rank});
    std::vector<std::byte> room(compressor->max_encoded_size());
    for (std::uint64_t step = 0; step < kQualitySteps; ++step) {
      const GradientInput gradient{
          .values = series.gradients[step], .squares = series.squares[step], .step = step};
      if ((step + 1) % compressor->period() != 0) {
        compressor->hold(gradient);
        continue;
      }
      const EncodeReport report = compressor->encode(gradient, room);
      const auto payload = std::span(room).first(report.encoded_bytes);
      const auto decoded = testing::decode(*compressor, payload);
      digest = crc32c(std::as_bytes(std::span(decoded)), digest);
      distortion += compressor->distortion(gradient, payload);
      bytes += report.encoded_bytes;
      elements += compressor->elements();
      selected += report.selected_elements;
      target += report.target_elements;
    }
  }
  const std::string estimation =
      target == 0
          ? "-"
          : fmt::format("{:.5g}", static_cast<double>(selected) / static_cast<double>(target));
  return fmt::format("\"{}\",{},{},{},{:.5g},{:.5g},{:08x}\n", spec, input.name, bytes, estimation,
                     8 * static_cast<double>(bytes) / static_cast<double>(elements),
                     distortion.relative(), digest);
}

/// The registry's names that no spec of all_specs() stands for come first, with their defaults.
std::vector<std::string> specs() {
  std::set<std::string> covered;
  for (const std::string& spec : testing::all_specs()) covered.insert(parse_spec(spec).name);
  std::vector<std::string> result;
  for (const MethodInfo& method : methods()) {
    if (!covered.contains(method.name) && method.name != "skeleton") result.push_back(method.name);
  }
  result.insert(result.end(), testing::all_specs().begin(), testing::all_specs().end());
  return result;
}

TEST(Golden, Quality) {
  std::vector<Input> inputs{captured()};
  for (const char* name : {"laplace", "normals", "pareto", "normal"}) inputs.push_back(drawn(name));
  // `bytes` of all payloads; k-hat / k over all exchanges; bits an element and exchange; error:
  // |decoded - c| / |c| over all exchanges; `digest`: CRC-32C of everything decoded.
  std::string csv = "spec,input,bytes,estimation,bits,error,digest\n";
  for (const std::string& spec : specs()) {
    for (const Input& input : inputs) csv += row(spec, input);
  }
  testing::expect_golden("golden_quality.csv", csv);
}

TEST(Golden, DrawsAreOfTheirDistribution) {
  // Mean magnitude and mean square of 100,000, within five standard errors of the mean magnitude.
  const auto mean = [](const std::vector<float>& values, int power) {
    double sum = 0;
    for (float value : values) sum += std::pow(std::fabs(static_cast<double>(value)), power);
    return sum / static_cast<double>(values.size());
  };
  struct Case {
    const char* name;
    double magnitude;
    double square;
    double fourth;
  };
  // The fourth moment of the Pareto distribution of shape 1/4 is infinite, the mean square of a
  // sample anything.
  for (const Case& expected :
       {Case{"laplace", 1, 2, 24}, Case{"normal", std::sqrt(2 / std::numbers::pi), 1, 3},
        Case{"normals", 2 / std::numbers::pi, 1, 9}, Case{"pareto", 4.0 / 3, 16.0 / 3, 0}}) {
    const auto values = drawn(expected.name, 100000, 1);
    const double deviation = std::sqrt(expected.square - std::pow(expected.magnitude, 2));
    EXPECT_NEAR(mean(values, 1), expected.magnitude, 5 * deviation / std::sqrt(1e5));
    if (expected.fourth > 0) {
      EXPECT_NEAR(mean(values, 2), expected.square,
                  5 * std::sqrt((expected.fourth - std::pow(expected.square, 2)) / 1e5));
    }
    double sum = 0;
    for (float value : values) sum += static_cast<double>(value);
    EXPECT_NEAR(sum / 1e5, 0, 5 * std::sqrt(expected.square / 1e5));
  }
}

}  // namespace
}  // namespace thinpipe
