// The gate's message against a layout written by hand from linux/pkt_sched.h, and the rates that
// the keeper chooses for a simulated queue.
#include "netem/schedule/throttle.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/netem/helpers.h"

namespace thinpipe {
namespace {

// tc_ratespec: cell_log, linklayer, overhead (2), cell_align (2), mpu (2), rate (4).
TEST(Gate, OpenIsNoThrottle) {
  const QdiscRequest request = gate_request({.open = true, .cut = 12500, .limit = 625000});
  EXPECT_EQ(request.kind, "tbf");
  EXPECT_EQ(hex(request.options),
            "28000100 00010000 00000000 ffffffff 00000000 00000000 00000000 68890900 04000000 "
            "00000000 "                    // limit; 250 ns at 50 GB/s are 4 ticks
            "0c000400 00743ba4 0b000000 "  // 50000000000
            "08000600 d4300000");          // the bucket, to which packets are cut
  EXPECT_EQ(settings_of(request.mismatches(request.options)), "");
}

TEST(Gate, ShutTakesEveryPacketForLargerThanItsBucket) {
  const QdiscRequest request = gate_request({.open = false, .cut = 12500, .limit = 625000});
  // (65535 - 12500) bytes a millisecond: 53035000 bytes/s, at which 12500 take 235.7 us.
  EXPECT_EQ(
      hex(request.options),
      "28000100 00010000 0000ffff f83f2903 00000000 00000000 00000000 68890900 630e0000 00000000");
  EXPECT_EQ(settings_of(request.mismatches(request.options)), "");
  // However large packets are cut when it is open.
  const QdiscRequest wide = gate_request({.open = false, .cut = 80000, .limit = 625000});
  EXPECT_EQ(hex(wide.options).substr(18, 17), "0000ffff 18755400");  // 5535000 bytes/s: 60000 fit
}

TEST(Gate, NamesWhatTheKernelKeepsOtherwise) {
  const QdiscRequest open = gate_request({.open = true, .cut = 12500, .limit = 625000});
  const QdiscRequest shut = gate_request({.open = false, .cut = 12500, .limit = 5000});
  EXPECT_EQ(settings_of(open.mismatches(shut.options)),
            "gate rate in bytes/s (TCA_TBF_RATE64): 50000000000 53035000\n"
            "gate limit (TCA_TBF_PARMS): 625000 5000\n"
            "gate mpu (TCA_TBF_PARMS): 0 65535\n"
            "gate bucket in 64 ns of transmit time (TCA_TBF_PARMS): 4 3683\n");
}

constexpr double kPiece = 1514;  // bytes

// Simulates HTB with one class and a queue that is always full. A frame leaves when HTB has the
// tokens for the previous frame, and costs its transmission time at the rate of that moment. While
// the gate is closed, no frame leaves, and tokens for two frames accumulate.
class FullQueue {
 public:
  QueueReading read() const { return {bytes_, 1}; }
  void run(double rate, double from, double to) {
    if (rate <= 0) return;
    for (free_ = std::max(free_, from - 2 * 8 * kPiece / rate); free_ < to;
         free_ += 8 * kPiece / rate)
      bytes_ += static_cast<std::uint64_t>(kPiece);
  }
  double bits() const { return 8.0 * static_cast<double>(bytes_); }

 private:
  std::uint64_t bytes_ = 0;
  double free_ = 0;
};

// Simulates 60 s in spans of 100 ms; `late` is the delay of each change.
double crossed(const Schedule& schedule, bool keep, double late = 0) {
  FullQueue queue;
  RateKeeper keeper(schedule, kPiece);
  double rate = 0;
  for (int i = 0; i < 600; ++i) {
    const double due = i * 0.1, next = due + 0.1;
    queue.run(rate, due, due + late);
    const double now = due + late;
    rate = keep ? keeper.plan(now, next, queue.read()) : schedule.mean(due, next).rate;
    queue.run(rate, now, next);
  }
  return queue.bits();
}

Schedule schedule_of(const std::string& text) { return parse_schedule(text).on({1e6, 0, 0}); }

TEST(RateKeeper, MakesUpForFramesThatBlockTheLink) {
  // A frame takes 12 ms at 1 Mbit/s and 194 ms at 62.5 kbit/s.
  const Schedule schedule =
      schedule_of("steps:0s=100%,100ms=50%,200ms=25%,300ms=12.5%,400ms=6.25%,repeat=500ms");
  const double due = schedule.bits(0, 60);
  EXPECT_LT(crossed(schedule, false), 0.8 * due);  // HTB alone
  EXPECT_NEAR(crossed(schedule, true), due, 0.02 * due);
}

TEST(RateKeeper, NeverLeavesTheIntegralByMoreThanAFewFrames) {
  for (const char* text : {"steps:0s=100%,100ms=50%,repeat=200ms",
                           "sine:low=10%,high=100%,period=3s", "ramp:0s=10%,30s=100%,60s=10%",
                           "outage:every=1s,lasts=300ms", "walk:low=5%,high=100%,step=50%"}) {
    const Schedule schedule = schedule_of(text);
    EXPECT_NEAR(crossed(schedule, true), schedule.bits(0, 60), 4 * 8 * kPiece) << text;
  }
}

TEST(RateKeeper, MakesUpForChangesThatComeLate) {
  const Schedule schedule = schedule_of("steps:0s=100%,100ms=20%,repeat=200ms");
  for (const double late : {0.002, 0.02})
    EXPECT_NEAR(crossed(schedule, true, late), schedule.bits(0, 60), 8 * 8 * kPiece) << late;
}

TEST(RateKeeper, LeavesAConstantRateAlone) {
  const Schedule schedule = schedule_of("steps:0s=100%");
  FullQueue queue;
  RateKeeper keeper(schedule, kPiece);
  for (int i = 0; i < 100; ++i) {
    EXPECT_NEAR(keeper.plan(i * 0.1, i * 0.1 + 0.1, queue.read()), 1e6, 1) << i;
    queue.run(1e6, i * 0.1, i * 0.1 + 0.1);
  }
}

TEST(RateKeeper, AnIdleLinkOwesNothing) {
  const Schedule schedule = schedule_of("steps:0s=100%,100ms=50%,repeat=200ms");
  RateKeeper keeper(schedule, kPiece);
  for (int i = 0; i < 100; ++i)
    EXPECT_NEAR(keeper.plan(i * 0.1, i * 0.1 + 0.1, {0, 0}), i % 2 == 0 ? 1e6 : 0.5e6, 1) << i;
  // Nor one that was idle and then filled: bits that it did not use are gone.
  const double rate = keeper.plan(10, 10.1, {1514, 1});
  EXPECT_NEAR(rate, 1e6, 0.3e6);
}

TEST(RateKeeper, NothingCrossesWhileTheRateIsNone) {
  const Schedule schedule = schedule_of("outage:every=200ms,lasts=100ms,first=0s");
  RateKeeper keeper(schedule, kPiece);
  EXPECT_EQ(keeper.plan(0, 0.1, {0, 1}), 0);
  EXPECT_NEAR(keeper.plan(0.1, 0.2, {0, 1}), 1e6, 1);  // the waiting bits were not due before
}

}  // namespace

}  // namespace thinpipe
