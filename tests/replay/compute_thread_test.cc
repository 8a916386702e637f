#include "workloads/replay/compute_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <future>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace thinpipe {
namespace {

TEST(ComputeThread, WorkIsCpuTimeOfTheThread) {
  const double before = now_seconds(CLOCK_THREAD_CPUTIME_ID);
  work_for(0.02);
  const double used = now_seconds(CLOCK_THREAD_CPUTIME_ID) - before;
  EXPECT_GE(used, 0.02);
  EXPECT_LT(used, 0.05);  // CPU time, so a busy machine changes little
  work_for(0);
  work_for(-1);
}

TEST(ComputeThread, ReachesEveryMomentOfEveryStep) {
  std::atomic<std::size_t> told = 0;
  ComputeThread thread([&] { ++told; });
  std::vector<double> moments = {0, 0.002, 0.005};
  for (std::size_t step = 1; step <= 20; ++step) {
    const double begin = now_seconds();
    thread.begin(moments);
    while (thread.reached() < 3) std::this_thread::yield();
    EXPECT_GE(now_seconds() - begin, 0.005);
    while (told < 3 * step) std::this_thread::yield();
  }
}

TEST(ComputeThread, AMomentBeforeAnEarlierOneTakesNoWork) {
  const double before = now_seconds(CLOCK_PROCESS_CPUTIME_ID);
  const std::vector<double> moments = {0.04, 0.01, 0.05};
  std::promise<void> done;
  std::size_t told = 0;
  ComputeThread thread([&] {
    if (++told == moments.size()) done.set_value();
  });
  const double begin = now_seconds();
  thread.begin(moments);
  done.get_future().wait();  // without CPU time
  EXPECT_GE(thread.ended() - begin, 0.05);
  EXPECT_LT(now_seconds(CLOCK_PROCESS_CPUTIME_ID) - before, 0.075);  // not 0.08
}

TEST(ComputeThread, MayEndWithinAStep) {
  const std::vector<double> moments(1000, 0.01);
  const ComputeThread idle([] {});
  ComputeThread thread([] {});
  thread.begin(moments);
}

}  // namespace
}  // namespace thinpipe
