// Kernels for blocks of integers and of levels around 0. Each combination of format and rounding is
// compiled as a separate loop, so these kernels have a file of their own.
#include "compressors/kernels/blocks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/block_integers.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
// once per target
#include "compressors/kernels/block_decode-inl.h"
#include "compressors/kernels/block_encode-inl.h"
#include "compressors/kernels/block_integers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

std::size_t Encode(const BlockEncoding& job) {
  switch (job.format.element) {
    case BlockElement::kInt8:
      return block::EncodeWith<block::IntegerCodec<8>>(job);
    case BlockElement::kInt4:
      return block::EncodeWith<block::IntegerCodec<4>>(job);
    case BlockElement::kLevels16:
      return block::EncodeWith<block::LevelCodec<4>>(job);
    case BlockElement::kLevels256:
      return block::EncodeWith<block::LevelCodec<8>>(job);
    default:
      return 0;
  }
}

BlockProblem Decode(const BlockDecoding& job) {
  switch (job.format.element) {
    case BlockElement::kInt8:
      return block::DecodeAll<block::IntegerCodec<8>>(job);
    case BlockElement::kInt4:
      return block::DecodeAll<block::IntegerCodec<4>>(job);
    case BlockElement::kLevels16:
      return block::DecodeAll<block::LevelCodec<4>>(job);
    case BlockElement::kLevels256:
      return block::DecodeAll<block::LevelCodec<8>>(job);
    default:
      return BlockProblem::kNone;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(Encode);
HWY_EXPORT(Decode);
}  // namespace

std::size_t encode_integer_blocks(const BlockEncoding& job) {
  return HWY_DYNAMIC_DISPATCH(Encode)(job);
}

BlockProblem decode_integer_blocks(const BlockDecoding& job) {
  return HWY_DYNAMIC_DISPATCH(Decode)(job);
}

}  // namespace thinpipe
#endif  // HWY_ONCE
