// Decodes a payload that payload.h's kernel, or a processor, has written.
#pragma once

#include <bit>
#include <cstdint>

#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/payload.h"

namespace thinpipe::cuda {

/// What was wrong with a payload; 0: nothing.
enum class PayloadProblem : std::uint32_t { kNone = 0, kCount = 1, kLength = 2, kPosition = 3 };

/// out += factor * decoded. Sets `problem` for a payload that no compressor writes; `out` is then
/// unspecified, and nothing outside of it is touched. Grid: as many blocks as tiles of kTile
/// elements are in a payload of so many bytes.
struct ReadPayload {
  static constexpr int kThreads = 512;
  struct Shared {};

  const std::uint32_t* payload;  ///< aligned, readable to the end of its last word
  std::uint32_t bytes;
  std::uint32_t n;
  float factor;
  float* out;
  std::uint32_t* problem;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    std::uint32_t count = 0;
    std::uint32_t header = 0;
    const PayloadProblem found = open(count, header);
    block.each([&](int t) {
      if (found != PayloadProblem::kNone) {
        if (t == 0) block.set_greatest(problem, static_cast<std::uint32_t>(found));
        return;
      }
      const std::uint32_t begin = block.index() * kTile;
      for (std::uint32_t i = begin + static_cast<std::uint32_t>(t); i < begin + kTile;
           i += kThreads) {
        if (i >= count) break;
        const std::uint32_t position = word(header, count + i);
        const bool ascends = i == 0 || word(header, count + i - 1) < position;
        if (!ascends || position >= n) {
          block.set_greatest(problem, static_cast<std::uint32_t>(PayloadProblem::kPosition));
        } else {
          const float value = factor * std::bit_cast<float>(word(header, i));
          out[position] = out[position] + value;
        }
      }
    });
  }

 private:
  THINPIPE_KERNEL PayloadProblem open(std::uint32_t& count, std::uint32_t& header) const {
    std::uint64_t value = 0;
    for (header = 0; header < 5 && header < bytes;) {
      const std::uint32_t byte = payload[header / 4] >> header % 4 * 8 & 0xff;
      value |= static_cast<std::uint64_t>(byte & 0x7f) << 7 * header;
      ++header;
      if (byte >= 0x80) continue;
      count = static_cast<std::uint32_t>(value);
      const bool shortest = header == 1 || byte != 0;
      if (value > n || !shortest) return PayloadProblem::kCount;
      return bytes == header + std::uint64_t{8} * count ? PayloadProblem::kNone
                                                        : PayloadProblem::kLength;
    }
    return PayloadProblem::kCount;
  }
  /// The i-th of the words after the count.
  THINPIPE_KERNEL std::uint32_t word(std::uint32_t header, std::uint32_t i) const {
    const std::uint32_t at = header / 4 + i;
    const std::uint32_t shift = header % 4 * 8;
    if (shift == 0) return payload[at];
    return payload[at] >> shift | payload[at + 1] << (32 - shift);
  }
};

}  // namespace thinpipe::cuda
