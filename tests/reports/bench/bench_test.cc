// The report of a bench, on made-up records.
#include "reports/bench/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "reports/record/reader.h"
#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Seven repetitions around a median of `encode` seconds; reading takes 1 ms.
nlohmann::json bench_point(const std::string& compressor, nlohmann::json ratio, double elements,
                           double encode) {
  std::vector<double> samples, over;
  for (int i = -3; i <= 3; ++i) samples.push_back(encode * (1 + 0.01 * i));
  for (const double sample : samples) over.push_back(sample / 1e-3);
  const auto metric = [](const char* kind, const std::vector<double>& values) {
    return metric_json({"s", "lower", kind, values});
  };
  return {{"record", "point"},
          {"id", compressor + "/" + std::to_string(elements)},
          {"axes",
           {{"compressor", compressor},
            {"method", compressor.substr(0, compressor.find(':'))},
            {"ratio", ratio},
            {"tensor", "laplace"},
            {"elements", elements},
            {"threads", 1},
            {"simd", "avx2"},
            {"device", "cpu"},
            {"residency", "memory"}}},
          {"status", "ok"},
          {"reasons", nlohmann::json::array()},
          {"metrics",
           {{"encode_time", metric("timed", samples)},
            {"decode_time", metric("timed", {1e-4})},
            {"encode_over_read", metric("timed", over)},
            {"decode_over_read", metric("timed", {0.1})},
            {"read_time", metric("timed", {1e-3})},
            {"bits_per_element", metric("exact", {ratio.is_null() ? 32.0 : 0.64})},
            {"relative_error", metric("quality", {ratio.is_null() ? 0.0 : 0.9})},
            {"passes", metric("exact", {1})}}}};
}

Records bench_records() {
  Header launch;
  launch.kind = kBenchKind;
  launch.created = "2026-01-01T00:00:00Z";
  launch.command = {"thinpipe", "bench", "-c", "topk"};
  const nlohmann::json header = header_json(launch);
  std::string text = header.dump() + "\n";
  for (const double elements : {1e6, 1e7}) {
    const double scale = elements / 1e6;
    text += bench_point("none", nullptr, elements, 2e-3 * scale).dump() + "\n";
    text += bench_point("topk:ratio=0.01", 0.01, elements, 8e-3 * scale).dump() + "\n";
    text += bench_point("topk:ratio=0.001", 0.001, elements, 6e-3 * scale).dump() + "\n";
    text += bench_point("sidco:ratio=0.01", 0.01, elements, 2e-3 * scale).dump() + "\n";
  }
  nlohmann::json failed = bench_point("dgc:ratio=0.01", 0.01, 1e6, 1);
  failed["status"] = "failed";
  failed["reasons"] = {"<decodes> to other bits"};
  failed.erase("metrics");
  return parse_records(text + failed.dump() + "\n", "bench.jsonl");
}

const BenchLine& line_named(const BenchSetting& setting, const std::string& label) {
  for (const BenchLine& line : setting.lines)
    if (line.label == label) return line;
  throw std::runtime_error("no line " + label);
}

TEST(BenchReport, AGpuIsASettingOfItsOwn) {
  Records records = bench_records();
  records.points.pop_back();  // the one that failed
  const std::size_t before = summarize_bench(records).settings.size();
  for (Point& point : records.points) point.bench->device = "cuda";
  const std::vector<std::string> alone = bench_findings(summarize_bench(records));
  EXPECT_NE(alone.back().find("payloads are those of the CPU implementation"), std::string::npos)
      << alone.back();
  records.points.front().bench->device = "cpu";
  const BenchSummary both = summarize_bench(records);
  EXPECT_EQ(both.settings.size(), before + 1);
  EXPECT_NE(both.settings.back().title.find("on a GPU"), std::string::npos);
}

TEST(BenchSummary, ComparesWithTopKAtTheSameRatio) {
  const Records records = bench_records();
  const BenchSummary summary = summarize_bench(records);
  ASSERT_EQ(summary.settings.size(), 2U);
  const BenchSetting& small = summary.settings[0];
  EXPECT_EQ(small.title, "laplace, 1000000 elements, 1 thread, avx2");
  EXPECT_DOUBLE_EQ(small.read_seconds, 1e-3);
  const BenchLine& sidco = line_named(small, "sidco");
  ASSERT_TRUE(sidco.speedup);
  EXPECT_NEAR(sidco.speedup->value, 4, 1e-12);  // 8 ms over 2 ms, not 6 over 2
  ASSERT_TRUE(sidco.speedup->interval);
  EXPECT_TRUE(sidco.speedup->interval->holds(4));
  EXPECT_NEAR(sidco.encode_over->value, 2, 1e-12);
  EXPECT_EQ(line_named(small, "topk ratio=0.001").speedup->value, 1);
  EXPECT_FALSE(line_named(small, "none").speedup) << "it has no ratio";
}

TEST(BenchSummary, AShareOfTheFloorNeedsAFloor) {
  Records records = bench_records();
  put(records.points.front().metrics, "encode_floor"_metric, {1.5e-3});
  const BenchSummary summary = summarize_bench(records);
  const BenchLine& none = line_named(summary.settings[0], "none");  // its median takes 2 ms
  ASSERT_TRUE(none.floor_share);
  EXPECT_NEAR(*none.floor_share, 0.75, 1e-12);
  EXPECT_FALSE(line_named(summary.settings[0], "sidco").floor_share) << "an older record";
  EXPECT_THAT(render_bench(records, ReportFormat::kMarkdown),
              AllOf(HasSubstr("| share of the floor |"), HasSubstr("| 75 % |")));
}

TEST(BenchSummary, WhatDidNotValidateHasNoTimes) {
  const Records records = bench_records();
  const BenchSummary summary = summarize_bench(records);
  const BenchLine& dgc = line_named(summary.settings[0], "dgc");
  EXPECT_FALSE(dgc.is_trusted);
  EXPECT_FALSE(dgc.encode);
  EXPECT_THROW(summarize_bench(Records{}), InputError);
}

TEST(BenchFindings, NameTheFastestAndWhatIsInDoubt) {
  const Records records = bench_records();
  EXPECT_THAT(
      bench_findings(summarize_bench(records)),
      ElementsAre(AllOf(HasSubstr("sidco encodes fastest among the compressors ("),
                        HasSubstr("20 ms, 20\xc3\x97 the time to read the input (95 % CI "),
                        HasSubstr("It sends 0.64 bits per element with a relative error of 90 %.")),
                  HasSubstr("sidco has the highest speed-up over Top-k at the same ratio: "
                            "4\xc3\x97 (95 % CI "),
                  HasSubstr("1 of 9 lines failed validation and has no times.")));
}

TEST(BenchFigures, AreThoseThatThereArePointsFor) {
  const Records records = bench_records();
  std::vector<std::string> ids;
  for (const Figure& figure : bench_figures(summarize_bench(records))) {
    ids.push_back(figure.id);
    for (const Panel& panel : figure.panels)
      EXPECT_EQ(sample::check_markup(panel.svg).error, "") << figure.id;
    EXPECT_FALSE(figure.data.empty()) << figure.id;
  }
  EXPECT_THAT(ids, ElementsAre("speedup-topk", "encode-roofline", "decode-roofline", "latency-size",
                               "latency-ratio", "bits-error"));
}

TEST(BenchPage, IsEscapedAndSaysWhatIsGrey) {
  const std::string page = render_bench(bench_records(), ReportFormat::kHtml);
  EXPECT_THAT(page, HasSubstr("&lt;decodes&gt; to other bits"));
  EXPECT_THAT(page, Not(HasSubstr("<decodes>")));
  EXPECT_THAT(page, HasSubstr("untrusted"));
  EXPECT_THAT(page, HasSubstr("thinpipe bench -c topk"));
  EXPECT_THAT(page, HasSubstr("data-name=\"bench\""));
  EXPECT_THAT(render_bench(bench_records(), ReportFormat::kMarkdown), HasSubstr("## All points"));
}

}  // namespace
}  // namespace thinpipe
