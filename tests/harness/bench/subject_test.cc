// A result that is wrong in any one way is found before its time is told.
#include "harness/bench/subject.h"

#include <gtest/gtest.h>

#include "compressors/simd.h"
#include "tests/harness/bench/wrong_compressor.h"

namespace thinpipe {
namespace {

// What the validations say of a wrong compressor; "" when nothing.
std::string complaint(const std::string& how, int threads = 1, std::size_t elements = 5000) {
  BenchOptions options;
  options.residency = Residency::kCache;
  const Inputs inputs(options, elements, false);
  CompressorSettings settings;
  settings.threads = threads;
  Subject subject({.make =
                       [&](const TensorInfo& tensor, const CompressorSettings& with) {
                         return testing::make_wrong_compressor(how, tensor, with);
                       },
                   .settings = settings,
                   .simd = simd_targets().front()},
                  inputs);
  try {
    subject.validate_start();
    subject.warm_up(4);
    subject.decode();
    subject.validate_last();
  } catch (const ValidationError& error) {
    set_simd_target("best");
    return error.what();
  }
  set_simd_target("best");
  return "";
}

TEST(Subject, RightOnesPass) {
  EXPECT_EQ(complaint("nothing"), "");
  EXPECT_EQ(complaint("nothing", 2), "");
}

TEST(Subject, WrongOnesDoNot) {
  EXPECT_NE(complaint("count").find("reports 49 selected elements; 50 are decoded to other than 0"),
            std::string::npos)
      << complaint("count");  // k = 1 % of 5000
  EXPECT_NE(complaint("private").find("by another compressor of the same spec"), std::string::npos);
  EXPECT_NE(complaint("larger").find("were announced"), std::string::npos);
  EXPECT_NE(complaint("past").find("writes past the end"), std::string::npos) << complaint("past");
  EXPECT_NE(complaint("nan"), "");
  EXPECT_NE(complaint("error").find("reports an error of"), std::string::npos)
      << complaint("error");
  EXPECT_NE(complaint("threads", 2).find("differs from"), std::string::npos);
  EXPECT_EQ(complaint("threads", 1), "");
  EXPECT_NE(complaint("decode-threads", 2).find("2 threads"), std::string::npos)
      << complaint("decode-threads", 2);
  if (simd_targets().size() > 1) {
    EXPECT_NE(complaint("decode-target").find("element 4999 of step 0 is decoded to"),
              std::string::npos)
        << complaint("decode-target");
    // Beyond the elements that are held against the plainest kernels from the first step.
    EXPECT_NE(complaint("decode-later", 1, (1 << 20) + 1).find("element 1048576 is decoded to"),
              std::string::npos);
    EXPECT_NE(complaint("target").find("differs from"), std::string::npos);
  }
}

TEST(Subject, QualityIsOfTheSecondHalf) {
  BenchOptions options;
  options.residency = Residency::kCache;
  const Inputs inputs(options, 10000, false);
  const auto make = [](const TensorInfo& tensor, const CompressorSettings& settings) {
    return testing::make_wrong_compressor("nothing", tensor, settings);
  };
  Subject subject({.make = make, .settings = {}, .simd = simd_targets().front()}, inputs);
  const Quality quality = subject.warm_up(3);
  EXPECT_EQ(quality.selected_share, 1);  // exact top-k
  EXPECT_GT(quality.relative_error, 0.5);
  EXPECT_LT(quality.relative_error, 1);
  EXPECT_GT(quality.bits_per_element, 0.01 * 32);  // its values alone
  EXPECT_GE(quality.passes, 1);
}

}  // namespace
}  // namespace thinpipe
