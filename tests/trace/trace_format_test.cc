// Tests that the trace format is as documented. Readers in other languages, written from
// docs/trace-format.md or printed there, must see the bits that Trace sees. Each broken trace must
// be refused with its message.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/base/support.h"
#include "tests/trace/sample_trace.h"
#include "tests/trace/trace_tools.h"
#include "workloads/trace/trace.h"

namespace thinpipe {
namespace {

/// A number made of all bits and their positions.
std::uint64_t bits_of(std::span<const float> values) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    bits ^= (i + 1) * std::bit_cast<std::uint32_t>(values[i]);
  return bits;
}

/// The lines that both readers print.
auto are_the_lines_of(const Trace& trace) {
  std::vector<std::string> lines = {""};  // after the last line's end
  for (std::size_t step = 0; step < trace.steps(); ++step) {
    for (std::size_t rank = 0; rank < trace.ranks(); ++rank) {
      for (std::size_t i = 0; i < trace.tensors().size(); ++i) {
        const TraceTensor& tensor = trace.tensors()[i];
        const auto add = [&](const std::string& name, std::span<const float> values) {
          lines.push_back(fmt::format("{} {} {} {} {} {}", rank, trace.training_step(step), name,
                                      fmt::join(tensor.shape, "x"), values.size(),
                                      bits_of(values)));
        };
        add(tensor.name, trace.gradient(rank, step, i));
        const auto squares = trace.squares(rank, step, i);
        if (!squares.empty()) add("q:" + tensor.name, squares);
      }
    }
  }
  return ::testing::UnorderedElementsAreArray(lines);
}

TEST(PythonReader, SeesTheSameBits) {
  if (std::system("python3 -c 'import json, struct, hashlib' >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "python3 is not installed; the second reader was not run";
  }
  const TemporaryFolder temporary;
  const auto folder = temporary / "trace";
  write_sample_trace(
      folder, {.shapes = {{4, 3, 5}, {7}, {}}, .ranks = 3, .steps = 2, .seed = 5, .squares = true});
  const std::string output = (temporary / "out").string();
  const std::string command =
      fmt::format("python3 '{}' '{}' >'{}'", THINPIPE_TRACE_READER, folder.string(), output);
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  EXPECT_THAT(split(read_bytes(output), '\n'), are_the_lines_of(Trace(folder)));
}

/// The reader in NumPy that docs/trace-format.md prints: the one block of Python on the page.
std::string printed_reader() {
  const std::string page = read_bytes(THINPIPE_TRACE_FORMAT_PAGE);
  const std::string fence = "```python\n";
  const std::size_t begin = page.find(fence);
  if (begin == std::string::npos) return "";
  const std::size_t end = page.find("```", begin + fence.size());
  EXPECT_EQ(page.find(fence, end), std::string::npos) << "a second block";
  return page.substr(begin + fence.size(), end - begin - fence.size());
}

constexpr const char* kPrintBits = R"(
import sys
import numpy as np
from printed import read_trace
for step, rank, name, values in read_trace(sys.argv[1]):
    assert values.dtype == np.float32
    words = values.ravel().view(np.uint32).astype(np.uint64)
    bits = np.bitwise_xor.reduce(words * np.arange(1, words.size + 1, dtype=np.uint64))
    print(rank, step, name, "x".join(map(str, values.shape)), words.size, bits)
)";

class NumpyReader : public ::testing::Test {
 protected:
  void SetUp() override {
    python_ = numpy_python();
    if (python_.empty()) GTEST_SKIP() << "no python3 has NumPy; the printed reader was not run";
    const std::string reader = printed_reader();
    // As short as the page promises.
    EXPECT_LE(std::count(reader.begin(), reader.end(), '\n'), 30);
    write_bytes(temporary_ / "printed.py", reader);
    write_bytes(temporary_ / "bits.py", kPrintBits);
  }
  std::string run(const std::string& script, const std::filesystem::path& trace) {
    const std::string output = (temporary_ / "out").string();
    const std::string command = fmt::format("{} '{}' '{}' >'{}'", python_,
                                            (temporary_ / script).string(), trace.string(), output);
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return read_bytes(output);
  }

  TemporaryFolder temporary_;
  std::string python_;
};

TEST_F(NumpyReader, SeesTheSameBits) {
  const auto folder = temporary_ / "trace";
  write_sample_trace(
      folder, {.shapes = {{4, 3, 5}, {7}, {}}, .ranks = 2, .steps = 2, .seed = 5, .squares = true});
  EXPECT_THAT(split(run("bits.py", folder), '\n'), are_the_lines_of(Trace(folder)));
  // If the printed reader is run as a program, it prints a line for every tensor: 2 steps, 2 ranks,
  // 3 tensors, each with moments.
  const std::string said = run("printed.py", folder);
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2 * 2 * 3 * 2);
}

TEST_F(NumpyReader, Widens16Bits) {
  for (const char* dtype : {"BF16", "F16"}) {
    const auto folder = temporary_ / dtype;
    write_sample_trace(folder, {.shapes = {{6, 3}, {5}}, .ranks = 1, .steps = 2});
    make_half(folder, dtype);
    EXPECT_THAT(split(run("bits.py", folder), '\n'), are_the_lines_of(Trace(folder))) << dtype;
  }
}

/// Message of opening and verifying; the folder's own path is written DIR.
std::string message_of(const std::filesystem::path& folder) {
  std::string message = input_error([&] { Trace(folder).verify(); });
  const std::string path = folder.string();
  for (std::size_t at = message.find(path); at != std::string::npos; at = message.find(path)) {
    message.replace(at, path.size(), "DIR");
  }
  return message;
}

// The corpus of broken traces: each is refused, with the message that stands in messages.txt.
TEST(BrokenTraces, AreRefusedWithTheMessageOfEach) {
  if (std::system("python3 -c 'import json, struct, hashlib' >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "python3 is not installed; the corpus was not made";
  }
  const TemporaryFolder temporary;
  const std::string scripts = THINPIPE_BROKEN_TRACES;
  const std::string command =
      "python3 '" + scripts + "/make.py' '" + temporary.path().string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;

  std::set<std::string> made;
  for (const auto& entry : std::filesystem::directory_iterator(temporary.path())) {
    made.insert(entry.path().filename());
  }
  std::ifstream messages(scripts + "/messages.txt");
  std::string line;
  while (std::getline(messages, line)) {
    const std::size_t colon = line.find(": ");
    ASSERT_NE(colon, std::string::npos) << line;
    const std::string name = line.substr(0, colon);
    EXPECT_EQ(made.erase(name), 1U) << name << " stands in messages.txt alone";
    EXPECT_EQ(message_of(temporary / name), line.substr(colon + 2)) << name;
  }
  EXPECT_EQ(made, std::set<std::string>{"sound"}) << "a case without a message";
  EXPECT_EQ(message_of(temporary / "sound"), "");
}

}  // namespace

}  // namespace thinpipe
