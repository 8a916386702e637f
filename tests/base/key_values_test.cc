// Pairs of keys and values: accepted texts, refused texts, and the messages.
#include "base/key_values.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

#include "base/units.h"

namespace thinpipe {
namespace {

using Parts = std::vector<std::string>;

TEST(SplitOutside, LeavesParenthesesWhole) {
  EXPECT_EQ(split_outside("a=(b=1,c=2),d", ','), (Parts{"a=(b=1,c=2)", "d"}));
  EXPECT_EQ(split_outside("", ','), Parts{""});
  for (const char* wrong : {"(", ")", "a)(b", "((a))", "(a,b"})
    EXPECT_FALSE(split_outside(wrong, ',')) << wrong;
}

TEST(KeyValues, AreTakenOneByOne) {
  KeyValues items = KeyValues::after_name("thing", "name:b=2,a=1,c=three,at=(x=1,y=2)");
  EXPECT_EQ(items.number("a", 7, 0, 10), 1);
  EXPECT_EQ(items.number<std::uint64_t>("b", std::nullopt, 0, 10), 2U);
  EXPECT_EQ(items.number("d", 7, 0, 10), 7) << "as it is not given";
  EXPECT_EQ(items.choice("c", {"one", "two", "three"}), 2U);
  EXPECT_EQ(items.choice("e", {"one", "two"}), 0U);
  EXPECT_EQ(items.take("at"), "(x=1,y=2)");
  EXPECT_TRUE(items.given("at"));
  EXPECT_FALSE(items.find("at"));
  EXPECT_NO_THROW(items.finish());
  EXPECT_TRUE(KeyValues::after_name("thing", "name").left().empty());
}

TEST(KeyValues, AreTakenByWhatTheirKeysAre) {
  KeyValues items("thing", "1s=a,b=c,2s=d", "1s=a,b=c,2s=d");
  const auto digits = [](const std::string& key) { return key[0] >= '0' && key[0] <= '9'; };
  const auto taken = items.take_if(digits);
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[1].key + taken[1].value, "2sd");
  ASSERT_EQ(items.left().size(), 1U);
  EXPECT_EQ(items.left()[0].key, "b");
}

TEST(KeyValues, SayWhatIsWrong) {
  struct Wrong {
    const char *text, *complaint;
    std::function<void(KeyValues&)> read;
  };
  const auto nothing = [](KeyValues&) {};
  const auto number = [](KeyValues& items) { items.number("a", 1, 0, 0.5); };
  const auto whole = [](KeyValues& items) { items.number<int>("a", std::nullopt, 1, 9); };
  const auto time = [](KeyValues& items) { items.read("a", items.take("a"), parse_time); };
  const auto choice = [](KeyValues& items) { items.choice("a", {"ready", "reverse"}); };
  const auto finish = [](KeyValues& items) { items.find("size"), items.finish("moments"); };
  for (const Wrong& wrong : {
           Wrong{"a", "thing 'a': expected key=value, found 'a'", nothing},
           Wrong{"a=", "thing 'a=': expected key=value, found 'a='", nothing},
           Wrong{"=1", "thing '=1': expected key=value, found '=1'", nothing},
           Wrong{"", "thing '': expected key=value, found ''", nothing},
           Wrong{"a=1,,b=2", "thing 'a=1,,b=2': expected key=value, found ''", nothing},
           Wrong{"a=1,a=2", "thing 'a=1,a=2': a is given twice", nothing},
           Wrong{"a=1", "thing 'a=1': a=1: expected a number from 0 to 0.5", number},
           Wrong{"a=x", "thing 'a=x': a=x: expected a number from 0 to 0.5", number},
           Wrong{"a=1.5", "thing 'a=1.5': a=1.5: expected a whole number from 1 to 9", whole},
           Wrong{"b=1", "thing 'b=1': a= is missing", whole},
           Wrong{"a=1h", "thing 'a=1h': a=1h: '1h' is not a time", time},
           Wrong{"a=redy",
                 "thing 'a=redy': a=redy: expected one of ready, reverse; did you mean 'ready'?",
                 choice},
           Wrong{"siz=1",
                 "thing 'siz=1': unknown key 'siz' (known: size and moments); did you mean 'size'?",
                 finish},
       }) {
    try {
      KeyValues items("thing", wrong.text, wrong.text);
      wrong.read(items);
      ADD_FAILURE() << wrong.text;
    } catch (const InputError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(wrong.complaint)) << error.what();
    }
  }
}

}  // namespace
}  // namespace thinpipe
