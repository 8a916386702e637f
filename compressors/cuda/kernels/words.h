// Payloads in which every element takes as many bits as the next: each thread makes whole words.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/encode/half.h"
#include "compressors/encode/scale.h"

namespace thinpipe::cuda {

/// Leaves c - decoded in the memory, where there is one; 0 where that is not finite.
THINPIPE_KERNEL inline void leave(const Job& job, std::uint32_t i, float c, float decoded) {
  if (job.r == nullptr) return;
  const float left = c - decoded;
  job.r[i] = left - left == 0 ? left : 0.0F;
}

// A code says how `kElements` elements make a word: encode() does, counting those that decode to
// something other than zero, and add() adds what a word decodes to. `kHeader` words come before.

/// Elements as they are.
struct Fp32Code {
  static constexpr std::uint32_t kElements = 1, kHeader = 0;
  THINPIPE_BOTH static std::size_t bytes(std::size_t n) { return n * sizeof(float); }

  THINPIPE_KERNEL std::uint32_t encode(const Job& job, std::uint32_t word,
                                       std::uint32_t& nonzero) const {
    const float c = element<Reading::kSum>(job, 0, word);
    if (job.r != nullptr) job.r[word] = 0;
    ++nonzero;
    return std::bit_cast<std::uint32_t>(c);
  }
  THINPIPE_KERNEL bool add(const std::uint32_t* payload, std::uint32_t word, std::uint32_t /*n*/,
                           float factor, float* out) const {
    const float value = factor * std::bit_cast<float>(payload[word]);
    out[word] = out[word] + value;
    return true;
  }
};

/// 16-bit floats (encode/half.h).
struct HalfCode {
  static constexpr std::uint32_t kElements = 2, kHeader = 0;
  THINPIPE_BOTH static std::size_t bytes(std::size_t n) { return n * sizeof(std::uint16_t); }

  HalfFormat format;

  THINPIPE_KERNEL std::uint32_t encode(const Job& job, std::uint32_t word,
                                       std::uint32_t& nonzero) const {
    std::uint32_t bits = 0;
    for (std::uint32_t j = 0; j < kElements; ++j) {
      const std::uint32_t i = kElements * word + j;
      if (i >= job.n) break;
      const float c = element<Reading::kSum>(job, 0, i);
      const std::uint16_t half = to_half(c, format);
      leave(job, i, c, from_half(half, format));
      bits |= static_cast<std::uint32_t>(half) << 16 * j;
      ++nonzero;
    }
    return bits;
  }
  THINPIPE_KERNEL bool add(const std::uint32_t* payload, std::uint32_t word, std::uint32_t n,
                           float factor, float* out) const {
    bool good = true;
    for (std::uint32_t j = 0; j < kElements; ++j) {
      const std::uint32_t i = kElements * word + j;
      if (i >= n) break;
      const auto half = static_cast<std::uint16_t>(payload[word] >> 16 * j);
      good = good && is_finite_half(half, format);
      const float value = factor * from_half(half, format);
      out[i] = out[i] + value;
    }
    return good;
  }
};

/// 255 equal levels up to the greatest magnitude, of which Findings::scale is the step
/// (kernels/int8.h).
struct Int8Code {
  static constexpr std::uint32_t kElements = 4, kHeader = 1;
  THINPIPE_BOTH static std::size_t bytes(std::size_t n) { return n == 0 ? 0 : sizeof(float) + n; }

  THINPIPE_KERNEL std::uint32_t encode(const Job& job, std::uint32_t word,
                                       std::uint32_t& nonzero) const {
    constexpr float kShift = 12582912;  // 1.5 * 2^23: the sum's last place is a unit
    const float step = job.findings->scale;
    const float inverse = step == 0 ? 0 : 1 / step;
    std::uint32_t bits = 0;
    for (std::uint32_t j = 0; j < kElements; ++j) {
      const std::uint32_t i = kElements * word + j;
      if (i >= job.n) break;
      const float c = element<Reading::kAsIs>(job, 0, i);
      float y = (c - c == 0 ? c : 0.0F) * inverse;
      y = y > 127 ? 127.0F : y < -127 ? -127.0F : y;
      const float shifted = y + kShift;
      const float level = shifted - kShift;
      leave(job, i, c, level * step);
      const std::uint32_t code = std::bit_cast<std::uint32_t>(shifted) & 0xff;
      nonzero += code == 0 ? 0 : 1;
      bits |= code << 8 * j;
    }
    return bits;
  }
  THINPIPE_KERNEL static std::uint32_t header(const Job& job) {
    return std::bit_cast<std::uint32_t>(job.findings->scale);
  }
  THINPIPE_KERNEL bool add(const std::uint32_t* payload, std::uint32_t word, std::uint32_t n,
                           float factor, float* out) const {
    const std::uint32_t scale = payload[0];
    if (scale >= kInfinityBits) return false;  // negative, infinite or no number
    const float step = factor * std::bit_cast<float>(scale);
    for (std::uint32_t j = 0; j < kElements; ++j) {
      const std::uint32_t i = kElements * word + j;
      if (i >= n) break;
      const auto code = static_cast<std::int8_t>(payload[kHeader + word] >> 8 * j & 0xff);
      const float value = static_cast<float>(code) * step;
      out[i] = out[i] + value;
    }
    return true;
  }
};

/// Whether an element is negative; it decodes to plus or minus `magnitude` (kernels/sign_bits.h).
struct SignCode {
  static constexpr std::uint32_t kElements = 32, kHeader = 0;
  THINPIPE_BOTH static std::size_t bytes(std::size_t n) { return (n + 7) / 8; }

  float magnitude;

  THINPIPE_KERNEL std::uint32_t encode(const Job& job, std::uint32_t word,
                                       std::uint32_t& nonzero) const {
    std::uint32_t bits = 0;
    for (std::uint32_t j = 0; j < kElements; ++j) {
      const std::uint32_t i = kElements * word + j;
      if (i >= job.n) break;
      const float c = element<Reading::kSum>(job, 0, i);
      leave(job, i, c, c < 0 ? -magnitude : magnitude);
      bits |= std::uint32_t{c < 0} << j;
      ++nonzero;
    }
    return bits;
  }
  THINPIPE_KERNEL bool add(const std::uint32_t* payload, std::uint32_t word, std::uint32_t n,
                           float factor, float* out) const {
    const float positive = factor * magnitude;
    for (std::uint32_t j = 0; j < kElements; ++j) {
      const std::uint32_t i = kElements * word + j;
      const bool negative = (payload[word] >> j & 1) != 0;
      // To the end of the last byte, what stands for no element is zero.
      if (i >= n) {
        if (i / 8 < bytes(n) && negative) return false;
      } else {
        out[i] = out[i] + (negative ? -positive : positive);
      }
    }
    return true;
  }
};

/// Findings::counts[1] becomes what all threads of all tiles of kTile elements have counted.
template <class Block, class Counters>
THINPIPE_KERNEL void count_nonzero(Block& block, const Job& job, Counters& nonzero) {
  Findings& findings = *job.findings;
  const std::uint32_t count = block.sum(nonzero);
  block.each([&](int t) {
    if (t == 0) block.add(&findings.counts[0], count);
  });
  if (!block.is_last(&findings.arrived, tiles_of(job.n, kTile))) return;
  block.each([&](int t) {
    if (t != 0) return;
    findings.counts[1] = findings.counts[0];
    findings.counts[0] = 0;
  });
}

/// Makes the words of all tensors. What reads the sum as it is comes after a kernel that did it.
/// Findings::counts[1] becomes the elements that do not decode to zero. Grid: the tiles of kTile
/// elements.
template <class Code>
struct EncodeWords {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kWords = (kTile + Code::kElements - 1) / Code::kElements;
  struct Shared {};

  const Job* jobs;
  const Tile* tiles;
  Code code;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    Findings& findings = *job.findings;
    const std::uint32_t words = (job.n + Code::kElements - 1) / Code::kElements;
    typename Block::template Local<std::uint32_t> nonzero;
    block.each([&](int t) {
      nonzero[t] = 0;
      if (t == 0 && tile.index == 0) {
        findings.encoded = static_cast<std::uint32_t>(Code::bytes(job.n));
        if constexpr (Code::kHeader > 0) job.payload[0] = Code::header(job);
      }
      const std::uint32_t end =
          (tile.index + 1) * kWords < words ? (tile.index + 1) * kWords : words;
      for (auto w = tile.index * kWords + static_cast<std::uint32_t>(t); w < end; w += kThreads)
        job.payload[Code::kHeader + w] = code.encode(job, w, nonzero[t]);
    });
    count_nonzero(block, job, nonzero);
  }
};

/// out += factor * decoded, of a payload of the right length. Grid: the tiles of kTile elements, as
/// many as n has.
template <class Code>
struct DecodeWords {
  static constexpr int kThreads = 256;
  struct Shared {};

  const std::uint32_t* payload;  ///< aligned, readable to the end of its last word
  std::uint32_t n;
  float factor;
  float* out;
  std::uint32_t* problem;
  Code code;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    constexpr std::uint32_t kWords = EncodeWords<Code>::kWords;
    const std::uint32_t words = (n + Code::kElements - 1) / Code::kElements;
    block.each([&](int t) {
      const std::uint32_t begin = block.index() * kWords;
      const std::uint32_t end = begin + kWords < words ? begin + kWords : words;
      for (auto w = begin + static_cast<std::uint32_t>(t); w < end; w += kThreads)
        if (!code.add(payload, w, n, factor, out)) block.set_greatest(problem, 1);
    });
  }
};

}  // namespace thinpipe::cuda
