// Quantisers of blocks: common scales of integers and floats, and THC's lookup tables.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compressors/methods/quantizers.h"
#include "compressors/registry.h"
#include "tests/base/support.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"
#include "tests/compressors/support/parts.h"

namespace thinpipe {
namespace {

using testing::decode;
using testing::encode;
using testing::first_payload;
using testing::make;

TEST(BlockMethods, PayloadsByHand) {
  // Scale 127 / 127 = 1; 0.5 goes to even.
  EXPECT_EQ(first_payload("blockint8", {127, -2, 0.5, 1.5}),
            bytes_of({0, 0, 0x80, 0x3f, 127, 254, 0, 2}));
  // Scale 7 / 7 = 1; nibbles 7, -1 = 15, 3, nothing.
  EXPECT_EQ(first_payload("qgz", {7, -1, 3}), bytes_of({0, 0, 0x80, 0x3f, 0xf7, 0x03}));
  // Scale 1.0 as a half.
  EXPECT_EQ(first_payload("qgz:scale=f16", {7}), bytes_of({0, 0x3c, 7}));
  // The block's exponent is floor(log2 5) - 2 = 0, stored as 127. 5 is midway between 4 and 6; 4
  // has the even mantissa, so 5 gets its code, 6. -0.5 is code 1 with the sign bit 8.
  EXPECT_EQ(first_payload("mxfp4", {5, -0.5}), bytes_of({127, 0x96}));
  // 448 is 1111.110, 1 is 0111.000, the least denormal is 2^-9.
  EXPECT_EQ(first_payload("fp8", {448, 1, -0x1p-9}),
            bytes_of({0, 0, 0x80, 0x3f, 0x7e, 0x38, 0x81}));
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
  const std::string spec = "blockint4:rounding=stochastic,hadamard=true";
  const auto a = testing::make_of_shape(spec, {1000}, {.seed = 9, .rank = 0});
  const auto b = testing::make_of_shape(spec, {1000}, {.seed = 9, .rank = 1});
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
    const auto payload = encode(*compressor, gradient).payload;
    return testing::relative_error(*compressor, gradient, payload);
  };
  EXPECT_LT(error("blockint4:hadamard=true"), 0.8 * error("blockint4:hadamard=false"));
}

std::unique_ptr<Compressor> made_thc(std::int64_t elements, int rank = 0) {
  return testing::make_of_shape("thc", {elements}, {.seed = 3, .rank = rank});
}

float step_of(const std::vector<std::byte>& payload) { return testing::read<float>(payload, 0); }

TEST(Thc, RangeIsThatOfTheRootMeanSquare) {
  // 2048 elements of +-3 have a root mean square of 3. The range is +-2.154 * 3. It has 16 levels,
  // and so 15 distances between levels.
  std::vector<float> gradient(2048, 3.0F);
  for (std::size_t i = 0; i < gradient.size(); i += 3) gradient[i] = -3;
  const auto payload = encode(*made_thc(2048), gradient).payload;
  EXPECT_EQ(payload.size(), 4U + 1024);
  EXPECT_NEAR(step_of(payload), 2 * 2.154 * 3 / 15, 1e-6);
}

TEST(Thc, CodesOfWorkersWithOneRangeCanBeSummed) {
  // Decoding is linear in the codes. So the mean of two workers' decoded payloads equals the
  // decoded payload with the means of their codes. This requires the same distance between levels
  // in both payloads.
  const auto a = made_thc(5000, 0);
  const auto b = made_thc(5000, 1);
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
    return encode(compressor, input).payload;
  };
  const auto payload_a = shared(*a, input_a);
  const auto payload_b = shared(*b, input_b);
  EXPECT_EQ(step_of(payload_a), step_of(payload_b));
  EXPECT_EQ(step_of(payload_a), 2.154F * greatest / 7.5F);
  EXPECT_EQ(decode(*a, payload_b), decode(*b, payload_b));
  // The greatest element is within the range of its own worker's scale.
  EXPECT_LT(testing::distance_of(decode(*a, payload_b), second), 0.25 * testing::norm_of(second));
}

TEST(Thc, RefusesADistanceThatIsNone) {
  const auto compressor = made_thc(100);
  auto payload = encode(*compressor, testing::bell(100, 1)).payload;
  for (float bad : {-1.0F, -0.0F, testing::kNan, testing::kInfinity}) {
    std::memcpy(payload.data(), &bad, sizeof bad);
    EXPECT_THROW(decode(*compressor, payload), PayloadError);
  }
}

}  // namespace

}  // namespace thinpipe
