// Kernels for blocks of 8-bit and 4-bit floats. Each combination of format and rounding is compiled
// as a separate loop, so these kernels have a file of their own.
#include "compressors/kernels/blocks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/block_floats.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
// once per target
#include "compressors/kernels/block_decode-inl.h"
#include "compressors/kernels/block_encode-inl.h"
#include "compressors/kernels/block_floats-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

std::size_t Encode(const BlockEncoding& job) {
  switch (job.format.element) {
    case BlockElement::kE4M3:
      return block::EncodeWith<block::E4M3>(job);
    case BlockElement::kE5M2:
      return block::EncodeWith<block::E5M2>(job);
    case BlockElement::kE2M1:
      return block::EncodeWith<block::E2M1>(job);
    default:
      return 0;
  }
}

BlockProblem Decode(const BlockDecoding& job) {
  switch (job.format.element) {
    case BlockElement::kE4M3:
      return block::DecodeAll<block::E4M3>(job);
    case BlockElement::kE5M2:
      return block::DecodeAll<block::E5M2>(job);
    case BlockElement::kE2M1:
      return block::DecodeAll<block::E2M1>(job);
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

std::size_t encode_float_blocks(const BlockEncoding& job) {
  return HWY_DYNAMIC_DISPATCH(Encode)(job);
}

BlockProblem decode_float_blocks(const BlockDecoding& job) {
  return HWY_DYNAMIC_DISPATCH(Decode)(job);
}

}  // namespace thinpipe
#endif  // HWY_ONCE
