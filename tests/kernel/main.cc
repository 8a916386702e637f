// Runs the tests; with --skip-unless-able only where the running kernel has what they need.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <utility>

#include "netem/probe.h"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;  // ctest's SKIP_RETURN_CODE
  ::testing::InitGoogleTest(&argc, argv);
  if (argc > 1 && std::strcmp(argv[1], "--skip-unless-able") == 0) {
    const thinpipe::KernelFeatures features = thinpipe::probe_kernel();
    bool able = true;
    for (const auto& [name, feature] : {std::pair{"namespaces", features.namespaces},
                                        {"netem", features.netem},
                                        {"HTB", features.htb},
                                        {"IFB", features.ifb}}) {
      if (!feature.available) std::printf("%s: %s\n", name, feature.detail.c_str());
      able = able && feature.available;
    }
    if (!able) return kSkipped;
  }
  return RUN_ALL_TESTS();
}
