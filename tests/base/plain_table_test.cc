#include "base/plain_table.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(TextColumns, CombiningCharactersTakeNone) {
  EXPECT_EQ(text_columns("k^"), 2U);
  EXPECT_EQ(text_columns("k\xcc\x82/k"), 3U);  // k with a hat
  EXPECT_EQ(text_columns("\xc2\xb1"
                         "90%"),
            4U);
}

TEST(PlainTable, ColumnsAreAsWideAsWhatIsInThem) {
  PlainTable table({"name", "unit", "long\nhead", "x"}, 2);
  EXPECT_TRUE(table.empty());
  table.add({"a", "ms", "1", "22.5"});
  table.add({"bcdefg", "", "1234567", ""});
  EXPECT_EQ(table.text(),
            "name    unit     long     x\n"
            "                 head\n"
            "a       ms          1  22.5\n"
            "bcdefg        1234567\n");
}

TEST(PlainTable, LongNamesHaveLinesOfTheirOwnAndLoseNothing) {
  PlainTable table({"compressor", "a", "b"});
  const std::string name = "sidco:dist=exp,ratio=0.001,stages=3";
  table.add({name, "11111", "22222"});
  table.add({"none", "1", "2"});
  EXPECT_EQ(table.text(24),
            "compressor       a     b\n"
            "sidco:dist=exp,\n"
            "    ratio=0.001,stages=3\n"
            "             11111 22222\n"
            "none             1     2\n");
  // One blank between columns is enough before anything is folded.
  EXPECT_EQ(table.text(name.size() + 12).find('\n'), name.size() + 12);
}

}  // namespace
}  // namespace thinpipe
