#include "reports/gate/policy.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/base/input_error.h"

namespace thinpipe {
namespace {

TEST(GatePolicyFile, GeneralAndByMetric) {
  const GatePolicy policy = parse_policy(
      "# how strict we are\n"
      "[gate]\r\n"
      "margin = 3%\n"
      "alpha=0.01\n"
      "pairs = 12\n"
      "\n"
      "[encode_*]\n"
      "margin = 0.05\n"
      "[encode_time of topk*]\n"
      "margin = 10 %\n"
      "; the last word\n"
      "[quality]\n"
      "least = 0.9\n"
      "most = 1.1\n"
      "[decode_time]\n"
      "ignore = true\n",
      "gate.ini");
  EXPECT_DOUBLE_EQ(policy.margin, 0.03);
  EXPECT_DOUBLE_EQ(policy.alpha, 0.01);
  EXPECT_EQ(policy.pairs, 12);
  EXPECT_EQ(policy.looks, 3);
  EXPECT_DOUBLE_EQ(policy.of("3lc/x", "encode_time", 0.03).margin, 0.05);
  EXPECT_DOUBLE_EQ(policy.of("topk/x", "encode_time", 0.03).margin, 0.1);
  EXPECT_DOUBLE_EQ(policy.of("topk/x", "exchange_time", 0.03).margin, 0.03);
  EXPECT_TRUE(policy.of("topk/x", "decode_time", 0.03).ignore);
  EXPECT_EQ(policy.of("topk/x", "quality", 0.03).least, 0.9);
  EXPECT_EQ(policy.of("topk/x", "quality", 0.03).most, 1.1);
}

TEST(GatePolicyFile, TheMachinesOwnTimesAreIgnoredUnlessAskedFor) {
  EXPECT_TRUE(GatePolicy().of("p", "read_time", 0.02).ignore);
  const GatePolicy policy = parse_policy("[read_time]\nignore = no\n", "gate.ini");
  EXPECT_FALSE(policy.of("p", "read_time", 0.02).ignore);
}

std::string complaint(const std::string& text) {
  return input_error([&] { parse_policy(text, "gate.ini"); });
}

TEST(GatePolicyFile, ComplaintsNameLineAndKey) {
  EXPECT_EQ(complaint("[gate]\nmargin = 200%\n"),
            "gate.ini line 2: margin: expected a share above 0 and below 100 %, as 2% or 0.02, "
            "found '200%'");
  EXPECT_EQ(complaint("[gate]\nmargn = 2%\n"),
            "gate.ini line 2: there is no key 'margn' in this section; did you mean 'margin'?");
  EXPECT_EQ(complaint("margin = 2%\n"),
            "gate.ini line 1: expected a section first, as [gate], found 'margin = 2%'");
  EXPECT_EQ(complaint("[gate\n"),
            "gate.ini line 1: expected a section, as [gate] or [encode_time], found '[gate'");
  EXPECT_EQ(complaint("[gate]\nmargin\n"),
            "gate.ini line 2: expected 'key = value', found 'margin'");
  EXPECT_EQ(complaint("[gate]\npairs = 3.5\n"),
            "gate.ini line 2: pairs: expected a whole number from 4 to 1000, found '3.5'");
  EXPECT_EQ(complaint("[x]\nignore = perhaps\n"),
            "gate.ini line 2: ignore: expected true or false, found 'perhaps'");
  for (const char* text : {"[]\n", "[ ]\n", "[", "]", "=", "[gate]\n=\n", "[gate]\nmargin=\n",
                           "[gate]\nmargin=nan\n", "[gate]\nmargin=-1%\n"})
    EXPECT_NE(complaint(text), "") << text;
}

TEST(GatePolicyFile, AMissingFileIsNamed) {
  try {
    read_policy("/nowhere/gate.ini");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("/nowhere/gate.ini"), std::string::npos);
  }
}

}  // namespace
}  // namespace thinpipe
