#include "harness/commands/net_verify_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;

LinkReport some_report() {
  LinkReport report;
  report.link = parse_link_spec("rate=100mbit,delay=10ms").with_defaults();
  const DirectionGoodput way{{.goodput = 80.1234e6, .low = 79.8e6, .high = 80.9e6}, 95.6e6, 1.0002};
  report.goodput = GoodputReport{way, way, way, way, way, way};
  RoundTripReport round_trip;
  round_trip.idle = {20.3e-3, 20.6e-3, 22e-3, 100, 3};
  round_trip.beside_stream = {33e-3, 44e-3, 50e-3, 25, 0};
  round_trip.full = RoundTrips{69.5e-3, 70e-3, 71e-3, 25, 2};
  round_trip.wait = {0.05, 0};
  round_trip.set = 0.02;
  report.round_trip = round_trip;
  const DirectionLoss lost{{.sent = 9000, .lost = 95, .duplicates = 11, .overtaken = 12},
                           {0.007, 0.015}};
  report.loss = LossReport{lost, lost, 0.01};
  const BurstFigures burst{12.4e3, 12e3, 12.5e3, 12.5e3, 1514, ""};
  report.burst = BurstReport{burst, burst};
  report.change = ChangeFigures{2e-4, 1e-3, 8, 1, 1000, 0, ""};
  ToolReport tools;
  tools.forward = tools.reverse = {"iperf3", 80e6, ""};
  tools.round_trip = {"ping", std::nullopt, "not installed"};
  report.tools = tools;
  report.not_measured = {
      "something that takes rather a lot of words to explain, more than fit in the line that "
      "begins with its name, so that it goes on in the next"};
  return report;
}

TEST(NetVerifyOutput, TextFitsATerminalAndGivesReasons) {
  const LinkReport report = some_report();
  const std::string text = link_report_text(report, judge(report));
  const std::string below = text.substr(text.find('\n') + 1);
  EXPECT_EQ(text, report.link.to_string() + ": FAILED\n" + below);
  for (const std::string& line : split(below, '\n')) EXPECT_LE(line.size(), 80U) << line;
  for (const char* part :
       {"failed: forward goodput is 80.1 Mbit/s", "uplink alone", "downlink alone", "set: 20 ms",
        "RTT bufferbloat", "95 of 9000", "bucket depth", "rate change", "iperf3", "not installed",
        "not measured: something"})
    EXPECT_THAT(below, HasSubstr(part));
}

TEST(NetVerifyOutput, TitlesSayWhatWasJudged) {
  const auto title = [](const LinkReport& report, double tolerance) {
    const std::string text = link_report_text(report, judge(report, tolerance));
    const std::string line = text.substr(0, text.find('\n'));
    return line.substr(report.link.to_string().size() + 2);
  };
  EXPECT_EQ(title(some_report(), 0.2), "passed");
  LinkReport bare = some_report();
  bare.link = LinkSpec{};
  bare.round_trip.reset(), bare.loss.reset(), bare.burst.reset(), bare.change.reset();
  EXPECT_EQ(title(bare, 0.03), "no rate configured; this machine carries 80.1 Mbit/s");
  bare.link = parse_link_spec("rate=100mbit,loss=1%").with_defaults();
  EXPECT_EQ(title(bare, 0.03), "not judged");
}

TEST(NetVerifyOutput, ABusyMachineIsNamedWithItsSignAndARemedy) {
  LinkReport report = some_report();
  report.disturbed[Measure::kGoodput] = "idle 0.4 %";
  const LinkVerdict verdict = judge(report);
  const std::string text = link_report_text(report, verdict);
  EXPECT_THAT(text,
              HasSubstr(": INVALID, the machine was too busy\n  invalid: goodput (idle 0.4 %)\n"));
  EXPECT_EQ(links_summary({{report, verdict}}),
            "\nThe machine was too busy to judge the link: goodput (idle 0.4 %). The host\n"
            "rather than the link may have set the pace. Stop other programs, or use a slower\n"
            "link, and measure again.\n");
  const nlohmann::ordered_json json = link_report_json(report, verdict);
  EXPECT_TRUE(json.at("holds").is_null());
  EXPECT_EQ(json.at("valid"), false);
  EXPECT_EQ(json.at("disturbed").at(0), "goodput (idle 0.4 %)");
  EXPECT_THAT(link_table_row(report, verdict), HasSubstr("| invalid |"));
}

TEST(NetVerifyOutput, ExitCodesTellWrongFromUnclear) {
  EXPECT_EQ(verification_code(true, true), kExitGood);
  EXPECT_EQ(verification_code(true, false), kExitInconclusive);
  EXPECT_EQ(verification_code(false, false), kExitFailed);
}

TEST(NetVerifyOutput, JsonHasEveryFigure) {
  const LinkReport report = some_report();
  const nlohmann::ordered_json json = link_report_json(report, judge(report));
  EXPECT_EQ(json.at("holds"), false);
  EXPECT_EQ(json.at("reasons").size(), 6U) << json.at("reasons");  // six goodputs
  EXPECT_EQ(json.at("goodput").at("both_back").at("goodput"), 80.1234e6);
  EXPECT_EQ(json.at("round_trip").at("full_queue").at("lost"), 2);
  EXPECT_EQ(json.at("loss").at("there").at("duplicates"), 11);
  EXPECT_EQ(json.at("burst_credit").at("expected"), 12.5e3);
  EXPECT_EQ(json.at("change_latency").at("unseen"), 1);
  EXPECT_EQ(json.at("tools").at("goodput_there").at("value"), 80e6);
  EXPECT_TRUE(json.at("tools").at("round_trip").at("value").is_null());
  for (const char* measured : {"goodput", "round_trip", "loss", "burst_credit", "change_latency"})
    EXPECT_TRUE(json.at("units").contains(measured)) << measured;
  EXPECT_TRUE(link_report_json(LinkReport{}, {}).at("goodput").is_null());
}

TEST(NetVerifyOutput, RowsHaveTheColumnsOfTheHead) {
  const auto bars = [](const std::string& line) {
    return std::count(line.begin(), line.end(), '|');
  };
  const std::string head = link_table_head();
  const std::string names = head.substr(0, head.find('\n'));
  const LinkReport report = some_report();
  EXPECT_EQ(bars(link_table_row(report, judge(report))), bars(names));
  EXPECT_EQ(bars(link_table_row(LinkReport{}, {})), bars(names));
  EXPECT_EQ(bars(head), 2 * bars(names));
}

constexpr DirectionGoodput GoodputReport::*kFourWays[] = {
    &GoodputReport::forward, &GoodputReport::reverse, &GoodputReport::both_forward,
    &GoodputReport::both_reverse};

TEST(NetVerifyOutput, SummaryHasCountsAndTheWorstDeviation) {
  LinkReport good = some_report();
  for (DirectionGoodput GoodputReport::*way : kFourWays) ((*good.goodput).*way).ceiling = 80e6;
  const JudgedLink passed{good, judge(good, 0.5)}, failed{some_report(), judge(some_report())};
  EXPECT_EQ(links_summary({passed}),
            "\nThe link passed. Goodput deviates by at most 0.15 % from the TCP ceiling.\n");
  const std::string both = links_summary({passed, failed});
  for (const char* part : {"goodput", "+0.15 %", "-16.19 %", "FAILED", "20.3 ms",
                           "1 of 2 links failed; rate=100mbit,"})
    EXPECT_THAT(both, HasSubstr(part));
  for (const std::string& line : split(both, '\n')) EXPECT_LE(line.size(), 80U) << line;
  good.link = LinkSpec{};
  for (DirectionGoodput GoodputReport::*way : kFourWays) ((*good.goodput).*way).ceiling = 0;
  good.round_trip.reset(), good.loss.reset(), good.burst.reset(), good.change.reset();
  EXPECT_EQ(links_summary({{good, {}}}),
            "\nNo rate is configured. This machine carries 80.1 Mbit/s between two hosts.\n");
  good.goodput->reverse.figures.goodput = 70e6;  // the slower direction counts, as in the title
  EXPECT_EQ(links_summary({{good, {}}}),
            "\nNo rate is configured. This machine carries 70 Mbit/s between two hosts.\n");
  EXPECT_EQ(links_summary({{LinkReport{}, {}}}),
            "\nNo measurement can be compared with the configuration.\n");
}

}  // namespace
}  // namespace thinpipe
