// Refuses specs without a GPU implementation.
#pragma once

#include <string>

#include "base/error.h"
#include "compressors/registry.h"

namespace thinpipe::cuda {

[[noreturn]] inline void refuse(const Parameters& parameters, const std::string& what) {
  throw InputError("compressor '" + parameters.text() + "' with device=cuda: " + what);
}

}  // namespace thinpipe::cuda
