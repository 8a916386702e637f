// Expectations inside a sandbox are in another process: they are thrown, and the exit code tells.
#pragma once

#include <string>

#include "base/error.h"

namespace thinpipe {

inline void require(bool condition, const std::string& what) {
  if (!condition) throw RunError("not so: " + what);
}

}  // namespace thinpipe
