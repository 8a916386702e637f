// The captured trace that is committed for tests; tests/data/README.md says how it was made.
#pragma once

#include "tests/compressors/support/golden.h"
#include "workloads/trace/trace.h"

namespace thinpipe::testing {

inline Trace captured_trace() { return Trace(tests_folder() / "data" / "lenet5"); }

}  // namespace thinpipe::testing
