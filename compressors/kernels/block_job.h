// What the kernels of blocks are given, and which of them does which elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compressors/kernels/blocks.h"

namespace thinpipe {

/// Blocks of a tensor to be coded, from the beginning of one on.
struct BlockEncoding {
  BlockFormat format;
  BlockRotation rotation;
  RandomKey key;
  std::size_t first = 0;  ///< the tensor's element that c begins with: numbers are drawn by it
  const float* c = nullptr;
  std::size_t n = 0;
  float* remainder = nullptr;  ///< may be null, or c
  std::byte* scales = nullptr;
  std::uint8_t* codes = nullptr;
};

/// The reverse, with the problem as decode_blocks() has it.
struct BlockDecoding {
  BlockFormat format;
  BlockRotation rotation;
  const std::byte* scales = nullptr;
  const std::uint8_t* codes = nullptr;
  float factor = 1;
  float* out = nullptr;
  std::size_t n = 0;
};

/// @returns the elements that may decode to something other than 0.
std::size_t encode_integer_blocks(const BlockEncoding& job);  ///< kInt8, kInt4
std::size_t encode_float_blocks(const BlockEncoding& job);    ///< kE4M3, kE5M2, kE2M1
std::size_t encode_level_blocks(const BlockEncoding& job);    ///< kLevels16, kLevels256

BlockProblem decode_integer_blocks(const BlockDecoding& job);
BlockProblem decode_float_blocks(const BlockDecoding& job);
BlockProblem decode_level_blocks(const BlockDecoding& job);

}  // namespace thinpipe
