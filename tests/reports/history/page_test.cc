// The report of a history: its findings in made-up launches, and its drawings of them.
#include "reports/history/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "base/error.h"
#include "tests/base/support.h"
#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class HistoryReport : public ::testing::Test {
 protected:
  // One launch a day, from the first of the month on.
  void add(const std::vector<double>& times, const std::vector<double>& bytes,
           const std::string& id = "topk<1>", const std::string& place = "nightly") {
    for (std::size_t i = 0; i < times.size(); ++i) {
      Header header = sample::header();
      header.created = fmt_day(i + 1);
      header.fingerprint = document({{"cpu", "A"}, {"git", "rev" + std::to_string(i + 1)}});
      Point point = sample::point("topk", 1e8, 0, {times[i]});
      point.id = id;
      point.metrics = {{"step_time", {"s", "lower", "timed", {times[i]}}},
                       {"ideal_time", {"s", "lower", "timed", {times[i]}}},
                       {"payload_bytes", {"B", "lower", "exact", {bytes[i]}}}};
      write_bytes(folder_.path() / place / (fmt_day(i + 1) + ".jsonl"),
                  header_json(header).dump() + "\n" + point_json(point).dump() + "\n");
    }
  }
  static std::string fmt_day(std::size_t day) {
    return (day < 10 ? "2026-01-0" : "2026-01-") + std::to_string(day) + "T00:00:00Z";
  }
  HistorySummary summary() const { return summarize(read_history(folder_.path())); }

  TemporaryFolder folder_;
};

// The history has nine times of 100 ms with one outlier among them, five of 130 ms, and 90 ms
// today. Payloads have one byte more from the third entry on.
const std::vector<double> kTimes = {0.1, 0.101, 0.099, 0.1,   0.1,  0.101, 0.2, 0.099,
                                    0.1, 0.13,  0.131, 0.129, 0.13, 0.131, 0.09};
std::vector<double> a_byte_more() {
  std::vector<double> bytes(15, 34001);
  bytes[0] = bytes[1] = 34000;
  return bytes;
}

TEST_F(HistoryReport, SaysWhatChangedAndWhen) {
  add(kTimes, a_byte_more());
  const std::vector<std::string> findings = history_findings(summary());
  EXPECT_THAT(findings,
              ElementsAre("Of 2 metrics in the newest launch, 0 worse, 1 better, 1 the same and 0 "
                          "unclear after too few launches.",
                          "step_time of topk<1> is better in the newest launch: 90 ms, median of "
                          "the 5 before it 130 ms (-30.8 %).",
                          "payload_bytes of topk<1> went from 34000 B to 34001 B (+0.0 %) with "
                          "launch 3 (2026-01-03T00:00:00Z).",
                          "step_time of topk<1> went from 100 ms to 130 ms (+30.0 %) with launch "
                          "10 (2026-01-10T00:00:00Z).",
                          "Before the newest launch, 1 value was outlying without a change of "
                          "level."));
}

TEST_F(HistoryReport, DrawsValuesBandsOutliersAndSteps) {
  add(kTimes, a_byte_more());
  const std::vector<Figure> figures = history_figures(summary());
  ASSERT_EQ(figures.size(), 2U);  // ideal_time is of the machine
  EXPECT_EQ(figures[0].title, "payload_bytes");
  EXPECT_EQ(figures[1].title, "step_time");
  std::set<std::string> ids;
  for (const Figure& figure : figures) {
    ASSERT_EQ(figure.panels.size(), 1U);
    EXPECT_EQ(figure.panels[0].title, "topk<1>");
    const sample::Markup markup = sample::check_markup(figure.panels[0].svg);
    EXPECT_EQ(markup.error, "");
    for (const std::string& id : markup.ids) EXPECT_TRUE(ids.insert(id).second) << id;
    EXPECT_THAT(figure.panels[0].svg, Not(HasSubstr("topk<1>")));
  }
  const std::vector<std::string> titles = sample::check_markup(figures[1].panels[0].svg).titles;
  EXPECT_THAT(titles,
              Contains("launch 7, 2026-01-07T00:00:00Z, rev7\n200 ms, outlying: 90 ms to 110 ms"));
  EXPECT_THAT(titles, Contains("launch 1, 2026-01-01T00:00:00Z, rev1\n100 ms"));
  // A dot a launch, and diamonds: the wild one, the three that made the step, the newest.
  EXPECT_EQ(titles.size(), 15U + 5U);
  EXPECT_EQ(sample::check_markup(figures[0].panels[0].svg).titles.size(), 15U);
}

TEST_F(HistoryReport, OneLaunchIsNothingToDraw) {
  add({0.1}, {34000});
  EXPECT_TRUE(history_figures(summary()).empty());
  EXPECT_EQ(history_trends_table(summary()).rows.size(), 2U);
  EXPECT_THAT(history_findings(summary()),
              ElementsAre("There is no earlier launch to compare the newest one with."));
  EXPECT_THAT(render_history(summary(), ReportFormat::kMarkdown, {}),
              HasSubstr("run, 1 launch, 2026-01-01"));
}

TEST_F(HistoryReport, MissingPointsAndBrokenFilesAreTold) {
  add(std::vector<double>(6, 0.1), std::vector<double>(6, 1));
  add(std::vector<double>(7, 0.1), std::vector<double>(7, 1), "3lc", "other");
  std::filesystem::remove(folder_.path() / "other" / (fmt_day(6) + ".jsonl"));
  std::ofstream(folder_.path() / "torn.jsonl") << "{]\n{}\n";
  const std::vector<std::string> findings = history_findings(summary());
  EXPECT_THAT(findings, Contains("Not in the newest launch: step_time of topk<1>."));
  EXPECT_THAT(findings, Contains(HasSubstr("torn.jsonl line 1: not JSON")));
  const Table table = history_trends_table(summary());
  EXPECT_EQ(table.rows.back()[1].text, "topk<1>");
  EXPECT_EQ(table.rows.back().back().text, "missing");
}

TEST_F(HistoryReport, CsvHasARowAValue) {
  add(kTimes, a_byte_more(), "topk:a=1,b=\"2\"");
  const std::string csv = history_csv(summary());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 * 15);
  EXPECT_THAT(csv, HasSubstr("3,2026-01-03T00:00:00Z,\"topk:a=1,b=\"\"2\"\"\",payload_bytes,B,"
                             "lower,exact,34001,,,,no,yes\r\n"));
  EXPECT_THAT(csv, HasSubstr(",step_time,s,lower,timed,0.2,0.1,0.09,0.11,yes,no\r\n"));
}

TEST_F(HistoryReport, IsAPageOfTheFolders) {
  add(kTimes, a_byte_more());
  const std::vector<std::filesystem::path> folders = {folder_.path() / "nightly"};
  const std::string text = render_history(summary(), ReportFormat::kHtml, folders);
  EXPECT_THAT(text, HasSubstr("thinpipe report --history"));
  EXPECT_THAT(text, Not(HasSubstr("topk<1>")));
  EXPECT_THAT(text,
              HasSubstr("role=\"img\" aria-label=\"step_time of topk&lt;1&gt; in 15 launches"));
}

TEST_F(HistoryReport, IsToldOfFoldersOfFilesAndOfBenches) {
  EXPECT_FALSE(is_history(folder_.path()));
  add({0.1}, {1});
  EXPECT_TRUE(is_history(folder_.path()));
  Header header = sample::header();
  for (const char* kind : {kRunKind, kBenchKind, kQualityKind}) {
    header.kind = kind;
    std::ofstream(folder_.path() / kRecordFileName) << header_json(header).dump() << "\n";
    EXPECT_EQ(is_history(folder_.path()), std::string(kind) != kRunKind);
    EXPECT_EQ(is_history(folder_.path() / kRecordFileName), std::string(kind) != kRunKind);
  }
  EXPECT_FALSE(is_history(folder_.path() / "absent"));
}

TEST(Trend, AStepIsSeenByItsThirdValue) {
  const std::vector<double> values = {1, 1, 1, 1, 1, 2, 2, 2, 2};
  const Trend found = trend(values, 0.1);
  EXPECT_THAT(found.steps, ElementsAre(5U));
  ASSERT_EQ(found.standings.size(), values.size());
  EXPECT_FALSE(found.standings[4]);
  EXPECT_EQ(found.standings[7]->typical, 1);
  EXPECT_FALSE(found.standings[8]);  // three before it, of the new level
  EXPECT_TRUE(trend({}, 0.1).standings.empty());
}

// Five values about 1 have a deviation of 0.14826, so the reach is 3.5 * 0.14826 * sqrt(1.2).
// Without scatter the reach is the margin.
TEST(Trend, ReachIsTheLargerOfScatterAndMargin) {
  const auto scattered = standing({1, 1.1, 0.9, 1.2, 0.8, 2}, 0.1);
  EXPECT_NEAR(quiet_reach(*scattered, 0.1), 3.5 * 0.14826 * std::sqrt(1.2), 1e-12);
  EXPECT_DOUBLE_EQ(quiet_reach(*standing({2, 2, 2, 2, 2, 2}, 0.1), 0.1), 0.2);
}

}  // namespace

}  // namespace thinpipe
