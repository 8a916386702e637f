// The chunks of SparseLoCo's parameters.
#pragma once

#include <cstddef>
#include <string>

#include "compressors/registry.h"
#include "compressors/select/chunked_top_k.h"

namespace thinpipe {

inline Chunks chunks_of(const Parameters& parameters) {
  return {.size = std::stoul(parameters.choice("chunk")),
          .k = static_cast<std::size_t>(parameters.integer("k"))};
}

}  // namespace thinpipe
