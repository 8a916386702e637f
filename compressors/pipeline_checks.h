// What every compressor checks about the arrays it is given.
#pragma once

#include <cstddef>
#include <string>

#include "compressors/compressor.h"
#include "compressors/pipeline_state.h"

namespace thinpipe {

inline void check_size(const StateIdentity& identity, const char* what, std::size_t found) {
  if (found == identity.elements) return;
  throw InputError("tensor '" + identity.tensor + "': " + what + " has " + std::to_string(found) +
                   " elements; expected " + std::to_string(identity.elements));
}

inline void check_room(const StateIdentity& identity, std::size_t found, std::size_t needed) {
  if (found >= needed) return;
  throw InputError("tensor '" + identity.tensor + "': room for a payload of " +
                   std::to_string(found) + " bytes; expected at least " + std::to_string(needed));
}

}  // namespace thinpipe
