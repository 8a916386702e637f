// Runs code once for every instruction set that was compiled in and that this CPU has, also for
// every input.
#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "hwy/targets.h"
#include "tests/compressors/support/inputs.h"

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

/// Calls check(values) for every input on every target.
template <class Check>
void for_each_target_and_input(const std::vector<NamedInput>& inputs, Check check) {
  for_each_target([&] {
    for (const auto& [name, values] : inputs) {
      SCOPED_TRACE(name);
      check(values);
    }
  });
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
