// Runs a test body once for every instruction set that was compiled in and that this CPU has.
#pragma once

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

}  // namespace thinpipe::testing
