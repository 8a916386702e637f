// Compares figures of every method with committed CSV files, and tests SIDCo on a captured trace.
// THINPIPE_UPDATE_GOLDEN=1 rewrites the files instead, so that their diff can be reviewed.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numbers>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "compressors/kernels/random.h"
#include "compressors/wire/checks.h"
#include "tests/base/support.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"
#include "workloads/trace/trace.h"

namespace thinpipe {
namespace {

using testing::encode;
using testing::make;

/// tests/, wherever the checkout is.
std::filesystem::path tests_folder() {
  return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
}

/// @param name  of a file in tests/compressors/
void expect_golden(const std::string& name, const std::string& measured) {
  const auto path = tests_folder() / "compressors" / name;
  if (std::getenv("THINPIPE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << measured;
    GTEST_SKIP() << "rewrote " << path;
  }
  std::ifstream expected_lines(path);
  ASSERT_TRUE(expected_lines) << path;
  std::istringstream lines(measured);
  std::string expected;
  std::string line;
  while (std::getline(lines, line)) {
    std::getline(expected_lines, expected);
    EXPECT_EQ(line, expected);
  }
  EXPECT_FALSE(std::getline(expected_lines, expected)) << "the file has more lines: " << expected;
}

/// tests/data/README.md describes how the trace was made.
Trace captured_trace() { return Trace(tests_folder() / "data" / "lenet5"); }

std::string measured_sizes() {
  constexpr std::size_t kLengths[] = {0, 1, 64, 10000, 270896};
  constexpr std::uint64_t kSteps = 12;
  std::map<std::size_t, std::vector<std::vector<float>>> gradients;
  std::map<std::size_t, std::vector<std::vector<float>>> squares;
  for (std::size_t n : kLengths) {
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      gradients[n].push_back(testing::heavy(n, 7 + step));
      squares[n].push_back(testing::squares_of(gradients[n].back()));
    }
  }
  std::ostringstream csv;
  csv << "spec,elements,step,bytes,selected\n";
  for (const std::string& spec : testing::all_specs()) {
    for (std::size_t n : kLengths) {
      const auto compressor = make(spec, n);
      std::vector<std::byte> payload(compressor->max_encoded_size());
      for (std::uint64_t step = 0; step < kSteps; ++step) {
        const auto report = compressor->encode(
            {.values = gradients[n][step], .squares = squares[n][step], .step = step}, payload);
        if (step != 0 && step != kSteps - 1) continue;
        // Commas separate keys as well as columns.
        csv << '"' << spec << "\"," << n << ',' << step << ',' << report.encoded_bytes << ','
            << report.selected_elements << '\n';
      }
    }
  }
  return csv.str();
}

TEST(Golden, SizesOfPayloads) { expect_golden("golden_sizes.csv", measured_sizes()); }

TEST(Golden, ZerosPackTwoHundredAndEightyFold) {
  // 3LC section 3.3: 70 zeros are packed into 14 bytes of value 121, which zero-run encoding
  // replaces by one byte. The scale takes 4 more bytes.
  constexpr std::size_t kElements = 70 * 1000;
  const auto compressor = make("3lc", kElements);
  const auto encoded = encode(*compressor, std::vector<float>(kElements, 0.0F));
  EXPECT_EQ(encoded.report.encoded_bytes - 4, kElements * sizeof(float) / 280);
  EXPECT_EQ(encoded.report.selected_elements, 0U);
}

TEST(Golden, QuarticTakesOnePointSixBits) {
  // 3LC table 2, "no ZRE": 32 / 1.6 = 20-fold.
  const auto compressor = make("3lc:zre=false", 10000);
  EXPECT_EQ(encode(*compressor, testing::bell(10000, 1)).report.encoded_bytes, 4U + 2000U);
}

TEST(Golden, ThreeLcDecodesToThreeValues) {
  const auto compressor = make("3lc:s=1.5", 6);
  const std::vector<float> gradient = {2, -1.5, 1.49, 0, -2, 0.1};
  // The scale is M = 3. Halves are rounded away from zero: -1.5 / 3 = -0.5 gives -1, and 1.49 / 3
  // gives 0.
  EXPECT_EQ(testing::sent_values(*compressor, gradient), (std::vector<float>{3, -3, 0, 0, -3, 0}));
  // The residual (-1, 1.5, 1.49, 0, 1, 0.1) alone: M = 2.25.
  EXPECT_EQ(testing::sent_values(*compressor, std::vector<float>(6, 0.0F)),
            (std::vector<float>{0, 2.25, 2.25, 0, 0, 0}));
}

TEST(Golden, SparsePayloadByHand) {
  // Two of five: count 2, values -3 and 4, positions 1 and 4.
  EXPECT_EQ(testing::first_payload("topk:ratio=0.4", {1, -3, 2, 0, 4}),
            bytes_of({2, 0, 0, 0x40, 0xc0, 0, 0, 0x80, 0x40, 1, 0, 0, 0, 4, 0, 0, 0}));
}

TEST(Golden, BinaryPayloadByHand) {
  // SBC with k = 2 of 10 elements: the smallest, -3 and -5 with mean -4, outweigh 1 and 2. The
  // payload has the count 2, the value -4, b = 2 (density 0.2: ln(0.618) / ln(0.8) = 2.157, b = 1 +
  // 1), and gaps of 2 and 4 zeros. 2 = quotient 0, remainder 2: 1, 01; 4 = quotient 1, remainder 0:
  // 01, 00. Lowest bit first: 101 0100.
  EXPECT_EQ(testing::first_payload("sbc:p=0.2", {1, 2, -3, 0, 0, 0, 0, -5, 0, 0}),
            bytes_of({2, 0, 0, 0x80, 0xc0, 2, 0b00010101}));
}

// SIDCo's stage adaptation on gradients of a training run.

constexpr std::uint64_t kSettled = 120;
constexpr std::uint64_t kCapturedSteps = 720;

/// Returns the mean of selected over requested elements (k-hat / k) for the last layer's weights on
/// both ranks. The mean is over 600 compressions, after 120 for the adaptation.
double captured_share(const std::string& spec) {
  static const Trace trace = captured_trace();
  std::size_t tensor = 0;
  while (trace.tensors()[tensor].name != "ip2.weight") ++tensor;
  double sum = 0;
  for (std::size_t rank = 0; rank < trace.ranks(); ++rank) {
    const auto compressor = testing::make(spec, trace.tensors()[tensor].elements);
    for (std::uint64_t step = 0; step < kCapturedSteps; ++step) {
      const auto gradient = trace.gradient(rank, step % trace.steps(), tensor);
      const auto report = testing::encode(*compressor, gradient, step).report;
      if (step < kSettled) continue;
      sum += static_cast<double>(report.selected_elements) /
             static_cast<double>(report.target_elements);
    }
  }
  return sum / static_cast<double>(trace.ranks() * (kCapturedSteps - kSettled));
}

// Without a memory: the recorded steps come again and again.
std::string sidco(const char* adapt, const char* dist, const char* ratio,
                  const char* memory = "none") {
  return fmt::format("sidco:memory={},adapt={},dist={},ratio={}", memory, adapt, dist, ratio);
}

TEST(Captured, StageAdaptationBringsTheCountIntoTheBand) {
  for (const char* ratio : {"0.1", "0.01", "0.001"}) {
    for (const char* dist : {"exp", "gpareto"}) {
      EXPECT_NEAR(captured_share(sidco("climb", dist, ratio)), 1, 0.2) << dist << ratio;
    }
  }
  for (const char* ratio : {"0.01", "0.001"}) {
    EXPECT_NEAR(captured_share(sidco("climb", "gamma", ratio)), 1, 0.2);
  }
  // Two is the best number of stages and selects 0.805 k on average, so that single means over Q
  // compressions leave the band again. Three and four stages select 0.78 k and 0.77 k.
  EXPECT_NEAR(captured_share(sidco("climb", "gamma", "0.1")), 1, 0.25);
}

TEST(Captured, StageAdaptationBringsTheCountIntoTheBandWithAResidual) {
  for (const char* ratio : {"0.1", "0.01", "0.001"}) {
    for (const char* dist : {"exp", "gamma", "gpareto"}) {
      const double share = captured_share(sidco("climb", dist, ratio, "residual"));
      const bool none_fits =
          // One stage selects 1.2 k, more of them more.
          (dist == std::string("gamma") && ratio == std::string("0.1")) ||
          // Four stages select 0.2 k, five 2.3 k: the adaptation goes to and fro.
          (dist == std::string("exp") && ratio == std::string("0.001"));
      EXPECT_NEAR(share, 1, none_fits ? 0.5 : 0.2) << dist << ratio;
    }
  }
}

TEST(Captured, ClimbingIsAsGoodAsThePapersRule) {
  for (const char* memory : {"none", "residual"}) {
    for (const char* ratio : {"0.1", "0.01", "0.001"}) {
      for (const char* dist : {"exp", "gamma", "gpareto"}) {
        const double paper = captured_share(sidco("paper", dist, ratio, memory));
        const double climb = captured_share(sidco("climb", dist, ratio, memory));
        // With a residual neither ever rests: means of two ranks' 600 steps differ by some percent.
        EXPECT_LE(std::fabs(climb - 1), std::fabs(paper - 1) + 0.06) << memory << dist << ratio;
      }
    }
  }
}

TEST(Captured, ThePapersRuleStaysAboveTheBandWhereTailsAreHeavy) {
  // One stage selects too many; the rule would use fewer stages still, and one is the minimum.
  EXPECT_NEAR(captured_share(sidco("paper", "exp", "0.01")), 3.2, 0.1);
  EXPECT_NEAR(captured_share(sidco("paper", "exp", "0.1")), 1.28, 0.05);
  EXPECT_NEAR(captured_share(sidco("paper", "gpareto", "0.1")), 1.26, 0.05);
  // Where one stage fits or selects too few, the rule comes to the band.
  EXPECT_NEAR(captured_share(sidco("paper", "gpareto", "0.01")), 1, 0.2);
  EXPECT_NEAR(captured_share(sidco("paper", "gamma", "0.01")), 1, 0.2);
}

// Exact draws from distributions by comparing uniforms alone: no logarithm, so the same bits on
// every machine.

/// Uniform in [0, 1), 53 bits.
double unit(SplitMix64& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

/// Returns true with probability e^-z, 0 <= z <= 1 (von Neumann, 1951). Draws uniforms while each
/// is below the one before, the first below z. Returns whether their number is even. Their number
/// is n or more with probability z^n / n!.
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

/// Draws from the standard normal distribution (Karney, 2016, algorithm N). Draws k with a
/// probability proportional to e^(-k^2 / 2), then x in [0, 1), which it accepts with probability
/// e^(-x (2 k + x) / 2).
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

/// Draws from `laplace`, `normals` (the product of two normals), `pareto` (generalised, shape 1/4)
/// and `normal`; unit scale.
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
  const Trace trace = captured_trace();
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
  // Columns: `bytes` of all payloads; `estimation`, k-hat / k over all exchanges; `bits` per
  // element and exchange; `error`, |decoded - c| / |c| over all exchanges; `digest`, the CRC-32C of
  // all decoded values.
  std::string csv = "spec,input,bytes,estimation,bits,error,digest\n";
  for (const std::string& spec : specs()) {
    for (const Input& input : inputs) csv += row(spec, input);
  }
  expect_golden("golden_quality.csv", csv);
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
  // The Pareto distribution of shape 1/4 has an infinite fourth moment, so the mean square of a
  // sample may be anything. The test does not check it.
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
