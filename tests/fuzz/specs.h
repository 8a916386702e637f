// Which compressor an input is for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "tests/fuzz/input.h"

namespace thinpipe::fuzz {

/// Returns specs of every method: with its defaults, and with each of its choices, flags, minimum
/// values and a greater ratio in turn. The specs are sorted by their keys.
const std::vector<std::string>& specs();

/// Returns a 16-bit hash of the spec. Stored inputs contain this hash, so that they keep their
/// compressor when methods are added.
std::uint16_t key_of(const std::string& spec);

/// The spec of the least key that is not below `key`, or the first.
const std::string& spec_of(std::uint16_t key);

/// The spec and the tensor that the first four bytes of an input select: the spec's key, then the
/// numbers of rows and of columns. With 0 columns the tensor is a vector.
struct Subject {
  std::string spec;
  bool needs_squares;
  TensorInfo tensor;
};
Subject take_subject(Input& input);

}  // namespace thinpipe::fuzz
