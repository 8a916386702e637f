#include "workloads/replay/exchange_thread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
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
    EXPECT_EQ(thread.ended(), 100U);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    thread.forget();
    EXPECT_EQ(thread.ended(), 0U);
  }
}

TEST(ExchangeThread, JobsOfTwoPartsBeginWhileOthersBeforeThemGoOn) {
  ExchangeThread thread;
  int begun = 0;  // of the thread alone
  for (int i = 0; i < 3; ++i)
    thread.submit([&] { ++begun; }, [&, i] { return begun >= std::min(i + 2, 4); });
  // The third waits for one more; until then two have ended.
  EXPECT_EQ(thread.wait(2), 2U);
  EXPECT_EQ(thread.ended(), 2U);
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
  EXPECT_FALSE(ran);  // what came after it was dropped
}

}  // namespace
}  // namespace thinpipe
