// The mean of what a stochastic method decodes to is the input, within five standard errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

/// Every stochastic method as it is unbiased: without clipping, truncation or a memory. Methods
/// that have a `rounding` are found by themselves.
std::vector<std::string> unbiased_specs() {
  std::vector<std::string> specs = {"stoch3",
                                    "terngrad:sigma=0",
                                    "terngrad:bucket=100,shared=false,sigma=0",
                                    "qsgd",
                                    "qsgd:bits=2,bucket=100",
                                    "qsgd:coding=elias",
                                    "natural",
                                    "randomk:ratio=0.3,scale=true",
                                    "thc:block=64,range=8",
                                    "thc:bits=8,block=64,range=8"};
  for (const MethodInfo& method : methods()) {
    for (const ParameterInfo& parameter : method.parameters) {
      if (parameter.name == "rounding") specs.push_back(method.name + ":rounding=stochastic");
    }
  }
  return specs;
}

/// No value near 0, which would hardly ever be sent; in every 16 a greatest one of 3 = 1.5 * 2,
/// which every block format can hold: MXFP4's scale, a power of two, clamps what is above 1.5 of
/// one.
std::vector<float> input(std::size_t n) {
  std::vector<float> x = testing::bell(n, 3);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = std::clamp(x[i] + std::copysign(0.5F, x[i]), -3.0F, 3.0F);
    if (i % 16 == 0) x[i] = std::copysign(3.0F, x[i]);
  }
  return x;
}

TEST(Unbiased, EveryStochasticMethodWithinFiveStandardErrors) {
  constexpr std::size_t kElements = 300;
  constexpr std::uint64_t kSteps = 3000;
  const auto gradient = input(kElements);
  for (const std::string& text : unbiased_specs()) {
    SCOPED_TRACE(text);
    Spec spec = parse_spec(text);
    spec.values["memory"] = "none";
    const auto compressor = testing::make(spec.to_string(), kElements);
    std::vector<double> sum(kElements);
    std::vector<double> squares(kElements);
    double event = 0;
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      const auto decoded =
          testing::decode(*compressor, testing::encode(*compressor, gradient, step).payload);
      for (std::size_t i = 0; i < kElements; ++i) {
        const double error = static_cast<double>(decoded[i]) - static_cast<double>(gradient[i]);
        sum[i] += error;
        squares[i] += error * error;
        event = std::max(event, std::fabs(error));
      }
    }
    double all = 0;
    double all_squares = 0;
    for (std::size_t i = 0; i < kElements; ++i) {
      // A rare event, as natural's rounding up of what is hardly above a power of two, that is
      // expected 12 times stays out with e^-12, and then has no sample variance; the last term is
      // for roundings of the arithmetic itself.
      EXPECT_LE(std::fabs(sum[i]), 5 * std::sqrt(squares[i]) + 12 * event + 1e-6 * kSteps) << i;
      all += sum[i];
      all_squares += squares[i];
    }
    EXPECT_GT(all_squares, 0);  // it is stochastic
    // Elements of one rotated block, and the positions of random-k, are not independent: their
    // errors may add up instead of averaging out.
    const bool dependent = spec.name == "thc" || spec.name == "randomk";
    if (!dependent) {
      EXPECT_LE(std::fabs(all), 5 * std::sqrt(all_squares) + 1e-6 * kSteps);
    }
  }
}

}  // namespace
}  // namespace thinpipe
