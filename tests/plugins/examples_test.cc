// The plug-ins of examples/plugins against their formulas, with the parts of a pipeline that
// thinpipe adds.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/compressors/support/allocations.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/laws.h"
#include "tests/plugins/loaded.h"

namespace thinpipe {
namespace {

using testing::bits;
using testing::decode;
using testing::encode;
using testing::make_loaded;

const char* const kSpecs[] = {
    "example-sign",         "example-sign:memory=none",
    "example-sign:delay=3", "example-sign:memory=momentum,clip=1",
    "example-stride:n=7",   "example-stride:n=1000000,memory=none",
    "example-stride:n=3",   "example-stride:memory=ef21,n=4",
    "test-momentum",
};

/// decoded = +-mean |x|, the sign of x, + for zeros.
std::vector<float> plain_sign(const std::vector<float>& x) {
  double sum = 0;
  for (float value : x) sum += std::fabs(static_cast<double>(value));
  const auto mean = static_cast<float>(x.empty() ? 0 : sum / static_cast<double>(x.size()));
  std::vector<float> decoded;
  for (float value : x) decoded.push_back(value < 0 ? -mean : mean);
  return decoded;
}

TEST(Examples, SignIsItsFormula) {
  for (const auto& [name, x] : testing::finite_inputs()) {
    SCOPED_TRACE(name);
    const auto compressor = make_loaded("example-sign:memory=none", x.size());
    const auto encoded = encode(*compressor, x);
    EXPECT_EQ(encoded.payload.size(), 4 + (x.size() + 7) / 8);
    EXPECT_EQ(decode(*compressor, encoded.payload), plain_sign(x));
  }
}

TEST(Examples, StrideIsItsFormula) {
  for (const auto& [name, x] : testing::finite_inputs()) {
    SCOPED_TRACE(name);
    const auto compressor = make_loaded("example-stride:n=3,memory=none", x.size());
    for (std::uint64_t step = 0; step < 4; ++step) {
      std::vector<float> expected(x.size(), 0.0F);
      for (std::size_t i = 0; i < x.size(); ++i)
        if (i % 3 == step % 3) expected[i] = 0.0F + x[i];
      const auto encoded = encode(*compressor, x, step);
      EXPECT_EQ(bits(decode(*compressor, encoded.payload)), bits(expected));
      EXPECT_EQ(encoded.payload.size(), 4 + 4 * encoded.report.selected_elements);
    }
  }
}

TEST(Examples, DecodingAddsWithAFactor) {
  const auto compressor = make_loaded("example-sign:memory=none", 2);
  const auto encoded = encode(*compressor, std::vector<float>{1, -3});
  std::vector<float> out = {10, 20};
  compressor->decode_add(encoded.payload, 0.5F, out);
  EXPECT_EQ(out, (std::vector<float>{11, 19}));  // a mean of 2, halved
}

TEST(Examples, WhatIsNotFiniteStillDecodes) {
  for (const char* spec : kSpecs) {
    for (const auto& [name, x] : testing::non_finite_inputs()) {
      SCOPED_TRACE(std::string(spec) + ", " + name);
      const auto compressor = make_loaded(spec, x.size());
      EXPECT_NO_THROW(decode(*compressor, encode(*compressor, x).payload));
      const std::vector<float> zeros(x.size(), 0.0F);
      EXPECT_NO_THROW(decode(*compressor, encode(*compressor, zeros, 1).payload));
    }
  }
}

TEST(Examples, BadPayloadsAreRefused) {
  SplitMix64 random(3);
  for (const char* spec : kSpecs) {
    SCOPED_TRACE(spec);
    const auto compressor = make_loaded(spec, 100);
    const auto good = encode(*compressor, testing::heavy(100, 1)).payload;
    for (std::size_t size = 0; size < good.size(); ++size)
      EXPECT_THROW(decode(*compressor, std::span(good).first(size)), PayloadError) << size;
    for (int trial = 0; trial < 200; ++trial) {
      std::vector<std::byte> payload(random.below(120));
      for (std::byte& byte : payload) byte = static_cast<std::byte>(random.below(256));
      try {
        decode(*compressor, payload);
      } catch (const PayloadError&) {
      }
    }
  }
}

TEST(Examples, InputsAreDecodedOrStillInTheResidual) {
  constexpr std::size_t kElements = 500;
  constexpr std::uint64_t kSteps = 100;
  for (const char* spec : {"example-sign", "example-stride:n=7", "example-sign:delay=4"}) {
    SCOPED_TRACE(spec);
    const auto compressor = make_loaded(spec, kElements);
    const testing::Accounts accounts(*compressor, kSteps);
    // The residual is the end of the state.
    accounts.expect_balance(testing::floats_of_state(*compressor, kElements));
  }
}

TEST(Examples, Ef21SendsChanges) {
  const auto compressor = make_loaded("example-stride:n=1,memory=ef21", 3);
  EXPECT_TRUE(compressor->incremental());
  const std::vector<float> gradient = {1, 2, 4};
  EXPECT_EQ(decode(*compressor, encode(*compressor, gradient).payload), gradient);
  EXPECT_EQ(decode(*compressor, encode(*compressor, gradient).payload),
            (std::vector<float>{0, 0, 0}));
}

TEST(Examples, ARestoredOneGoesOnAlikeAndAResetOneAfresh) {
  for (const char* spec : kSpecs) {
    SCOPED_TRACE(spec);
    const auto original = make_loaded(spec, 300);
    for (std::uint64_t step = 0; step < 5; ++step)
      encode(*original, testing::heavy(300, step), step);
    std::vector<std::byte> state = testing::state_of(*original);
    const auto restored = make_loaded(spec, 300);
    encode(*restored, testing::heavy(300, 50));
    restored->load_state(state);
    const auto fresh = make_loaded(spec, 300);
    const auto used = make_loaded(spec, 300);
    encode(*used, testing::heavy(300, 60));
    used->reset();
    for (std::uint64_t step = 5; step < 9; ++step) {
      const auto gradient = testing::heavy(300, step);
      ASSERT_EQ(encode(*restored, gradient, step).payload,
                encode(*original, gradient, step).payload);
      ASSERT_EQ(encode(*used, gradient, step).payload, encode(*fresh, gradient, step).payload);
    }
    state.pop_back();
    EXPECT_THROW(restored->load_state(state), InputError);
  }
}

TEST(Examples, APlugInMayRefuseAState) {
  const auto compressor = make_loaded("test-momentum", 1);
  std::vector<std::byte> state = testing::state_of(*compressor);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(state.data() + state.size() - 4, &nan, 4);
  EXPECT_EQ(input_error([&] { compressor->load_state(state); })
                .find("plug-in '" + testing::test_plugin("momentum") +
                      "', method 'test-momentum': load refused its input: a mean is NaN"),
            0U);
}

TEST(Examples, NothingIsAllocatedAfterTheFirstStep) {
  if (!testing::counts_allocations()) GTEST_SKIP() << "the sanitizer's operator new is in use";
  const auto gradient = testing::heavy(5000, 1);
  for (const char* spec : kSpecs) {
    const auto compressor = make_loaded(spec, gradient.size());
    std::vector<std::byte> payload(compressor->max_encoded_size());
    std::vector<float> out(gradient.size());
    std::size_t before = 0;
    for (std::uint64_t step = 0; step < 4; ++step) {
      if (step == 1) before = testing::allocations();
      const auto report =
          compressor->encode({.values = gradient, .squares = {}, .step = step}, payload);
      compressor->decode_add(std::span(payload).first(report.encoded_bytes), 1.0F, out);
    }
    EXPECT_EQ(testing::allocations() - before, 0U) << spec;
  }
}

TEST(Examples, SizesMustFit) {
  const auto compressor = make_loaded("example-sign", 10);
  std::vector<std::byte> payload(compressor->max_encoded_size());
  const std::vector<float> short_gradient(9), gradient(10);
  EXPECT_THROW(encode(*compressor, short_gradient), InputError);
  EXPECT_THROW(compressor->encode({.values = gradient, .squares = short_gradient}, payload),
               InputError);
  payload.pop_back();
  EXPECT_THROW(compressor->encode({.values = gradient, .squares = {}}, payload), InputError);
  EXPECT_THROW(make_loaded("example-stride:n=0", 10), InputError);
  EXPECT_THROW(make_loaded("example-stride:every=2", 10), InputError);
}

TEST(Setup, ReachesThePlugIn) {
  make_loaded("none", 1);
  const auto compressor = make_compressor(
      parse_spec("test-setup:real=0.25,integer=-4,choice=green,flag=true"),
      {.name = "layer", .shape = {2, 3}, .elements = 6}, {.seed = 9, .rank = 3, .threads = 2});
  const std::vector<float> gradient = {1.5F, 0, 0, 0, 0, 0}, squares = {2.5F, 0, 0, 0, 0, 0};
  const auto [report, payload] = encode(
      *compressor, GradientInput{.values = gradient, .squares = squares, .step = 7, .epoch = 0.5});
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(payload.data()), payload.size()),
            "layer 2x2=6 seed=9 rank=3 threads=2 0.25 -4 green 1 | 1.5 2.5 step=7 epoch=0.5");
  EXPECT_EQ(report.target_elements, 2U);
  EXPECT_EQ(report.selected_elements, 1U);
  EXPECT_EQ(report.threshold, 0.5);
  EXPECT_EQ(report.passes, 3);  // it keeps its own memory: thinpipe adds no pass
  // Nothing was decoded: all of the gradient is missing.
  EXPECT_EQ(testing::relative_error(*compressor, gradient, payload), 1);
}

}  // namespace
}  // namespace thinpipe
