// Images from files of MNIST and CIFAR-10, and digits that are drawn.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/base/support.h"
#include "workloads/data/digits.h"
#include "workloads/data/image_set.h"

namespace thinpipe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xffU);
  return bytes;
}

std::string idx_images(std::uint32_t count, std::uint32_t side = 28) {
  std::string bytes = big_endian(0x803) + big_endian(count) + big_endian(side) + big_endian(side);
  for (std::uint32_t i = 0; i < count; ++i)
    bytes += std::string(std::size_t{side} * side, static_cast<char>(i + 1));
  return bytes;
}

std::string idx_labels(const std::string& labels) {
  return big_endian(0x801) + big_endian(static_cast<std::uint32_t>(labels.size())) + labels;
}

class Mnist : public ::testing::Test {
 protected:
  void write(const std::string& images, const std::string& labels) const {
    write_bytes(folder_ / "train-images-idx3-ubyte", images);
    write_bytes(folder_ / "train-labels-idx1-ubyte", labels);
  }
  std::string error() const {
    return input_error([this] { load_mnist(folder_.path()); });
  }
  TemporaryFolder folder_;
};

TEST_F(Mnist, IsRead) {
  write(idx_images(3), idx_labels("\7\0\2"));
  EXPECT_THAT(error(), HasSubstr("1 labels, expected 3"));  // "\7\0\2" ends at its zero
  write(idx_images(3), idx_labels(std::string("\7\0\2", 3)));
  const ImageSet set = load_mnist(folder_.path());
  EXPECT_THAT(set.labels, ::testing::ElementsAre(7, 0, 2));
  EXPECT_EQ(set.image(2).front(), 3);
  EXPECT_EQ(set.image(0).back(), 1);
  EXPECT_EQ(set.image(0).size(), 784U);
}

TEST_F(Mnist, OtherFileNamesAndPackedFiles) {
  EXPECT_THAT(error(), HasSubstr("train-images-idx3-ubyte: missing"));
  write_bytes(folder_ / "train-images-idx3-ubyte.gz", "x");
  EXPECT_THAT(error(), HasSubstr("gunzip"));
  write_bytes(folder_ / "train-images.idx3-ubyte", idx_images(1));
  write_bytes(folder_ / "train-labels.idx1-ubyte", idx_labels("\1"));
  std::filesystem::remove(folder_ / "train-images-idx3-ubyte.gz");
  EXPECT_EQ(error(), "");
}

TEST_F(Mnist, WrongFilesAreNamed) {
  write("short", idx_labels("\1"));
  EXPECT_THAT(error(), HasSubstr("5 bytes, expected at least 16"));
  write(idx_labels("\1") + std::string(8, '\0'), idx_labels("\1"));
  EXPECT_THAT(error(), HasSubstr("magic number: found 0x00000801, expected 0x00000803"));
  write(idx_images(1, 32), idx_labels("\1"));
  EXPECT_THAT(error(), HasSubstr("32x32, expected 28x28"));
  write(idx_images(2).substr(0, 1000), idx_labels("\1\1"));
  EXPECT_THAT(error(), HasSubstr("1000 bytes, expected 1584"));
  // 2^32 - 1 images: 16 + 4294967295 * 784 bytes, which must not wrap.
  write(big_endian(0x803) + big_endian(0xffffffff) + big_endian(28) + big_endian(28),
        idx_labels(""));
  EXPECT_THAT(error(), HasSubstr("expected 3367254359296"));
  write(idx_images(2), idx_labels("\1"));
  EXPECT_THAT(error(), AllOf(HasSubstr("labels"), HasSubstr("1 labels, expected 2")));
  write(idx_images(2), idx_labels("\1\12"));
  EXPECT_THAT(error(), HasSubstr("label of image 1: found 10"));
}

std::string cifar_record(char label, char red) {
  return std::string(1, label) + std::string(1024, red) + std::string(2048, '\x20');
}

TEST(Cifar10, BatchesAreReadInOrder) {
  const TemporaryFolder folder;
  write_bytes(folder / "data_batch_2.bin", cifar_record(9, 30));
  write_bytes(folder / "data_batch_1.bin", cifar_record(4, 10) + cifar_record(5, 20));
  write_bytes(folder / "test_batch.bin", "not read");
  const ImageSet set = load_cifar10(folder.path());
  EXPECT_THAT(set.labels, ::testing::ElementsAre(4, 5, 9));
  EXPECT_EQ(set.image(1)[1023], 20);
  EXPECT_EQ(set.image(1)[1024], 32);
  EXPECT_EQ(set.image(2)[0], 30);
}

TEST(Cifar10, WrongFilesAreNamed) {
  const TemporaryFolder folder;
  const auto error = [&] { return input_error([&] { load_cifar10(folder.path()); }); };
  EXPECT_THAT(error(), HasSubstr("data_batch_1.bin: missing"));
  write_bytes(folder / "data_batch_1.bin", cifar_record(4, 10) + "x");
  EXPECT_THAT(error(), HasSubstr("3074 bytes, expected a multiple of 3073"));
  write_bytes(folder / "data_batch_1.bin", cifar_record(4, 10) + cifar_record(10, 10));
  EXPECT_THAT(error(), HasSubstr("label of image 1: found 10, expected 0 to 9"));
  EXPECT_THAT(input_error([] { load_cifar10("/nonexistent"); }), HasSubstr("/nonexistent"));
}

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

// A classifier by the nearest class mean recognises far more than one digit in ten, but is far from
// perfect. So the pictures show their labels, but recognising them takes more than a template.
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
