// Ranges of blocks for several threads, each coded by the kernel of its elements.
#include "compressors/kernels/blocks.h"

#include <atomic>

#include "compressors/kernels/parallel.h"

namespace thinpipe {
namespace {

/// Returns true for elements that block_floats.cc codes; block_integers.cc codes all others.
bool is_float_element(BlockElement element) {
  return element == BlockElement::kE4M3 || element == BlockElement::kE5M2 ||
         element == BlockElement::kE2M1;
}

/// Returns the bytes of the scales before element `at`, which begins a block.
std::size_t scales_before(const BlockFormat& format, std::size_t at) {
  return at / format.block * scale_bytes(format.scale);
}

}  // namespace

std::size_t encode_blocks(const BlockFormat& format, const BlockRotation& rotation, RandomKey key,
                          std::span<const float> c, std::span<float> remainder, std::byte* scales,
                          std::uint8_t* codes) {
  const auto encode =
      is_float_element(format.element) ? encode_float_blocks : encode_integer_blocks;
  return sum_of_stretches(c.size(), format.block, [&](std::size_t begin, std::size_t end) {
    return encode({.format = format,
                   .rotation = rotation,
                   .key = key,
                   .first = begin,
                   .c = c.data() + begin,
                   .n = end - begin,
                   .remainder = remainder.empty() ? nullptr : remainder.data() + begin,
                   .scales = scales + scales_before(format, begin),
                   .codes = codes + code_bytes(format, begin)});
  });
}

BlockProblem decode_blocks(const BlockFormat& format, const BlockRotation& rotation,
                           const std::byte* scales, const std::uint8_t* codes, float factor,
                           std::span<float> out) {
  const auto decode =
      is_float_element(format.element) ? decode_float_blocks : decode_integer_blocks;
  std::atomic<BlockProblem> problem = BlockProblem::kNone;
  parallel_stretches(out.size(), format.block, [&](std::size_t begin, std::size_t end) {
    const BlockProblem found = decode({.format = format,
                                       .rotation = rotation,
                                       .scales = scales + scales_before(format, begin),
                                       .codes = codes + code_bytes(format, begin),
                                       .factor = factor,
                                       .out = out.data() + begin,
                                       .n = end - begin});
    if (found != BlockProblem::kNone) problem = found;
  });
  return problem;
}

}  // namespace thinpipe
