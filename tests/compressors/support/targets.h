// Runs code once for every instruction set that was compiled in and that this CPU has.
#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "hwy/targets.h"

namespace thinpipe::testing {

template <class Body>
void for_each_target(Body body) {
  for (std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    body();
  }
  hwy::SetSupportedTargetsForTest(0);  // back to the best one
}

/// Expects the same result of `compute` on every target, and returns it.
template <class Compute>
auto same_on_every_target(Compute compute) {
  std::vector<decltype(compute())> results;
  for_each_target([&] { results.push_back(compute()); });
  for (const auto& result : results) {
    EXPECT_TRUE(result == results.front());  // not EXPECT_EQ: megabytes would be printed
  }
  return results.front();
}

}  // namespace thinpipe::testing
