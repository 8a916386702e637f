#include "workloads/data/digits.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(Digits, HaveTheFormsOfMnistAndCifar) {
  const ImageSet grey = draw_digits(25, 1);
  EXPECT_EQ(grey.size(), 25U);
  EXPECT_EQ(grey.pixels.size(), 25U * 28 * 28);
  const ImageSet colour = draw_colour_digits(7, 1);
  EXPECT_EQ(colour.size(), 7U);
  EXPECT_EQ(colour.pixels.size(), 7U * 3 * 32 * 32);
}

TEST(Digits, AreReproducibleBySeed) {
  EXPECT_EQ(draw_digits(20, 3).pixels, draw_digits(20, 3).pixels);
  EXPECT_NE(draw_digits(20, 3).pixels, draw_digits(20, 4).pixels);
  EXPECT_EQ(draw_colour_digits(20, 3).pixels, draw_colour_digits(20, 3).pixels);
}

TEST(Digits, LightInkIsLighterThanItsGround) {
  const ImageSet light = draw_colour_digits(50, 1, InkTone::kLight);
  // A corner is ground, but for noise and an odd stroke; the lightest pixel is ink.
  int as_told = 0;
  for (std::size_t i = 0; i < light.size(); ++i) {
    const auto image = light.image(i);
    as_told += image[0] < 0.5 * 255 && *std::max_element(image.begin(), image.end()) > 0.6 * 255;
  }
  EXPECT_GE(as_told, 40);
}

TEST(Digits, ClassesAreEquallyFrequentAndInNoFixedOrder) {
  const ImageSet set = draw_digits(1000, 1);
  std::array<int, 10> counts{};
  for (const std::uint8_t label : set.labels) ++counts.at(label);
  for (const int count : counts) EXPECT_EQ(count, 100);
  EXPECT_FALSE(std::equal(set.labels.begin(), set.labels.begin() + 10, set.labels.begin() + 10));
}

TEST(Digits, StrokesLieInTheUnitSquare) {
  for (std::size_t digit = 0; digit < 10; ++digit) {
    for (const Stroke& stroke : digit_strokes(digit)) {
      EXPECT_GE(stroke.size(), 2U);
      for (const GlyphPoint& point : stroke) {
        EXPECT_TRUE(point.x >= 0.1 && point.x <= 0.9 && point.y >= 0.05 && point.y <= 0.95)
            << digit << ": " << point.x << ", " << point.y;
      }
    }
  }
}

// The nearest class mean tells far more than one digit in ten apart, but is far from perfect: the
// label is in the picture, and it takes more than a template to read it.
TEST(Digits, CanBeToldApartButNotByTemplates) {
  const ImageSet train = draw_digits(4000, 1);
  const ImageSet test = draw_digits(1000, 2);
  std::array<std::vector<double>, 10> means;
  means.fill(std::vector<double>(28 * 28));
  for (std::size_t i = 0; i < train.size(); ++i) {
    const auto image = train.image(i);
    for (std::size_t at = 0; at < image.size(); ++at)
      means[train.labels[i]][at] += image[at] / 400.0;
  }
  int right = 0;
  for (std::size_t i = 0; i < test.size(); ++i) {
    const auto image = test.image(i);
    std::array<double, 10> distances{};
    for (std::size_t digit = 0; digit < 10; ++digit) {
      for (std::size_t at = 0; at < image.size(); ++at) {
        distances[digit] += std::pow(image[at] - means[digit][at], 2);
      }
    }
    const auto best = std::min_element(distances.begin(), distances.end());
    right += best - distances.begin() == test.labels[i] ? 1 : 0;
  }
  EXPECT_GT(right, 250);
  EXPECT_LT(right, 850);
}

}  // namespace
}  // namespace thinpipe
