#include "harness/bench/ratios.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace thinpipe {
namespace {

std::vector<std::string> texts(const std::vector<std::string>& specs,
                               const std::vector<std::string>& ratios) {
  std::vector<Spec> parsed;
  for (const std::string& spec : specs) parsed.push_back(parse_spec(spec));
  std::vector<std::string> all;
  for (const Spec& spec : with_ratios(parsed, ratios)) all.push_back(spec.to_string());
  return all;
}

using Texts = std::vector<std::string>;

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
