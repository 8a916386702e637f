// One bit pattern for every NaN that arithmetic returns.
#pragma once

#include <bit>
#include <cstdint>

#include "base/both.h"

namespace thinpipe {

/// The bits of every NaN that a GPU's addition or multiplication returns.
constexpr std::uint32_t kNanBits = 0x7fffffff;

/// Returns the result x of an addition or a multiplication, with kNanBits if x is a NaN. x86 copies
/// the bits of an operand instead, and which operand depends on the compiler.
THINPIPE_BOTH inline float canonical(float x) {
#ifdef __CUDA_ARCH__
  return x;
#else
  return x == x ? x : std::bit_cast<float>(kNanBits);
#endif
}

}  // namespace thinpipe
