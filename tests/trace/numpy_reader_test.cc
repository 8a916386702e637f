// The reader in NumPy that docs/trace-format.md prints is run as it stands there, and sees the bits
// that Trace sees.
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/trace/half_trace.h"
#include "tests/trace/numpy_python.h"
#include "tests/trace/sample_trace.h"
#include "tests/trace/temporary_folder.h"
#include "tests/trace/trace_files.h"
#include "workloads/trace/trace.h"

namespace thinpipe {
namespace {

/// The one block of Python on the page.
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
    print(step, rank, name, "x".join(map(str, values.shape)), bits)
)";

std::string bits_line(const Trace& trace, std::size_t step, std::size_t rank,
                      const std::string& name, const TraceTensor& tensor,
                      std::span<const float> values) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, &values[i], sizeof word);
    bits ^= (i + 1) * word;
  }
  return fmt::format("{} {} {} {} {}\n", trace.training_step(step), rank, name,
                     fmt::join(tensor.shape, "x"), bits);
}

std::string expected_bits(const Trace& trace) {
  std::string lines;
  for (std::size_t step = 0; step < trace.steps(); ++step) {
    for (std::size_t rank = 0; rank < trace.ranks(); ++rank) {
      for (std::size_t i = 0; i < trace.tensors().size(); ++i) {
        const TraceTensor& tensor = trace.tensors()[i];
        lines += bits_line(trace, step, rank, tensor.name, tensor, trace.gradient(rank, step, i));
        const auto squares = trace.squares(rank, step, i);
        if (squares.empty()) continue;
        lines += bits_line(trace, step, rank, "q:" + tensor.name, tensor, squares);
      }
    }
  }
  return lines;
}

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
  EXPECT_EQ(run("bits.py", folder), expected_bits(Trace(folder)));
  // As a program it says something of every tensor: 2 steps, 2 ranks, 3 tensors, each with moments.
  const std::string said = run("printed.py", folder);
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2 * 2 * 3 * 2);
}

TEST_F(NumpyReader, Widens16Bits) {
  for (const char* dtype : {"BF16", "F16"}) {
    const auto folder = temporary_ / dtype;
    write_sample_trace(folder, {.shapes = {{6, 3}, {5}}, .ranks = 1, .steps = 2});
    make_half(folder, dtype);
    EXPECT_EQ(run("bits.py", folder), expected_bits(Trace(folder))) << dtype;
  }
}

}  // namespace
}  // namespace thinpipe
