// Data of trainings: images of MNIST and CIFAR-10, digits that are drawn, texts for language
// models, and the part of each that is held out of training.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/base/support.h"
#include "workloads/data/digits.h"
#include "workloads/data/image_set.h"
#include "workloads/data/text_corpus.h"

namespace thinpipe {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
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
  EXPECT_THAT(set.labels, ElementsAre(7, 0, 2));
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
  EXPECT_THAT(set.labels, ElementsAre(4, 5, 9));
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
      for (const GlyphPoint& point : stroke)
        EXPECT_TRUE(point.x >= 0.1 && point.x <= 0.9 && point.y >= 0.05 && point.y <= 0.95)
            << digit << ": " << point.x << ", " << point.y;
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
      for (std::size_t at = 0; at < image.size(); ++at)
        distances[digit] += std::pow(image[at] - means[digit][at], 2);
    }
    const auto best = std::min_element(distances.begin(), distances.end());
    right += best - distances.begin() == test.labels[i] ? 1 : 0;
  }
  EXPECT_GT(right, 250);
  EXPECT_LT(right, 850);
}

TEST(HeldOut, EveryFifthImage) {
  ImageSet set{.height = 1, .width = 2, .source = "numbers", .mirrored_alike = true};
  for (std::uint8_t i = 0; i < 11; ++i) {
    set.labels.push_back(i);
    set.pixels.insert(set.pixels.end(), {i, i});
  }
  const ImageData data = hold_out_fifth(set);
  EXPECT_THAT(data.training.labels, ElementsAre(0, 1, 2, 3, 5, 6, 7, 8, 10));
  EXPECT_THAT(data.held_out.labels, ElementsAre(4, 9));
  EXPECT_THAT(data.held_out.pixels, ElementsAre(4, 4, 9, 9));
  EXPECT_TRUE(data.training.mirrored_alike && data.held_out.mirrored_alike);
  EXPECT_EQ(data.training.image(8)[1], 10);
  set.labels.resize(4);
  EXPECT_THAT(input_error([&] { hold_out_fifth(set); }),
              HasSubstr("4 images, expected at least 5"));
}

// As many of each class: blocks of ten hold every class once, in random order.
TEST(HeldOut, DrawnDigitsAreTheSameEachTimeAndHoldEveryClass) {
  const ImageData data = drawn_digits();
  EXPECT_EQ(data.training.size(), 4000U);
  ASSERT_EQ(data.held_out.size(), 1000U);
  for (std::uint8_t digit = 0; digit < 10; ++digit)
    EXPECT_NEAR(std::count(data.held_out.labels.begin(), data.held_out.labels.end(), digit), 100,
                40);
  EXPECT_EQ(drawn_digits().training.pixels, data.training.pixels);
}

TEST(HeldOut, MnistsTestSetWhereItIsThere) {
  const TemporaryFolder folder;
  write_bytes(folder / "train-images-idx3-ubyte", idx_images(6));
  write_bytes(folder / "train-labels-idx1-ubyte", idx_labels(std::string(6, '\1')));
  EXPECT_EQ(load_mnist_data(folder.path()).held_out.size(), 1U);
  write_bytes(folder / "t10k-images.idx3-ubyte", idx_images(2));
  EXPECT_THAT(input_error([&] { load_mnist_data(folder.path()); }),
              HasSubstr("t10k-labels-idx1-ubyte: missing"));
  write_bytes(folder / "t10k-labels-idx1-ubyte", idx_labels("\7\7"));
  const ImageData data = load_mnist_data(folder.path());
  EXPECT_EQ(data.training.size(), 6U);
  EXPECT_THAT(data.held_out.labels, ElementsAre(7, 7));
}

TEST(HeldOut, Cifar10sTestSetWhereItIsThere) {
  const TemporaryFolder folder;
  const auto records = [](int count, char label) {
    std::string bytes;
    for (int i = 0; i < count; ++i) bytes += cifar_record(label, 'x');
    return bytes;
  };
  write_bytes(folder / "data_batch_1.bin", records(10, '\2'));
  EXPECT_EQ(load_cifar10_data(folder.path()).held_out.size(), 2U);
  write_bytes(folder / "test_batch.bin", records(3, '\5'));
  const ImageData data = load_cifar10_data(folder.path());
  EXPECT_EQ(data.training.size(), 10U);
  EXPECT_THAT(data.held_out.labels, ElementsAre(5, 5, 5));
  EXPECT_TRUE(data.training.mirrored_alike);
  write_bytes(folder / "test_batch.bin", records(3, '\5') + "x");
  EXPECT_THAT(input_error([&] { load_cifar10_data(folder.path()); }),
              HasSubstr("test_batch.bin: the file has 9220 bytes"));
}

TEST(TextCorpus, SymbolsFollowTheTable) {
  // Numbers of symbols: space is 0, '!' is 1, 'A' is 65 - 32 = 33, '~' is 94. Newline is 95,
  // tabulator is 96, and every other character is 97.
  EXPECT_THAT(to_symbols(" !A~\n\t\a"), ElementsAre(0, 1, 33, 94, 95, 96, 97));
  // E-acute (two bytes) and the euro sign (three bytes) are one symbol each. \r\n is one newline; a
  // lone \r counts as an "other" character (97).
  EXPECT_THAT(to_symbols("\xc3\xa9\xe2\x82\xac"), ElementsAre(97, 97));
  EXPECT_THAT(to_symbols("a\r\nb\rc"), ElementsAre(65, 95, 66, 97, 67));
}

TEST(TextCorpus, FileOrFolder) {
  const TemporaryFolder folder;
  write_bytes(folder / "b.txt", "second");
  write_bytes(folder / "a.txt", "first ");
  write_bytes(folder / "c.md", "not read");
  EXPECT_EQ(load_text(folder.path()).symbols, to_symbols("first second"));
  EXPECT_EQ(load_text(folder / "c.md").symbols, to_symbols("not read"));
}

TEST(TextCorpus, WrongFilesAreNamed) {
  const TemporaryFolder folder;
  const auto error = [](const std::filesystem::path& path) {
    return input_error([&] { load_text(path); });
  };
  EXPECT_THAT(error(folder.path()), HasSubstr("no *.txt file"));
  EXPECT_THAT(error(folder / "absent.txt"), HasSubstr("absent.txt"));
  write_bytes(folder / "a.txt", std::string("ab\0c", 4));
  EXPECT_THAT(error(folder.path()), HasSubstr("a.txt: byte 2 is zero"));
}

TEST(TextCorpus, TheShippedTextIsThereAndIsPlainAscii) {
  const TextCorpus corpus = load_shipped_text();
  EXPECT_EQ(corpus.symbols.size(), 399'387U);
  EXPECT_EQ(std::count(corpus.symbols.begin(), corpus.symbols.end(), 97), 0);
  const auto start = to_symbols("In the beginning God created");
  EXPECT_TRUE(std::equal(start.begin(), start.end(), corpus.symbols.begin()));
}

TEST(Words, AreNumberedByFrequencyThenAlphabet) {
  TextCorpus corpus;
  // The text has 21 words. Only the first 19, up to the last comma, are counted: a 5 times, comma
  // 4, b 4, c's 2, d 1.
  corpus.symbols = to_symbols("A a, a\tb b\na b, c's c's,\n a b d\n, new A");
  const TextCorpus words = to_words(corpus);
  // Numbers of words: the end of a line is 0, a is 2, comma 3, b 4, c's 5, d 6. The word "new",
  // which was not counted, is 1.
  EXPECT_THAT(words.symbols,
              ElementsAre(2, 2, 3, 2, 4, 4, 0, 2, 4, 3, 5, 5, 3, 0, 2, 4, 6, 0, 3, 1, 2));
}

TEST(Words, OfTheShippedText) {
  const TextCorpus words = to_words(load_shipped_text());
  EXPECT_GT(words.symbols.size(), 80'000U);
  EXPECT_LT(*std::max_element(words.symbols.begin(), words.symbols.end()), kVocabulary);
  // Few of the held-out words are unknown, but some.
  const auto unknown = std::count(words.symbols.begin(), words.symbols.end(), 1);
  EXPECT_GT(unknown, 0);
  EXPECT_LT(static_cast<double>(unknown), 0.02 * static_cast<double>(words.symbols.size()));
}

TEST(HeldOut, LastTenthOfAText) {
  TextCorpus corpus;
  for (std::uint16_t i = 0; i < 25; ++i) corpus.symbols.push_back(i);
  const TextData data = hold_out_tenth(corpus);
  EXPECT_EQ(data.training.symbols.size(), 23U);
  EXPECT_THAT(data.held_out.symbols, ElementsAre(23, 24));
  corpus.symbols.resize(9);
  EXPECT_THAT(input_error([&] { hold_out_tenth(corpus); }), HasSubstr("9 symbols"));
}

}  // namespace
}  // namespace thinpipe
