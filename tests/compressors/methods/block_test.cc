// Quantisers of blocks: common scales of integers and floats, and THC's lookup tables.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compressors/methods/quantizers.h"
#include "compressors/registry.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

using testing::decode;
using testing::encode;
using testing::make;

std::vector<int> payload_bytes(const std::vector<std::byte>& payload) {
  std::vector<int> bytes;
  for (std::byte byte : payload) bytes.push_back(std::to_integer<int>(byte));
  return bytes;
}

TEST(BlockMethods, PayloadsByHand) {
  // Scale 127 / 127 = 1; 0.5 goes to even.
  EXPECT_EQ(
      payload_bytes(encode(*make("blockint8", 4), std::vector<float>{127, -2, 0.5, 1.5}).payload),
      (std::vector<int>{0, 0, 0x80, 0x3f, 127, 254, 0, 2}));
  // Scale 7 / 7 = 1; nibbles 7, -1 = 15, 3, nothing.
  EXPECT_EQ(payload_bytes(encode(*make("qgz", 3), std::vector<float>{7, -1, 3}).payload),
            (std::vector<int>{0, 0, 0x80, 0x3f, 0xf7, 0x03}));
  // Scale 1.0 as a half.
  EXPECT_EQ(payload_bytes(encode(*make("qgz:scale=f16", 1), std::vector<float>{7}).payload),
            (std::vector<int>{0, 0x3c, 7}));
  // The block's exponent is floor(log2 5) - 2 = 0, stored as 127. 5 is midway between 4 and 6; 4
  // has the even mantissa, so 5 gets its code, 6. -0.5 is code 1 with the sign bit 8.
  EXPECT_EQ(payload_bytes(encode(*make("mxfp4", 2), std::vector<float>{5, -0.5}).payload),
            (std::vector<int>{127, 0x96}));
  // 448 is 1111.110, 1 is 0111.000, the least denormal is 2^-9.
  EXPECT_EQ(payload_bytes(encode(*make("fp8", 3), std::vector<float>{448, 1, -0x1p-9}).payload),
            (std::vector<int>{0, 0, 0x80, 0x3f, 0x7e, 0x38, 0x81}));
}

TEST(BlockMethods, PresetsAreWhatTheirHelpSays) {
  const auto gradient = testing::heavy(5000, 1);
  EXPECT_EQ(encode(*make("qgz", 5000), gradient).payload,
            encode(*make("blockint4:hadamard=false", 5000), gradient).payload);
  EXPECT_EQ(encode(*make("sdp4bit", 5000), gradient).payload,
            encode(*make("blockint4:hadamard=true,block=128", 5000), gradient).payload);
}

TEST(BlockMethods, RanksRoundIndependentlyAndDecodeEachOther) {
  const auto gradient = testing::bell(1000, 1);
  const Spec spec = parse_spec("blockint4:rounding=stochastic,hadamard=true");
  const TensorInfo tensor{.name = "w", .shape = {1000}, .elements = 1000};
  const auto a = make_compressor(spec, tensor, {.seed = 9, .rank = 0});
  const auto b = make_compressor(spec, tensor, {.seed = 9, .rank = 1});
  const auto payload = encode(*a, gradient).payload;
  EXPECT_NE(payload, encode(*b, gradient).payload);
  EXPECT_NE(payload, encode(*a, gradient, 1).payload);
  EXPECT_EQ(payload, encode(*a, gradient, 0).payload);
  EXPECT_EQ(decode(*a, payload), decode(*b, payload));
}

TEST(BlockMethods, RotationSpreadsOutliers) {
  // One large element in a block of small ones: without the rotation they all become 0.
  std::vector<float> gradient = testing::bell(2048, 3);
  for (std::size_t i = 0; i < gradient.size(); i += 256) gradient[i] = 60;
  const auto error = [&](const char* spec) {
    const auto compressor = make(spec, gradient.size());
    const auto encoded = encode(*compressor, gradient);
    return compressor->distortion({.values = gradient, .squares = {}}, encoded.payload).relative();
  };
  EXPECT_LT(error("blockint4:hadamard=true"), 0.8 * error("blockint4:hadamard=false"));
}

std::unique_ptr<Compressor> made_thc(const std::string& spec, std::size_t n, int rank = 0) {
  return make_compressor(parse_spec(spec),
                         {.name = "w", .shape = {static_cast<std::int64_t>(n)}, .elements = n},
                         {.seed = 3, .rank = rank});
}

float step_of(const std::vector<std::byte>& payload) {
  float step = 0;
  std::memcpy(&step, payload.data(), sizeof step);
  return step;
}

TEST(Thc, RangeIsThatOfTheRootMeanSquare) {
  // 2048 elements of +-3 have a root mean square of 3. The range is +-2.154 * 3. It has 16 levels,
  // and so 15 distances between levels.
  std::vector<float> gradient(2048, 3.0F);
  for (std::size_t i = 0; i < gradient.size(); i += 3) gradient[i] = -3;
  const auto payload = encode(*made_thc("thc", 2048), gradient).payload;
  EXPECT_EQ(payload.size(), 4U + 1024);
  EXPECT_NEAR(step_of(payload), 2 * 2.154 * 3 / 15, 1e-6);
}

TEST(Thc, UnbiasedWhereNothingIsClamped) {
  // range=8 clamps nothing: any rotated element is at most sqrt(64) root mean squares.
  constexpr int kRounds = 4000;
  for (const char* spec :
       {"thc:block=64,memory=none,range=8", "thc:bits=8,block=64,memory=none,range=8"}) {
    const auto gradient = testing::heavy(100, 1);
    const auto compressor = made_thc(spec, gradient.size());
    std::vector<double> sum(gradient.size(), 0.0);
    std::vector<double> squares(gradient.size(), 0.0);
    for (std::uint64_t step = 0; step < kRounds; ++step) {
      const auto decoded = decode(*compressor, encode(*compressor, gradient, step).payload);
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        const double error = static_cast<double>(decoded[i]) - static_cast<double>(gradient[i]);
        sum[i] += error;
        squares[i] += error * error;
      }
    }
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      EXPECT_LE(std::fabs(sum[i] / kRounds),
                5 * std::sqrt(squares[i] / kRounds / kRounds) + 1e-6 * std::fabs(gradient[i]));
    }
  }
}

TEST(Thc, CodesOfWorkersWithOneRangeCanBeSummed) {
  // Decoding is linear in the codes. So the mean of two workers' decoded payloads equals the
  // decoded payload with the means of their codes. This requires the same distance between levels
  // in both payloads.
  const auto a = made_thc("thc", 5000, 0);
  const auto b = made_thc("thc", 5000, 1);
  const auto first = testing::bell(5000, 1);
  auto second = testing::bell(5000, 2);
  for (float& value : second) value *= 3;
  const GradientInput input_a{.values = first, .squares = {}};
  const GradientInput input_b{.values = second, .squares = {}};
  const float greatest = std::max(dynamic_cast<SharedScale&>(*a).prepare(input_a),
                                  dynamic_cast<SharedScale&>(*b).prepare(input_b));
  EXPECT_GT(greatest, 0);
  const auto shared = [&](Compressor& compressor, GradientInput input) {
    input.shared_scale = greatest;
    std::vector<std::byte> payload(compressor.max_encoded_size());
    payload.resize(compressor.encode(input, payload).encoded_bytes);
    return payload;
  };
  const auto payload_a = shared(*a, input_a);
  const auto payload_b = shared(*b, input_b);
  EXPECT_EQ(step_of(payload_a), step_of(payload_b));
  EXPECT_EQ(step_of(payload_a), 2.154F * greatest / 7.5F);
  EXPECT_EQ(decode(*a, payload_b), decode(*b, payload_b));
  // The greatest element is within the range of its own worker's scale.
  double error = 0;
  double norm = 0;
  const auto decoded = decode(*a, payload_b);
  for (std::size_t i = 0; i < second.size(); ++i) {
    error += std::pow(static_cast<double>(decoded[i] - second[i]), 2);
    norm += std::pow(static_cast<double>(second[i]), 2);
  }
  EXPECT_LT(std::sqrt(error / norm), 0.25);
}

TEST(Thc, RefusesADistanceThatIsNone) {
  const auto compressor = made_thc("thc", 100);
  auto payload = encode(*compressor, testing::bell(100, 1)).payload;
  for (float bad : {-1.0F, -0.0F, std::nanf(""), std::numeric_limits<float>::infinity()}) {
    std::memcpy(payload.data(), &bad, sizeof bad);
    EXPECT_THROW(decode(*compressor, payload), PayloadError);
  }
}

}  // namespace

}  // namespace thinpipe
