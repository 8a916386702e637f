#include "reports/export/export.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "reports/record/record.h"
#include "tests/base/support.h"
#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

using Json = nlohmann::json;

std::vector<LaunchRecords> sample_launches() {
  Json point = point_json(sample::point("topk:ratio=0.1,\"x\"", 1e8, 0, {0.25, 0.125}));
  point["metrics"]["payload_bytes"] = metric_json({"B", "lower", "exact", {34000}});
  point["timeline"] = {
      {"step", 0},
      {"ranks",
       {{{"compute", 0, 0.0, 0.01}, {"exchange", 0, 0.01, 0.03}}, {{"compute", 0, 0.005, 0.02}}}}};
  Json failed = {{"record", "point"},
                 {"id", "sidco"},
                 {"axes", point["axes"]},
                 {"status", "failed"},
                 {"reasons", {"no"}}};
  return {{header_json(sample::header()), {point, failed}}};
}

// As RFC 4180 reads it: cells of a line.
std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> result(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        result.back() += '"';
        ++i;
      } else {
        quoted = !quoted;
      }
    } else if (line[i] == ',' && !quoted) {
      result.emplace_back();
    } else {
      result.back() += line[i];
    }
  }
  return result;
}

TEST(ExportCsv, ARowASampleAndAColumnAnAxis) {
  const std::string text = export_csv(sample_launches());
  std::vector<std::map<std::string, std::string>> rows;
  std::vector<std::string> names;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find("\r\n", start);
    const std::vector<std::string> values = cells(text.substr(start, end - start));
    start = end + 2;
    if (names.empty()) {
      names = values;
      continue;
    }
    ASSERT_EQ(values.size(), names.size());
    rows.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) rows.back()[names[i]] = values[i];
  }
  int steps = 0;
  for (const auto& row : rows) {
    EXPECT_EQ(row.at("compressor"), "topk:ratio=0.1,\"x\"");
    EXPECT_EQ(row.at("status"), "ok");
    if (row.at("metric") != "step_time") continue;
    EXPECT_EQ(row.at("sample"), std::to_string(steps));
    EXPECT_EQ(row.at("value"), steps == 0 ? "0.25" : "0.125");
    ++steps;
  }
  EXPECT_EQ(steps, 2);
}

TEST(ExportGoogleBenchmark, TimesAreRowsAndTheRestCounters) {
  const Json json = Json::parse(export_google_benchmark(sample_launches()));
  EXPECT_TRUE(json.at("context").at("date").is_string());
  EXPECT_EQ(json.at("context").at("left_out"), Json::array({"sidco: failed"}));
  int steps = 0;
  for (const Json& row : json.at("benchmarks")) {
    EXPECT_EQ(row.at("time_unit"), "ns");
    EXPECT_EQ(row.at("payload_bytes"), 34000);
    if (row.at("name").get<std::string>().rfind("step_time/", 0) != 0) continue;
    EXPECT_EQ(row.at("real_time"), steps == 0 ? 0.25e9 : 0.125e9);
    EXPECT_EQ(row.at("repetition_index"), steps++);
  }
  EXPECT_EQ(steps, 2);
}

TEST(ExportBmf, MediansByPointAndMetric) {
  const Json json = Json::parse(export_bmf(sample_launches()));
  EXPECT_FALSE(json.contains("sidco"));  // it failed
  ASSERT_EQ(json.size(), 1U);
  const Json& measures = json.begin().value();
  EXPECT_EQ(measures.at("step_time").at("value"), 0.1875);
  EXPECT_FALSE(measures.at("step_time").contains("lower_value"));  // of two samples
  EXPECT_EQ(measures.at("payload_bytes").at("value"), 34000);
}

// Three launches around 1, 2 and 3 s, with hardly any spread in a launch. As 60 independent samples
// their median's interval would be 2 s +- this spread.
TEST(ExportBmf, LaunchesThatDisagreeWidenTheInterval) {
  std::vector<LaunchRecords> launches;
  for (const double level : {1.0, 2.0, 3.0}) {
    std::vector<double> times;
    for (int i = 0; i < 20; ++i) times.push_back(level + 1e-3 * i);
    LaunchRecords& launch = launches.emplace_back();
    launch.header = header_json(sample::header());
    launch.points.push_back(point_json(sample::point("topk", 1e8, 0, times)));
  }
  const auto step_time = [&] {
    return Json::parse(export_bmf(launches)).begin().value().at("step_time");
  };
  EXPECT_NEAR(step_time().at("value").get<double>(), 2.0095, 1e-9);
  EXPECT_LT(step_time().at("lower_value").get<double>(), 1.1);
  EXPECT_GT(step_time().at("upper_value").get<double>(), 2.9);
  // One launch has the exact interval: of 20 samples, the sixth from either end.
  launches.resize(1);
  EXPECT_NEAR(step_time().at("lower_value").get<double>(), 1.005, 1e-9);
  EXPECT_NEAR(step_time().at("upper_value").get<double>(), 1.014, 1e-9);
}

TEST(ExportPerfetto, PhasesOfEveryRankOnOneClock) {
  const Json json = Json::parse(export_perfetto(sample_launches()));
  std::vector<std::string> phases;
  std::map<int, std::string> processes, threads;
  Json last;
  for (const Json& event : json.at("traceEvents")) {
    if (event.at("ph") == "M") {
      if (event.at("name") == "process_name")
        processes[event.at("pid")] = event.at("args").at("name");
      if (event.at("name") == "thread_name") threads[event.at("tid")] = event.at("args").at("name");
      continue;
    }
    ASSERT_EQ(event.at("ph"), "X");
    phases.push_back(processes.at(event.at("pid")).substr(0, 6) + " " +
                     threads.at(event.at("tid")) + ": " + event.at("name").get<std::string>());
    last = event;
  }
  EXPECT_EQ(phases,
            (std::vector<std::string>{"rank 0 computes: compute", "rank 0 exchanges: exchange",
                                      "rank 1 computes: compute"}));
  EXPECT_EQ(last.at("ts"), 5000.0);  // us, as all
  EXPECT_EQ(last.at("dur"), 15000.0);
}

// The first two exchanges, with two parameter servers, overlap, and the second ends after the
// first. The third exchange begins when the first ends. The fourth lies within the second.
TEST(ExportPerfetto, PhasesThatOverlapGetThreadsOfTheirOwn) {
  std::vector<LaunchRecords> launches = sample_launches();
  launches[0].points[0]["timeline"]["ranks"] = Json::array({{{"exchange", 0, 0.0, 0.1},
                                                             {"exchange", 1, 0.05, 0.3},
                                                             {"exchange", 2, 0.1, 0.2},
                                                             {"exchange", 3, 0.2, 0.25}}});
  std::map<int, std::string> threads;
  std::map<int, std::string> placed;
  const Json json = Json::parse(export_perfetto(launches));
  for (const Json& event : json.at("traceEvents")) {
    if (event.at("name") == "thread_name") threads[event.at("tid")] = event.at("args").at("name");
    if (event.at("ph") == "X") placed[event.at("args").at("bucket")] = threads.at(event.at("tid"));
  }
  EXPECT_EQ(placed, (std::map<int, std::string>{
                        {0, "exchanges"}, {1, "exchanges 2"}, {2, "exchanges"}, {3, "exchanges"}}));
}

TEST(ExportPerfetto, ArrowsFollowABucket) {
  std::vector<LaunchRecords> launches = sample_launches();
  launches[0].points[0]["timeline"]["ranks"] = Json::array({{{"decode", 7, 0.3, 0.4},
                                                             {"exchange", 7, 0.1, 0.3},
                                                             {"compress", 7, 0.0, 0.1},
                                                             {"compress", 8, 0.1, 0.2}}});
  std::vector<std::pair<std::string, double>> flows;
  const Json json = Json::parse(export_perfetto(launches));
  for (const Json& event : json.at("traceEvents")) {
    if (event.value("cat", "") != "bucket") continue;
    EXPECT_EQ(event.at("name"), "bucket 7");
    flows.emplace_back(event.at("ph"), event.at("ts"));
  }
  EXPECT_EQ(flows, (std::vector<std::pair<std::string, double>>{{"s", 0}, {"t", 1e5}, {"f", 3e5}}));
}

TEST(ExportPerfetto, WithoutATimelineThereIsNothingToShow) {
  std::vector<LaunchRecords> launches = sample_launches();
  launches[0].points[0].erase("timeline");
  EXPECT_THROW(export_perfetto(launches), InputError);
}

TEST(ReadLaunches, LaterPointsOfOneIdCountWithinALaunch) {
  const TemporaryFolder folder;
  const auto line = [](const Json& json) { return json.dump() + "\n"; };
  const Json header = header_json(sample::header());
  Json point = point_json(sample::point("none", 1e8, 0, {1}));
  Json later = point;
  later["metrics"]["step_time"]["samples"] = {2};
  std::ofstream(folder.path() / "records.jsonl")
      << line(header) << line(point) << "\n"
      << line(later) << line(header) << line(point) << "{\"record\":";
  const std::vector<LaunchRecords> launches = read_launches(folder.path());
  ASSERT_EQ(launches.size(), 2U);
  ASSERT_EQ(launches[0].points.size(), 1U);
  EXPECT_EQ(launches[0].points[0]["metrics"]["step_time"]["samples"][0], 2);
  EXPECT_EQ(launches[1].points[0]["metrics"]["step_time"]["samples"][0], 1);
}

}  // namespace
}  // namespace thinpipe
