#include "harness/bench/options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace thinpipe {
namespace {

using Texts = std::vector<std::string>;

TEST(BenchOptions, ElementsAreDecimal) {
  EXPECT_EQ(parse_elements("1"), 1u);
  EXPECT_EQ(parse_elements("65537"), 65537u);
  EXPECT_EQ(parse_elements("260k"), 260000u);
  EXPECT_EQ(parse_elements("2.6m"), 2600000u);
  EXPECT_EQ(parse_elements("1g"), 1000000000u);
}

TEST(BenchOptions, DevicesAreTheCpuAndCuda) {
  check_device("cpu");
  check_device("cuda");
  EXPECT_THROW(check_device("tpu"), InputError);
  EXPECT_THROW(check_device(""), InputError);
}

TEST(BenchOptions, ElementsThatAreNone) {
  for (const char* text : {"", "0", "k", "-1", "1.5", "26q", "26mm", "2g", "nan", "inf", "1e300"}) {
    EXPECT_THROW(parse_elements(text), InputError) << text;
  }
}

Texts texts(const Texts& specs, const Texts& ratios) {
  std::vector<Spec> parsed;
  for (const std::string& spec : specs) parsed.push_back(parse_spec(spec));
  Texts all;
  for (const Spec& spec : with_ratios(parsed, ratios)) all.push_back(spec.to_string());
  return all;
}

TEST(Ratios, AreOfTheMethodsThatTakeThem) {
  EXPECT_EQ(texts({"topk", "none", "sbc"}, {"0.1", "0.01"}),
            (Texts{"topk:ratio=0.1", "topk:ratio=0.01", "none", "sbc:p=0.1", "sbc:p=0.01"}));
  EXPECT_EQ(texts({"topk"}, {}), Texts{"topk"});
}

TEST(Ratios, OfASpecStayAndNothingIsThereTwice) {
  EXPECT_EQ(texts({"topk:ratio=0.5", "topk:memory=none", "topk", "topk:ratio=0.1"}, {"0.1"}),
            (Texts{"topk:ratio=0.5", "topk:memory=none,ratio=0.1", "topk:ratio=0.1"}));
}

TEST(Ratios, BadOnesAreRefused) {
  EXPECT_THROW(texts({"topk"}, {"2"}), InputError);
  EXPECT_THROW(texts({"topk"}, {""}), InputError);
  EXPECT_THROW(texts({"none"}, {"0.1"}), InputError) << "nothing takes it";
}

TEST(Ratios, OfSpecs) {
  EXPECT_EQ(ratio_of(parse_spec("topk")), 0.01);
  EXPECT_EQ(ratio_of(parse_spec("sbc:p=0.25")), 0.25);
  EXPECT_FALSE(ratio_of(parse_spec("3lc")).has_value());
}

}  // namespace
}  // namespace thinpipe
