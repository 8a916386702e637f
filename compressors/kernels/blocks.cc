// Ranges of blocks for several threads, each coded by the kernel of its elements.
#include "compressors/kernels/blocks.h"

#include <atomic>

#include "compressors/kernels/parallel.h"

namespace thinpipe {
namespace {

std::size_t encode_some(const BlockEncoding& job) {
  switch (job.format.element) {
    case BlockElement::kInt8:
    case BlockElement::kInt4:
    case BlockElement::kLevels16:
    case BlockElement::kLevels256:
      return encode_integer_blocks(job);
    case BlockElement::kE4M3:
    case BlockElement::kE5M2:
    case BlockElement::kE2M1:
      return encode_float_blocks(job);
  }
  return 0;
}

BlockProblem decode_some(const BlockDecoding& job) {
  switch (job.format.element) {
    case BlockElement::kInt8:
    case BlockElement::kInt4:
    case BlockElement::kLevels16:
    case BlockElement::kLevels256:
      return decode_integer_blocks(job);
    case BlockElement::kE4M3:
    case BlockElement::kE5M2:
    case BlockElement::kE2M1:
      return decode_float_blocks(job);
  }
  return BlockProblem::kNone;
}

/// Returns the bytes of the scales before element `at`, which begins a block.
std::size_t scales_before(const BlockFormat& format, std::size_t at) {
  return at / format.block * scale_bytes(format.scale);
}

}  // namespace

std::size_t encode_blocks(const BlockFormat& format, const BlockRotation& rotation, RandomKey key,
                          std::span<const float> c, std::span<float> remainder, std::byte* scales,
                          std::uint8_t* codes) {
  std::atomic<std::size_t> nonzero = 0;
  parallel_stretches(c.size(), format.block, [&](std::size_t begin, std::size_t end) {
    nonzero += encode_some({.format = format,
                            .rotation = rotation,
                            .key = key,
                            .first = begin,
                            .c = c.data() + begin,
                            .n = end - begin,
                            .remainder = remainder.empty() ? nullptr : remainder.data() + begin,
                            .scales = scales + scales_before(format, begin),
                            .codes = codes + code_bytes(format, begin)});
  });
  return nonzero;
}

BlockProblem decode_blocks(const BlockFormat& format, const BlockRotation& rotation,
                           const std::byte* scales, const std::uint8_t* codes, float factor,
                           std::span<float> out) {
  std::atomic<BlockProblem> problem = BlockProblem::kNone;
  parallel_stretches(out.size(), format.block, [&](std::size_t begin, std::size_t end) {
    const BlockProblem found = decode_some({.format = format,
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
