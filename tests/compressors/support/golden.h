// Holds figures against a committed CSV file, and the captured trace that is committed beside them.
// THINPIPE_UPDATE_GOLDEN=1 rewrites the file instead: its diff is what a review looks at.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "workloads/trace/trace.h"

namespace thinpipe::testing {

/// tests/, wherever the checkout is.
inline std::filesystem::path tests_folder() {
  return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
}

/// @param name  of a file in tests/compressors/
inline void expect_golden(const std::string& name, const std::string& measured) {
  const auto path = tests_folder() / "compressors" / name;
  if (std::getenv("THINPIPE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << measured;
    GTEST_SKIP() << "rewrote " << path;
  }
  std::ifstream expected_lines(path);
  ASSERT_TRUE(expected_lines) << path;
  std::istringstream lines(measured);
  std::string expected;
  std::string line;
  while (std::getline(lines, line)) {
    std::getline(expected_lines, expected);
    EXPECT_EQ(line, expected);
  }
  EXPECT_FALSE(std::getline(expected_lines, expected)) << "the file has more lines: " << expected;
}

/// tests/data/README.md says how it was made.
inline Trace captured_trace() { return Trace(tests_folder() / "data" / "lenet5"); }

}  // namespace thinpipe::testing
