#include "workloads/training/blas_kernels.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(BlasKernels, OnlyTheFallbackIsReplacedAndOnlyByWhatTheProcessorHas) {
  EXPECT_STREQ(better_blas_kernels("Prescott", true, true), "SKYLAKEX");
  EXPECT_STREQ(better_blas_kernels("Prescott", true, false), "HASWELL");
  EXPECT_EQ(better_blas_kernels("Prescott", false, false), nullptr);
  EXPECT_EQ(better_blas_kernels("Haswell", true, true), nullptr);
  EXPECT_EQ(better_blas_kernels("Zen", true, false), nullptr);
}

}  // namespace
}  // namespace thinpipe
