#include "compressors/kernels/quantize.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/parts.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::bits;
using testing::for_each_target;

/// The paper's steps: divide, round, add 1 and pack.
std::vector<std::uint8_t> plain_pack(const std::vector<float>& c, float scale,
                                     std::vector<int>& q) {
  q.clear();
  std::vector<int> digits;
  for (float value : c) {
    // Division in double: a float's quotient by a float is rounded too finely to reach a half.
    const double quotient =
        scale == 0 ? 0 : static_cast<double>(value) / static_cast<double>(scale);
    const double rounded = std::isnan(quotient) ? 0 : std::round(quotient);
    q.push_back(static_cast<int>(std::max(-1.0, std::min(1.0, rounded))));
    digits.push_back(q.back() + 1);
  }
  return testing::plain_quartic(digits);
}

TEST(Ternary, PacksAsThePaperSays) {
  testing::for_each_target_and_input(testing::with_non_finite(), [](const std::vector<float>& c) {
    float most = 0;
    for (float value : c) most = std::isfinite(value) ? std::max(most, std::fabs(value)) : most;
    for (float s : {1.0F, 1.75F}) {
      const float scale = std::min(s * most, std::numeric_limits<float>::max());
      std::vector<int> q;
      const auto expected = plain_pack(c, scale, q);
      std::vector<float> left(c.size());
      std::vector<float> plain_left(c.size());
      std::size_t plain_nonzero = 0;
      for (std::size_t i = 0; i < c.size(); ++i) {
        const float difference = c[i] - scale * static_cast<float>(q[i]);
        plain_left[i] = std::isfinite(difference) ? difference : 0.0F;
        plain_nonzero += q[i] != 0 ? 1 : 0;
      }
      std::vector<std::uint8_t> packed(quartic_size(c.size()));
      EXPECT_EQ(ternary_pack(c, scale, left, packed.data()), plain_nonzero);
      EXPECT_EQ(packed, expected);
      EXPECT_EQ(left, plain_left);
      auto in_place = c;
      ternary_pack(in_place, scale, in_place, packed.data());
      EXPECT_EQ(bits(in_place), bits(left));
      std::vector<float> out(c.size(), 0.0F);
      ASSERT_TRUE(ternary_unpack_add(packed.data(), packed.size(), 0, 2.0F, out));
      for (std::size_t i = 0; i < c.size(); ++i) ASSERT_EQ(out[i], 2.0F * static_cast<float>(q[i]));
    }
  });
}

TEST(Ternary, UnpacksEveryByte) {
  for_each_target([] {
    std::vector<std::uint8_t> packed(243);
    std::iota(packed.begin(), packed.end(), std::uint8_t{0});
    std::vector<float> out(5 * packed.size(), 10.0F);
    ASSERT_TRUE(ternary_unpack_add(packed.data(), packed.size(), 0, 0.5F, out));
    constexpr std::array<int, 5> kPowers = {81, 27, 9, 3, 1};
    for (std::size_t i = 0; i < packed.size(); ++i) {
      for (std::size_t part = 0; part < 5; ++part) {
        const int digit = static_cast<int>(i) / kPowers[part] % 3;
        ASSERT_EQ(out[part * packed.size() + i], 10.0F + 0.5F * static_cast<float>(digit - 1));
      }
    }
  });
}

TEST(Ternary, UnpacksAnyStretch) {
  const auto c = testing::heavy(1003, 1);
  std::vector<std::uint8_t> packed(quartic_size(c.size()));
  ternary_pack(c, 0.01F, {}, packed.data());
  std::vector<float> whole(c.size(), 0.0F);
  ASSERT_TRUE(ternary_unpack_add(packed.data(), packed.size(), 0, 1.0F, whole));
  for_each_target([&] {
    for (std::size_t cut : {0UL, 1UL, 20UL, 100UL, 199UL, 200UL, packed.size()}) {
      std::vector<float> parts(c.size(), 0.0F);
      ASSERT_TRUE(ternary_unpack_add(packed.data(), cut, 0, 1.0F, parts));
      ASSERT_TRUE(ternary_unpack_add(packed.data() + cut, packed.size() - cut, cut, 1.0F, parts));
      EXPECT_EQ(parts, whole);
    }
  });
}

TEST(Ternary, SeesDigitsInThePadding) {
  // Six elements make two bytes; the second has elements 1, 3 and 5 and two digits of padding.
  std::vector<float> out(6);
  const std::uint8_t good[] = {121, 121 - 4};
  const std::uint8_t bad[] = {121, 121};
  EXPECT_FALSE(ternary_unpack_add(bad, 2, 0, 1.0F, out));
  // Byte 0 packs elements 0, 2, 4 and padding as well.
  EXPECT_FALSE(ternary_unpack_add(good, 2, 0, 1.0F, out));
  const std::uint8_t right[] = {121 - 4, 121 - 4};
  EXPECT_TRUE(ternary_unpack_add(right, 2, 0, 1.0F, out));
}

}  // namespace
}  // namespace thinpipe
