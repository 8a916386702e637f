// Tests that every method encodes and decodes on every target and any number of threads, at extreme
// lengths and ratios. Also tests the decoding of payloads that no encoder wrote.

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <string>

#include "compressors/encode/position_codec.h"
#include "compressors/kernels/parallel.h"
#include "compressors/kernels/random.h"
#include "compressors/registry.h"
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
using testing::relative_error;

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
        const double error = relative_error(*sender, gradient, encoded.payload);
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
      for (float value : testing::sent_values(*compressor, sound)) {
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
    testing::same_on_every_target([&] {
      const auto compressor = make(spec, gradient.size());
      for (std::uint64_t step = 0; step < 3; ++step) encode(*compressor, gradient, step);
      return encode(*compressor, gradient, 3).payload;
    });
  }
}

TEST(Methods, RelativeErrorIsOfWhatWasCompressed) {
  // memory=none: c is the gradient, so the error can be computed from outside.
  const auto gradient = testing::heavy(5000, 2);
  for (const char* spec : {"topk:memory=none", "3lc:memory=none", "sbc:memory=none,p=0.1"}) {
    const auto compressor = make(spec, gradient.size());
    const auto encoded = encode(*compressor, gradient);
    const double error = testing::distance_of(decode(*compressor, encoded.payload), gradient) /
                         testing::norm_of(gradient);
    EXPECT_NEAR(relative_error(*compressor, gradient, encoded.payload), error, 1e-12) << spec;
    // In the first step a residual memory compresses the gradient alone: the same error.
    std::string with_memory = spec;
    with_memory.replace(with_memory.find("none"), 4, "residual");
    const auto other = make(with_memory, gradient.size());
    const auto again = encode(*other, gradient);
    EXPECT_NEAR(relative_error(*other, gradient, again.payload), error, 1e-6);
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
    std::vector<std::vector<std::vector<std::byte>>> results;  // payloads and states
    std::vector<std::vector<std::vector<std::uint32_t>>> decoded;
    for (int threads : {1, 3}) {
      const auto compressor = testing::make_of_shape(spec, {kElements}, {.threads = threads});
      results.push_back({testing::state_of(*compressor)});
      decoded.emplace_back();
      for (std::uint64_t step = 0; step < gradients.size(); ++step) {
        const GradientInput input{
            .values = gradients[step], .squares = squares[step], .step = step};
        results.back().push_back(encode(*compressor, input).payload);
        decoded.back().push_back(bits(decode(*compressor, results.back().back())));
      }
      results.back().push_back(testing::state_of(*compressor));
    }
    // Not EXPECT_EQ: megabytes would be printed.
    EXPECT_TRUE(results[0] == results[1] && decoded[0] == decoded[1]);
  }
}

// The lengths and ratios at which something begins, ends or does not fit, for every method.

std::unique_ptr<Compressor> of_rank(const std::string& spec, std::size_t elements, int rank) {
  return testing::make_of_shape(spec, testing::matrix_shape(elements), {.rank = rank});
}

/// Encodes two steps on rank 1. A compressor of rank 0 that never encoded must decode the values
/// that the sender reports as sent. If the sender has a residual, these values are its input less
/// the new residual.
void expect_decodable(const std::string& spec, std::size_t elements) {
  SCOPED_TRACE(spec + " of " + std::to_string(elements));
  const auto sender = of_rank(spec, elements, 1);
  const auto receiver = of_rank(spec, elements, 0);
  for (std::uint64_t step = 0; step < 2; ++step) {
    const auto gradient = testing::heavy(elements, elements + step);
    const auto encoded = testing::encode(*sender, gradient, step);
    ASSERT_LE(encoded.report.encoded_bytes, sender->max_encoded_size());
    ASSERT_LE(encoded.report.selected_elements, elements);
    const auto decoded = testing::decode(*receiver, encoded.payload);
    ASSERT_EQ(bits(decoded), bits(testing::decode(*sender, encoded.payload)));
    for (float value : decoded) ASSERT_TRUE(std::isfinite(value));
    // The first step carries nothing over, so c is the gradient, except with clipping or Nesterov
    // momentum (1.9 times the gradient). Also excluded: memory=clear drops rounding errors, and
    // EF21's memory holds the values that were sent.
    const auto residual = sender->residual();
    const std::string text =
        Parameters(find_method(parse_spec(spec).name).parameters, parse_spec(spec)).text();
    const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
    if (step > 0 || residual.empty() || sender->incremental() || has("memory=clear") ||
        has("nesterov=true") || (has("clip=") && !has("clip=0"))) {
      continue;
    }
    for (std::size_t i = 0; i < elements; ++i) {
      const float c = gradient[i];
      ASSERT_LE(std::fabs(decoded[i] + residual[i] - c),
                0x1p-23F * (std::fabs(decoded[i]) + std::fabs(c)))
          << i;
    }
  }
}

TEST(Edges, LengthsAroundPartitionsVectorsAndTwoToTheSixteenth) {
  for (const std::string& spec : testing::all_specs()) {
    for (std::size_t elements : {0UL, 1UL, 4UL, 5UL, 6UL, 69UL, 70UL, 71UL, 65535UL, 65537UL}) {
      expect_decodable(spec, elements);
    }
  }
}

TEST(Edges, RatiosAboveAQuarterAndBelowOneElement) {
  // 0.25 is SIDCo's first stage; k is never less than 1.
  for (const MethodInfo& method : methods()) {
    for (const ParameterInfo& parameter : method.parameters) {
      if (parameter.name != "ratio" && !(method.name == "sbc" && parameter.name == "p")) continue;
      for (const char* ratio : {"0.3", "0.9", "1", "0.0000001"}) {
        for (std::size_t elements : {1UL, 5UL, 70UL, 4001UL}) {
          const std::string spec = method.name + ":" + parameter.name + "=" + ratio;
          expect_decodable(spec, elements);
          const auto compressor = of_rank(spec, elements, 0);
          const auto report = testing::encode(*compressor, testing::heavy(elements, 1)).report;
          const double k = std::ceil(std::stod(ratio) * static_cast<double>(elements) - 1e-9);
          EXPECT_EQ(report.target_elements, static_cast<std::size_t>(std::max(k, 1.0))) << spec;
        }
      }
    }
  }
}

TEST(Edges, RunsOverTwoToTheSixteenth) {
  constexpr std::size_t kElements = 400000;
  std::vector<float> gradient(kElements, 0.0F);
  // Runs of 0, 65534, 65535, 65536 and 131071 zeros, and one to the end.
  std::size_t at = 0;
  for (std::size_t run : {0UL, 65534UL, 65535UL, 65536UL, 131071UL}) {
    at += run;
    gradient[at] = static_cast<float>(run) - 70000;
    ++at;
  }
  for (const std::string& positions : position_codec_names()) {
    const std::string spec = "topk:memory=none,ratio=0.0000125,positions=" + positions;  // k = 5
    SCOPED_TRACE(spec);
    const auto encoded = testing::encode(*of_rank(spec, kElements, 1), gradient);
    EXPECT_EQ(encoded.report.selected_elements, 5U);
    EXPECT_TRUE(testing::decode(*of_rank(spec, kElements, 0), encoded.payload) == gradient);
  }
  // 3LC: runs of bytes of 121 that are longer than any count in a byte.
  const auto encoded = testing::encode(*of_rank("3lc:s=1", kElements, 1), gradient);
  const auto decoded = testing::decode(*of_rank("3lc:s=1", kElements, 0), encoded.payload);
  for (std::size_t i = 0; i < kElements; ++i) {
    // M = 70000: all but the greatest, at -70000, -4466, -4465, -4464, 61071: half or more counts.
    const float expected =
        std::fabs(gradient[i]) < 35000 ? 0.0F : std::copysign(70000.0F, gradient[i]);
    ASSERT_EQ(decoded[i], expected) << i;
  }
}

// Payloads from outside: decoding ends in a result or in a PayloadError, never otherwise.

/// @returns whether the payload was refused.
bool refused(const Compressor& compressor, std::span<const std::byte> payload,
             std::vector<float>& out) {
  try {
    // A copy of exactly this size lets a sanitizer see any read past its end.
    const std::vector<std::byte> exact(payload.begin(), payload.end());
    compressor.decode_add(exact, 1.0F, out);
  } catch (const PayloadError&) {
    return true;
  }
  return false;
}

TEST(Fuzz, EveryTruncationAndEveryExtensionIsRefused) {
  for (const std::string& spec : all_specs()) {
    for (std::size_t n : {0UL, 1UL, 64UL, 1003UL}) {
      SCOPED_TRACE(spec + " of " + std::to_string(n));
      const auto compressor = make(spec, n);
      auto payload = encode(*compressor, testing::heavy(n, 1)).payload;
      std::vector<float> out(n);
      for (std::size_t size = 0; size < payload.size(); ++size) {
        ASSERT_TRUE(refused(*compressor, std::span(payload).first(size), out)) << size;
      }
      EXPECT_FALSE(refused(*compressor, payload, out));
      for (int extra : {0, 1, 121, 255}) {
        payload.push_back(static_cast<std::byte>(extra));
        EXPECT_TRUE(refused(*compressor, payload, out)) << extra;
      }
    }
  }
}

TEST(Fuzz, FlippedBits) {
  SplitMix64 random(11);
  for (const std::string& spec : all_specs()) {
    const auto compressor = make(spec, 1003);
    const auto payload = encode(*compressor, testing::heavy(1003, 1)).payload;
    std::vector<float> out(1003);
    for (int round = 0; round < 1000; ++round) {
      auto damaged = payload;
      for (std::uint64_t flips = 1 + random.below(4); flips > 0; --flips) {
        // Half of them in the first bytes, where counts and parameters are.
        const std::size_t range =
            random.below(2) == 0 ? std::min<std::size_t>(8, damaged.size()) : damaged.size();
        damaged[random.below(range)] ^= static_cast<std::byte>(1U << random.below(8));
      }
      refused(*compressor, damaged, out);
    }
  }
}

TEST(Fuzz, RandomBytes) {
  SplitMix64 random(12);
  for (const std::string& spec : all_specs()) {
    const auto compressor = make(spec, 200);
    std::vector<float> out(200);
    for (int round = 0; round < 1000; ++round) {
      std::vector<std::byte> payload(random.below(60));
      for (std::byte& byte : payload) byte = static_cast<std::byte>(random.below(256));
      refused(*compressor, payload, out);
    }
  }
}

}  // namespace

}  // namespace thinpipe
