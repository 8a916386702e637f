#include "workloads/trace/edit/chakra_export.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/base/support.h"
#include "tests/trace/sample_trace.h"
#include "tests/trace/trace_tools.h"
#include "workloads/trace/import/import.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

class ExportChakra : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_protobuf()) GTEST_SKIP() << "this build has no protobuf";
    // 1 ms forward and 2 ms backward; tensor-1 is ready in the middle, tensor-0 at the end.
    write_sample_trace(folder_, {.shapes = {{4, 3}, {7}}, .ranks = 2, .steps = 2});
  }

  void write(const ChakraExport& plan, const SliceOptions& options = {}) {
    const Trace trace(folder_);
    export_chakra(trace, slice_parts(trace, options), plan, out_);
  }
  std::vector<ChakraNode> nodes(const std::string& file) {
    const std::string bytes = read_bytes(out_ / file);
    return read_execution_trace(bytes_of(bytes), file).nodes;
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_ / "trace";
  fs::path out_ = temporary_ / "out";
};

/// One bucket, all-gathered after the backward pass. Rank 1 sends more than rank 0.
ChakraExport gathered() {
  ChakraExport plan;
  plan.buckets.push_back(
      {.tensors = {0, 1},
       .encode = 12.4e-6,
       .decode = 5.6e-6,
       .exchanges = {{.collective = ChakraCollective::kAllGather, .bytes = {100, 119.5}}}});
  plan.about = {{"compressor", std::string("topk")}};
  return plan;
}

std::vector<std::vector<std::uint64_t>> dependencies_of(const std::vector<ChakraNode>& nodes) {
  std::vector<std::vector<std::uint64_t>> all;
  for (const ChakraNode& node : nodes) all.push_back(node.data_deps);
  return all;
}

TEST_F(ExportChakra, AReaderOfTheSchemaAcceptsIt) {
  if (std::system("python3 -c 'import sys' >/dev/null 2>&1") != 0) GTEST_SKIP() << "no python3";
  write(gathered(), {.steps = {{0, 0}}});
  EXPECT_EQ(files_below(out_), 2U);
  const fs::path printed = temporary_ / "printed";
  const auto lines = [&](const std::string& file) {
    const std::string command =
        fmt::format("python3 '{}' '{}' >'{}'", THINPIPE_EXECUTION_TRACE_READER,
                    (out_ / file).string(), printed.string());
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return split(read_bytes(printed), '\n');
  };
  // Durations are in us. Sizes are whole bytes, and all ranks have the largest.
  EXPECT_THAT(
      lines("synthetic.0.et"),
      ElementsAre("version 0.0.4", "compressor: topk",
                  "1 COMP_NODE 0 [] is_cpu_op=False: ProfilerStep#0",
                  "2 COMP_NODE 1000 [1] is_cpu_op=False: forward",
                  "3 COMP_NODE 1000 [2] is_cpu_op=False: autograd::engine::evaluate_function: "
                  "tensor-1",
                  "4 COMP_NODE 0 [3] is_cpu_op=False: torch::autograd::AccumulateGrad",
                  "5 COMP_NODE 1000 [4] is_cpu_op=False: autograd::engine::evaluate_function: "
                  "tensor-0",
                  "6 COMP_NODE 0 [5] is_cpu_op=False: torch::autograd::AccumulateGrad",
                  "7 COMP_NODE 12 [4, 6] is_cpu_op=True: encode bucket 0",
                  "8 COMM_COLL_NODE 0 [7] is_cpu_op=False comm_type=ALL_GATHER comm_size=120 "
                  "payload_size=100: all-gather bucket 0",
                  "9 COMP_NODE 6 [8] is_cpu_op=True: decode bucket 0", ""));
  EXPECT_THAT(lines("synthetic.1.et")[9], HasSubstr("comm_size=120 payload_size=120:"));
}

TEST_F(ExportChakra, AnImportGivesShapesOrderAndTimesAgain) {
  write(gathered());
  const ImportSummary summary = import_trace({out_}, temporary_ / "back", {});
  EXPECT_TRUE(summary.has_times);
  EXPECT_EQ(summary.files, 2U);
  const Trace back(temporary_ / "back");
  EXPECT_EQ(back.steps(), 2U);
  ASSERT_EQ(back.tensors().size(), 2U);
  EXPECT_THAT(back.tensors()[0].shape, ElementsAre(4, 3));
  EXPECT_THAT(back.tensors()[1].shape, ElementsAre(7));
  EXPECT_EQ(back.tensors()[1].ready_order, 0U);
  for (std::size_t step = 0; step < 2; ++step) {
    const TraceStepTimes& times = back.times(1, step);
    EXPECT_NEAR(times.forward, 1e-3, 1e-9);
    EXPECT_NEAR(times.backward, 2e-3, 1e-9);
    EXPECT_NEAR(times.ready[0], 2e-3, 1e-9);
    EXPECT_NEAR(times.ready[1], 1e-3, 1e-9);
  }
}

TEST_F(ExportChakra, BucketsOverlapAndCollectivesFollowEachOther) {
  ChakraExport plan;
  plan.overlaps = true;
  plan.codec_on_cpu = false;
  plan.buckets.push_back({.tensors = {1}, .exchanges = {{.bytes = {8}}, {.bytes = {4}}}});
  plan.buckets.push_back({.tensors = {0}, .exchanges = {{.bytes = {48}}}});
  write(plan, {.ranks = {{1, 1}}});
  EXPECT_EQ(files_below(out_), 1U);
  const std::vector<ChakraNode> all = nodes("synthetic.0.et");
  // Compute has nodes 1 to 6; 4 and 6 are the gradients. Then there are encoding, collectives and
  // decoding of either bucket. The next step waits for the backward pass and for both buckets.
  std::vector<ChakraNode> first(all.begin(), all.begin() + 14);
  EXPECT_THAT(
      dependencies_of(first),
      ElementsAre(IsEmpty(), ElementsAre(1), ElementsAre(2), ElementsAre(3), ElementsAre(4),
                  ElementsAre(5), ElementsAre(4), ElementsAre(7), ElementsAre(8), ElementsAre(9),
                  ElementsAre(6), ElementsAre(9, 11), ElementsAre(12), ElementsAre(6, 10, 13)));
  EXPECT_EQ(first[13].name, "ProfilerStep#1");
  EXPECT_EQ(first[13].start_micros, 3000U);
  EXPECT_EQ(first[6].attributes[0], (ChakraAttribute{"is_cpu_op", false}));
  EXPECT_EQ(first[7].name, "all-reduce bucket 0");
}

TEST_F(ExportChakra, EncodingWaitsForTheEndOfTheBackwardPass) {
  edit_trace_json(folder_, [](nlohmann::json& root) {
    root["steps"][0]["workers"][0]["backward"] = 0.0025;  // 0.5 ms after the last gradient
  });
  write(gathered(), {.steps = {{0, 0}}});
  const std::vector<ChakraNode> all = nodes("synthetic.0.et");
  ASSERT_EQ(all.size(), 10U);
  EXPECT_EQ(all[6].name, "autograd::engine::evaluate_function");
  EXPECT_EQ(all[6].duration_micros, 500U);
  EXPECT_THAT(all[7].data_deps, ElementsAre(4, 6, 7));
}

TEST_F(ExportChakra, OneStepInEachPeriodExchanges) {
  ChakraExport plan = gathered();
  plan.period = 2;
  plan.hold = 3e-6;
  write(plan);
  std::vector<std::string> names;
  for (const ChakraNode& node : nodes("synthetic.0.et")) {
    if (node.id > 6 && node.name.find("::") == std::string::npos) names.push_back(node.name);
  }
  EXPECT_THAT(names, ElementsAre("accumulate", "ProfilerStep#1", "forward", "encode bucket 0",
                                 "all-gather bucket 0", "decode bucket 0"));
}

TEST_F(ExportChakra, RefusesAFolderWithSomethingInIt) {
  write_bytes(out_ / "mine", "x");
  EXPECT_THAT(input_error([&] { write(gathered()); }), HasSubstr("not empty"));
  EXPECT_EQ(files_below(out_), 1U);
}

}  // namespace
}  // namespace thinpipe
