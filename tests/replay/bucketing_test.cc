#include "workloads/replay/bucketing.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

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

TEST(BucketLimits, AreReadAndPrinted) {
  constexpr std::size_t kMega = std::size_t{1} << 20;
  EXPECT_EQ(BucketLimits::parse("ddp"), BucketLimits());
  EXPECT_EQ(BucketLimits::parse("ddp").to_string(), "ddp");
  const BucketLimits limits = BucketLimits::parse("rest=4mb,order=reverse");
  EXPECT_EQ(limits.first, kMega);
  EXPECT_EQ(limits.rest, 4 * kMega);
  EXPECT_EQ(limits.to_string(), "first=1mb,rest=4mb,order=reverse");
  EXPECT_EQ(BucketLimits::parse(limits.to_string()), limits);
  EXPECT_EQ(BucketLimits::parse("first=100,rest=3kb").to_string(),
            "first=100b,rest=3kb,order=ready");
  for (const char* text : {"", "first", "first=0", "size=1mb", "order=up", "first=1mb,"})
    EXPECT_THROW(BucketLimits::parse(text), InputError) << text;
}

TEST(Bucketing, SaysOnlyWhatDiffers) {
  EXPECT_EQ(Bucketing().to_string(), "");
  Bucketing bucketing;
  bucketing.overlap = Overlap::kBucket;
  bucketing.codec_beside = true;
  bucketing.min_elements = 1000;
  bucketing.local_steps = 4;
  EXPECT_EQ(bucketing.to_string(), "min_elements=1000;overlap=bucket;codec=thread;local_steps=4");
}

}  // namespace
}  // namespace thinpipe
