// Blocks small enough that their codes stay in the first-level cache between rounding and packing.
#include "compressors/quantize/packed_levels.h"

#include <algorithm>
#include <array>

#include "compressors/kernels/levels.h"

namespace thinpipe {
namespace {

constexpr std::size_t kBlock = 2048;  // a multiple of 8: blocks end with a byte
using Codes = std::array<std::uint8_t, kBlock>;

}  // namespace

std::size_t put_levels(std::span<const float> c, float step, int bits, const BucketContext& context,
                       std::span<float> remainder, ByteWriter& out) {
  Codes codes;
  std::size_t nonzero = 0;
  for (std::size_t first = 0; first < c.size(); first += kBlock) {
    const std::size_t n = std::min(kBlock, c.size() - first);
    const auto left = remainder.empty() ? remainder : remainder.subspan(first, n);
    nonzero += stochastic_levels(c.subspan(first, n), step, bits, context.key,
                                 context.first + first, left, codes.data());
    pack_codes(codes.data(), n, bits, reinterpret_cast<std::uint8_t*>(out.free().data()));
    out.advance(packed_size(n, bits));
  }
  return nonzero;
}

void add_packed_levels(ByteReader& in, float step, int bits, std::span<float> out) {
  const auto packed = in.get_bytes(packed_size(out.size(), bits), "codes");
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(packed.data());
  Codes codes;
  for (std::size_t first = 0; first < out.size(); first += kBlock) {
    const std::size_t n = std::min(kBlock, out.size() - first);
    if (!unpack_codes(bytes + packed_size(first, bits), n, bits, codes.data())) {
      throw PayloadError("bits after the last code are not zero");
    }
    add_levels(codes.data(), step, bits, out.subspan(first, n));
  }
}

}  // namespace thinpipe
