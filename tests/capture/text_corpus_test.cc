#include "workloads/data/text_corpus.h"

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

TEST(TextCorpus, SymbolsFollowTheTable) {
  // Space is 0, '!' 1, 'A' 65 - 32 = 33, '~' 94; then newline 95, tabulator 96, the rest 97.
  EXPECT_THAT(to_symbols(" !A~\n\t\a"), ElementsAre(0, 1, 33, 94, 95, 96, 97));
  // One symbol for e-acute (two bytes) and one for a euro sign (three); \r\n is one newline, a lone
  // \r another character.
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
  // 21 words; counted are the first 19, up to the last comma: a 5, comma 4, b 4, c's 2, d 1.
  corpus.symbols = to_symbols("A a, a\tb b\na b, c's c's,\n a b d\n, new A");
  const TextCorpus words = to_words(corpus);
  // Line's ends are 0, a 2, comma 3, b 4, c's 5, d 6; "new", which was not counted, is 1.
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

}  // namespace
}  // namespace thinpipe
