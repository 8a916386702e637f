// Texts for language models, and the fraction of any data that is held out of training.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/base/support.h"
#include "workloads/data/held_out.h"
#include "workloads/data/text_corpus.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
