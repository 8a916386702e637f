// What holds for every method, whatever it computes, on every target and any number of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "compressors/kernels/parallel.h"
#include "tests/compressors/support/bits.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::all_specs;
using testing::bits;
using testing::decode;
using testing::encode;
using testing::make;

TEST(Methods, AnotherWorkersCompressorDecodesTheSame) {
  const auto inputs = testing::finite_inputs();
  for (const std::string& spec : all_specs()) {
    for (const auto& [name, gradient] : inputs) {
      SCOPED_TRACE(spec + ", " + name);
      const auto sender = make(spec, gradient.size());
      const auto receiver = make(spec, gradient.size());
      for (std::uint64_t step = 0; step < 3; ++step) {
        const auto encoded = encode(*sender, gradient, step);
        ASSERT_LE(encoded.report.encoded_bytes, sender->max_encoded_size());
        ASSERT_LE(encoded.report.selected_elements, gradient.size());
        // Without a memory, random-k reads only what it sends.
        ASSERT_GE(encoded.report.passes,
                  gradient.empty() || spec.starts_with("randomk:memory=none") ? 0 : 1);
        const auto decoded = decode(*receiver, encoded.payload);
        ASSERT_EQ(bits(decoded), bits(decode(*sender, encoded.payload)));
        std::size_t nonzero = 0;
        for (float value : decoded) nonzero += value != 0 ? 1 : 0;
        ASSERT_LE(nonzero, encoded.report.selected_elements);
        const double error =
            sender
                ->distortion({.values = gradient, .squares = {}, .step = step, .epoch = 0},
                             encoded.payload)
                .relative();
        // Huge values overflow in the residual.
        ASSERT_TRUE(name.starts_with("huge") || (std::isfinite(error) && error >= 0)) << error;
      }
    }
  }
}

TEST(Methods, NonFiniteInputNeverCrashesAndAlwaysDecodes) {
  const auto inputs = testing::non_finite_inputs();
  for (const std::string& spec : all_specs()) {
    for (const auto& [name, gradient] : inputs) {
      SCOPED_TRACE(spec + ", " + name);
      const auto compressor = make(spec, gradient.size());
      for (std::uint64_t step = 0; step < 3; ++step) {
        const auto encoded = encode(*compressor, gradient, step);
        ASSERT_NO_THROW(decode(*compressor, encoded.payload));
      }
      compressor->reset();
      const std::vector<float> sound = testing::bell(gradient.size(), 1);
      for (float value : decode(*compressor, encode(*compressor, sound).payload)) {
        ASSERT_TRUE(std::isfinite(value));
      }
    }
  }
}

TEST(Methods, DecodeAddsTimesFactorFromAnyAddress) {
  const auto gradient = testing::heavy(1003, 1);
  for (const std::string& spec : all_specs()) {
    SCOPED_TRACE(spec);
    const auto compressor = make(spec, gradient.size());
    const auto encoded = encode(*compressor, gradient);
    const auto once = decode(*compressor, encoded.payload);
    std::vector<std::byte> shifted(encoded.payload.size() + 1);
    std::copy(encoded.payload.begin(), encoded.payload.end(), shifted.begin() + 1);
    std::vector<float> out(gradient.size(), 1.0F);
    compressor->decode_add(std::span(shifted).subspan(1), 0.25F, out);
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], 1.0F + 0.25F * once[i]);
  }
}

TEST(Methods, SamePayloadOnEveryTarget) {
  const auto gradient = testing::heavy(20003, 1);
  for (const std::string& spec : all_specs()) {
    SCOPED_TRACE(spec);
    std::vector<std::vector<std::byte>> payloads;
    testing::for_each_target([&] {
      const auto compressor = make(spec, gradient.size());
      for (std::uint64_t step = 0; step < 3; ++step) encode(*compressor, gradient, step);
      payloads.push_back(encode(*compressor, gradient, 3).payload);
    });
    for (const auto& payload : payloads) EXPECT_EQ(payload, payloads[0]);
  }
}

TEST(Methods, RelativeErrorIsOfWhatWasCompressed) {
  // memory=none: c is the gradient, so the error can be computed from outside.
  const auto gradient = testing::heavy(5000, 2);
  for (const char* spec : {"topk:memory=none", "3lc:memory=none", "sbc:memory=none,p=0.1"}) {
    const auto compressor = make(spec, gradient.size());
    const auto encoded = encode(*compressor, gradient);
    const auto decoded = decode(*compressor, encoded.payload);
    double error = 0;
    double norm = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      error += std::pow(static_cast<double>(decoded[i]) - static_cast<double>(gradient[i]), 2);
      norm += std::pow(static_cast<double>(gradient[i]), 2);
    }
    EXPECT_NEAR(
        compressor->distortion({.values = gradient, .squares = {}}, encoded.payload).relative(),
        std::sqrt(error / norm), 1e-12)
        << spec;
    // In the first step a residual memory compresses the gradient alone: the same error.
    std::string with_memory = spec;
    with_memory.replace(with_memory.find("none"), 4, "residual");
    const auto other = make(with_memory, gradient.size());
    const auto again = encode(*other, gradient);
    EXPECT_NEAR(other->distortion({.values = gradient, .squares = {}}, again.payload).relative(),
                std::sqrt(error / norm), 1e-6);
  }
}

TEST(Methods, RefuseArraysOfTheWrongSize) {
  for (const std::string& spec : all_specs()) {
    const auto compressor = make(spec, 100);
    std::vector<std::byte> payload(compressor->max_encoded_size());
    const std::vector<float> short_one(99);
    const std::vector<float> right(100);
    std::vector<float> out(101);
    EXPECT_THROW(compressor->encode({.values = short_one, .squares = {}}, payload), InputError);
    EXPECT_THROW(compressor->encode({.values = right, .squares = {}},
                                    std::span(payload).first(payload.size() - 1)),
                 InputError);
    EXPECT_THROW(compressor->decode_add(payload, 1, out), InputError);
    EXPECT_THROW(compressor->distortion({.values = short_one, .squares = {}}, payload), InputError);
  }
}

TEST(Threads, SamePayloadAndStateOnAnyNumber) {
  constexpr std::size_t kElements = kMinParallel + 4321;
  std::vector<std::vector<float>> gradients;
  std::vector<std::vector<float>> squares;
  for (std::uint64_t step = 0; step < 2; ++step) {
    gradients.push_back(testing::heavy(kElements, step));
    squares.push_back(testing::squares_of(gradients.back()));
  }
  for (const std::string& spec : testing::all_specs()) {
    SCOPED_TRACE(spec);
    std::vector<std::vector<std::byte>> results;
    for (int threads : {1, 3}) {
      const auto compressor = make_compressor(
          parse_spec(spec),
          {.name = "t", .shape = {static_cast<std::int64_t>(kElements)}, .elements = kElements},
          {.threads = threads});
      std::vector<std::byte> result;
      compressor->save_state(result);
      std::vector<std::byte> payload(compressor->max_encoded_size());
      for (std::uint64_t step = 0; step < gradients.size(); ++step) {
        const auto report = compressor->encode(
            {.values = gradients[step], .squares = squares[step], .step = step}, payload);
        result.insert(result.end(), payload.begin(),
                      payload.begin() + static_cast<std::ptrdiff_t>(report.encoded_bytes));
        const auto decoded = testing::decode(
            *compressor, std::span<const std::byte>(payload).first(report.encoded_bytes));
        const auto bytes = std::as_bytes(std::span(decoded));
        result.insert(result.end(), bytes.begin(), bytes.end());
      }
      std::vector<std::byte> state;
      compressor->save_state(state);
      result.insert(result.end(), state.begin(), state.end());
      results.push_back(std::move(result));
    }
    // Not EXPECT_EQ: megabytes would be printed.
    EXPECT_TRUE(results[0] == results[1]);
  }
}

}  // namespace
}  // namespace thinpipe
