// A reader in another language, written from the format's document, must see the same bits.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/trace/sample_trace.h"
#include "tests/trace/temporary_folder.h"
#include "tests/trace/trace_files.h"
#include "workloads/trace/trace.h"

namespace thinpipe {
namespace {

std::string line(std::size_t rank, std::size_t step, const std::string& name,
                 const TraceTensor& tensor, std::span<const float> values) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, &values[i], sizeof word);
    bits ^= (i + 1) * word;
  }
  return fmt::format("{} {} {} {} {} {}\n", rank, step, name, fmt::join(tensor.shape, "x"),
                     values.size(), bits);
}

TEST(PythonReader, SeesTheSameBits) {
  if (std::system("python3 -c 'import json, struct, hashlib' >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "python3 is not installed; the second reader was not run";
  }
  const TemporaryFolder temporary;
  const auto folder = temporary / "trace";
  write_sample_trace(
      folder, {.shapes = {{4, 3, 5}, {7}, {}}, .ranks = 3, .steps = 2, .seed = 5, .squares = true});
  const Trace trace(folder);
  std::string expected;
  for (std::size_t step = 0; step < trace.steps(); ++step) {
    for (std::size_t rank = 0; rank < trace.ranks(); ++rank) {
      for (std::size_t i = 0; i < trace.tensors().size(); ++i) {
        const TraceTensor& tensor = trace.tensors()[i];
        expected += line(rank, step, tensor.name, tensor, trace.gradient(rank, step, i));
      }
      for (std::size_t i = 0; i < trace.tensors().size(); ++i) {
        const TraceTensor& tensor = trace.tensors()[i];
        expected += line(rank, step, "q:" + tensor.name, tensor, trace.squares(rank, step, i));
      }
    }
  }
  const std::string output = (temporary / "out").string();
  const std::string command =
      fmt::format("python3 '{}' '{}' >'{}'", THINPIPE_TRACE_READER, folder.string(), output);
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  EXPECT_EQ(read_bytes(output), expected);
}

}  // namespace
}  // namespace thinpipe
