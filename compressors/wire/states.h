// The states of all tensors' compressors in one file. docs/wire-format.md section 5 is normative.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compressors/compressor.h"

namespace thinpipe {

struct StateBundle {
  std::uint64_t seed = 1;       ///< of the compressors
  std::uint64_t next_step = 0;  ///< the first step that has not been compressed yet
  std::vector<std::span<const std::byte>> states;  ///< as Compressor::save_state wrote them
};

std::vector<std::byte> write_states(const StateBundle& bundle);

/// The spans point into `file`. What the states say is checked by Compressor::load_state.
/// @throws InputError naming field and byte.
StateBundle read_states(std::span<const std::byte> file);

}  // namespace thinpipe
