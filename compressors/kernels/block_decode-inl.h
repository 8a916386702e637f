// Decodes blocks to floats, in first-level cache. Compiled once per instruction set.
#include <cstring>

#include "compressors/kernels/block_lanes-inl.h"
#include "compressors/kernels/blocks.h"
#include "compressors/kernels/hadamard-inl.h"
#include "compressors/kernels/nibbles-inl.h"

#if defined(THINPIPE_COMPRESSORS_KERNELS_BLOCK_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_COMPRESSORS_KERNELS_BLOCK_DECODE_INL_H_
#undef THINPIPE_COMPRESSORS_KERNELS_BLOCK_DECODE_INL_H_
#else
#define THINPIPE_COMPRESSORS_KERNELS_BLOCK_DECODE_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace block {

/// Workspace for one block.
struct DecodeRoom {
  alignas(64) float values[kMaxBlock];
  alignas(64) float source[kMaxBlock];  ///< the output where a block is not full
  alignas(64) std::uint8_t codes[kMaxBlock];
  alignas(64) std::uint8_t packed[kMaxBlock];
};

template <class Codec>
BlockProblem DecodeAll(const BlockDecoding& job) {
  const BlockFormat& format = job.format;
  const std::byte* scales = job.scales;
  const std::uint8_t* codes = job.codes;
  float* const out = job.out;
  const std::size_t n = job.n;
  const D d;
  const DI di;
  const D8 d8;
  const std::size_t lanes = hn::Lanes(d);
  DecodeRoom room;
  const bool nibbles = element_bits(format.element) == 4;
  const auto times = hn::Set(d, job.factor);
  for (std::size_t at = 0; at < n; at += format.block, scales += scale_bytes(format.scale)) {
    const std::size_t size = std::min(format.block, n - at);
    const std::size_t coded = coded_elements(format, size);
    const bool whole = size == format.block;
    const std::size_t padded = (coded + kMinBlock - 1) / kMinBlock * kMinBlock;
    const float scale = read_scale(format, scales);
    if (scale < 0) return BlockProblem::kScale;
    const std::size_t bytes = nibbles ? (coded + 1) / 2 : coded;
    const std::uint8_t* source = codes;
    if (!whole) {
      std::memset(room.packed, 0, padded);
      std::memcpy(room.packed, codes, bytes);
      source = room.packed;
    }
    if (nibbles) {
      UnpackNibbles(source, padded, room.codes);
      source = room.codes;
    }
    codes += bytes;
    if (nibbles && coded % 2 != 0 && source[coded] != 0) return BlockProblem::kPadding;
    const auto step = hn::Set(d, scale);
    auto most = hn::Zero(di);
    for (std::size_t i = 0; i < padded; i += lanes) {
      const auto code = hn::PromoteTo(di, hn::LoadU(d8, source + i));
      most = hn::Max(most, hn::And(code, hn::Set(di, Codec::kMagnitude)));
      hn::Store(hn::Mul(Codec::Decode(code), step), d, room.values + i);
    }
    if (hn::GetLane(hn::MaxOfLanes(di, most)) > Codec::kMaxCode) return BlockProblem::kCode;
    if (format.hadamard) {
      HadamardInPlace(room.values, padded);
      const auto norm = Norm(padded);
      for (std::size_t i = 0; i < padded; i += lanes) {
        const auto x = hn::Mul(hn::Load(d, room.values + i), norm);
        hn::Store(WithSigns(x, job.rotation, i), d, room.values + i);
      }
    }
    float* to = out + at;
    if (!whole) {
      std::memcpy(room.source, to, size * sizeof(float));
      std::memset(room.source + size, 0, (padded - size) * sizeof(float));
      to = room.source;
    }
    for (std::size_t i = 0; i < padded; i += lanes) {
      const auto term = hn::Mul(times, hn::Load(d, room.values + i));
      hn::StoreU(hn::Add(hn::LoadU(d, to + i), term), d, to + i);
    }
    if (!whole) std::memcpy(out + at, room.source, size * sizeof(float));
  }
  return BlockProblem::kNone;
}

}  // namespace block
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // once per target
