// Runs the tests; with --skip-without-netem only where the running kernel has netem.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include "netem/probe.h"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;  // ctest's SKIP_RETURN_CODE
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1 && std::strcmp(argv[1], "--skip-without-netem") == 0) {
    const thinpipe::KernelFeatures features = thinpipe::probe_kernel();
    if (!features.netem.available) {
      std::printf("netem: %s\n", features.netem.detail.c_str());
      return kSkipped;
    }
  }
  return RUN_ALL_TESTS();
}
