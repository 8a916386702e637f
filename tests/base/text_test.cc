#include "base/text.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
}

TEST(EditDistance, CountsEdits) {
  EXPECT_EQ(edit_distance("topk", "topk"), 0U);
  EXPECT_EQ(edit_distance("tpok", "topk"), 1U);  // two neighbours swapped
  EXPECT_EQ(edit_distance("top", "topk"), 1U);   // one insertion
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);  // the textbook's example
}

TEST(Nearest, SuggestsOnlyWhatIsNear) {
  const std::vector<std::string> names = {"topk", "sidco", "none"};
  EXPECT_EQ(nearest("topkk", names), "topk");
  EXPECT_EQ(nearest("sidko", names), "sidco");
  EXPECT_EQ(nearest("gaussian", names), "");
  EXPECT_EQ(did_you_mean("nome", names), "; did you mean 'none'?");
  EXPECT_EQ(did_you_mean("zzzzzz", names), "");
}

TEST(Excerpt, RepeatsLongTextByItsBeginning) {
  EXPECT_EQ(excerpt("topk:ratio=0.1"), "topk:ratio=0.1");
  EXPECT_EQ(excerpt(std::string(120, 'a')), std::string(120, 'a'));
  EXPECT_EQ(excerpt(std::string(100'000, 'a')), std::string(60, 'a') + "... (100000 characters)");
  EXPECT_EQ(in_quotes("a"), "'a'");
}

TEST(Excerpt, CutsNoLetterInTwo) {
  std::string text = std::string(59, 'a');
  for (int i = 0; i < 100; ++i) text += "ü";
  EXPECT_EQ(excerpt(text), std::string(59, 'a') + "... (259 characters)");
}

}  // namespace
}  // namespace thinpipe
