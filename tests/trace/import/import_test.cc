#include "workloads/trace/import/import.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/support.h"
#include "tests/trace/sample_trace.h"
#include "tests/trace/trace_tools.h"
#include "workloads/trace/chakra/execution_trace.h"
#include "workloads/trace/edit/edit.h"
#include "workloads/trace/import/arrays.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Import : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& bytes) {
    const fs::path place = in_ / name;
    fs::create_directories(place.parent_path());
    write_bytes(place, bytes);
  }
  void write_npy(const std::string& name, const std::vector<float>& values,
                 const std::vector<std::int64_t>& shape) {
    const std::string elements(reinterpret_cast<const char*>(values.data()),
                               values.size() * sizeof(float));
    write(name, npy_prologue(shape) + elements);
  }
  ImportSummary run(const ImportOptions& options = {}) {
    return import_trace({in_}, out_, options);
  }
  /// The message; and nothing may have been left.
  std::string error(const ImportOptions& options = {}) {
    const std::string message = input_error([&] { run(options); });
    EXPECT_FALSE(fs::exists(out_)) << message;
    return message;
  }

  TemporaryFolder temporary_;
  fs::path in_ = temporary_ / "in";
  fs::path out_ = temporary_ / "out";
};

TEST_F(Import, WhatWasExportedComesBack) {
  write_sample_trace(temporary_ / "trace",
                     {.shapes = {{4, 3}, {7}, {}}, .ranks = 2, .steps = 2, .squares = true});
  const Trace trace(temporary_ / "trace");
  for (const auto format : {ExportFormat::kNpy, ExportFormat::kNpz, ExportFormat::kSafetensors}) {
    fs::remove_all(in_);
    fs::remove_all(out_);
    const std::size_t files = export_trace(trace, slice_parts(trace, {}), format, in_);
    EXPECT_EQ(run().files, files);
    const Trace imported(out_);
    imported.verify();
    expect_same_values(trace, imported);
    EXPECT_EQ(imported.metadata()["origin"], "imported");
    EXPECT_EQ(imported.model(), "in");
  }
}

TEST_F(Import, ReadsSidcosFilesByTheirNames) {
  for (const int step : {100, 5000}) {
    write_npy(fmt::format("cifar10_resnet20_r0_gradients_iter_{}.npy", step),
              {1, 2, static_cast<float>(step)}, {3});
  }
  const ImportSummary summary = run({.model = "resnet20", .forward = 0.5, .backward = 0.25});
  EXPECT_EQ(summary.steps, 2U);
  const Trace trace(out_);
  EXPECT_EQ(trace.model(), "resnet20");
  EXPECT_EQ(trace.tensors().front().name, "gradients");
  EXPECT_EQ(trace.training_step(1), 5000U);
  EXPECT_THAT(trace.gradient(0, 1, 0), ElementsAre(1, 2, 5000));
  EXPECT_EQ(trace.times(0, 0).forward, 0.5);
  EXPECT_EQ(trace.times(0, 0).ready.front(), 0.25);
  EXPECT_EQ(trace.metadata()["provenance"]["pattern"], "*r{rank}_gradients_iter_{step}.npy");
}

// A third of 0.1 three times is more than 0.1 in doubles.
TEST_F(Import, NoGradientIsReadyAfterTheBackwardPass) {
  for (const char* name : {"a", "b", "c"}) write_npy(std::string(name) + ".npy", {1}, {1});
  run({.backward = 0.1});
  const Trace trace(out_);
  const TraceStepTimes& times = trace.times(0, 0);
  EXPECT_EQ(*std::ranges::max_element(times.ready), times.backward);
}

TEST_F(Import, NamesAreUtf8) {
  write_npy("caf\xe9.npy", {1}, {1});
  EXPECT_THAT(error(), HasSubstr("printable bytes of UTF-8"));
}

TEST_F(Import, OrdersByNumbersInNamesAndRenamesAndChooses) {
  for (const int layer : {10, 9}) {
    write_npy(fmt::format("3/module.l{}.w.npy", layer), {static_cast<float>(layer)}, {1});
  }
  write_npy("3/other.npy", {0}, {1});
  write("README.txt", "not imported");
  run({.renames = {"module.*=*"}, .tensors = {"l*"}, .backward = 1});
  const Trace trace(out_);
  ASSERT_EQ(trace.tensors().size(), 2U);
  EXPECT_EQ(trace.tensors()[0].name, "l9.w");
  EXPECT_EQ(trace.tensors()[1].name, "l10.w");
  EXPECT_EQ(trace.tensors()[1].ready_order, 0U) << "the last is ready first";
  EXPECT_THAT(trace.times(0, 0).ready, ElementsAre(1, 0.5));
  fs::remove_all(out_);
  run({.tensors = {"*l*"}, .first_ready_first = true, .backward = 1});
  const Trace forward(out_);
  EXPECT_EQ(forward.tensors()[0].ready_order, 0U);
  EXPECT_THAT(forward.times(0, 0).ready, ElementsAre(0.5, 1));
}

TEST_F(Import, PatternLeavesOutWhatDoesNotMatchAndRanksCloseUp) {
  write_npy("w4/it2.npy", {1}, {1});
  write_npy("w7/it2.npy", {2}, {1});
  write_npy("w7/it2.loss.npy", {2}, {1});
  run({.pattern = "w{rank}/it{step}.npy"});
  const Trace trace(out_);
  EXPECT_EQ(trace.ranks(), 2U);
  EXPECT_THAT(trace.gradient(1, 0, 0), ElementsAre(2));
  EXPECT_THAT(trace.metadata()["provenance"]["ranks"], ElementsAre(4, 7));
}

TEST_F(Import, RefusesWhatDoesNotFitTogether) {
  const auto fresh = [&] { fs::remove_all(in_); };
  write("a.txt", "x");
  EXPECT_THAT(error(), HasSubstr("nothing to import"));
  write_npy("1/0/a.npy", {1}, {1});
  EXPECT_THAT(error({.pattern = "{epoch}.npy"}), HasSubstr("pattern '{epoch}.npy': expected"));
  EXPECT_THAT(error({.pattern = "x{step}.npy"}), HasSubstr("1/0/a.npy does not match"));
  EXPECT_THAT(error({.format = ImportFormat::kNpz}), HasSubstr("no .npz file"));
  EXPECT_THAT(error({.tensors = {"b*"}}), HasSubstr("no gradient is left"));
  write_npy("1/1/a.npy", {1}, {1});
  write_npy("2/0/a.npy", {1}, {1});
  EXPECT_THAT(error(), HasSubstr("step 2: no file of rank 1, unlike other steps"));
  write_npy("2/1/a.npy", {1, 2}, {2});
  EXPECT_THAT(error(), HasSubstr("tensor 'a': shape: found [2], expected [1]"));
  write_npy("2/1/a.npy", {1}, {1});
  write_npy("2/1/b.npy", {1}, {1});
  EXPECT_THAT(error(), HasSubstr("step 2, rank 1: tensor 'b' is not in the first step"));
  fresh();
  write_npy("1/a.npy", {1}, {1});
  write_npy("2/b.npy", {1}, {1});
  EXPECT_THAT(error(), HasSubstr("2/b.npy: tensor 'a' of the first step is missing"));
  fresh();
  write_npy("1/a.npy", {}, {0});
  EXPECT_THAT(error(), HasSubstr("1/a.npy: tensor 'a': shape: [0] has no elements"));
  write("1/a.npy", "nonsense");
  EXPECT_THAT(error(), HasSubstr("1/a.npy: not a .npy file"));
  fresh();
  write_npy("01/a.npy", {1}, {1});
  write_npy("1/a.npy", {1}, {1});
  EXPECT_THAT(error(), HasSubstr("01/a.npy and 1/a.npy are both of step 1"));
  fresh();
  write("x.npz", "PK");
  EXPECT_THAT(error(), HasSubstr("x.npz: cannot be read as a ZIP archive"));
  write_npy("y.npy", {1}, {1});
  EXPECT_THAT(error(), HasSubstr("files of several kinds"));
  EXPECT_THAT(input_error([&] { import_trace({temporary_ / "none"}, out_, {}); }),
              HasSubstr("no such file or folder"));
}

TEST_F(Import, NeverOverwrites) {
  write_npy("1/a.npy", {1}, {1});
  fs::create_directories(out_);
  write_bytes(out_ / "mine", "x");
  EXPECT_THAT(input_error([&] { run(); }), HasSubstr("not empty"));
  EXPECT_EQ(read_bytes(out_ / "mine"), "x");
}

/// Output of PyTorch's observer, as far as it matters: two steps of two parameters.
std::string chakra_file(bool times, const std::string& second_shape = "[2, 3]") {
  std::string nodes;
  int id = 10;
  const auto node = [&](const std::string& name, const std::string& shapes, double ts, double dur) {
    nodes += fmt::format(
        R"({}{{"name": "{}", "id": {}, "inputs": [], "input_shapes": [{}], "input_types": [{}]{}}})",
        nodes.empty() ? "" : ",", name, id++, shapes,
        shapes.empty() ? "" : R"json("Tensor(float)")json",
        times ? fmt::format(R"(, "ts": {}, "inclusive_dur": {})", ts, dur) : "");
  };
  for (const double at : {1000.0, 2000.0}) {
    node(fmt::format("ProfilerStep#{}", id), "", at, 900);
    node("aten::linear", "", at + 10, 5);
    node("autograd::engine::evaluate_function: AddmmBackward0", "", at + 100, 50);
    node("torch::autograd::AccumulateGrad", "[2]", at + 140, 10);
    node("autograd::engine::evaluate_function: AddmmBackward0", "", at + 160, 50);
    node("torch::autograd::AccumulateGrad", second_shape, at + 180, 20);
  }
  return R"({"schema": "1.0.1", "pid": 1, "nodes": [)" + nodes + "]}";
}

TEST_F(Import, ChakraGivesShapesAndTimesAndDrawsValues) {
  write("rank0.json", chakra_file(true));
  write("rank1.json", chakra_file(true));
  const ImportSummary summary = run({.seed = 7});
  EXPECT_TRUE(summary.has_times);
  EXPECT_TRUE(summary.drawn);
  const Trace trace(out_);
  trace.verify();
  EXPECT_EQ(trace.metadata()["origin"], "synthetic");
  EXPECT_THAT(trace.metadata()["provenance"]["synthetic"], ElementsAre("values", "names"));
  EXPECT_EQ(trace.ranks(), 2U);
  EXPECT_EQ(trace.steps(), 2U);
  // The bias was ready first, so it is the last parameter.
  EXPECT_THAT(trace.tensors()[0].shape, ElementsAre(2, 3));
  EXPECT_THAT(trace.tensors()[1].shape, ElementsAre(2));
  EXPECT_EQ(trace.tensors()[1].ready_order, 0U);
  // Microseconds: the step begins at 1000, the backward pass at 1100; ready at 1150 and 1200.
  EXPECT_NEAR(trace.times(0, 0).forward, 100e-6, 1e-9);
  EXPECT_NEAR(trace.times(0, 0).backward, 100e-6, 1e-9);
  EXPECT_NEAR(trace.times(0, 0).ready[1], 50e-6, 1e-9);
  EXPECT_NE(trace.gradient(0, 0, 0).front(), trace.gradient(1, 0, 0).front());
}

TEST_F(Import, ChakraWithoutTimesTakesThoseGiven) {
  write("rank0.json", chakra_file(false));
  EXPECT_FALSE(run({.backward = 0.5}).has_times);
  EXPECT_EQ(Trace(out_).times(0, 0).backward, 0.5);
  EXPECT_THAT(Trace(out_).metadata()["provenance"]["assumed"],
              ElementsAre("forward", "backward", "ready"));
}

TEST_F(Import, ChakraRefusesWhatIsNone) {
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = chakra_file(true);
    write("rank0.json", text.replace(text.find(from), from.size(), to));
    return error();
  };
  EXPECT_THAT(with("1.0.1", "2.0"), HasSubstr("schema: expected version 1.x"));
  EXPECT_THAT(with("\"nodes\"", "\"knots\""), HasSubstr("nodes: missing"));
  EXPECT_THAT(with("[2, 3]", "[2, 0]"), HasSubstr("input_shapes[0][1]: expected an integer"));
  EXPECT_THAT(with("[2, 3]", "[3, 3]"), HasSubstr("the gradients of step 1 differ"));
  EXPECT_THAT(with("Tensor(float)", "Int"), HasSubstr("expected a tensor"));
  EXPECT_THAT(with("\"ts\": 1140", "\"ts\": -1"), HasSubstr("ts: expected a number"));
  write("rank0.json", R"({"schema": "1.0.1", "nodes": []})");
  EXPECT_THAT(error(), HasSubstr("expected nodes named \"torch::autograd::AccumulateGrad\""));
  write("rank0.json", chakra_file(true));
  write("rank1.json", chakra_file(true, "[4, 3]"));
  EXPECT_THAT(error(), HasSubstr("rank1.json: 2 steps of 2 gradients, expected 2 of 2"));
  fs::remove(in_ / "rank1.json");
  write("rank0.json", chakra_file(true, "[2147483648, 2]"));
  EXPECT_THAT(error(), HasSubstr("more than 2147483648 elements"));
}

/// The trace of chakra_file() in protobuf, where Chakra's converter writes shapes as Python does.
ExecutionTrace chakra_nodes(bool times) {
  ExecutionTrace trace{.version = "0.0.4"};
  const auto node = [&](const std::string& name, const std::string& shapes, std::uint64_t start,
                        std::uint64_t duration) {
    ChakraNode made{.id = trace.nodes.size() + 10, .name = name};
    made.start_micros = times ? start : 0;
    made.duration_micros = times ? duration : 0;
    made.input_shapes = "[" + shapes + "]";
    made.input_types = shapes.empty() ? "[]" : "['Tensor(float)']";
    trace.nodes.push_back(std::move(made));
  };
  for (const std::uint64_t at : {1000U, 2000U}) {
    node(fmt::format("ProfilerStep#{}", trace.nodes.size() + 10), "", at, 900);
    node("aten::linear", "", at + 10, 5);
    node("autograd::engine::evaluate_function: AddmmBackward0", "", at + 100, 50);
    node("torch::autograd::AccumulateGrad", "[2]", at + 140, 10);
    node("autograd::engine::evaluate_function: AddmmBackward0", "", at + 160, 50);
    node("torch::autograd::AccumulateGrad", "[2, 3]", at + 180, 20);
  }
  return trace;
}

TEST_F(Import, ChakraInProtobufGivesTheTraceOfTheSameJson) {
  if (!has_protobuf()) GTEST_SKIP() << "this build has no protobuf";
  for (const bool times : {true, false}) {
    for (const fs::path& old : {in_, out_, temporary_ / "json"}) fs::remove_all(old);
    write("rank0.json", chakra_file(times));
    import_trace({in_}, temporary_ / "json", {});
    fs::remove_all(in_);
    // The bytes decide, whatever the name says.
    write(times ? "rank0.et" : "rank0.json", execution_trace_bytes(chakra_nodes(times)));
    EXPECT_EQ(run().has_times, times);
    EXPECT_EQ(read_bytes(out_ / "trace.json"), read_bytes(temporary_ / "json/trace.json"));
  }
}

TEST_F(Import, ChakraInProtobufRefusesWhatIsNone) {
  if (!has_protobuf()) GTEST_SKIP() << "this build has no protobuf";
  const auto with = [&](const std::function<void(ExecutionTrace&)>& change) {
    ExecutionTrace trace = chakra_nodes(true);
    change(trace);
    write("rank0.et", execution_trace_bytes(trace));
    return error();
  };
  // The fourth node is the first gradient.
  const auto gradient = [&](const std::function<void(ChakraNode&)>& change) {
    return with([&](ExecutionTrace& trace) { change(trace.nodes.at(3)); });
  };
  EXPECT_THAT(with([](ExecutionTrace& trace) { trace.nodes.clear(); }),
              HasSubstr("rank0.et: expected nodes named \"torch::autograd::AccumulateGrad\""));
  EXPECT_THAT(gradient([](ChakraNode& node) { node.input_shapes = "[[0]]"; }),
              HasSubstr("rank0.et: node 13: inputs.shapes[0][0]: expected an integer"));
  EXPECT_THAT(gradient([](ChakraNode& node) { node.input_shapes = "[(2,)]"; }),
              HasSubstr("rank0.et: node 13: inputs.shapes: not JSON"));
  EXPECT_THAT(gradient([](ChakraNode& node) { node.input_types = "['Int']"; }),
              HasSubstr("rank0.et: node 13: inputs.types: expected a tensor"));
  EXPECT_THAT(gradient([](ChakraNode& node) { node.input_shapes = "[[3]]"; }),
              HasSubstr("rank0.et: the gradients of step 1 differ"));
  EXPECT_THAT(gradient([](ChakraNode& node) { node.data_deps = {99}; }),
              HasSubstr("node 13 'torch::autograd::AccumulateGrad': data_deps: the file has no"));
  const std::string whole = execution_trace_bytes(chakra_nodes(true));
  write("rank0.et", whole.substr(0, whole.size() - 1));
  EXPECT_THAT(error(), HasSubstr("rank0.et: message 13: length"));  // metadata and 12 nodes
}

constexpr const char* kWriteArrays = R"(
import sys
import numpy as np
rng = np.random.default_rng(1)
for step in (1, 2):
    a = rng.normal(size=(3, 4))
    arrays = {"half": a.astype(np.float16), "double": a, "columns": np.asfortranarray(a.astype("f4")),
              "scalar": np.float32(step)}
    np.savez_compressed(sys.argv[1] + "/step%d.npz" % step, **arrays)
    np.save(sys.argv[2] + "/step%d.npy" % step, np.concatenate([np.float32(x).ravel() for x in arrays.values()]))
)";

TEST_F(Import, WhatNumpyWrote) {
  const std::string python = numpy_python();
  if (python.empty()) GTEST_SKIP() << "no python3 has NumPy";
  write_bytes(temporary_ / "write.py", kWriteArrays);
  fs::create_directories(in_);
  fs::create_directories(temporary_ / "flat");
  ASSERT_EQ(std::system(fmt::format("{} '{}' '{}' '{}'", python, (temporary_ / "write.py").string(),
                                    in_.string(), (temporary_ / "flat").string())
                            .c_str()),
            0);
  run();
  import_trace({temporary_ / "flat"}, temporary_ / "whole", {.pattern = "step{step}.npy"});
  const Trace trace(out_), whole(temporary_ / "whole");
  EXPECT_THAT(trace.metadata()["provenance"]["dtypes_of_input"], ElementsAre("F16", "F64"));
  ASSERT_EQ(trace.tensors().size(), 4U);
  for (std::size_t step = 0; step < 2; ++step) {
    std::vector<float> all;
    for (std::size_t i = 0; i < 4; ++i) {
      const auto values = trace.gradient(0, step, i);
      all.insert(all.end(), values.begin(), values.end());
    }
    EXPECT_THAT(whole.gradient(0, step, 0), ::testing::ElementsAreArray(all));
  }
}

}  // namespace
}  // namespace thinpipe
