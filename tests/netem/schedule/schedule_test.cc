#include "netem/schedule/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstddef>

#include "base/error.h"
#include "tests/base/support.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;

constexpr LinkState kLink = {100e6, 0.01, 0};

Schedule on_link(const std::string& text) { return parse_schedule(text).on(kLink); }

void expect_complaint(const std::string& text, const std::string& part) {
  EXPECT_THAT(input_error([&] { on_link(text); }), HasSubstr(part)) << text;
}

TEST(Schedule, NoneChangesNothing) {
  const ScheduleSpec spec = parse_schedule("none");
  EXPECT_TRUE(spec.empty());
  EXPECT_EQ(spec.on(kLink).at(1e5), kLink);
  EXPECT_EQ(spec.on(kLink).next_change(0, 0.05), kNever);
}

TEST(Schedule, StepsMayBeSharesOfTheLink) {
  const Schedule schedule = on_link("steps:0s=100%,5s=20mbit,7.5s=1%");
  EXPECT_EQ(schedule.at(0).rate, 100e6);
  EXPECT_EQ(schedule.at(6).rate, 20e6);
  EXPECT_EQ(schedule.at(8).rate, 1e6);
  EXPECT_EQ(schedule.bits(0, 10), 5 * 100e6 + 2.5 * 20e6 + 2.5 * 1e6);
  EXPECT_EQ(schedule.at(6).delay, 0.01);
  EXPECT_EQ(schedule.next_change(0, 0.05), 5);
}

TEST(Schedule, KnowsHowLongATransferTakes) {
  const Schedule schedule = on_link("outage:first=1s,every=10s,lasts=2s");
  EXPECT_NEAR(schedule.time_for(0, 50e6), 0.5, 1e-9);
  EXPECT_NEAR(schedule.time_for(0.5, 100e6), 3, 1e-9);
  EXPECT_EQ(schedule.time_for(0, 0), 0);
  EXPECT_EQ(on_link("steps:0s=100%,1s=0").time_for(0, 200e6), kNever);
}

TEST(Schedule, WhatChangesAllTheTimeIsToldNowAndThen) {
  const Schedule schedule = on_link("ramp:0s=10mbit,10s=100mbit");
  EXPECT_EQ(schedule.at(5).rate, 55e6);
  EXPECT_EQ(schedule.mean(0, 10).rate, 55e6);
  EXPECT_EQ(schedule.next_change(2, 0.05), 2.05);
  EXPECT_EQ(schedule.next_change(9.99, 0.05), 10);
  EXPECT_EQ(schedule.next_change(10, 0.05), kNever);
}

// A link's setting would seem to change otherwise, and be sent to the kernel again and again.
TEST(Schedule, TheMeanOfAConstantIsTheConstant) {
  const Schedule schedule = parse_schedule("steps:0s=100%,100s=50%").on({1e8, 0.01, 0.01});
  for (double from = 0.001; from < 90; from *= 1.37) {
    EXPECT_EQ(schedule.mean(from, from + 0.05).loss, 0.01);
    EXPECT_EQ(schedule.mean(from, from + 0.05).delay, 0.01);
    EXPECT_EQ(schedule.mean(from, from + 0.05).rate, 1e8);
  }
}

TEST(Schedule, BlanksAroundPartsDoNotMatter) {
  EXPECT_EQ(parse_schedule(" steps:0s=100%,1s=50% ; outage:first=3s,lasts=1s").to_string(),
            parse_schedule("steps:0s=100%,1s=50%;outage:first=3s,lasts=1s").to_string());
}

TEST(Schedule, PartsOfDifferentQuantitiesGoTogether) {
  const Schedule schedule = on_link(
      "sine:low=20%,high=100%,period=4s;outage:first=1s,lasts=500ms;steps:of=delay,0s=100%,3s=50ms;"
      "ramp:of=loss,0s=0%,2s=10%");
  EXPECT_DOUBLE_EQ(schedule.at(0).rate, 60e6);
  EXPECT_EQ(schedule.at(1).rate, 0);
  EXPECT_EQ(schedule.at(2.5).delay, 0.01);
  EXPECT_EQ(schedule.at(3).delay, 0.05);
  EXPECT_DOUBLE_EQ(schedule.at(1).loss, 0.05);
  EXPECT_DOUBLE_EQ(schedule.mean(0, 2).loss, 0.05);
  const ScheduleSpec only_delay = parse_schedule("steps:of=delay,0s=1ms");
  EXPECT_TRUE(only_delay.changes(Quantity::kDelay));
  EXPECT_FALSE(only_delay.changes(Quantity::kRate));
}

TEST(Schedule, TheSameSeedWalksTheSameWay) {
  const Schedule one = on_link("walk:low=10%,high=100%,seed=7"),
                 same = on_link("walk:seed=7,high=100%,low=10%"),
                 other = on_link("walk:low=10%,high=100%,seed=8");
  int different = 0;
  for (int i = 0; i < 6000; ++i) {
    const double t = i * 0.1 + 0.05;
    EXPECT_EQ(one.at(t), same.at(t));
    EXPECT_GE(one.at(t).rate, 10e6);
    EXPECT_LE(one.at(t).rate, 100e6);
    different += one.at(t).rate != other.at(t).rate ? 1 : 0;
  }
  EXPECT_GT(different, 5900);
  // On every machine: it is made of additions only. The first step begins in the middle.
  EXPECT_EQ(one.at(0).rate, 55e6);
  EXPECT_NEAR(one.mean(0, 600).rate, 55e6, 12e6);  // it covers the whole range
}

// A moment of a random walk takes 24 bytes. If each of a hundred links had its own walk of 100,000
// steps, the walks would take 240 MB.
TEST(Schedule, LinksAlikeShareAWalk) {
  const auto allocated = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const ScheduleSpec spec = parse_schedule("walk:low=1mbit,high=9mbit,every=1ms,lasts=100s");
  const std::size_t before = allocated();
  std::vector<Schedule> links;
  for (int i = 0; i < 100; ++i) links.push_back(spec.on({.rate = 10e6}));
  EXPECT_LT(allocated() - before, 10'000'000U);
  EXPECT_EQ(links[99].at(7).rate, links[0].at(7).rate);
  EXPECT_NE(spec.on({.rate = 20e6}).at(7).rate, 0);
}

TEST(Schedule, CanonicalTextReadsBack) {
  for (const auto& [text, canonical] : {
           std::pair{"steps:0=100mbit,5s=50%,repeat=10s", "steps:0s=100mbit,5s=50%,repeat=10s"},
           std::pair{"ramp:of=delay,0s=0,0.5s=0.02s", "ramp:of=delay,0s=0,500ms=20ms"},
           std::pair{"sine:high=1gbit,low=1500kbit,period=100ms,shift=0s",
                     "sine:low=1.5mbit,high=1gbit,period=100ms"},
           std::pair{"outage:every=10s,lasts=1s", "outage:first=9s,every=10s,lasts=1s"},
           std::pair{"walk:low=7%,high=90%",
                     "walk:low=7%,high=90%,step=10%,every=100ms,lasts=600s,seed=1"},
           std::pair{"steps:of=loss,0s=0.07%;outage:first=1s,lasts=2s",
                     "steps:of=loss,0s=0.07%;outage:first=1s,lasts=2s"},
       }) {
    const ScheduleSpec spec = parse_schedule(text);
    EXPECT_EQ(spec.to_string(), canonical);
    EXPECT_EQ(parse_schedule(spec.to_string()).to_string(), canonical);
    for (const double t : {0.0, 0.3, 4.0, 9.5, 11.0})
      EXPECT_EQ(parse_schedule(canonical).on(kLink).at(t), spec.on(kLink).at(t)) << text;
  }
}

TEST(Schedule, ComplaintsNameThePartAndItsKey) {
  expect_complaint("", "neither a kind of schedule");
  expect_complaint("stesp:0s=1mbit", "did you mean 'steps'");
  expect_complaint("/no/such/file", "nor a file");
  expect_complaint("steps:0s", "expected key=value, found '0s'");
  expect_complaint("steps:0s=1mbit,0s=2mbit", "given twice");
  expect_complaint("steps:1s=1mbit", "1s=1mbit: expected the first moment to be 0s");
  expect_complaint("steps:0s=1mbit,5s=2mbit,3s=1mbit", "3s=1mbit: expected a later moment");
  expect_complaint("steps:0s=fast", "0s=fast: 'fast' is not a rate");
  expect_complaint("steps:0s=10bit", "1kbit");
  expect_complaint("steps:0s=200gbit", "100gbit");
  expect_complaint("steps:0s=1mbit,repaet=4s", "did you mean 'repeat'");
  expect_complaint("steps:0s=1mbit,5s=2mbit,repeat=4s", "repeat=4s");
  expect_complaint("steps:of=rtae,0s=1mbit", "of=rtae: expected one of rate, delay, loss");
  expect_complaint("steps:of=loss,0s=101%", "101%");
  expect_complaint("steps:repeat=1s", "no moments");
  expect_complaint("sine:low=1mbit,high=2mbit", "period= is missing");
  expect_complaint("sine:low=3mbit,high=2mbit,period=1s", "low= is above high=");
  expect_complaint("outage:lasts=1s", "first= or every= is missing");
  expect_complaint("outage:every=1s,lasts=1s", "the link would never work");
  expect_complaint("outage:every=9s,lasts=1s;outage:first=1s,lasts=1s", "a second outage");
  expect_complaint("steps:0s=1mbit;ramp:0s=1mbit", "the rate is scheduled already");
  expect_complaint("walk:low=1%,high=2%,every=0.1ms", "every=0.1ms");
  expect_complaint("walk:low=1%,high=2%,seed=-1", "seed=-1");
  expect_complaint("steps:0s=0", "never has a rate");
  expect_complaint("steps:0s=0.0005%", "neither 0 nor at least 1kbit");
  expect_complaint("steps:0s=0,1s=0.0005%", "neither 0 nor at least 1kbit");
  EXPECT_THROW(parse_schedule("outage:every=2s,lasts=1s").on({}), InputError);
}

class ScheduleFiles : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& content) {
    write_bytes(folder_ / name, content);
    return folder_ / name;
  }

  TemporaryFolder folder_;
};

TEST_F(ScheduleFiles, MahimahiTracesAreDeliveriesOf1500Bytes) {
  // 3 in the first 50 ms (one at 0, one at its very end), none in the next, 2 in the last 20 ms.
  const std::string path = write("trace.up", "0\n10\n50\n110\n120\n");
  const ScheduleSpec spec = parse_schedule(path);
  EXPECT_EQ(spec.to_string(), "mahimahi:file=" + path + ",bin=50ms");
  const Schedule schedule = spec.on(kLink);
  EXPECT_DOUBLE_EQ(schedule.at(0.01).rate, 3 * 1514 * 8 / 0.05);
  EXPECT_EQ(schedule.at(0.05).rate, 0);
  EXPECT_DOUBLE_EQ(schedule.at(0.11).rate, 2 * 1514 * 8 / 0.02);
  EXPECT_DOUBLE_EQ(schedule.at(0.125).rate, schedule.at(0.005).rate);  // wraps round at 120 ms
  // All that the trace delivers, ten times over.
  EXPECT_NEAR(schedule.bits(0, 1.2), 10 * 5 * 1514 * 8, 1e-6);
  const Schedule finer = on_link("mahimahi:file=" + path + ",bin=10ms");
  EXPECT_DOUBLE_EQ(finer.at(0.005).rate, 2 * 1514 * 8 / 0.01);
  EXPECT_EQ(finer.at(0.015).rate, 0);
  EXPECT_NEAR(finer.bits(0, 1.2), 10 * 5 * 1514 * 8, 1e-6);
}

TEST_F(ScheduleFiles, CsvWithUnitsInTheHeaderOrInTheCells) {
  const std::string header = write("a.csv",
                                   "# from a drive\ntime_s,rate_mbit,delay_ms,loss_percent\n"
                                   "0,10,20,0\r\n1.5,5,40,2.5\n");
  const std::string cells =
      write("b.csv", "time, loss, rate, delay\n0, 0, 10mbit, 200%\n1500ms, 2.5%, 5%, 40ms\n");
  for (const std::string& path : {header, cells}) {
    const Schedule schedule = on_link(path);
    EXPECT_EQ(schedule.at(1), (LinkState{10e6, 0.02, 0}));
    EXPECT_EQ(schedule.at(2), (LinkState{5e6, 0.04, 0.025}));
  }
  const ScheduleSpec ramp = parse_schedule("csv:file=" + header + ",shape=ramp,repeat=2s");
  EXPECT_DOUBLE_EQ(ramp.on(kLink).at(0.75).rate, 7.5e6);
  EXPECT_EQ(ramp.on(kLink).at(2).rate, 10e6);
  EXPECT_EQ(parse_schedule(ramp.to_string()).to_string(), ramp.to_string());
}

TEST_F(ScheduleFiles, PartsOneALine) {
  const std::string path = write("lte",
                                 "# a bad day\nsine:low=20%,high=100%,period=60s  # rate\n\n"
                                 "outage:every=30s,lasts=2s\n");
  EXPECT_EQ(parse_schedule(path).to_string(),
            "sine:low=20%,high=100%,period=60s;outage:first=28s,every=30s,lasts=2s");
}

TEST_F(ScheduleFiles, TheSameTextOfAnotherFileIsAnotherSchedule) {
  const std::string path = write("t", "5\n10\n");
  const ScheduleSpec before = parse_schedule(path);
  write("t", "5\n11\n");
  EXPECT_EQ(parse_schedule(path).to_string(), before.to_string());
  EXPECT_NE(parse_schedule(path).identity(), before.identity());
}

TEST_F(ScheduleFiles, BadFilesNameFileLineAndField) {
  const auto expect = [&](const std::string& content, const std::string& part,
                          const std::string& kind = "") {
    const std::string path = write("bad", content);
    const std::string text = kind.empty() ? path : kind + ":file=" + path;
    expect_complaint(text, path);
    expect_complaint(text, part);
  };
  expect("", "only comments");
  expect("1\n2\nx\n", ":3: field time: found 'x', expected a whole number");
  expect("1\n5\n4\n", ":3: field time: found '4', expected a time not before that of the previous");
  expect("1\n\n5\n", ":2: field time: found ''");
  expect("0\n0\n", "all times are 0");
  expect("99999999999999999999\n", ":1: field time");
  expect("-1\n", ":1: field time", "mahimahi");
  expect("time_s,speed\n0,1\n", ":1: field 'speed': no such column");
  expect("time_s,rate_mbti\n0,1\n", "did you mean 'rate_mbit'");
  expect("rate_mbit,delay_ms\n1,2\n", ":1: field time: missing from the header");
  expect("time_s,\n", ":1: field ''");
  expect("time_s\n0\n", ":1: field rate: missing", "csv");
  expect("time_s,rate,rate_mbit\n", ":1: field rate: occurs twice");
  expect("time_s,rate_mbit\n", "no row");
  expect("time_s,rate_mbit\n0\n", ":2: field rate: 1 cells, but the header has 2");
  expect("time_s,rate_mbit\n0,10mbit\n", ":2: field rate: found '10mbit', expected a number");
  expect("time_s,rate\n0,10\n", ":2: field rate: '10' has no unit");
  expect("time,rate\n5,10mbit\n", ":2: field time: '5' has no unit");
  expect("time_s,rate_mbit\n1,10\n", ":2: field time: found 1s, expected 0");
  expect("time_s,rate_mbit\n0,10\n0,11\n", ":3: field time: found 0s, expected a later");
  expect("time_s,loss_percent\n0,-1\n", ":2: field loss");
  expect("time_s,rate_mbit\n0,nan\n", ":2: field rate");
  expect("# x\nsine:low=1mbit\n", ":2 'sine:low=1mbit': high= is missing");
}

// Rates are a tenth and all times are ten times as long, so that the same number of bits crosses in
// the same fraction of the schedule.
TEST(SlowedSchedule, IsTheSameUnderTimeDilation) {
  for (const char* text : {"steps:0s=100%,2s=50%,repeat=4s", "outage:every=3s,lasts=1s",
                           "sine:low=20%,high=100%,period=5s", "steps:of=delay,0s=10ms,1s=30ms"}) {
    SCOPED_TRACE(text);
    const Schedule own = parse_schedule(text).on({1e8, 0.01, 0.001});
    const Schedule slow = own.slowed(10);
    for (const double t : {0.0, 0.4, 1.7, 2.0, 2.5, 7.9}) {
      EXPECT_NEAR(slow.at(10 * t).rate, own.at(t).rate / 10, 1e-3);
      EXPECT_NEAR(slow.at(10 * t).delay, own.at(t).delay * 10, 1e-12);
      EXPECT_NEAR(slow.at(10 * t).loss, own.at(t).loss, 1e-12);
      EXPECT_NEAR(slow.bits(0, 10 * t), own.bits(0, t), 1e-6 * (1 + own.bits(0, t)));
      // While the schedule changes continuously, `interval` is a time of the real clock. The test
      // does not subtract the two values, because both may be kNever.
      EXPECT_FLOAT_EQ(static_cast<float>(slow.next_change(10 * t, 10 * 0.05)),
                      static_cast<float>(10 * own.next_change(t, 0.05)));
    }
    EXPECT_NEAR(slow.most_rate(), own.most_rate() / 10, 1e-6);
  }
}

// 17 steps of 0.1 s end at 1.7000000000000002 s, of which ten times is 17 s.
TEST(SlowedSchedule, EveryChangeIsLaterThanTheLast) {
  const Schedule slow = parse_schedule("walk:low=10%,high=100%").slowed(10).on({1e8, 0.01, 0.001});
  double t = 0;
  for (int i = 0; i < 1000; ++i) {
    const double next = slow.next_change(t, 1);
    ASSERT_GT(next, t);
    t = next;
  }
}

// Percentages are of the link that is emulated, not of the slow one that is set.
TEST(SlowedScheduleSpec, TakesTheSlowLinkAndGivesWhatPlaysOnIt) {
  const ScheduleSpec spec = parse_schedule("steps:0s=100%,2s=50mbit").slowed(10);
  const Schedule slow = spec.on({1e7, 0.1, 0});  // 100 Mbit/s and 10 ms, under time dilation
  EXPECT_NEAR(slow.at(0).rate, 1e7, 1e-3);
  EXPECT_NEAR(slow.at(20).rate, 5e6, 1e-3);
  EXPECT_NEAR(slow.at(0).delay, 0.1, 1e-12);
  EXPECT_EQ(spec.to_string(), parse_schedule("steps:0s=100%,2s=50mbit").to_string());
}

// 20 kbit/s become 2 kbit/s, and 5 kbit/s would be 500 bit/s, below the rate of any link.
TEST(SlowedScheduleSpec, RefusesRatesThatNoLinkHas) {
  const auto refusal = [](const std::string& text, double factor) {
    return input_error([&] { parse_schedule(text).slowed(factor).on({1e7, 0, 0}); });
  };
  EXPECT_EQ(refusal("steps:0s=100%,2s=0,4s=20kbit", 10), "");
  EXPECT_EQ(refusal("steps:0s=100%,2s=0,4s=5kbit", 10),
            "schedule 'steps:0s=100%,2s=0,4s=5kbit': 5e+03 bit/s becomes 500 bit/s at time scale "
            "10, at which the smallest rate above 0 is 10kbit; schedule that rate or 0, or use a "
            "smaller time scale");
  EXPECT_EQ(refusal("steps:0s=100%,2s=5kbit;outage:every=9s,lasts=1s", 5), "");
  EXPECT_NE(refusal("steps:0s=100%,2s=5kbit;outage:every=9s,lasts=1s", 10), "");
  EXPECT_EQ(refusal("ramp:0s=0,2s=100%", 10), "") << "passes small rates on its way";
}

}  // namespace

}  // namespace thinpipe
