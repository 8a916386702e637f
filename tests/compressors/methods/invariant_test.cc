// Promises over many steps: memories (SBC Theorem II.1), checkpoints, allocations, and a mean
// without bias.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "tests/compressors/support/allocations.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/laws.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

using testing::all_specs;
using testing::decode;
using testing::encode;
using testing::make;

constexpr std::size_t kInvariant = 3001;
constexpr std::uint64_t kInvariantSteps = 100;

std::vector<float> gradient_of(std::uint64_t step) {
  return testing::heavy(kInvariant, 100 + step);
}

TEST(Invariant, TopKContracts) {
  // |topk(x) - x|^2 <= (1 - k / d) |x|^2: no element that is left out is greater than one that is
  // sent.
  for (const auto& [name, x] : testing::finite_inputs()) {
    if (x.empty()) continue;
    SCOPED_TRACE(name);
    for (const char* ratio : {"0.001", "0.1", "0.7", "1"}) {
      const auto compressor = make(std::string("topk:memory=none,ratio=") + ratio, x.size());
      const auto encoded = encode(*compressor, x);
      const double error = testing::distance_of(decode(*compressor, encoded.payload), x);
      const double share =
          static_cast<double>(encoded.report.selected_elements) / static_cast<double>(x.size());
      EXPECT_LE(error * error, (1 - share) * std::pow(testing::norm_of(x), 2) * (1 + 1e-12));
    }
  }
}

TEST(Invariant, MomentumWithoutMaskingLosesNothing) {
  // Sum of the velocities u_t of plain momentum = decoded + v.
  for (bool nesterov : {false, true}) {
    const auto compressor =
        make(std::string("dgc:ratio=0.01,masking=false,nesterov=") + (nesterov ? "true" : "false"),
             kInvariant);
    std::vector<double> velocity(kInvariant, 0.0);
    std::vector<double> inputs(kInvariant, 0.0);
    std::vector<double> decoded(kInvariant, 0.0);
    std::vector<double> scale(kInvariant, 0.0);
    for (std::uint64_t step = 0; step < kInvariantSteps; ++step) {
      const auto gradient = gradient_of(step);
      const auto values = testing::sent_values(*compressor, gradient, step);
      for (std::size_t i = 0; i < kInvariant; ++i) {
        const auto g = static_cast<double>(gradient[i]);
        velocity[i] = nesterov ? 0.9F * (velocity[i] + g) : 0.9F * velocity[i] + g;
        inputs[i] += nesterov ? velocity[i] + g : velocity[i];
        decoded[i] += static_cast<double>(values[i]);
        scale[i] += 10 * std::fabs(g) + std::fabs(static_cast<double>(values[i]));
      }
    }
    const auto left = testing::floats_of_state(*compressor, kInvariant);
    for (std::size_t i = 0; i < kInvariant; ++i) {
      ASSERT_NEAR(inputs[i], decoded[i] + static_cast<double>(left[i]),
                  8 * static_cast<double>(kInvariantSteps) * 0x1p-24 * scale[i]);
    }
  }
}

TEST(Invariant, DgcIsTheAlgorithmOfThePaper) {
  // DGC computes u = m u + g, then v = v + u. A position that is sent carries exactly v; afterwards
  // u and v are 0 at this position.
  for (bool masking : {false, true}) {
    const auto compressor =
        make(std::string("dgc:ratio=0.02,masking=") + (masking ? "true" : "false"), kInvariant);
    std::vector<float> u(kInvariant, 0.0F);
    std::vector<float> v(kInvariant, 0.0F);
    for (std::uint64_t step = 0; step < kInvariantSteps; ++step) {
      const auto gradient = gradient_of(step);
      const auto encoded = encode(*compressor, gradient, step);
      const auto values = decode(*compressor, encoded.payload);
      std::size_t sent = 0;
      for (std::size_t i = 0; i < kInvariant; ++i) {
        const float kept = 0.9F * u[i];
        u[i] = kept + gradient[i];
        v[i] = v[i] + u[i];
        if (values[i] == 0) {
          ASSERT_LE(static_cast<double>(std::fabs(v[i])), encoded.report.threshold * (1 + 1e-6));
          continue;
        }
        ASSERT_EQ(values[i], v[i]);
        ++sent;
        v[i] = 0;
        if (masking) u[i] = 0;
      }
      ASSERT_EQ(sent, encoded.report.selected_elements);
    }
  }
}

TEST(Invariant, DelayedExchangeIsOfTheSum) {
  // A delay of 3 accumulates 3 gradients. If every element is sent, each period's payload decodes
  // to the sum of its 3 gradients.
  for (const char* spec : {"topk:ratio=1,delay=3", "topk:ratio=1,delay=3,memory=none",
                           "3lc:delay=3", "sbc:delay=3,p=1"}) {
    const auto compressor = make(spec, 4);
    EXPECT_EQ(compressor->period(), 3U);
    const std::vector<float> gradient = {4, 4, 4, 4};
    for (int period = 0; period < 2; ++period) {
      compressor->hold({.values = gradient, .squares = {}});
      compressor->hold({.values = gradient, .squares = {}});
      EXPECT_EQ(testing::sent_values(*compressor, gradient), std::vector<float>(4, 12.0F)) << spec;
    }
  }
  const std::vector<float> gradient(4);
  EXPECT_THROW(make("none", 4)->hold({.values = gradient, .squares = {}}), std::logic_error);
}

// After the first step nothing is allocated: no page fault of a fresh buffer enters a measurement.

TEST(Allocation, NoneAfterTheFirstStep) {
  if (!testing::counts_allocations()) GTEST_SKIP() << "the sanitizer's operator new is in use";
  constexpr std::size_t kElements = 50000;
  std::vector<std::vector<float>> gradients;
  for (std::uint64_t step = 0; step < 8; ++step) {
    gradients.push_back(testing::heavy(kElements, step));
  }
  gradients.emplace_back(kElements, 1.0F);  // everything ties: the worst case of most buffers
  std::vector<std::vector<float>> squares;
  for (const auto& gradient : gradients) squares.push_back(testing::squares_of(gradient));
  for (const std::string& spec : testing::all_specs()) {
    const auto compressor = testing::make(spec, kElements);
    std::vector<std::byte> payload(compressor->max_encoded_size());
    std::vector<float> out(kElements);
    std::size_t before = 0;
    for (std::size_t step = 0; step < gradients.size(); ++step) {
      if (step == 1) before = testing::allocations();
      const auto report = compressor->encode(
          {.values = gradients[step], .squares = squares[step], .step = step, .epoch = 0}, payload);
      compressor->decode_add(std::span(payload).first(report.encoded_bytes), 1.0F, out);
    }
    EXPECT_EQ(testing::allocations() - before, 0U) << spec;
  }
  // The counter counts the library's allocations too.
  const std::size_t before = testing::allocations();
  testing::make("topk", 10);
  EXPECT_GT(testing::allocations(), before);
}

TEST(State, ARestoredCompressorGoesOnAlike) {
  for (const std::string& spec : all_specs()) {
    SCOPED_TRACE(spec);
    const auto original = make(spec, 1003);
    for (std::uint64_t step = 0; step < 7; ++step) {
      encode(*original, testing::heavy(1003, step), step);
    }
    const auto state = testing::state_of(*original);
    const auto restored = make(spec, 1003);
    encode(*restored, testing::heavy(1003, 50));  // its earlier state is replaced
    restored->load_state(state);
    for (std::uint64_t step = 7; step < 14; ++step) {
      const auto gradient = testing::heavy(1003, step);
      ASSERT_EQ(encode(*restored, gradient, step).payload,
                encode(*original, gradient, step).payload);
    }
  }
}

TEST(State, ResetForgetsEverything) {
  for (const std::string& spec : all_specs()) {
    SCOPED_TRACE(spec);
    const auto used = make(spec, 1003);
    for (std::uint64_t step = 0; step < 12; ++step) encode(*used, testing::heavy(1003, step), step);
    used->reset();
    const auto fresh = make(spec, 1003);
    for (std::uint64_t step = 0; step < 6; ++step) {
      const auto gradient = testing::heavy(1003, step);
      ASSERT_EQ(encode(*used, gradient, step).payload, encode(*fresh, gradient, step).payload);
    }
  }
}

TEST(State, RefusesWhatIsNotItsOwn) {
  const auto state = testing::state_of(*make("topk", 100));
  const auto refused = [](const std::string& spec, std::size_t elements, const std::string& name,
                          std::span<const std::byte> bytes) {
    const auto compressor = make(spec, elements, name);
    EXPECT_THROW(compressor->load_state(bytes), InputError);
  };
  EXPECT_NO_THROW(make("topk", 100)->load_state(state));
  EXPECT_NO_THROW(make("topk:ratio=0.01", 100)->load_state(state));  // the default, spelt out
  refused("topk:ratio=0.02", 100, "layer.weight", state);
  refused("dgc", 100, "layer.weight", state);
  refused("topk", 101, "layer.weight", state);
  refused("topk", 100, "layer.bias", state);
  for (std::size_t size = 0; size < state.size(); size += size < 140 ? 1 : 37) {
    refused("topk", 100, "layer.weight", std::span(state).first(size));
  }
  auto longer = state;
  longer.push_back(std::byte{0});
  refused("topk", 100, "layer.weight", longer);
  const std::size_t flag = state.size() - 100 * sizeof(float) - 1;  // neither 0 nor 1
  for (const auto& [at, value] : {std::pair{std::size_t{0}, 0}, {std::size_t{4}, 2}, {flag, 2}}) {
    auto other = state;
    other[at] = static_cast<std::byte>(value);
    refused("topk", 100, "layer.weight", other);
  }
}

// The mean of a stochastic method's decoded values is the input, within five standard errors.

/// Returns specs of every stochastic method with settings under which it is unbiased: without
/// clipping, truncation or a memory. Methods that have a `rounding` are found automatically.
std::vector<std::string> unbiased_specs() {
  std::vector<std::string> specs = words_in(R"(
      stoch3 terngrad:sigma=0 terngrad:bucket=100,shared=false,sigma=0 qsgd qsgd:bits=2,bucket=100
      qsgd:coding=elias natural randomk:ratio=0.3,scale=true thc:block=64,range=8
      thc:bits=8,block=64,range=8)");
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

/// Returns an input without values near 0, because such values would hardly ever be sent. In every
/// 16 values the greatest magnitude is 3.99, just below a power of two: scales that are powers of
/// two must not clamp it.
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
      errors.add(testing::sent_values(*compressor, gradient, step), gradient);
    }
    // Elements of one rotated block, and the positions of random-k, are not independent: their
    // errors may add up instead of averaging out.
    const bool independent = spec.name != "thc" && spec.name != "randomk";
    errors.expect_unbiased(1e-6, independent);
  }
}

}  // namespace

}  // namespace thinpipe
