// Blocks of a few elements with a scale each (kernels/blocks-inl.h). A tile of blocks is
// rotated, scaled and coded in shared memory, in one pass over the tensor.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/both.h"
#include "compressors/cuda/kernels/chains.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/cuda/kernels/words.h"
#include "compressors/kernels/blocks.h"
#include "compressors/wire/scale.h"

namespace thinpipe::cuda {

/// Returns a random word as a number in [0, 1) with 24 bits.
THINPIPE_BOTH inline float unit_of(std::uint32_t random) {
  return static_cast<float>(random >> 8) * 0x1p-24F;
}
THINPIPE_BOTH inline std::int32_t limited(std::int32_t x, std::int32_t least, std::int32_t most) {
  return x < least ? least : x > most ? most : x;
}
/// Rounds to the nearest integer, or stochastically; |x| < 2^22.
THINPIPE_BOTH inline std::int32_t rounded(float x, bool stochastic, std::uint32_t random) {
  return static_cast<std::int32_t>(stochastic ? std::floor(x + unit_of(random)) : round_to_even(x));
}

// An element type has
//   kMagnitude  the bits of a code that are all 0 if it decodes to 0
//   kHasZero    whether a code decodes to 0
//   kMaxCode    the maximum value of the kMagnitude bits

/// Integers of kBits in two's complement.
template <int kBits>
struct IntegerElement {
  static constexpr std::int32_t kMax = (1 << (kBits - 1)) - 1;
  static constexpr std::uint32_t kMagnitude = (1U << kBits) - 1;
  static constexpr std::uint32_t kMaxCode = kMagnitude;
  static constexpr bool kHasZero = true;

  THINPIPE_BOTH static std::uint32_t encode(float y, bool stochastic, std::uint32_t random) {
    constexpr float kLimit = 2 * kMax;
    const float near = y < -kLimit ? -kLimit : y > kLimit ? kLimit : y;
    const std::int32_t q = limited(rounded(near, stochastic, random), -kMax, kMax);
    return static_cast<std::uint32_t>(q) & kMagnitude;
  }
  THINPIPE_BOTH static float decode(std::uint32_t code) {
    return static_cast<float>(static_cast<std::int32_t>(code << (32 - kBits)) >> (32 - kBits));
  }
};

/// 2^kBits levels, symmetric around 0.
template <int kBits>
struct LevelElement {
  static constexpr std::uint32_t kMagnitude = (1U << kBits) - 1;
  static constexpr std::uint32_t kMaxCode = kMagnitude;
  static constexpr bool kHasZero = false;
  static constexpr float kMiddle = 0.5F * kMagnitude;

  THINPIPE_BOTH static std::uint32_t encode(float y, bool stochastic, std::uint32_t random) {
    constexpr float kLimit = 2 * kMiddle;
    const float near = y < -kLimit ? -kLimit : y > kLimit ? kLimit : y;
    const std::int32_t q = rounded(near + kMiddle, stochastic, random);
    return static_cast<std::uint32_t>(limited(q, 0, kMagnitude));
  }
  THINPIPE_BOTH static float decode(std::uint32_t code) {
    return static_cast<float>(code) - kMiddle;
  }
};

/// Floats of 1 + kExponent + kMantissa bits, with denormals.
template <int kExponent, int kMantissa, int kBias, std::uint32_t kMaxMagnitudeCode>
struct FloatElement {
  static constexpr std::uint32_t kSign = 1U << (kExponent + kMantissa);
  static constexpr std::uint32_t kMagnitude = kSign - 1;
  static constexpr std::uint32_t kMaxCode = kMaxMagnitudeCode;
  static constexpr bool kHasZero = true;

  THINPIPE_BOTH static std::uint32_t encode(float y, bool stochastic, std::uint32_t random) {
    constexpr auto kNormal = std::uint32_t{128 - kBias} << 23;  // bits of the least normal
    constexpr float kMax = 2 << kMantissa;                      // above all denormals
    const auto bits = std::bit_cast<std::uint32_t>(y);
    const std::uint32_t magnitude = bits & 0x7fffffff;
    std::uint32_t code = 0;
    if (magnitude < kNormal) {
      // In units of the smallest denormal.
      constexpr auto kInverse = std::uint32_t{127 + kBias - 1 + kMantissa} << 23;
      const float steps = std::bit_cast<float>(magnitude) * std::bit_cast<float>(kInverse);
      code = static_cast<std::uint32_t>(rounded(steps < kMax ? steps : kMax, stochastic, random));
    } else {
      // Adds the rounding term to the mantissa; a carry goes into the exponent.
      const std::uint32_t up = stochastic
                                   ? random >> (32 - kDropped)
                                   : (magnitude >> kDropped & 1) + (1U << (kDropped - 1)) - 1;
      code = ((magnitude + up) >> kDropped) - kRebias;
    }
    return (code < kMaxCode ? code : kMaxCode) | (bits >> 31 != 0 ? kSign : 0);
  }
  THINPIPE_BOTH static float decode(std::uint32_t code) {
    constexpr float kStep = 1.0F / static_cast<float>(1ULL << (kBias - 1 + kMantissa));
    const std::uint32_t magnitude = code & kMagnitude;
    const float value = magnitude >= (1U << kMantissa)
                            ? std::bit_cast<float>((magnitude + kRebias) << kDropped)
                            : static_cast<float>(magnitude) * kStep;
    return (code & kSign) != 0 ? -value : value;
  }

 private:
  static constexpr int kDropped = 23 - kMantissa;
  static constexpr std::uint32_t kRebias = std::uint32_t{127 - kBias} << kMantissa;
};

using E4M3Element = FloatElement<4, 3, 7, 0x7e>;
using E5M2Element = FloatElement<5, 2, 15, 0x7b>;
using E2M1Element = FloatElement<2, 1, 1, 0x7>;

// The fast Walsh-Hadamard transform of blocks in shared memory, in stages from stride 1 up, as in
// kernels/hadamard-inl.h: bit for bit the same results.

/// Blocks of `block` elements, a power of two. The last block may have fewer, also a power of two.
struct Blocks {
  std::uint32_t block = 0;
  std::uint32_t elements = 0;

  /// Returns the elements of the block that contains element i.
  THINPIPE_BOTH std::uint32_t size_at(std::uint32_t i) const {
    const std::uint32_t begin = i & ~(block - 1);
    return elements - begin < block ? elements - begin : block;
  }
  /// Returns 1 / sqrt(size_at(i)), which makes the transform orthonormal. Both operations are
  /// rounded correctly.
  THINPIPE_BOTH float norm_at(std::uint32_t i) const {
    return 1.0F / std::sqrt(static_cast<float>(size_at(i)));
  }
};

/// Transforms all blocks without the factor 1 / sqrt(n).
template <class Block>
THINPIPE_KERNEL void hadamard_blocks(Block& block, float* values, const Blocks& blocks) {
  for (std::uint32_t stride = 1; stride < blocks.block; stride *= 2) {
    block.each([&](int t) {
      for (auto pair = static_cast<std::uint32_t>(t); pair < blocks.elements / 2;
           pair += Block::kSize) {
        const std::uint32_t low = (pair & ~(stride - 1)) * 2 + (pair & (stride - 1));
        if (stride >= blocks.size_at(low)) continue;
        const float a = values[low];
        const float b = values[low + stride];
        values[low] = a + b;
        values[low + stride] = a - b;
      }
    });
  }
}

constexpr int kBlockThreads = 512;
constexpr std::uint32_t kMaxBlocks = kTile / kMinBlock;  ///< per tile
/// Consecutive codes of one thread: no more than the smallest block has.
constexpr std::uint32_t kRun = kTile / kBlockThreads;
static_assert(kTile % kMaxBlock == 0 && kMinBlock % kRun == 0);

/// Layout of a payload of blocks, in bytes.
struct BlockLayout {
  BlockFormat format;

  /// Returns the bytes of the blocks' scales, or of the shared scale.
  THINPIPE_BOTH std::size_t scales(std::size_t elements) const {
    return format.scale == BlockScale::kGiven
               ? sizeof(float)
               : block_count(format, elements) * scale_bytes(format.scale);
  }
  THINPIPE_BOTH std::size_t bytes(std::size_t elements) const {
    return scales(elements) + code_bytes(format, elements);
  }
  /// Returns the blocks of a tile, including padding elements.
  THINPIPE_BOTH Blocks blocks(std::uint32_t elements) const {
    const auto coded = static_cast<std::uint32_t>(coded_elements(format, elements));
    constexpr auto kFew = static_cast<std::uint32_t>(kMinBlock);
    return {static_cast<std::uint32_t>(format.block), (coded + kFew - 1) / kFew * kFew};
  }
};

/// Returns an element of a rotated block with its random sign flipped (Job::signs).
THINPIPE_KERNEL inline float flipped(const std::uint32_t* signs, float x, std::uint32_t i,
                                     const Blocks& blocks) {
  const std::uint32_t sign = signs[i & (blocks.block - 1)];
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) ^ sign);
}

/// Returns x limited to 2^100, a magnitude that no gradient reaches; 0 for a NaN.
THINPIPE_KERNEL inline float tamed(float x) {
  constexpr std::uint32_t kMax = std::bit_cast<std::uint32_t>(0x1p100F);
  const auto bits = std::bit_cast<std::uint32_t>(x);
  std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > kInfinityBits) magnitude = 0;
  return std::bit_cast<float>((magnitude < kMax ? magnitude : kMax) | (bits & 0x80000000));
}

/// Writes the payloads of all tensors. Each block has its own scale, or all blocks use
/// Findings::scale (BlockScale::kGiven). In the second case, an earlier kernel has found this scale
/// and updated the memories. Sets Findings::counts[1] to the number of elements that may decode to
/// a value other than zero. Grid: the tiles of kTile elements.
template <class Element>
struct EncodeBlocks : OnTiles {
  static constexpr int kThreads = kBlockThreads;
  struct Shared {
    float values[kTile];
    std::uint8_t codes[kTile];
    std::uint32_t most[kMaxBlocks];  ///< bits of the maximum magnitude
    std::uint32_t used[kMaxBlocks];  ///< 1 if any code is not zero
    WrittenScale scales[kMaxBlocks];
  };

  BlockLayout layout;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const std::uint32_t begin = tile.index * kTile;
    const std::uint32_t some = job.n - begin < kTile ? job.n - begin : kTile;
    const Blocks blocks = layout.blocks(some);
    const BlockFormat& format = layout.format;
    load(block, shared, job, begin, some, blocks);
    block.each([&](int t) {
      if (t == 0 && tile.index == 0) begin_payload(job);
      std::uint32_t most = 0;
      const std::uint32_t first = static_cast<std::uint32_t>(t) * kRun;
      for (std::uint32_t i = first; i < first + kRun && i < blocks.elements; ++i) {
        const std::uint32_t own = std::bit_cast<std::uint32_t>(shared.values[i]) & 0x7fffffff;
        most = own > most ? own : most;
      }
      if (first < blocks.elements) block.set_greatest(&shared.most[first / blocks.block], most);
    });
    each_of(block, kMaxBlocks, [&](std::uint32_t at) {
      if (at * blocks.block >= blocks.elements) return;
      BlockFormat own = format;
      if (format.scale == BlockScale::kGiven) own.given = job.findings->scale;
      auto* const scales = reinterpret_cast<std::byte*>(job.payload);
      shared.scales[at] =
          write_scale(own, std::bit_cast<float>(shared.most[at]),
                      scales + (begin / blocks.block + at) * scale_bytes(format.scale));
    });
    typename Block::template Local<std::uint32_t> nonzero;
    block.each([&](int t) {
      nonzero[t] = 0;
      for (auto i = static_cast<std::uint32_t>(t); i < blocks.elements; i += kThreads) {
        const WrittenScale scale = shared.scales[i / blocks.block];
        const std::uint32_t random = format.stochastic ? counter_random(job.key, begin + i) : 0;
        const std::uint32_t code =
            Element::encode(shared.values[i] * scale.inverse, format.stochastic, random);
        shared.codes[i] = static_cast<std::uint8_t>(code);
        const float decoded = Element::decode(code) * scale.value;
        shared.values[i] = decoded;
        if (i >= some) continue;
        if (!format.hadamard) nonzero[t] += (code & Element::kMagnitude) != 0 ? 1 : 0;
        if (!format.hadamard && job.minds_sent())
          leave(job, begin + i, job.c()[begin + i], decoded);
      }
    });
    if (format.hadamard) leave_rotated(block, shared, job, begin, some, blocks, nonzero);
    put_codes(block, shared, job, begin, static_cast<std::uint32_t>(coded_elements(format, some)));
    count_nonzero(block, job, nonzero, tiles_of(job.n, kTile));
  }

 private:
  THINPIPE_KERNEL void begin_payload(const Job& job) const {
    job.findings->encoded = static_cast<std::uint32_t>(layout.bytes(job.n));
    if (layout.format.scale == BlockScale::kGiven)
      job.payload[0] = std::bit_cast<std::uint32_t>(job.findings->scale);
  }

  /// Loads the elements, and rotates them if the format requires it.
  THINPIPE_KERNEL void load(auto& block, Shared& shared, const Job& job, std::uint32_t begin,
                            std::uint32_t some, const Blocks& blocks) const {
    const bool given = layout.format.scale == BlockScale::kGiven;
    block.each([&](std::uint32_t thread) {
      if (thread < kMaxBlocks) shared.most[thread] = shared.used[thread] = 0;
      for (std::uint32_t i = thread; i < blocks.elements; i += kThreads) {
        float x = 0;
        if (i < some) {
          x = tamed(given ? element<Reading::kAsIs>(job, begin + i)
                          : element<Reading::kSum>(job, begin + i));
        }
        shared.values[i] =
            layout.format.hadamard ? flipped(job.signs, x * blocks.norm_at(i), i, blocks) : x;
      }
    });
    if (layout.format.hadamard) hadamard_blocks(block, shared.values, blocks);
  }

  /// Rotates the decoded values back and stores the residual.
  THINPIPE_KERNEL void leave_rotated(auto& block, Shared& shared, const Job& job,
                                     std::uint32_t begin, std::uint32_t some, const Blocks& blocks,
                                     auto& nonzero) const {
    block.each([&](int t) {
      const std::uint32_t first = static_cast<std::uint32_t>(t) * kRun;
      std::uint32_t any = Element::kHasZero ? 0 : 1;
      for (std::uint32_t i = first; i < first + kRun && i < blocks.elements; ++i)
        any |= (shared.codes[i] & Element::kMagnitude) != 0 ? 1 : 0;
      if (any != 0 && first < blocks.elements)
        block.set_greatest(&shared.used[first / blocks.block], 1);
    });
    if (job.minds_sent()) hadamard_blocks(block, shared.values, blocks);
    block.each([&](int t) {
      for (auto i = static_cast<std::uint32_t>(t); i < some; i += kThreads) {
        // A code other than 0 affects all elements of a rotated block.
        nonzero[t] += shared.used[i / blocks.block];
        if (!job.minds_sent()) continue;
        const float turned = shared.values[i] * blocks.norm_at(i);
        leave(job, begin + i, job.c()[begin + i], flipped(job.signs, turned, i, blocks));
      }
    });
  }

  THINPIPE_KERNEL void put_codes(auto& block, const Shared& shared, const Job& job,
                                 std::uint32_t begin, std::uint32_t coded) const {
    const bool nibbles = element_bits(layout.format.element) == 4;
    auto* const out = reinterpret_cast<std::uint8_t*>(job.payload) + layout.scales(job.n) +
                      code_bytes(layout.format, begin);
    block.each([&](int t) {
      const std::uint32_t bytes = nibbles ? (coded + 1) / 2 : coded;
      for (auto i = static_cast<std::uint32_t>(t); i < bytes; i += kThreads) {
        if (!nibbles) {
          out[i] = shared.codes[i];
        } else {
          const std::uint32_t upper = 2 * i + 1 < coded ? shared.codes[2 * i + 1] : 0U;
          out[i] = static_cast<std::uint8_t>(shared.codes[2 * i] | upper << 4);
        }
      }
    });
  }
};

/// Computes out += factor * decoded for a payload whose length the host has checked. Reports a
/// BlockProblem. Grid: the tiles of kTile elements.
template <class Element>
struct DecodeBlocks {
  static constexpr int kThreads = kBlockThreads;
  struct Shared {
    float values[kTile];
    float scales[kMaxBlocks];
  };

  BlockLayout layout;

  THINPIPE_KERNEL void operator()(auto& block, Shared& shared, const DecodeJob& job) const {
    const std::uint32_t* const payload = job.payload.words;
    const std::uint32_t n = job.payload.n;
    const std::uint32_t begin = block.index() * kTile;
    const std::uint32_t some = n - begin < kTile ? n - begin : kTile;
    const Blocks blocks = layout.blocks(some);
    const auto coded = static_cast<std::uint32_t>(coded_elements(layout.format, some));
    each_of(block, kMaxBlocks, [&](std::uint32_t at) {
      if (at * blocks.block >= blocks.elements && at > 0) return;
      shared.scales[at] =
          scale_at(payload, begin / blocks.block + at, at * blocks.block < blocks.elements);
      if (shared.scales[at] < 0) tell(block, job, BlockProblem::kScale);
    });
    const auto* const codes = reinterpret_cast<const std::uint8_t*>(payload) + layout.scales(n) +
                              code_bytes(layout.format, begin);
    const bool nibbles = element_bits(layout.format.element) == 4;
    each_of(block, blocks.elements, [&](std::uint32_t i) {
      std::uint32_t code = 0;
      if (i < coded) code = nibbles ? codes[i / 2] >> (i % 2 * 4) & 0xf : codes[i];
      if ((code & Element::kMagnitude) > Element::kMaxCode) tell(block, job, BlockProblem::kCode);
      if (nibbles && i + 1 == coded && i % 2 == 0 && codes[i / 2] >> 4 != 0)
        tell(block, job, BlockProblem::kPadding);
      shared.values[i] = Element::decode(code) * shared.scales[i / blocks.block];
    });
    if (layout.format.hadamard) hadamard_blocks(block, shared.values, blocks);
    each_of(block, some, [&](std::uint32_t i) {
      float value = shared.values[i];
      if (layout.format.hadamard) value = flipped(job.signs, value * blocks.norm_at(i), i, blocks);
      add_decoded(job, begin + i, value);
    });
  }

 private:
  /// Returns a block's scale; negative if it is invalid. A shared scale is also in payloads without
  /// elements.
  THINPIPE_KERNEL float scale_at(const std::uint32_t* payload, std::uint32_t at,
                                 bool exists) const {
    if (layout.format.scale == BlockScale::kGiven)
      return payload[0] >= kInfinityBits ? -1 : std::bit_cast<float>(payload[0]);
    if (!exists) return 0;
    const auto* const scales = reinterpret_cast<const std::byte*>(payload);
    return read_scale(layout.format, scales + at * scale_bytes(layout.format.scale));
  }
};

/// Computes the root mean square of every block and sets Findings::scale to the maximum (THC). With
/// `range`, sets it instead to the distance between two levels, where the greatest level is `range`
/// times this maximum, or `range` times the maximum that workers share. The last thread block sets
/// the scale. Grid: the tiles of kTile elements.
struct FindRange : OnTiles {
  static constexpr int kThreads = kBlockThreads;
  struct Shared {
    float values[kTile];
    double chains[kThreads];
  };

  BlockLayout layout;
  float range;  ///< 0: the root mean square itself

  THINPIPE_KERNEL void operator()(auto& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const std::uint32_t begin = tile.index * kTile;
    const std::uint32_t some = job.n - begin < kTile ? job.n - begin : kTile;
    each_of(block, some,
            [&](std::uint32_t i) { shared.values[i] = element<Reading::kSum>(job, begin + i); });
    const auto length = static_cast<std::uint32_t>(layout.format.block);
    add_chains(block, shared.chains, shared.values, some, length, SquareChains(),
               [&](std::uint32_t /*at*/, const float* x, std::uint32_t n, const double* partials) {
                 const float most = root_mean_square(x, n, SquareChains::join(x, n, partials));
                 block.set_greatest(&job.findings->most, std::bit_cast<std::uint32_t>(most));
               });
    if (!block.is_last(&job.findings->arrived, tiles_of(job.n, kTile))) return;
    once(block, [&] {
      Findings& findings = *job.findings;
      const float own = std::bit_cast<float>(findings.most);
      const bool is_shared = job.shared_scale > 0 && job.shared_scale - job.shared_scale == 0;
      findings.scale = range == 0 ? own : distance(is_shared ? job.shared_scale : own);
      findings.most = 0;
    });
  }

 private:
  /// Returns the root mean square of the rotated block; the rotation preserves the norm.
  THINPIPE_KERNEL float root_mean_square(const float* x, std::uint32_t n, double squares) const {
    if (!(squares < 0x1p200)) {
      squares = 0;
      for (std::uint32_t i = 0; i < n; ++i) {
        const auto part = static_cast<double>(tamed(x[i]));
        squares += part * part;
      }
    }
    if (squares == 0) return 0;
    const double mean = squares / static_cast<double>(coded_elements(layout.format, n));
    const auto root = static_cast<float>(std::sqrt(mean));
    constexpr float kMin = std::numeric_limits<float>::min();
    return root < kMin ? kMin : root;
  }
  /// Returns the distance of two levels; the greatest level is at the end of the range.
  THINPIPE_KERNEL float distance(float scale) const {
    constexpr float kMax = 0x1p120F;
    const float reach = range * scale;
    const float given = (reach < kMax ? reach : kMax) / element_max(layout.format.element);
    if (scale == 0) return given;
    constexpr float kMin = std::numeric_limits<float>::min();
    return given < kMin ? kMin : given;
  }
};

}  // namespace thinpipe::cuda
