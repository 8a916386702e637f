// The error message of an input that is refused.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"

namespace thinpipe {

/// The InputError's message, or "" when nothing is thrown. Other exceptions pass.
inline std::string input_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace thinpipe
