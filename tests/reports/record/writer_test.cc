// The writer: round trips, resuming after a cut, a full disk, a second writer.
#include "reports/record/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "reports/record/reader.h"
#include "reports/record/record.h"
#include "tests/base/support.h"
#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;
using Mode = RecordWriter::Mode;

void append_launch(const std::filesystem::path& folder, Mode mode, const Point& point) {
  RecordWriter writer(folder, mode);
  writer.append(sample::header());
  writer.append(point);
}

TEST(Writer, RoundTrip) {
  const TemporaryFolder folder;
  Point point = sample::point("topk:ratio=0.1", 1e8, 1, {0.1, std::nan(""), 1.0 / 3});
  point.status = Status::kInvalid;
  point.reasons = {"idle \"CPU\"\n\xc3\xa9"};
  append_launch(folder / "new", Mode::kCreate, point);
  const Records records = read_records(folder / "new");
  ASSERT_EQ(records.points.size(), 1u);
  const std::vector<double>& samples = records.points[0].metrics.at("step_time").samples;
  EXPECT_EQ(samples[0], 0.1);
  EXPECT_TRUE(std::isnan(samples[1]));
  EXPECT_EQ(samples[2], 1.0 / 3);  // doubles survive to the bit
  EXPECT_EQ(records.points[0].reasons, point.reasons);
}

TEST(Writer, InvalidUtf8IsReplacedAndDoesNotStopTheRun) {
  const TemporaryFolder folder;
  Point point = sample::point("none", 1e8, 0, {0.1});
  point.reasons = {"bad \xff byte"};
  append_launch(folder.path(), Mode::kCreate, point);
  EXPECT_EQ(read_records(folder.path()).points[0].reasons[0], "bad \xef\xbf\xbd byte");
}

TEST(Writer, CreateRefusesRecordsAndResumeContinuesThem) {
  const TemporaryFolder folder;
  append_launch(folder.path(), Mode::kResume, sample::point("none", 1e8, 0, {0.1}));  // new file
  EXPECT_THROW(RecordWriter(folder.path(), Mode::kCreate), InputError);
  RecordWriter writer(folder.path(), Mode::kResume);
  EXPECT_EQ(writer.existing().finished_ids().size(), 1u);
  writer.append(sample::header());
  writer.append(sample::point("topk", 1e8, 0, {0.1}));
  const Records records = parse_records(read_bytes(writer.file()), "f");
  EXPECT_EQ(records.headers.size(), 2u);
  EXPECT_EQ(records.points.size(), 2u);
}

// Whichever byte a crash stopped at, resuming leaves whole records and appends after them.
TEST(Writer, ResumesAfterACutAtEveryByte) {
  const TemporaryFolder folder;
  const std::string text =
      sample::records_text(sample::records({sample::point("none", 1e8, 0, {0.1})}));
  const std::filesystem::path file = folder.path() / kRecordFileName;
  for (std::size_t length = 0; length <= text.size(); ++length) {
    std::ofstream(file, std::ios::binary) << text.substr(0, length);
    append_launch(folder.path(), Mode::kResume, sample::point("topk", 1e8, 0, {0.1}));
    const Records records = read_records(file);
    EXPECT_TRUE(records.notes.empty()) << "cut at " << length;
    EXPECT_EQ(records.points.size(), length == text.size() ? 2u : 1u) << "cut at " << length;
  }
}

TEST(Writer, RecordsOfAnotherKindAreRefusedBeforeAnythingIsAppended) {
  const TemporaryFolder folder;
  RecordWriter writer(folder.path(), Mode::kCreate);
  EXPECT_NO_THROW(writer.require_kind(kBenchKind));  // it has none yet
  writer.append(sample::header());
  EXPECT_NO_THROW(writer.require_kind(kRunKind));
  EXPECT_EQ(
      input_error([&] { writer.require_kind(kBenchKind); }),
      writer.file().string() + ": it has records of 'run', not of 'bench'; choose another folder");
}

TEST(Writer, ARecordThatBreaksTheContractIsNotWritten) {
  const TemporaryFolder folder;
  RecordWriter writer(folder.path(), Mode::kCreate);
  EXPECT_THROW(writer.append(sample::point("none", 1e8, 0, {0.1})), InputError);  // no header yet
  writer.append(sample::header());
  const std::string before = read_bytes(writer.file());
  EXPECT_THROW(writer.append(sample::point("none", std::nan(""), 0, {0.1})), InputError);
  EXPECT_THROW(writer.append(nlohmann::json{{"record", "point"}}), InputError);
  EXPECT_EQ(read_bytes(writer.file()), before);
}

// A file-size limit stands for the full disk: the kernel writes the bytes that fit, then refuses.
// The child's exit status reports the outcome (the limit would bind the test's own output too).
TEST(Writer, AFullDiskLeavesWholeRecordsAndNamesTheFile) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    RecordWriter writer(folder.path(), Mode::kCreate);
    writer.append(sample::header());
    const std::string before = read_bytes(writer.file());
    const rlimit limit = {before.size() + 40, before.size() + 40};  // 40 bytes of the point fit
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string error =
        error_text<RunError>([&] { writer.append(sample::point("none", 1e8, 0, {0.1})); });
    if (error.empty()) _exit(1);
    if (error.find("records.jsonl") == std::string::npos) _exit(2);
    _exit(read_bytes(writer.file()) != before ? 3 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "1: no error, 2: file not named, 3: a broken record stayed";
}

TEST(Writer, ASecondProcessIsRefused) {
  const TemporaryFolder folder;
  RecordWriter writer(folder.path(), Mode::kCreate);
  const pid_t child = fork();
  if (child == 0) {
    const auto second = [&] { RecordWriter(folder.path(), Mode::kResume); };
    _exit(input_error(second).empty() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Writer, AFolderThatCannotTakeRecordsIsWrongInput) {
  const TemporaryFolder folder;
  const auto refusal = [](const std::filesystem::path& out) {
    return input_error([&] { RecordWriter(out, Mode::kCreate); });
  };
  const std::filesystem::path file = folder.path() / "file";
  write_bytes(file, "");
  EXPECT_EQ(refusal(file),
            "create folder " + file.string() + ": Not a directory; choose another folder");
  EXPECT_THAT(refusal("/proc/nowhere/here"), HasSubstr("create folder /proc/nowhere/here: "));
  std::filesystem::create_directory(folder.path() / kRecordFileName);
  EXPECT_THAT(refusal(folder.path()), HasSubstr("Is a directory; choose another folder"));
}

TEST(MachineDifferences, NameWhatTellsThemApart) {
  const nlohmann::json one = {{"cpu", "A"}, {"cores", 2}, {"load", 0.1}, {"git", "1"}};
  nlohmann::json other = one;
  other["load"] = 3;
  other["git"] = "2";
  EXPECT_TRUE(machine_differences(one, other).empty());
  EXPECT_EQ(setting_differences(one, other),
            (std::vector<std::string>{"git: \"1\" against \"2\""}));
  other["cores"] = 4;
  EXPECT_EQ(machine_differences(one, other), (std::vector<std::string>{"cores: 2 against 4"}));
}

TEST(MachineDifferences, WhatAnOlderRecordDoesNotSayIsNone) {
  EXPECT_TRUE(machine_differences({{"cpu", "A"}}, {{"cpu", "A"}, {"smt", true}}).empty());
}

}  // namespace

}  // namespace thinpipe
