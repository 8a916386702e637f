#include "workloads/data/held_out.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/input_error.h"
#include "tests/trace/temporary_folder.h"
#include "tests/trace/trace_files.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

TEST(HeldOut, LastTenthOfAText) {
  TextCorpus corpus;
  for (std::uint16_t i = 0; i < 25; ++i) corpus.symbols.push_back(i);
  const TextData data = hold_out_tenth(corpus);
  EXPECT_EQ(data.training.symbols.size(), 23U);
  EXPECT_THAT(data.held_out.symbols, ElementsAre(23, 24));
  corpus.symbols.resize(9);
  EXPECT_THAT(input_error([&] { hold_out_tenth(corpus); }), HasSubstr("9 symbols"));
}

// As many of each class: blocks of ten hold every class once, in random order.
TEST(HeldOut, DrawnDigitsAreTheSameEachTimeAndHoldEveryClass) {
  const ImageData data = drawn_digits();
  EXPECT_EQ(data.training.size(), 4000U);
  ASSERT_EQ(data.held_out.size(), 1000U);
  for (std::uint8_t digit = 0; digit < 10; ++digit) {
    EXPECT_NEAR(std::count(data.held_out.labels.begin(), data.held_out.labels.end(), digit), 100,
                40);
  }
  EXPECT_EQ(drawn_digits().training.pixels, data.training.pixels);
}

std::string idx_of(std::uint8_t kind, const std::string& content, bool images) {
  std::string bytes = {0, 0, 8, static_cast<char>(kind)};
  const auto count = static_cast<char>(images ? content.size() / 784 : content.size());
  bytes += std::string{0, 0, 0, count};
  if (images) bytes += std::string{0, 0, 0, 28, 0, 0, 0, 28};
  return bytes + content;
}

TEST(HeldOut, MnistsTestSetWhereItIsThere) {
  const TemporaryFolder folder;
  write_bytes(folder / "train-images-idx3-ubyte", idx_of(3, std::string(784 * 6, 'a'), true));
  write_bytes(folder / "train-labels-idx1-ubyte", idx_of(1, std::string(6, '\1'), false));
  EXPECT_EQ(load_mnist_data(folder.path()).held_out.size(), 1U);
  write_bytes(folder / "t10k-images.idx3-ubyte", idx_of(3, std::string(784 * 2, 'b'), true));
  EXPECT_THAT(input_error([&] { load_mnist_data(folder.path()); }),
              HasSubstr("t10k-labels-idx1-ubyte: missing"));
  write_bytes(folder / "t10k-labels-idx1-ubyte", idx_of(1, std::string(2, '\7'), false));
  const ImageData data = load_mnist_data(folder.path());
  EXPECT_EQ(data.training.size(), 6U);
  EXPECT_THAT(data.held_out.labels, ElementsAre(7, 7));
}

TEST(HeldOut, Cifar10sTestSetWhereItIsThere) {
  const TemporaryFolder folder;
  const auto records = [](int count, char label) {
    std::string bytes;
    for (int i = 0; i < count; ++i) bytes += label + std::string(3072, 'x');
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

}  // namespace
}  // namespace thinpipe
