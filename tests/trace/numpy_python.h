// Finds a Python with NumPy, for tests that hold our files against it.
#pragma once

#include <cstdlib>
#include <string>

namespace thinpipe {

/// The command that starts it; "" where there is none.
inline std::string numpy_python() {
  for (const std::string python : {"python3", "/usr/bin/python3"}) {
    if (std::system((python + " -c 'import numpy' >/dev/null 2>&1").c_str()) == 0) return python;
  }
  return "";
}

}  // namespace thinpipe
