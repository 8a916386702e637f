// A process can make one simulated cluster, so each test has a process of its own.
#pragma once

#include <cstdlib>

#include <gtest/gtest.h>

namespace thinpipe {

/// Runs `body` in a child, and fails where it fails or throws.
template <typename Body>
void in_child(const Body& body) {
  EXPECT_EXIT(
      {
        body();
        std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace thinpipe
