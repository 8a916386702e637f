// States of compressors: the envelope of one state, and a file with the states of all tensors.
// docs/wire-format.md section 5 is normative.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compressors/wire/bytes.h"

namespace thinpipe {

/// The compressor that owns a state.
struct StateIdentity {
  std::string spec;  ///< Parameters::text()
  std::string tensor;
  std::size_t elements = 0;
};

/// Begins the state of one compressor for a checkpoint. Resizes `state` to envelope plus body,
/// writes the envelope, and returns a writer for the body.
ByteWriter begin_state(const StateIdentity& identity, std::size_t body_size,
                       std::vector<std::byte>& state);

/// Returns a reader of the body. @throws InputError when the bytes are of another version, spec or
/// tensor, or when the body does not have exactly body_size bytes.
ByteReader open_state(const StateIdentity& identity, std::size_t body_size,
                      std::span<const std::byte> state);

/// The states of all tensors in one file.
struct StateBundle {
  std::uint64_t seed = 1;       ///< of the compressors
  std::uint64_t next_step = 0;  ///< the first step that has not been compressed yet
  std::vector<std::span<const std::byte>> states;  ///< as Compressor::save_state wrote them
};

/// Returns the file of a bundle.
std::vector<std::byte> write_states(const StateBundle& bundle);

/// Reads a file of states. The spans point into `file`. Compressor::load_state checks the contents
/// of the states.
/// @throws InputError naming field and byte.
StateBundle read_states(std::span<const std::byte> file);

}  // namespace thinpipe
