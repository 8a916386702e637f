#include "reports/quality/quality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "reports/record/reader.h"
#include "reports/report.h"
#include "tests/base/document.h"
#include "tests/base/support.h"
#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

Json metric(const char* better, const std::vector<double>& samples) {
  return metric_json({"1", better, "quality", samples});
}

// Two ranks, three steps; the second rank after the first.
Json point(const std::string& spec, const std::string& full, const std::string& tensor,
           const std::vector<double>& quality) {
  Json json = {{"record", "point"},
               {"id", spec + "|" + tensor},
               {"axes", {{"compressor", full}, {"method", full.substr(0, full.find(':'))}}},
               {"at", {{"step", {0, 1, 2, 0, 1, 2}}, {"rank", {0, 0, 0, 1, 1, 1}}}},
               {"status", "ok"},
               {"reasons", Json::array()}};
  json["metrics"] = {{"encoded_bytes", metric("lower", {100, 100, 100, 100, 100, 101})},
                     {"relative_error", metric("lower", {0.9, 0.8, 0.7, 0.9, 0.8, 0.7})},
                     {"bits_per_element", metric("lower", {0.64})},
                     {"drift", metric("lower", {1, 0.8, 0.6, 1, 0.8, 0.4})}};
  if (!quality.empty()) json["metrics"]["quality"] = metric("target:1", quality);
  if (!quality.empty() && tensor == "*")
    json["metrics"]["tensor_quality"] = metric("target:1", {0.5, 1, 1.5});
  return json;
}

Records records(const TemporaryFolder& folder, const std::string& evil = "") {
  std::ofstream file(folder.path() / kRecordFileName);
  Header header;
  header.kind = kQualityKind;
  header.created = "2026-01-31T12:00:03Z";
  header.command = {"thinpipe", "quality" + evil};
  header.trace = document({{"model", "lenet5" + evil}});
  file << header_json(header).dump() << "\n";
  for (const char* ratio : {"0.1", "0.01"}) {
    const std::string spec = std::string("sidco:ratio=") + ratio;
    const std::string full = std::string("sidco:dist=exp,ratio=") + ratio + ",stages=1";
    file << point(spec, full, "*", {1, 1.1, 1.2, 1, 1.3, 1.4}).dump() << "\n"
         << point(spec, full, "conv1" + evil, {1, 1, 1, 1, 1, 1}).dump() << "\n";
  }
  file << point("fp16" + evil, "fp16:memory=none", "*", {}).dump() << "\n";
  file.close();
  return read_records(folder.path());
}

TEST(Kept, RowsAreTheRecords) {
  TemporaryFolder folder;
  const QualityPageData summary = summarize_quality(records(folder));
  ASSERT_EQ(summary.totals.size(), 3U);
  ASSERT_EQ(summary.tensors.size(), 2U);
  const QualityRow& row = summary.totals[0];
  EXPECT_EQ(row.spec, "sidco:ratio=0.1");
  EXPECT_EQ(row.family, "sidco:dist=exp,stages=1");
  EXPECT_EQ(row.ratio, 0.1);
  ASSERT_EQ(row.steps.size(), 3U);
  EXPECT_NEAR(row.steps[1].quality, 1.2, 1e-12);  // of 1.1 and 1.3
  // Steps have 1, 1.2, 1.3: s^2 = 7/300; t(0.95; 2) = 2.919986.
  EXPECT_NEAR(row.quality->mean, 3.5 / 3, 1e-12);
  EXPECT_NEAR(row.quality->interval->high - row.quality->mean, 2.919986 * std::sqrt(7. / 900),
              1e-6);
  EXPECT_EQ(row.p50, 1);
  EXPECT_EQ(row.most, 1.5);
  EXPECT_EQ(row.bytes, 601);
  EXPECT_EQ(row.drift, 0.5);
  EXPECT_NEAR(row.error, 0.8, 1e-12);
  EXPECT_TRUE(std::isnan(row.cosine));
  EXPECT_EQ(summary.tensors[0].tensor, "conv1");
  EXPECT_EQ(summary.tensors[0].p95, 1);
  EXPECT_FALSE(summary.totals[2].quality.has_value());
}

TEST(Kept, MarkdownAndFindingsTellThem) {
  TemporaryFolder folder;
  const Records read = records(folder);
  const std::string text = render_quality(read, ReportFormat::kMarkdown);
  EXPECT_THAT(text, HasSubstr("conv1"));
  EXPECT_THAT(text, HasSubstr("1.17"));
  const std::vector<std::string> findings = quality_findings(summarize_quality(read));
  ASSERT_FALSE(findings.empty());
  EXPECT_THAT(findings[0],
              HasSubstr("sends 1.17\xc3\x97 the requested number of elements (90 % CI "));
}

TEST(Kept, AFailedCompressorIsNamedWithItsReason) {
  TemporaryFolder folder;
  Records read = records(folder);
  read.points[0].status = Status::kFailed;
  read.points[0].reasons = {"element 2 is decoded to nan"};
  const QualityPageData summary = summarize_quality(read);
  EXPECT_EQ(summary.totals.size(), 2U);
  EXPECT_EQ(quality_findings(summary).back(),
            "sidco:ratio=0.1 failed: element 2 is decoded to nan.");
}

TEST(Kept, ACompressorThatSendsNothingHasTheWorstQuality) {
  QualityPageData summary;
  for (const double sent : {1.0, 0.0}) {
    QualityRow& row = summary.totals.emplace_back();
    row.spec = sent > 0 ? "topk" : "redsync";
    row.quality = MeanInterval{4, sent, std::nullopt};
  }
  EXPECT_THAT(quality_findings(summary),
              ::testing::ElementsAre("redsync sends 0\xc3\x97 the requested number of elements, "
                                     "the worst k\xcc\x82/k.",
                                     HasSubstr("topk sends 1\xc3\x97 the requested number")));
}

TEST(Kept, TheLowestErrorIsOfACompressorThatHasOne) {
  QualityPageData summary;
  for (const double error : {std::nan(""), 0.5}) {
    QualityRow& row = summary.totals.emplace_back();
    row.spec = std::isnan(error) ? "sbc" : "topk";
    row.bits = 1;
    row.error = error;
  }
  EXPECT_THAT(quality_findings(summary),
              ::testing::ElementsAre(HasSubstr("topk has the lowest relative error")));
}

TEST(Kept, ThePageDrawsThemAndHostileNamesAreText) {
  if (std::system("gnuplot --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no gnuplot";
  TemporaryFolder folder;
  const std::string page =
      render_quality(records(folder, "<script>alert(1)</script>"), ReportFormat::kHtml);
  EXPECT_THAT(page, HasSubstr("Estimation quality"));
  EXPECT_THAT(page, HasSubstr("id=\"kept-steps-2-"));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  const std::size_t begin = page.find("<svg"), end = page.find("</svg>", begin);
  ASSERT_NE(begin, std::string::npos);
  EXPECT_EQ(sample::check_markup(page.substr(begin, end + 6 - begin)).error, "");
}

TEST(Kept, OnlyWhatQualityWroteIsTakenForIt) {
  TemporaryFolder folder;
  EXPECT_FALSE(find_records(folder.path(), kQualityKind).has_value());
  records(folder);
  EXPECT_TRUE(find_records(folder.path(), kQualityKind).has_value());
  std::ofstream(folder.path() / kRecordFileName) << "{\"record\": \"header\", \"kind\": 5}\n";
  EXPECT_FALSE(find_records(folder.path(), kQualityKind).has_value());
  EXPECT_THROW(summarize_quality(Records{}), InputError);
}

}  // namespace
}  // namespace thinpipe
