// Tests the kernel itself: it must have all features that links need, its clock must resolve short
// times, and its timers must fire. With --skip-unless-able the tests run only on kernels that meet
// these conditions.

#include <gtest/gtest.h>
#include <time.h>

#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "netem/probe.h"
#include "tests/kernel/measure.h"

namespace thinpipe {
namespace {

TEST(Features, AllAreThere) {
  const KernelFeatures features = probe_kernel();
  for (const KernelFeature& feature : {features.namespaces, features.veth, features.bridge,
                                       features.ifb, features.tbf, features.htb, features.netem})
    EXPECT_TRUE(feature.available) << feature.detail;
}

TEST(Clock, IsReadInMicroseconds) {
  std::vector<double> steps;
  double before = now_seconds();
  for (int i = 0; i < 5000; ++i) {
    const double after = now_seconds();
    steps.push_back(after - before);
    before = after;
  }
  note("two readings apart", median(steps) * 1e6, "us");
  EXPECT_GE(quantile(steps, 0), 0);
  EXPECT_LT(median(steps), 100e-6);  // 7 us in user-mode-linux, where it is a system call
}

// Without high-resolution timers a sleep would last one or two ticks: 10 to 20 ms at HZ=100.
TEST(Clock, TimersFireWithinAMillisecond) {
  for (const double wanted : {1e-3, 20e-3}) {
    std::vector<double> late;
    for (int i = 0; i < 50; ++i) {
      const double begin = now_seconds();
      const timespec sleep = {0, static_cast<long>(wanted * 1e9)};
      nanosleep(&sleep, nullptr);
      late.push_back(now_seconds() - begin - wanted);
    }
    note(wanted < 0.01 ? "1 ms is late by" : "20 ms is late by", median(late) * 1e6, "us");
    EXPECT_GE(quantile(late, 0), 0);
    EXPECT_LT(median(late), 1e-3);
  }
}

}  // namespace

}  // namespace thinpipe

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
