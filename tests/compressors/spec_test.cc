#include "compressors/spec.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace thinpipe {
namespace {

TEST(Spec, ParsesNamesAndValues) {
  const Spec spec = parse_spec("3lc:s=1.5,zre=false");
  EXPECT_EQ(spec.name, "3lc");
  EXPECT_EQ(spec.values.size(), 2U);
  EXPECT_EQ(spec.values.at("s"), "1.5");
  EXPECT_EQ(spec.values.at("zre"), "false");
  EXPECT_EQ(parse_spec("none"), (Spec{.name = "none", .values = {}}));
}

TEST(Spec, PrintsKeysInOrder) {
  EXPECT_EQ(parse_spec("topk:ratio=0.1,memory=none").to_string(), "topk:memory=none,ratio=0.1");
  EXPECT_EQ(parse_spec("none").to_string(), "none");
  EXPECT_EQ(parse_spec("topk:ratio=0.1,memory=none"), parse_spec("topk:memory=none,ratio=0.1"));
}

TEST(Spec, RejectsWhatIsNotASpec) {
  for (const char* text : {"",
                           ":",
                           "topk:",
                           ":ratio=1",
                           "topk:ratio",
                           "topk:ratio=",
                           "topk:=1",
                           "topk:ratio=1,",
                           "topk:,ratio=1",
                           "topk:ratio=0.1,ratio=0.2",
                           "topk:ratio=0.1|0.2",
                           "top k",
                           "topk:a=b c",
                           "topk:a=b=c",
                           "ps:pull=(topk",
                           "ps:pull=topk)",
                           "ps:pull=(topk)x",
                           "ps:pull=()",
                           "ps:pull=(a:b=(c))",
                           "ps:pull=(a,b)",
                           "ps:(a)",
                           "(ps)",
                           "TOPK",
                           "topk:Ratio=1",
                           "topk:ratio=0.1;x",
                           "a:b=\n",
                           "\xff"}) {
    EXPECT_THROW(parse_spec(text), InputError) << text;
  }
}

TEST(Spec, ErrorNamesTheSpecAndTheProblem) {
  try {
    parse_spec("topk:ratio=0.1,ratio=0.2");
    FAIL();
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("topk:ratio=0.1,ratio=0.2"), std::string::npos) << text;
    EXPECT_NE(text.find("'ratio' is given twice"), std::string::npos) << text;
  }
}

TEST(Spec, ExpandsAlternativesInWritingOrder) {
  std::vector<std::string> texts;
  for (const Spec& spec : expand_specs("topk|dgc:ratio=0.1|0.01,memory=none|residual")) {
    texts.push_back(spec.to_string());
  }
  EXPECT_EQ(texts, (std::vector<std::string>{
                       "topk:memory=none,ratio=0.1", "topk:memory=residual,ratio=0.1",
                       "topk:memory=none,ratio=0.01", "topk:memory=residual,ratio=0.01",
                       "dgc:memory=none,ratio=0.1", "dgc:memory=residual,ratio=0.1",
                       "dgc:memory=none,ratio=0.01", "dgc:memory=residual,ratio=0.01"}));
  EXPECT_EQ(expand_specs("none").size(), 1U);
  for (const char* text : {"topk:ratio=0.1|", "topk:ratio=|0.1", "topk|", "|", "topk:ratio|a=1"}) {
    EXPECT_THROW(expand_specs(text), InputError) << text;
  }
}

TEST(Spec, AValueInParenthesesIsASpec) {
  const Spec spec = parse_spec("ps:servers=2,pull=(topk:ratio=0.1,memory=none)");
  EXPECT_EQ(spec.values.at("servers"), "2");
  EXPECT_EQ(spec.values.at("pull"), "(topk:memory=none,ratio=0.1)");
  EXPECT_EQ(parse_spec(spec.to_string()), spec);
  EXPECT_EQ(spec_of_value(spec.values.at("pull")), parse_spec("topk:ratio=0.1,memory=none"));
  EXPECT_EQ(spec_of_value("none"), parse_spec("none"));
  EXPECT_THROW(spec_of_value("(none"), InputError);
  std::vector<std::string> texts;
  for (const Spec& one : expand_specs("ps:pull=none|(topk:ratio=0.1|0.01),servers=1|2"))
    texts.push_back(one.to_string());
  EXPECT_EQ(texts,
            (std::vector<std::string>{
                "ps:pull=none,servers=1", "ps:pull=none,servers=2",
                "ps:pull=(topk:ratio=0.1),servers=1", "ps:pull=(topk:ratio=0.1),servers=2",
                "ps:pull=(topk:ratio=0.01),servers=1", "ps:pull=(topk:ratio=0.01),servers=2"}));
}

}  // namespace
}  // namespace thinpipe
