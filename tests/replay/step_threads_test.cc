#include "workloads/replay/step_threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace thinpipe {
namespace {

TEST(ExchangeThread, RunsJobsInOrderAndOneAtATime) {
  ExchangeThread thread;
  thread.reserve(100);
  std::vector<int> order;
  std::atomic<int> inside = 0;
  for (int round = 0; round < 3; ++round) {
    order.clear();
    for (int i = 0; i < 100; ++i)
      thread.submit([&, i] {
        EXPECT_EQ(++inside, 1);
        order.push_back(i);
        --inside;
      });
    EXPECT_EQ(thread.wait(100), 100U);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    thread.forget();
    EXPECT_EQ(thread.wait(0), 0U);
  }
}

TEST(ExchangeThread, JobsOfTwoPartsBeginWhileOthersBeforeThemGoOn) {
  ExchangeThread thread;
  int begun = 0;  // of the thread alone
  for (int i = 0; i < 3; ++i)
    thread.submit([&] { ++begun; }, [&, i] { return begun >= std::min(i + 2, 4); });
  // The third waits for one more; until then two have ended.
  EXPECT_EQ(thread.wait(2), 2U);
  thread.submit([&] { ++begun; });
  EXPECT_EQ(thread.wait(4), 4U);
  thread.forget();
}

TEST(ExchangeThread, ThrowsWhatAPollThrew) {
  ExchangeThread thread;
  thread.submit([] {}, []() -> bool { throw InputError("no"); });
  EXPECT_THROW(thread.wait(1), InputError);
  thread.submit([] {});
  EXPECT_EQ(thread.wait(1), 1U);
}

TEST(ExchangeThread, WaitsNoLongerThanUntilTheMoment) {
  ExchangeThread thread;
  std::mutex held;
  held.lock();
  thread.submit([&] { const std::lock_guard lock(held); });
  const double moment = now_seconds() + 0.01;
  EXPECT_EQ(thread.wait(1, moment), 0U);
  EXPECT_GE(now_seconds(), moment);
  held.unlock();
  EXPECT_EQ(thread.wait(1), 1U);
}

TEST(ExchangeThread, ThrowsWhatAJobThrew) {
  ExchangeThread thread;
  bool ran = false;
  std::mutex held;
  held.lock();
  thread.submit([&] {
    const std::lock_guard lock(held);
    throw InputError("no");
  });
  thread.submit([&] { ran = true; });
  held.unlock();
  EXPECT_THROW(thread.wait(2), InputError);
  thread.submit([] {});
  EXPECT_EQ(thread.wait(1), 1U);
  EXPECT_FALSE(ran);  // the work after it was dropped
}

// Other programs hardly change CPU time. But a hypervisor's pause counts as CPU time if the kernel
// does not know of it. So the shortest of several counts, here and in a test below.
TEST(ComputeThread, WorkIsCpuTimeOfTheThread) {
  double shortest = 1;
  for (int i = 0; i < 10 && shortest >= 0.05; ++i) {
    const double before = now_seconds(CLOCK_THREAD_CPUTIME_ID);
    work_for(0.02);
    shortest = std::min(shortest, now_seconds(CLOCK_THREAD_CPUTIME_ID) - before);
  }
  EXPECT_GE(shortest, 0.02);
  EXPECT_LT(shortest, 0.05);
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
  const std::vector<double> moments = {0.04, 0.01, 0.05};
  double shortest = 1;
  for (int i = 0; i < 10 && shortest >= 0.075; ++i) {
    const double before = now_seconds(CLOCK_PROCESS_CPUTIME_ID);
    std::promise<void> done;
    std::size_t told = 0;
    ComputeThread thread([&] {
      if (++told == moments.size()) done.set_value();
    });
    const double begin = now_seconds();
    thread.begin(moments);
    done.get_future().wait();  // without CPU time
    EXPECT_GE(thread.ended() - begin, 0.05);
    shortest = std::min(shortest, now_seconds(CLOCK_PROCESS_CPUTIME_ID) - before);
  }
  EXPECT_LT(shortest, 0.075);  // not 0.08
}

TEST(ComputeThread, MayEndWithinAStep) {
  const std::vector<double> moments(1000, 0.01);
  const ComputeThread idle([] {});
  ComputeThread thread([] {});
  thread.begin(moments);
}

}  // namespace
}  // namespace thinpipe
