// Which compressor an input is for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "tests/fuzz/input.h"

namespace thinpipe::fuzz {

/// Every method with its defaults, and with each of its choices, flags, least numbers and a greater
/// ratio in turn.
/// In the order of their keys.
const std::vector<std::string>& specs();

/// A 16-bit hash of the spec, so that stored inputs stay with their compressor when methods are
/// added.
std::uint16_t key_of(const std::string& spec);

/// The spec of the least key that is not below `key`, or the first.
const std::string& spec_of(std::uint16_t key);

/// Spec and tensor from the first four bytes of an input: the key, then the number of rows and of
/// columns. No columns make a vector.
struct Subject {
  std::string spec;
  bool needs_squares;
  TensorInfo tensor;
};
Subject take_subject(Input& input);

}  // namespace thinpipe::fuzz
