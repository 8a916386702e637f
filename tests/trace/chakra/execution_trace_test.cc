#include "workloads/trace/chakra/execution_trace.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/support.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

/// Computing, a collective that waits for it, and a node that waits for both.
ExecutionTrace three_nodes() {
  ExecutionTrace trace{.version = "0.0.4", .attributes = {{"source", std::string("test")}}};
  trace.nodes.push_back({.id = 7,
                         .name = "forward",
                         .start_micros = 5,
                         .duration_micros = 1000,
                         .input_shapes = "[[2, 3], []]",
                         .input_types = "['Tensor(float)', 'Int']"});
  trace.nodes.push_back({.id = 300,
                         .name = "all-reduce",
                         .type = ChakraNodeType::kCollective,
                         .data_deps = {7},
                         .attributes = {{"comm_size", std::int64_t{1} << 40},
                                        {"comm_type", std::int64_t{0}},
                                        {"is_cpu_op", false},
                                        {"pg_name", std::string("all")}}});
  trace.nodes.push_back({.id = 8, .name = "", .data_deps = {7, 300}});
  return trace;
}

ExecutionTrace read(const std::string& bytes) {
  return read_execution_trace(bytes_of(bytes), "a.et");
}

std::string error_in(const std::string& bytes) {
  return input_error([&] { read(bytes); });
}

/// The message for three_nodes() after a change of one node.
std::string error_with(std::size_t node, const auto& change) {
  ExecutionTrace trace = three_nodes();
  change(trace.nodes.at(node));
  return input_error([&] { check_execution_trace(trace, "a.et"); });
}

class ExecutionTraceFile : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_protobuf()) GTEST_SKIP() << "this build has no protobuf";
  }
};

TEST_F(ExecutionTraceFile, WhatWasWrittenIsRead) {
  const std::string bytes = execution_trace_bytes(three_nodes());
  EXPECT_EQ(read(bytes), three_nodes());
  EXPECT_TRUE(is_execution_trace(bytes_of(bytes)));
  EXPECT_EQ(read(execution_trace_bytes({})), ExecutionTrace());  // one message, of no bytes
}

// The schema's numbers: version = 1 and, in a Node, id = 1, name = 2, type = 3, data_deps = 5,
// duration_micros = 7. A tag is 8 times the number, plus 0 for a varint or 2 for bytes.
TEST_F(ExecutionTraceFile, BytesAreTheSchemas) {
  ExecutionTrace trace{.version = "1"};
  trace.nodes.push_back({.id = 1, .name = "a"});
  trace.nodes.push_back({.id = 2, .name = "b", .data_deps = {1}, .duration_micros = 300});
  EXPECT_EQ(execution_trace_bytes(trace),
            "\x03\x0a\x01"
            "1"
            "\x07\x08\x01\x12\x01"
            "a\x18\x04"
            "\x0d\x08\x02\x12\x01"
            "b\x18\x04\x2a\x01\x01\x38\xac\x02");
}

TEST_F(ExecutionTraceFile, SkipsWhatTheSchemaLacks) {
  // A node with ctrl_deps (4), and one with two attributes (10): a double (3) named d, and a text
  // (29).
  const std::string file = "\0"s + "\x08\x08\x01\x18\x04\x22\x02\x05\x06" +
                           "\x19\x08\x02\x18\x04\x52\x0c\x0a\x01"
                           "d\x19\0\0\0\0\0\0\0\0\x52\x05\xea\x01\x02"
                           "hi"s;
  const ExecutionTrace trace = read(file);
  ASSERT_EQ(trace.nodes.size(), 2U);
  EXPECT_TRUE(trace.nodes[0].data_deps.empty());
  ASSERT_EQ(trace.nodes[1].attributes.size(), 1U);
  EXPECT_EQ(trace.nodes[1].attributes[0], (ChakraAttribute{"", std::string("hi")}));
}

TEST_F(ExecutionTraceFile, RefusesWhatIsCutOff) {
  const std::string whole = execution_trace_bytes(three_nodes());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string part = whole.substr(0, size);
    std::size_t nodes = 0;  // a cut between two messages leaves a whole file
    const std::string message = input_error([&] { nodes = read(part).nodes.size(); });
    EXPECT_LT(nodes, 3U);
    if (message.empty()) continue;
    EXPECT_THAT(message, HasSubstr("a.et: message "));
  }
  EXPECT_THAT(error_in(whole.substr(0, whole.size() - 1)), HasSubstr("a.et: message 4: length"));
  EXPECT_THAT(error_in(whole + "\x80"), HasSubstr("message 5: length: expected a varint"));
}

TEST_F(ExecutionTraceFile, RefusesLengthsAndMessages) {
  const std::string whole = execution_trace_bytes(three_nodes());
  EXPECT_THAT(error_in("\xff\xff\xff\xff\x7f"s), HasSubstr("message 1: length: found 34359738367"));
  EXPECT_THAT(error_in(std::string(11, '\xff')), HasSubstr("message 1: length: expected a varint"));
  EXPECT_THAT(error_in("\x02\x08\x01"), HasSubstr("message 1: expected GlobalMetadata"));  // a Node
  EXPECT_THAT(error_in("\x03\x12\x01\x01"), HasSubstr("message 1: expected GlobalMetadata"));
  EXPECT_THAT(error_in(whole + "\x01\x07"), HasSubstr("message 5: expected Node"));
}

TEST(ExecutionTraceCheck, RefusesTypesTimesAndDependencies) {
  const auto type = [](int number) {
    return [=](ChakraNode& node) { node.type = static_cast<ChakraNodeType>(number); };
  };
  EXPECT_EQ(error_with(0, type(10)), "");
  EXPECT_THAT(error_with(0, type(0)),
              HasSubstr("a.et: node 7 'forward': type: found 0, expected 1 to 10"));
  EXPECT_THAT(error_with(1, type(11)), HasSubstr("node 300 'all-reduce': type: found 11"));
  EXPECT_THAT(error_with(1, type(-4)), HasSubstr("type: found -4"));
  EXPECT_THAT(error_with(0, [](ChakraNode& node) { node.duration_micros = UINT64_MAX; }),
              HasSubstr("node 7 'forward': duration_micros: found -1, expected 0 to 10^18"));
  EXPECT_THAT(error_with(0, [](ChakraNode& node) { node.start_micros = UINT64_MAX - 4; }),
              HasSubstr("start_time_micros: found -5"));
  EXPECT_THAT(error_with(2, [](ChakraNode& node) { node.id = 7; }),
              HasSubstr("node 7 '': id: appears twice"));
  EXPECT_THAT(error_with(2, [](ChakraNode& node) { node.data_deps = {9}; }),
              HasSubstr("node 8 '': data_deps: the file has no node 9"));
}

TEST(ExecutionTraceCheck, RefusesNodesThatWaitForThemselves) {
  const auto waits_for = [](std::uint64_t id) {
    return [=](ChakraNode& node) { node.data_deps = {id}; };
  };
  EXPECT_THAT(error_with(2, waits_for(8)), HasSubstr("node 8 '': data_deps: a cycle"));
  // Nodes 300 and 8 wait for each other. Node 7 waits for 300, and is in no cycle.
  ExecutionTrace trace = three_nodes();
  trace.nodes[0].data_deps = {300};
  trace.nodes[1].data_deps = {8};
  trace.nodes[2].data_deps = {300};
  EXPECT_THAT(input_error([&] { check_execution_trace(trace, "a.et"); }),
              HasSubstr("node 300 'all-reduce': data_deps: a cycle"));
}

TEST(ExecutionTraceCheck, TellsProtobufFromJson) {
  EXPECT_FALSE(is_execution_trace(bytes_of("{\n \"schema\": \"1.0.1\",\r\n\t\"nodes\": []}"s)));
  EXPECT_FALSE(is_execution_trace(bytes_of("nonsense"s)));
  EXPECT_FALSE(is_execution_trace(bytes_of(""s)));
  EXPECT_TRUE(is_execution_trace(bytes_of("\0"s)));
  // The length of the metadata is 123, a brace, and that of the version 121, the letter y.
  EXPECT_TRUE(
      is_execution_trace(bytes_of("{\ny" + std::string(121, 'v') + "\x04\x08\x01\x18\x04")));
}

TEST(ExecutionTraceCheck, NamesThePackagesThatAreMissing) {
  if (has_protobuf()) return require_protobuf("a file");
  EXPECT_THAT(error_text<RunError>([] { read("\0"s); }),
              HasSubstr("install libprotobuf-dev and protobuf-compiler"));
}

}  // namespace
}  // namespace thinpipe
