// The mean of what a stochastic method decodes to is the input, within five standard errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"
#include "tests/compressors/support/unbiased.h"

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
      if (parameter.name != "rounding") continue;
      for (const char* scale : {"f32", "f16", "e8m0"}) {
        specs.push_back(method.name + ":rounding=stochastic,scale=" + scale);
      }
    }
  }
  return specs;
}

/// No value near 0, which would hardly ever be sent; in every 16 a greatest one of 3.99, hardly
/// below a power of two: scales that are powers of two must not clamp it.
std::vector<float> input(std::size_t n) {
  std::vector<float> x = testing::bell(n, 3);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = std::clamp(x[i] + std::copysign(0.5F, x[i]), -3.99F, 3.99F);
    if (i % 16 == 0) x[i] = std::copysign(3.99F, x[i]);
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
    testing::ErrorSums errors(kElements);
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      const auto payload = testing::encode(*compressor, gradient, step).payload;
      errors.add(testing::decode(*compressor, payload), gradient);
    }
    // Elements of one rotated block, and the positions of random-k, are not independent: their
    // errors may add up instead of averaging out.
    const bool independent = spec.name != "thc" && spec.name != "randomk";
    errors.expect_unbiased(1e-6, independent);
  }
}

}  // namespace
}  // namespace thinpipe
