#include <gtest/gtest.h>

#include "compressors/methods/quantizers.h"
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
  // floor(log2 5) - 2 = 0: exponent 127; 5 ties between 4 and 6, 4 has the even mantissa: code 6;
  // -0.5 is code 1 with the sign 8.
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

}  // namespace
}  // namespace thinpipe
