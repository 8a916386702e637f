// The reader: finished records survive any damage behind them; damage is named by position.
#include "reports/record/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/base/support.h"
#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string line(const nlohmann::json& json) { return json.dump() + "\n"; }

const std::string kHead = line(header_json(sample::header()));

std::string small_file() {
  return sample::records_text(sample::records({sample::point("none", 1e6, 0, {0.5, 0.25}),
                                               sample::point("topk:ratio=0.01", 1e6, 0, {0.125})}));
}

std::string records_error(const std::string& text) {
  return input_error([&] { parse_records(text, "f.jsonl"); });
}

TEST(Reader, ReadsEveryField) {
  Point point = sample::point("none", 1e6, 2, {0.5, 0.25});
  point.status = Status::kInvalid;
  point.reasons = {"clock"};
  point.axes.delay = 0.01;
  point.fidelity = Fidelity{.wire_ratio = 1.01,
                            .idle_cpu = 0.5,
                            .drops = 3,
                            .shared_machine = true,
                            .wire_bytes_by_rank = {1, 2.5},
                            .tcp_segments_by_rank = {3, 4},
                            .tcp_retransmitted_by_rank = {0, 1}};
  point.timeline = {{{"compute", 0, 0.0, 0.5}, {"exchange", 1, 0.25, 0.75}}};
  point.timeline_step = 1;
  point.axes.seed = 7;
  point.validation = document({{"checked_steps", 2}});
  point.critical_path = document({{"waits", nlohmann::json::array()}});
  point.prediction = document({{"step_time", 0.5}});
  point.training = document({{"digest", "a"}});
  const Records records = parse_records(kHead + line(point_json(point)), "f");
  ASSERT_EQ(records.headers.size(), 1u);
  EXPECT_EQ(records.headers[0].command.at(3), "synthetic trace");
  EXPECT_EQ(records.headers[0].seed, 1u);
  EXPECT_EQ(records.headers[0].threads, 2);
  EXPECT_EQ(records.headers[0].simd, "avx2");
  ASSERT_EQ(records.points.size(), 1u);
  EXPECT_EQ(point_json(records.points[0]), point_json(point));
  EXPECT_TRUE(records.notes.empty());
}

TEST(Reader, TruncationAtEveryByteKeepsTheFinishedRecords) {
  const std::string text = small_file();
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const std::string cut = text.substr(0, length);
    const std::size_t whole_lines = std::count(cut.begin(), cut.end(), '\n');
    std::uint64_t complete = 0;
    const Records records = parse_records(cut, "f", &complete);
    EXPECT_EQ(records.headers.size() + records.points.size(), whole_lines) << "cut at " << length;
    EXPECT_EQ(complete, cut.rfind('\n') == std::string::npos ? 0 : cut.rfind('\n') + 1);
    EXPECT_EQ(records.notes.size(), complete == length ? 0u : 1u);
  }
}

TEST(Reader, ByteFlipsNeverCrash) {
  const std::string text = small_file();
  int refused = 0;
  for (std::size_t place = 0; place < text.size(); ++place) {
    for (const char byte : {'\0', '"', '{', '\n', '\xff', '9'}) {
      std::string damaged = text;
      damaged[place] = byte;
      if (!records_error(damaged).empty()) ++refused;
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(Reader, TheLaterRecordOfAnIdCounts) {
  Point first = sample::point("none", 1e6, 0, {0.5});
  first.status = Status::kFailed;
  first.reasons = {"rank 2 died"};
  const Point other = sample::point("topk", 1e6, 0, {0.5});
  const Point again = sample::point("none", 1e6, 0, {0.25});
  const Records records = parse_records(
      kHead + line(point_json(first)) + line(point_json(other)) + kHead + line(point_json(again)),
      "f");
  EXPECT_EQ(records.headers.size(), 2u);
  ASSERT_EQ(records.points.size(), 2u);
  EXPECT_EQ(records.points[0].status, Status::kOk);
  EXPECT_THAT(records.points[0].samples("step_time"_metric), ElementsAre(0.25));
}

TEST(Reader, PointsOfOneNormalIdAreOnePoint) {
  const Point plain = sample::point("topk", 1e6, 0, {0.5});
  Point spelt_out = sample::point("topk:ratio=0.01", 1e6, 0, {0.25});
  spelt_out.normal_id = plain.id;
  Point older = sample::point("dgc:ratio=0.001", 1e6, 0, {0.5});  // its normal id is unknown
  Point newer = sample::point("dgc:ratio=0.001", 1e6, 0, {0.25});
  newer.normal_id = sample::point("dgc", 1e6, 0, {}).id;
  const Records records =
      parse_records(kHead + line(point_json(plain)) + line(point_json(older)) +
                        line(point_json(newer)) + line(point_json(spelt_out)),
                    "f");
  ASSERT_EQ(records.points.size(), 2U);
  EXPECT_EQ(records.points[0].id, spelt_out.id);
  EXPECT_EQ(records.points[0].normal_id, plain.id);
  EXPECT_THAT(records.points[1].samples("step_time"_metric), ElementsAre(0.25));
  EXPECT_THAT(records.finished_ids(),
              ElementsAre(newer.id, newer.normal_id, spelt_out.id, plain.id));
  // The id is written once if it is the normal id.
  Point normal = plain;
  normal.normal_id = plain.id;
  EXPECT_FALSE(point_json(normal).contains("normal_id"));
  EXPECT_EQ(point_json(spelt_out).at("normal_id"), plain.id);
}

TEST(Reader, RepeatsOfAJobAreKept) {
  const TemporaryFolder folder;
  Header header = sample::header();
  header.kind = kJobKind;
  const std::string job =
      line(header_json(header)) + line(point_json(sample::point("none", 1e6, 0, {0.5}))) +
      line(header_json(header)) + line(point_json(sample::point("none", 1e6, 0, {0.25})));
  std::ofstream(folder / "records.jsonl") << job;
  const Records records = read_repeated_records(folder / ".");
  EXPECT_EQ(records.kind(), kJobKind);
  EXPECT_EQ(records.headers.size(), 2U);
  ASSERT_EQ(records.points.size(), 2U);
  EXPECT_EQ(records.points[0].axes.repeat, 0);
  EXPECT_EQ(records.points[1].axes.repeat, 1);
  EXPECT_EQ(read_records(folder / ".").points.size(), 1U);
}

TEST(Reader, FinishedIdsLeaveOutFailedOnes) {
  Point invalid = sample::point("a", 1e6, 0, {1});
  invalid.status = Status::kInvalid;
  Point failed = sample::point("b", 1e6, 0, {1});
  failed.status = Status::kFailed;
  Point diverged = sample::point("d", 1e6, 0, {1});
  diverged.status = Status::kFailed;
  diverged.diverged = true;
  Records records;
  records.points = {invalid, failed, sample::point("c", 1e6, 0, {1}), diverged};
  EXPECT_THAT(records.finished_ids(), ElementsAre(invalid.id, records.points[2].id, diverged.id));
  EXPECT_TRUE(parse_records(kHead + line(point_json(diverged)), "f").points[0].diverged);
}

TEST(Reader, NullSamplesBecomeNaNAndAreNotAmongTheFinite) {
  Point point = sample::point("none", 1e6, 0, {0.5, std::nan(""), 0.25});
  const Records records = parse_records(kHead + line(point_json(point)), "f");
  EXPECT_EQ(records.points[0].metrics.at("step_time").samples.size(), 3u);
  EXPECT_THAT(records.points[0].samples("step_time"_metric), ElementsAre(0.5, 0.25));
}

TEST(Reader, DamageInTheMiddleNamesFileAndLine) {
  const std::string point = line(point_json(sample::point("none", 1e6, 0, {1})));
  EXPECT_THAT(records_error(kHead + "{\"rec\n" + point), HasSubstr("f.jsonl line 2: not JSON"));
  EXPECT_THAT(records_error(kHead + "[]\n" + point),
              HasSubstr("f.jsonl line 2: expected an object"));
  EXPECT_THAT(records_error(point), HasSubstr("line 1: field 'record': the first record must be"));
}

TEST(Reader, AnUnknownVersionIsRefused) {
  nlohmann::json header = header_json(sample::header());
  header["version"] = 7;
  EXPECT_THAT(records_error(line(header)),
              HasSubstr("field 'version': this thinpipe reads version 1, found 7"));
}

// Every required field, taken away or of a wrong type, is named in the message.
TEST(Reader, EveryRequiredFieldIsNamedWhenItIsWrong) {
  const nlohmann::json head = header_json(sample::header());
  for (const char* key :
       {"record", "version", "kind", "created", "command", "seed", "trace", "fingerprint"}) {
    nlohmann::json missing = head, mistyped = head;
    missing.erase(key);
    mistyped[key] = false;
    for (const nlohmann::json& wrong : {missing, mistyped})
      EXPECT_THAT(records_error(line(wrong)),
                  HasSubstr("line 1: field '" + std::string(key) + "'"));
  }
  const nlohmann::json point = point_json(sample::point("none", 1e6, 0, {1}));
  for (const char* pointer :
       {"/id", "/axes", "/axes/compressor", "/axes/method", "/axes/link", "/axes/rate",
        "/axes/delay", "/axes/ranks", "/axes/repeat", "/axes/collective", "/status", "/reasons",
        "/metrics", "/metrics/step_time/unit", "/metrics/step_time/better",
        "/metrics/step_time/kind", "/metrics/step_time/samples"}) {
    const nlohmann::json::json_pointer place(pointer);
    std::string field = std::string(pointer).substr(1);
    std::replace(field.begin(), field.end(), '/', '.');
    nlohmann::json mistyped = point, missing = point;
    mistyped[place] = false;
    missing[place.parent_pointer()].erase(place.back());
    for (const nlohmann::json& wrong : {mistyped, missing})
      EXPECT_THAT(records_error(kHead + line(wrong)),
                  HasSubstr("f.jsonl line 2: field '" + field + "'"));
  }
}

TEST(Reader, TimelinesAreReadAndChecked) {
  nlohmann::json point = point_json(sample::point("none", 1e6, 0, {1}));
  point["timeline"] = {{"step", 3},
                       {"ranks", {{{"compute", 0, 0.0, 0.5}, {"exchange", 2, 0.1, 0.7}}, {}}}};
  const Records records = parse_records(kHead + line(point), "f");
  ASSERT_EQ(records.points[0].timeline.size(), 2U);
  EXPECT_EQ(records.points[0].timeline[0][1].phase, "exchange");
  EXPECT_EQ(records.points[0].timeline[0][1].bucket, 2);
  EXPECT_EQ(records.points[0].timeline[0][1].end, 0.7);
  const std::vector<nlohmann::json> broken = {
      {{"compute", 0, 0.5, 0.1}}, {{"compute", 0, 0.5}}, {{0, 0, 0.1, 0.5}}, {"compute"}, 7};
  for (const nlohmann::json& rank : broken) {
    point["timeline"]["ranks"][0] = rank;
    EXPECT_THAT(records_error(kHead + line(point)), HasSubstr("line 2: field 'timeline.ranks'"))
        << rank;
  }
}

// Headers written before these fields were are of one thread.
TEST(Reader, ThreadsAndInstructionSetMayBeMissing) {
  nlohmann::json head = header_json(sample::header());
  head.erase("threads");
  head.erase("simd");
  const Records records = parse_records(line(head), "f");
  EXPECT_EQ(records.headers[0].threads, 1);
  EXPECT_EQ(records.headers[0].simd, "");
  for (const nlohmann::json& wrong : {nlohmann::json(0), nlohmann::json(1.5)}) {
    head["threads"] = wrong;
    EXPECT_THAT(records_error(line(head)), HasSubstr("line 1: field 'threads'"));
  }
  head["threads"] = 1;
  head["simd"] = 2;
  EXPECT_THAT(records_error(line(head)), HasSubstr("line 1: field 'simd'"));
}

TEST(Reader, ImpossibleValuesAreRefused) {
  const nlohmann::json point = point_json(sample::point("none", 1e6, 0, {1}));
  const std::vector<std::pair<std::string, nlohmann::json>> wrong = {
      {"/axes/rate", 0},
      {"/axes/rate", -1},
      {"/axes/rate", nullptr},
      {"/axes/delay", -0.1},
      {"/axes/ranks", 0},
      {"/axes/ranks", 2.5},
      {"/axes/ranks", 18446744073709551615u},
      {"/axes/repeat", -1},
      {"/status", "good"},
      {"/id", ""},
      {"/metrics/step_time/better", "target:"},
      {"/metrics/step_time/kind", "guessed"},
      {"/metrics/step_time/samples", {"1"}}};
  for (const auto& [pointer, value] : wrong) {
    nlohmann::json changed = point;
    changed[nlohmann::json::json_pointer(pointer)] = value;
    EXPECT_THAT(records_error(kHead + line(changed)), HasSubstr("line 2: field")) << pointer;
  }
}

TEST(Reader, AMissingFileIsNamed) {
  const TemporaryFolder folder;
  EXPECT_THAT(input_error([&] { read_records(folder.path()); }),
              HasSubstr((folder / "records.jsonl").string()));
}

// Axes are a run's own: those of other kinds are not looked into.
TEST(Reader, OtherKindsHaveOtherAxes) {
  nlohmann::json head = header_json(sample::header());
  head["kind"] = "bench";
  const nlohmann::json point = {{"record", "point"},
                                {"id", "topk"},
                                {"axes", {{"elements", 100}}},
                                {"status", "ok"},
                                {"reasons", nlohmann::json::array()},
                                {"metrics", nlohmann::json::object()}};
  const Records records = parse_records(line(head) + line(point), "f");
  EXPECT_EQ(records.kind(), "bench");
  EXPECT_EQ(records.points.at(0).id, "topk");
  EXPECT_THROW(parse_records(kHead + line(point), "f"), InputError);
}

TEST(Reader, OneKindAFile) {
  nlohmann::json other = header_json(sample::header());
  other["kind"] = "bench";
  EXPECT_EQ(
      records_error(kHead + line(other)),
      "f.jsonl line 2: field 'kind': expected 'run' as in the header before it, found 'bench'");
}

}  // namespace
}  // namespace thinpipe
