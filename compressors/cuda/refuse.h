// Saying that something has no twin on devices yet.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "compressors/registry.h"

namespace thinpipe::cuda {

[[noreturn]] inline void refuse(const Parameters& parameters, const std::string& what) {
  throw InputError("compressor '" + parameters.text() + "' with device=cuda: " + what);
}

/// @throws InputError for a parameter whose value has no twin yet.
inline void require_choice(const Parameters& parameters, const std::string& name,
                           const std::vector<std::string>& allowed) {
  std::string list;
  for (const std::string& one : allowed) {
    if (parameters.choice(name) == one) return;
    list += (list.empty() ? "" : ", ") + one;
  }
  refuse(parameters,
         name + "=" + parameters.choice(name) + " is not there yet; " + name + " may be " + list);
}

}  // namespace thinpipe::cuda
