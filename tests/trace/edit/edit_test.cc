#include "workloads/trace/edit/edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/output_file.h"
#include "tests/base/support.h"
#include "tests/trace/sample_trace.h"
#include "tests/trace/trace_tools.h"
#include "workloads/trace/trace_writer.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class EditTrace : public ::testing::Test {
 protected:
  /// Three ranks, four steps numbered from 0, tensors tensor-0 to tensor-2.
  Trace source(const std::string& name = "source", bool squares = false, std::uint64_t seed = 1) {
    write_sample_trace(temporary_ / name, {.shapes = {{4, 3}, {7}, {2, 2}},
                                           .ranks = 3,
                                           .steps = 4,
                                           .seed = seed,
                                           .squares = squares});
    return Trace(temporary_ / name);
  }
  /// A slice of a trace, as a folder of the given name.
  Trace slice(const Trace& trace, const SliceOptions& options, const std::string& name) {
    slice_trace(trace, slice_parts(trace, options), temporary_ / name);
    Trace made(temporary_ / name);
    made.verify();
    return made;
  }

  TemporaryFolder temporary_;
};

TEST_F(EditTrace, SliceKeepsTheBits) {
  const Trace whole = source("source", true);
  const Trace part =
      slice(whole, {.steps = {{1, 2}}, .ranks = {{0, 0}, {2, 9}}, .tensors = {"*-[02]"}}, "part");
  ASSERT_EQ(part.steps(), 2U);
  ASSERT_EQ(part.ranks(), 2U);
  ASSERT_EQ(part.tensors().size(), 2U);
  EXPECT_EQ(part.training_step(0), 1U);
  for (std::size_t step = 0; step < 2; ++step) {
    for (std::size_t rank = 0; rank < 2; ++rank) {
      for (std::size_t i = 0; i < 2; ++i) {
        const auto from = whole.gradient(2 * rank, step + 1, 2 * i);
        EXPECT_THAT(part.gradient(rank, step, i), ::testing::ElementsAreArray(from));
        EXPECT_EQ(part.squares(rank, step, i).size(), from.size());
        EXPECT_EQ(part.times(rank, step).ready[i], whole.times(2 * rank, step + 1).ready[2 * i]);
      }
      EXPECT_EQ(part.times(rank, step).loss, whole.times(2 * rank, step + 1).loss);
    }
  }
  // The first of three tensors was ready last, and is last of the two left.
  EXPECT_EQ(part.tensors()[0].ready_order, 1U);
  EXPECT_EQ(part.tensors()[1].ready_order, 0U);
  EXPECT_EQ(part.metadata()["provenance"]["of"], whole.identity());
  EXPECT_EQ(part.metadata()["provenance"]["source"]["distribution"], "laplace");
  EXPECT_EQ(part.metadata()["origin"], "synthetic");
}

TEST_F(EditTrace, SliceKeepsDtypeValuesAndIncompleteness) {
  source();
  make_half(temporary_ / "source", "BF16");
  edit_trace_json(temporary_ / "source", [](nlohmann::json& root) {
    root["complete"] = false;
    root["missing"] = {"rank 1: killed"};
    root["values"] = "updates";
  });
  const Trace whole(temporary_ / "source");
  const Trace part = slice(whole, {}, "part");
  EXPECT_EQ(part.gradient_type(), GradientType::kBF16);
  EXPECT_FALSE(part.complete());
  EXPECT_THAT(part.missing(), ElementsAre("rank 1: killed"));
  EXPECT_EQ(part.metadata().at("values"), "updates");
  expect_same_values(whole, part);
}

// As thinpipe_capture writes them. They name tensors by their place.
TEST_F(EditTrace, SliceKeepsBucketsWhereAllTensorsStay) {
  source();
  const fs::path file = temporary_ / "source" / kTraceFile;
  nlohmann::json json = nlohmann::json::parse(read_bytes(file));
  const nlohmann::json buckets = {{{"index", 0}, {"tensors", {2, 1, 0}}, {"ready", 0.001}}};
  for (nlohmann::json& step : json["steps"])
    for (nlohmann::json& worker : step["workers"]) worker["buckets"] = buckets;
  write_bytes(file, json.dump());
  const Trace whole(temporary_ / "source");
  const auto kept = [&](const SliceOptions& options, const std::string& name) {
    slice(whole, options, name);
    const auto part = nlohmann::json::parse(read_bytes(temporary_ / name / kTraceFile));
    return part["steps"][0]["workers"][0].value("buckets", nlohmann::json());
  };
  EXPECT_EQ(kept({.steps = {{1, 2}}}, "steps"), buckets);
  EXPECT_TRUE(kept({.tensors = {"*-[02]"}}, "tensors").is_null());
}

TEST_F(EditTrace, SliceOfNothingIsRefused) {
  const Trace whole = source();
  const auto error = [&](const SliceOptions& options) {
    return input_error([&] { slice_parts(whole, options); });
  };
  EXPECT_THAT(error({.steps = {{9, 12}}}), HasSubstr("the trace has 4 steps from 0 to 3"));
  EXPECT_THAT(error({.ranks = {{3, 3}}}), HasSubstr("no such rank (expected ranks from 0 to 2)"));
  EXPECT_THAT(error({.tensors = {"tensor-0", "conv*"}}),
              HasSubstr("no tensor's name matches 'conv*'"));
}

TEST_F(EditTrace, MergeByRanksAndBySteps) {
  const Trace whole = source("source", true);
  std::vector<Trace> hosts;
  hosts.push_back(slice(whole, {.ranks = {{0, 0}}}, "a"));
  hosts.push_back(slice(whole, {.ranks = {{1, 2}}}, "b"));
  EXPECT_EQ(merge_traces(hosts, MergeBy::kAuto, temporary_ / "by-ranks"), MergeBy::kRanks);
  const Trace by_ranks(temporary_ / "by-ranks");
  by_ranks.verify();
  expect_same_values(whole, by_ranks);

  std::vector<Trace> runs;
  runs.push_back(slice(whole, {.steps = {{1, 1}, {3, 3}}}, "c"));
  runs.push_back(slice(whole, {.steps = {{0, 0}, {2, 2}}}, "d"));
  EXPECT_EQ(merge_traces(runs, MergeBy::kAuto, temporary_ / "by-steps"), MergeBy::kSteps);
  expect_same_values(whole, Trace(temporary_ / "by-steps"));
  EXPECT_EQ(Trace(temporary_ / "by-steps").metadata()["provenance"]["of"].size(), 2U);
}

// Predictions ask whether a GPU computed, and which.
TEST_F(EditTrace, TheMachineStaysKnownWhereItIsTheSame) {
  source();
  const auto set_device = [&](const char* folder, const char* device) {
    edit_trace_json(temporary_ / folder,
                    [&](nlohmann::json& root) { root["provenance"]["device"] = device; });
  };
  set_device("source", "NVIDIA H200");
  const auto device_of = [&](const char* folder) {
    return Trace(temporary_ / folder).metadata()["provenance"].value("device", "unknown");
  };
  const Trace whole(temporary_ / "source");
  std::vector<Trace> hosts;
  hosts.push_back(slice(whole, {.ranks = {{0, 0}}}, "a"));
  hosts.push_back(slice(whole, {.ranks = {{1, 2}}}, "b"));
  EXPECT_EQ(device_of("a"), "NVIDIA H200");
  merge_traces(hosts, MergeBy::kRanks, temporary_ / "same");
  EXPECT_EQ(device_of("same"), "NVIDIA H200");
  set_device("b", "NVIDIA A100");
  hosts.pop_back();
  hosts.emplace_back(temporary_ / "b");
  merge_traces(hosts, MergeBy::kRanks, temporary_ / "mixed");
  EXPECT_EQ(device_of("mixed"), "unknown");
}

TEST_F(EditTrace, MergeRefusesWhatDoesNotAgree) {
  const Trace whole = source();
  const auto error = [&](const std::string& name, MergeBy by = MergeBy::kAuto) {
    std::vector<Trace> traces;
    traces.emplace_back(temporary_ / "source");
    traces.emplace_back(temporary_ / name);
    const std::string message =
        input_error([&] { merge_traces(traces, by, temporary_ / "merged"); });
    EXPECT_FALSE(fs::exists(temporary_ / "merged"));
    return message;
  };
  slice(whole, {.tensors = {"tensor-0"}}, "fewer");
  EXPECT_THAT(error("fewer"), HasSubstr("fewer: 1 tensors, but 3 in"));
  slice(whole, {.steps = {{0, 1}}}, "early");
  EXPECT_THAT(error("early"), HasSubstr("early: step 0 is also in"));
  EXPECT_THAT(error("early", MergeBy::kRanks), HasSubstr("step 2 is in one trace only"));
  slice(whole, {.steps = {{0, 1}}, .ranks = {{0, 0}}}, "one");
  EXPECT_THAT(error("one"), HasSubstr("needs equal numbers of ranks: 1 ranks, but 3"));
  source("moments", true);
  EXPECT_THAT(error("moments"), HasSubstr("second moments is 'of samples', but 'none'"));
  source("half");
  make_half(temporary_ / "half", "F16");
  EXPECT_THAT(error("half"), HasSubstr("dtype is 'F16', but 'F32'"));
  source("updates");
  edit_trace_json(temporary_ / "updates", [](nlohmann::json& root) { root["values"] = "updates"; });
  EXPECT_THAT(error("updates"), HasSubstr("values is 'updates', but 'gradients'"));
  source("renamed");
  edit_trace_json(temporary_ / "renamed", [](nlohmann::json& root) { root["model"] = "vgg"; });
  EXPECT_THAT(error("renamed"), HasSubstr("model is 'vgg', but 'synthetic'"));
  const std::vector<Trace> none;
  EXPECT_THAT(input_error([&] { merge_traces(none, MergeBy::kAuto, temporary_ / "merged"); }),
              HasSubstr("at least two"));
}

TEST_F(EditTrace, AFileThatChangedMeanwhileLeavesNothing) {
  const Trace whole = source();
  write_bytes(temporary_ / "source/rank-002/step-00000003.safetensors", "x");
  EXPECT_NE(input_error([&] { slice_trace(whole, slice_parts(whole, {}), temporary_ / "part"); }),
            "");
  EXPECT_FALSE(fs::exists(temporary_ / "part"));
}

TEST_F(EditTrace, DamageGetsNoNewHash) {
  source();
  const fs::path file = temporary_ / "source/rank-001/step-00000002.safetensors";
  std::string bytes = read_bytes(file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(file, bytes);
  const Trace whole(temporary_ / "source");
  EXPECT_THAT(input_error([&] { slice_trace(whole, slice_parts(whole, {}), temporary_ / "part"); }),
              HasSubstr("rank-001/step-00000002.safetensors: sha256: found"));
  EXPECT_FALSE(fs::exists(temporary_ / "part"));
}

TEST_F(EditTrace, ExportRefusesAFolderWithSomethingInIt) {
  const Trace whole = source();
  write_bytes(temporary_ / "out/mine", "x");
  EXPECT_THAT(input_error([&] {
                export_trace(whole, slice_parts(whole, {}), ExportFormat::kNpz, temporary_ / "out");
              }),
              HasSubstr("not empty"));
  EXPECT_EQ(files_below(temporary_ / "out"), 1U);
}

TEST(NewFolderTest, TakesBackWhatItWasToldOf) {
  const TemporaryFolder temporary;
  const auto fill = [&](bool keep) {
    NewFolder folder(temporary / "a/b");
    OutputFile file(folder.file("c/d/e"));
    file.write("x");
    file.commit();
    write_bytes(temporary / "a/b/c/other", "y");
    if (keep) folder.keep();
  };
  fill(false);
  EXPECT_FALSE(fs::exists(temporary / "a/b/c/d"));
  EXPECT_TRUE(fs::exists(temporary / "a/b/c/other")) << "somebody else's";
  fs::remove_all(temporary / "a");
  fill(true);
  EXPECT_EQ(read_bytes(temporary / "a/b/c/d/e"), "x");
}

}  // namespace
}  // namespace thinpipe
