// The envelope of a compressor's checkpoint; docs/wire-format.md describes it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "compressors/wire/bytes.h"

namespace thinpipe {

/// Who a state belongs to.
struct StateIdentity {
  std::string spec;  ///< Parameters::text()
  std::string tensor;
  std::size_t elements = 0;
};

/// Resizes `state` to envelope + body and returns a writer for the body.
ByteWriter begin_state(const StateIdentity& identity, std::size_t body_size,
                       std::vector<std::byte>& state);

/// A reader of the body. @throws InputError when the bytes are of another version, spec or tensor
/// or when the body has not exactly body_size bytes.
ByteReader open_state(const StateIdentity& identity, std::size_t body_size,
                      std::span<const std::byte> state);

}  // namespace thinpipe
