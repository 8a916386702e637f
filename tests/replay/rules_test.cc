#include "workloads/replay/rules.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace thinpipe {
namespace {

std::string of(const std::string& rules, const std::string& tensor) {
  return CompressorRules::parse(rules).of(tensor).to_string();
}

TEST(CompressorRules, APlainSpecIsForAllTensors) {
  const CompressorRules rules = CompressorRules::parse("topk:ratio=0.1");
  EXPECT_TRUE(rules.uniform());
  EXPECT_EQ(rules.of("any").to_string(), "topk:ratio=0.1");
  EXPECT_EQ(rules.method(), "topk");
  EXPECT_EQ(rules.to_string(), "topk:ratio=0.1");
  EXPECT_EQ(rules.specs().size(), 1U);
}

TEST(CompressorRules, TheFirstPatternThatMatchesDecides) {
  const std::string rules = "conv*:none;fc?.weight:topk:ratio=0.001;*.weight:3lc";
  EXPECT_EQ(of(rules, "conv1.weight"), "none");
  EXPECT_EQ(of(rules, "fc1.weight"), "topk:ratio=0.001");
  EXPECT_EQ(of(rules, "lstm.weight"), "3lc");
  EXPECT_EQ(of(rules, "fc1.bias"), "none");  // no rule
  EXPECT_EQ(CompressorRules::parse(rules).method(), "rules");
  EXPECT_EQ(CompressorRules::parse(rules).specs().size(), 3U);
  EXPECT_EQ(of("*[12].weight:3lc", "fc2.weight"), "3lc");
  EXPECT_EQ(of("*[12].weight:3lc", "fc3.weight"), "none");
}

TEST(CompressorRules, ASingleNameEndsInASemicolon) {
  const CompressorRules rules = CompressorRules::parse("fc1.weight:topk:ratio=0.01;");
  EXPECT_FALSE(rules.uniform());
  EXPECT_EQ(rules.to_string(), "fc1.weight:topk:ratio=0.01;");
  EXPECT_EQ(CompressorRules::parse(rules.to_string()), rules);
}

TEST(CompressorRules, WhatIsPrintedReadsTheSame) {
  for (const char* text : {"3lc", "conv*:none;fc*:topk:ratio=0.001", "*:3lc;", "a:none;b:3lc;"}) {
    const CompressorRules rules = CompressorRules::parse(text);
    EXPECT_EQ(CompressorRules::parse(rules.to_string()), rules) << text;
  }
}

TEST(CompressorRules, AlternativesOfAllPartsAreCrossed) {
  const auto all = CompressorRules::expand("conv*:none|bf16;*:topk:ratio=0.1|0.01");
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].to_string(), "conv*:none;*:topk:ratio=0.1");
  EXPECT_EQ(all[3].to_string(), "conv*:bf16;*:topk:ratio=0.01");
  EXPECT_EQ(CompressorRules::expand("topk:ratio=0.1|0.01").size(), 2U);
  EXPECT_THROW(CompressorRules::parse("*:topk:ratio=0.1|0.01"), InputError);
}

TEST(CompressorRules, SayWhatIsWrong) {
  for (const char* text : {";", "conv*:", "*", ":3lc;", "conv*;3lc", "conv*:to pk;"}) {
    EXPECT_THROW(CompressorRules::parse(text), InputError) << text;
  }
}

}  // namespace
}  // namespace thinpipe
