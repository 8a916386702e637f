// Whole reports: self-contained, safe against hostile records, readable without gnuplot as
// Markdown.
#include "reports/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "base/error.h"
#include "reports/page/table.h"
#include "reports/run/page.h"
#include "reports/summary/summary.h"
#include "tests/base/support.h"
#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kHostile =
    "</title></style><script>alert('x')</script><img src=x onerror=alert(1)>\"' --> | `a` ";

// Every string of the records that an attacker could choose.
Records hostile_records() {
  Records records = sample::synthetic_run({{4}, {1e7, 1e9}, 1, 8, true});
  Header& header = records.headers[0];
  header.created = kHostile;
  header.command = {kHostile, "http://evil.example/x.js"};
  header.trace =
      document({{"model", kHostile}, {"elements", kHostile}, {kHostile, {{kHostile, kHostile}}}});
  header.fingerprint = document({{"cpu", kHostile}, {kHostile, 1}});
  nlohmann::json calibration = sample::calibration();
  calibration[kHostile] = kHostile;
  for (nlohmann::json& link : calibration["links"]) {
    link["link"] = link["link"].get<std::string>() + kHostile;
    link["reason"] = kHostile;
    for (nlohmann::json& way : link["ways"]) way["where"] = kHostile;
  }
  header.calibration = Document(std::move(calibration));
  records.notes = {kHostile};
  records.file = kHostile + "/records.jsonl";
  for (Point& point : records.points) {
    point.id += kHostile;
    point.axes.compressor += kHostile;
    point.axes.collective += kHostile;
    point.axes.link += "," + kHostile;
    for (std::string& reason : point.reasons) reason += kHostile;
  }
  return records;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

// 60 ms predicted of a point, whatever its measured time.
TEST(Report, HasPredictionsBesideWhatWasMeasured) {
  Records records = sample::synthetic_run({{4}, {1e7}, 1, 8, false});
  for (Point& point : records.points) point.prediction = {};
  EXPECT_THAT(render_html(records), Not(HasSubstr("Predicted against measured")));
  EXPECT_THAT(render_markdown(records), Not(HasSubstr("Predicted and measured")));
  for (Point& point : records.points)
    point.prediction =
        document({{"step_time", 0.0601}, {"exchange_time", 0.0402}, {"link", {{"alpha", 1}}}});
  const std::string html = render_html(records), markdown = render_markdown(records);
  EXPECT_THAT(html, HasSubstr("Predicted against measured"));
  EXPECT_THAT(markdown, HasSubstr("Predicted and measured"));
  for (const std::string& text : {html, markdown}) {
    EXPECT_THAT(text, HasSubstr("60.1 ms"));
    EXPECT_THAT(text, HasSubstr("40.2 ms"));
  }
}

TEST(Report, HasATableOfTheLinksBeforeTheyWereUsed) {
  Records records = sample::synthetic_run({{4}, {1e7}, 1, 8, false});
  records.headers[0].calibration = {};
  EXPECT_THAT(render_html(records), Not(HasSubstr("id=\"links\"")));
  records.headers[0].calibration = document(sample::calibration());
  const std::string html = render_html(records), markdown = render_markdown(records);
  for (const std::string& text : {html, markdown}) {
    EXPECT_THAT(text, HasSubstr("Calibration of the links"));
    EXPECT_THAT(text, HasSubstr("host0 down"));
    EXPECT_THAT(text, HasSubstr("not measured: frames are lost on it"));
  }
  // Only failed links are grey: the rows of both directions of one link, and one row of a link that
  // broke, with eight cells each.
  const std::size_t links = html.find("id=\"links\"");
  EXPECT_EQ(count(html.substr(links, html.find("</section>", links) - links), "untrusted\""),
            3u * 8);
  // The table has them; among the values of the launch they would be a heap of JSON.
  EXPECT_THAT(html, Not(HasSubstr("<dt>links</dt>")));
  EXPECT_THAT(html, HasSubstr("<dt>tolerance</dt>"));
}

// Filters choose rows by the texts of cells; the title of the first group has ranks alone.
TEST(PointsTable, NamesANetworkWithoutSettings) {
  const sample::SyntheticRun run{{4}, {1e7}, 1, 8, false};
  Records records = sample::synthetic_run(run);
  for (Point& point : sample::synthetic_run(run).points) {
    point.axes.link += ",delay=10ms";
    point.axes.delay = 0.01;
    point.id += "|delay=10ms";
    records.points.push_back(std::move(point));
  }
  const Table table = points_table(summarize(records));
  const auto network = static_cast<std::size_t>(
      std::find(table.columns.begin(), table.columns.end(), "network") - table.columns.begin());
  ASSERT_LT(network, table.columns.size());
  std::set<std::string> networks;
  for (const std::vector<TableCell>& row : table.rows) networks.insert(row.at(network).text);
  EXPECT_THAT(networks, ::testing::ElementsAre("delay=10ms", kAbsent));
}

TEST(Html, IsSelfContained) {
  const std::string page = render_html(sample::synthetic_run());
  EXPECT_LT(page.size(), 3u << 20);
  for (const char* load : {"http://", "https://", "url(", "@import", "src="})
    EXPECT_THAT(page, Not(HasSubstr(load)));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_LT(page.find("Findings"), page.find("Validity"));
  EXPECT_LT(page.find("Fidelity of the links"), page.find("Step time against link rate"));
}

// 3 numbers of ranks x 21 rates x 8 compressors = 504 points; 8 steps each, as a sweep measures by
// default.
TEST(Html, OfFiveHundredPointsIsSmall) {
  sample::SyntheticRun run{{2, 4, 8}, {}, 1, 8, true};
  for (int i = 0; i < 21; ++i) run.rates.push_back(1e6 * std::pow(1e4, i / 20.0));
  const Records records = sample::synthetic_run(run);
  ASSERT_GE(records.points.size(), 500u);
  const std::string page = render_html(records);
  RecordProperty("bytes", static_cast<int>(page.size()));
  EXPECT_LT(page.size(), 3'200'000u);
  // A row for each point.
  const std::size_t table = page.find("aria-label=\"All points\"");
  EXPECT_EQ(count(page.substr(table, page.find("</table>", table) - table), "<tr>"), 1 + 504u);
}

// Trainings with topk at 1 % end with losses of 0.1. They are matched to compressors by the whole
// spec; other compressors were not trained.
TEST(Report, PutsStepTimeAgainstTheLossOfTrainings) {
  const Records records = sample::synthetic_run({{4}, {1e7, 1e8}, 1, 8, false});
  Records trained;
  trained.file = "trained/records.jsonl";
  trained.headers = {sample::header()};
  trained.headers[0].kind = kTrainKind;
  trained.headers[0].training = document({{"figure", "accuracy"}});
  for (int seed = 0; seed < 3; ++seed) {
    Point point = sample::point("topk:memory=residual,ratio=0.01", 1e9, 0, {1});
    point.axes.seed = static_cast<std::uint64_t>(seed);
    point.axes.ranks = 4;
    point.metrics["final_loss"] = {"1", "lower", "quality", {0.1}};
    point.metrics["final_accuracy"] = {"1", "higher", "quality", {0.9}};
    point.metrics["train_seconds"] = {"s", "lower", "timed", {10}};
    point.metrics["train_bytes"] = {"B", "lower", "exact", {1000}};
    trained.points.push_back(std::move(point));
  }
  const std::string html = render_html(records, &trained);
  for (const std::string& text : {html, render_markdown(records, &trained)})
    EXPECT_THAT(text, HasSubstr("Speed against loss"));
  EXPECT_THAT(html, HasSubstr("Step time against loss, 4 ranks"));
  EXPECT_THAT(render_markdown(records), Not(HasSubstr("Speed against loss")));
  for (Point& point : trained.points) point.axes.compressor = "other";
  EXPECT_THROW(render_markdown(records, &trained), InputError);
  EXPECT_THROW(render_markdown(records, &records), InputError);
}

TEST(Html, HostileRecordsStayText) {
  const std::string page = render_html(hostile_records());
  EXPECT_EQ(count(page, "<script"), 1u);  // the report's own
  EXPECT_EQ(count(page, "<title>\n"), 0u);
  EXPECT_EQ(count(page, "<img"), 0u);
  EXPECT_EQ(count(page, "</style>"), 1u);
  EXPECT_EQ(count(page, "-->"), 0u);
  static const std::regex kLoads("<[^>]*(src|href|action|data)=[\"']?(https?:|//|javascript:)");
  // In pieces that overlap, because std::regex recurses once a character.
  constexpr std::size_t kPiece = 20000, kOverlap = 1000;
  for (std::size_t at = 0; at < page.size(); at += kPiece - kOverlap)
    EXPECT_FALSE(std::regex_search(page.substr(at, kPiece), kLoads)) << at;
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"));
}

TEST(Markdown, HostileRecordsStayText) {
  const std::string text = render_markdown(hostile_records());
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("    ", 0) == 0) continue;  // code blocks take any text
    EXPECT_THAT(line, Not(HasSubstr("<script")));
    EXPECT_THAT(line, Not(HasSubstr("<img")));
  }
}

// Every row of a table must have as many cells as its head, for any record.
TEST(Markdown, TablesKeepTheirShape) {
  for (const Records& records : {sample::synthetic_run(), hostile_records()}) {
    std::istringstream lines(render_markdown(records));
    std::size_t columns = 0, rows = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("|", 0) != 0) {
        columns = 0;
        continue;
      }
      const std::size_t bars = count(line, "|") - count(line, "\\|");
      if (columns == 0) columns = bars;
      EXPECT_EQ(bars, columns) << line;
      ++rows;
    }
    EXPECT_GT(rows, 30u);
  }
}

std::string report_of(const std::filesystem::path& records, ReportFormat format) {
  return render_report(reported_records(records, std::nullopt), format);
}

TEST(Report, HasTwoFormats) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "records.jsonl") << sample::records_text(sample::synthetic_run());
  const std::string page = report_of(folder.path(), ReportFormat::kHtml);
  EXPECT_THAT(page, HasSubstr("</html>"));
  EXPECT_THAT(report_of(folder.path(), ReportFormat::kMarkdown), HasSubstr("# thinpipe report"));
  // Same records, same report.
  EXPECT_EQ(report_of(folder.path() / "records.jsonl", ReportFormat::kHtml), page);
}

TEST(Report, WithoutGnuplotMarkdownStillWorks) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "records.jsonl") << sample::records_text(sample::synthetic_run());
  const EnvironmentVariable path("PATH", folder.path());
  EXPECT_THROW(report_of(folder.path(), ReportFormat::kHtml), RunError);
  EXPECT_NO_THROW(report_of(folder.path(), ReportFormat::kMarkdown));
}

TEST(Report, RefusesWhatHasNothingToReport) {
  const TemporaryFolder folder;
  EXPECT_THROW(report_of(folder.path(), ReportFormat::kHtml), InputError);
  std::ofstream(folder.path() / "records.jsonl") << header_json(sample::header()).dump() << "\n";
  EXPECT_THROW(report_of(folder.path(), ReportFormat::kHtml), InputError);
  EXPECT_THROW(parse_report_format("pdf"), InputError);
  EXPECT_EQ(parse_report_format("md"), ReportFormat::kMarkdown);
}

// Whichever byte a killed run stopped at, its report renders or states that it has no points yet.
TEST(Report, OfATruncatedFileNeverCrashes) {
  const std::string text = sample::records_text(sample::synthetic_run({{4}, {1e7}, 1, 8, true}));
  const TemporaryFolder folder;
  for (std::size_t length = 0; length <= text.size(); length += 997) {
    std::ofstream(folder.path() / "records.jsonl") << text.substr(0, length);
    EXPECT_THAT(input_error([&] { report_of(folder.path(), ReportFormat::kMarkdown); }),
                AnyOf("", HasSubstr("no finished point")));
  }
}

}  // namespace
}  // namespace thinpipe
