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
  // 2048 elements of +-3: root mean square 3, range 2.154 * 3, 16 levels and so 15 distances.
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
  // Decoding is linear in the codes: the mean of what two workers' payloads decode to is what a
  // payload with the means of their codes would decode to, which needs the same distance in both.
  const auto a = made_thc("thc", 5000, 0);
  const auto b = made_thc("thc", 5000, 1);
  ASSERT_TRUE(a->shares_scale());
  const auto first = testing::bell(5000, 1);
  auto second = testing::bell(5000, 2);
  for (float& value : second) value *= 3;
  const GradientInput input_a{.values = first, .squares = {}};
  const GradientInput input_b{.values = second, .squares = {}};
  const float greatest = std::max(a->prepare(input_a), b->prepare(input_b));
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
