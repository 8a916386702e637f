// The roofline's kernels do all of the work they are timed for: every element counts, once.
#include "harness/bench/roofline.h"

#include <gtest/gtest.h>

#include <vector>

#include "compressors/simd.h"
#include "harness/bench/timed_roofline.h"

namespace thinpipe {
namespace {

// Not whole vectors, streams or shares; some smaller than all of these.
constexpr std::size_t kSizes[] = {0, 1, 7, 16, 65, 1000, 4096, 70001};

TEST(Roofline, EveryStreamCountReadsEveryElementOnce) {
  for (const std::string& target : simd_targets()) {
    set_simd_target(target);
    for (const int threads : {1, 2, 3}) {
      Team team(threads);
      for (const std::size_t n : kSizes) {
        // Small whole numbers: the sum is exact in any order, and is n (n - 1) / 2 modulo nothing
        // only if each element was there once: 0 + 1 + ... + 6 + 0 + 1 + ...
        std::vector<float> x(n);
        double expected = 0;
        for (std::size_t i = 0; i < n; ++i) expected += x[i] = static_cast<float>(i % 7);
        for (const int streams : kStreamCounts) {
          EXPECT_EQ(read_streams(x, streams, team), expected)
              << target << ", " << threads << " threads, " << n << ", " << streams << " streams";
        }
        if (n == 0) continue;
        // One element more shows up wherever it stands.
        for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
          x[at] += 100;
          for (const int streams : kStreamCounts) {
            EXPECT_EQ(read_streams(x, streams, team), expected + 100) << n << " at " << at;
          }
          x[at] -= 100;
        }
      }
    }
  }
  set_simd_target("best");
}

TEST(Roofline, CopyAndTriadWriteEveryElement) {
  for (const std::string& target : simd_targets()) {
    set_simd_target(target);
    for (const int threads : {1, 2, 3}) {
      Team team(threads);
      for (const std::size_t n : kSizes) {
        std::vector<float> a(n), b(n), out(n, -1.0F);
        for (std::size_t i = 0; i < n; ++i) {
          a[i] = static_cast<float>(i);
          b[i] = static_cast<float>(i % 5);
        }
        copy_array(a, out, team);
        EXPECT_EQ(out, a) << target << " " << n;
        triad(a, b, 0.5F, out, team);
        for (std::size_t i = 0; i < n; ++i) {
          ASSERT_EQ(out[i], static_cast<float>(i) + 0.5F * static_cast<float>(i % 5)) << i;
        }
      }
    }
  }
  set_simd_target("best");
}

TEST(Team, EveryThreadWorksOnceARound) {
  Team team(3);
  std::atomic<int> calls[3] = {0, 0, 0};
  for (int round = 1; round <= 1000; ++round) {
    team.run([&](int index) { ++calls[index]; });
    for (const std::atomic<int>& count : calls) ASSERT_EQ(count, round);
  }
}

}  // namespace
}  // namespace thinpipe
