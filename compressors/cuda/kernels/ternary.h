// 3LC: ternary values, five per byte (compressors/kernels/ternary.cc). FoldZeros
// (quantize/ternary.h) then folds runs of zero bytes.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "compressors/cuda/kernels/chains.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/level_codes.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/cuda/kernels/words.h"
#include "compressors/kernels/quantize.h"

namespace thinpipe::cuda {

/// Layout of a payload: the scales of all buckets, then the bytes of all buckets.
struct TernaryLayout {
  std::uint32_t bucket = 0;  ///< elements; 0: the whole tensor is one bucket

  THINPIPE_BOTH std::size_t bucket_of(std::size_t n) const { return bucket == 0 ? n : bucket; }
  /// Returns the number of scales. Without buckets there is always one scale.
  THINPIPE_BOTH std::size_t scales(std::size_t n) const {
    return bucket == 0 ? 1 : (n + bucket - 1) / bucket;
  }
  THINPIPE_BOTH std::size_t bytes(std::size_t n) const {
    const std::size_t some = bucket_of(n);
    return n == 0 ? 0 : n / some * quartic_size(some) + quartic_size(n % some);
  }
  /// Returns the elements of a tile, which consists of whole buckets.
  THINPIPE_BOTH std::uint32_t tile() const { return tile_of_buckets(bucket); }
};

/// Returns a value's digit, 0 to 2, and its decoded value.
THINPIPE_KERNEL inline std::uint32_t digit_of(float c, bool sent, float scale, float& decoded) {
  const bool negative = std::bit_cast<std::uint32_t>(c) >> 31 != 0;
  decoded = !sent ? 0.0F : negative ? -scale : scale;
  return !sent ? 1 : negative ? 0 : 2;
}
/// Returns whether a value is nearer to the scale than to 0.
THINPIPE_KERNEL inline bool is_near(float c, float scale) {
  const float magnitude = std::fabs(c);
  return scale != 0 && magnitude + magnitude >= scale;
}

/// Returns the digit of element i, 0 to 2, and stores the residual.
struct TernaryDigit {
  bool stochastic;

  THINPIPE_KERNEL std::uint32_t operator()(const Job& job, float scale, std::uint32_t i, float c,
                                           std::uint32_t& nonzero) const {
    const bool sent =
        stochastic ? counter_uniform(job.key, i) * scale < std::fabs(c) : is_near(c, scale);
    float decoded = 0;
    const std::uint32_t digit = digit_of(c, sent, scale, decoded);
    leave(job, i, c, decoded);
    nonzero += sent ? 1 : 0;
    return digit;
  }
};

/// Packs byte `at` of the `length` bytes of `size` elements. A byte's five elements are `length`
/// apart; digit(k, i) returns the digit of element i, the k-th of the byte.
template <class Number, class Digit>
THINPIPE_KERNEL std::uint8_t quartic_byte(Number at, Number length, Number size, Digit digit) {
  std::uint32_t code = 0;
  for (std::uint32_t k = 0; k < 5; ++k) {
    const Number i = k * length + at;
    code *= 3;
    if (i < size) code += digit(k, static_cast<std::uint32_t>(i));
  }
  return static_cast<std::uint8_t>(code);
}

/// Packs all elements into Job::packed or, if that is null, into the payload. Clears the prefix
/// states (prefix.h) and sets Findings::counts[1] to the number of values that are not zero. A
/// byte's five elements are a fifth of the tensor apart; consecutive threads pack consecutive
/// bytes. Grid: the parts.
struct PackTernary : OnParts {
  static constexpr int kThreads = 256;
  static constexpr int kMinBlocks = static_cast<int>(kBlocksPerProcessor);
  static constexpr std::uint32_t kDigits = 5;  ///< of a byte
  static constexpr std::uint32_t kAtOnce = 4;  ///< bytes for which a thread reads before it writes

  TernaryDigit digit;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const Part part = parts[block.index()];
    const Job job = jobs[part.job];
    Findings& findings = *job.findings;
    const auto length = static_cast<std::uint32_t>(quartic_size(job.n));
    const float scale = findings.scale;
    std::uint8_t* const packed =
        job.packed == nullptr ? reinterpret_cast<std::uint8_t*>(job.payload + 1) : job.packed;
    const std::uint32_t stride = job.parts * kThreads;
    typename Block::template Local<std::uint32_t> nonzero;
    block.each([&](int t) {
      nonzero[t] = 0;
      const std::uint32_t first = part.index * kThreads + static_cast<std::uint32_t>(t);
      for (std::uint32_t i = first; i < tiles_of(job.n, kTile); i += stride)
        job.states[0][i] = job.states[1][i] = 0;
      if (first == 0) {
        job.payload[0] = std::bit_cast<std::uint32_t>(scale);
        findings.encoded = static_cast<std::uint32_t>(sizeof(float)) + length;
      }
      for (std::uint64_t at = first; at < length; at += std::uint64_t{kAtOnce} * stride)
        pack(job, scale, packed, length, at, stride, nonzero[t]);
    });
    count_nonzero(block, job, nonzero, job.parts);
  }

 private:
  /// Packs bytes first, first + stride, ...
  THINPIPE_KERNEL void pack(const Job& job, float scale, std::uint8_t* packed, std::uint64_t length,
                            std::uint64_t first, std::uint32_t stride,
                            std::uint32_t& nonzero) const {
    float c[kAtOnce][kDigits];
    for (std::uint32_t j = 0; j < kAtOnce; ++j) {
      const std::uint64_t byte = first + std::uint64_t{j} * stride;
      for (std::uint32_t k = 0; k < kDigits; ++k) {
        const std::uint64_t i = k * length + byte;
        c[j][k] = byte < length && i < job.n ? job.c()[i] : 0.0F;
      }
    }
    for (std::uint32_t j = 0; j < kAtOnce; ++j) {
      const std::uint64_t byte = first + std::uint64_t{j} * stride;
      if (byte >= length) continue;
      packed[byte] = quartic_byte<std::uint64_t>(
          byte, length, job.n,
          [&](std::uint32_t k, std::uint32_t i) { return digit(job, scale, i, c[j][k], nonzero); });
    }
  }
};

/// Packs elements as PackTernary does, for tensors that are divided into buckets. In the same pass,
/// finds each bucket's scale and updates the memory. Grid: the tiles of TernaryLayout::tile()
/// elements.
struct PackTernaryBuckets : OnTiles {
  static constexpr int kThreads = 512;
  struct Shared {
    float values[kTile];  ///< elements, then their decoded values
    std::uint32_t chains[kThreads];
    float scales[kMaxBuckets];
  };

  TernaryLayout layout;
  float sparsity;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const std::uint32_t begin = tile.index * layout.tile();
    const std::uint32_t some = job.n - begin < layout.tile() ? job.n - begin : layout.tile();
    const std::uint32_t scales = static_cast<std::uint32_t>(layout.scales(job.n));
    block.each([&](int t) {
      if (t == 0 && tile.index < tiles_of(job.n, kTile))
        job.states[0][tile.index] = job.states[1][tile.index] = 0;
      if (t == 0 && tile.index == 0)
        job.findings->encoded = static_cast<std::uint32_t>(4 * scales + layout.bytes(job.n));
      for (auto i = static_cast<std::uint32_t>(t); i < some; i += kThreads)
        shared.values[i] = element<Reading::kSum>(job, begin + i);
    });
    add_chains(block, shared.chains, shared.values, some, layout.bucket, GreatestRange(),
               [&](std::uint32_t at, const float* x, std::uint32_t n, const std::uint32_t* most) {
                 const float scale = ternary_scale(sparsity, GreatestRange::reach(x, n, most));
                 shared.scales[at] = scale;
                 job.payload[begin / layout.bucket + at] = std::bit_cast<std::uint32_t>(scale);
               });
    typename Block::template Local<std::uint32_t> nonzero;
    block.each([&](int t) {
      nonzero[t] = 0;
      const auto length = static_cast<std::uint32_t>(quartic_size(layout.bucket));
      auto* const packed =
          (job.packed == nullptr ? reinterpret_cast<std::uint8_t*>(job.payload + scales)
                                 : job.packed) +
          begin / layout.bucket * length;
      const auto bytes = static_cast<std::uint32_t>(layout.bytes(some));
      for (auto i = static_cast<std::uint32_t>(t); i < bytes; i += kThreads)
        packed[i] = byte_of(shared, some, i / length, i % length, nonzero[t]);
    });
    each_of(block, job.minds_sent() ? some : 0,
            [&](std::uint32_t i) { leave(job, begin + i, job.c()[begin + i], shared.values[i]); });
    count_nonzero(block, job, nonzero, tiles_of(job.n, layout.tile()));
  }

 private:
  /// Returns byte j of a bucket, in a tile of `elements` elements.
  THINPIPE_KERNEL std::uint8_t byte_of(Shared& shared, std::uint32_t elements, std::uint32_t at,
                                       std::uint32_t j, std::uint32_t& nonzero) const {
    const std::uint32_t left = elements - at * layout.bucket;
    const std::uint32_t size = left < layout.bucket ? left : layout.bucket;
    const auto length = static_cast<std::uint32_t>(quartic_size(size));
    const float scale = shared.scales[at];
    return quartic_byte<std::uint32_t>(j, length, size, [&](std::uint32_t, std::uint32_t i) {
      float& value = shared.values[at * layout.bucket + i];
      const bool sent = is_near(value, scale);
      nonzero += sent ? 1 : 0;
      return digit_of(value, sent, scale, value);
    });
  }
};

/// Packs elements as PackTernary does, for buckets larger than a tile, each of which is a job of
/// its own. A thread packs one byte at a time. Clears the prefix states of the buckets' tensors.
/// Grid: the tiles of kTile elements of every bucket.
struct PackTernaryParts : OnTiles {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kBytes = (kTile + 4) / 5;  ///< per tile

  TernaryLayout layout;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const auto length = static_cast<std::uint32_t>(quartic_size(job.n));
    auto* const bytes =
        (job.packed == nullptr ? reinterpret_cast<std::uint8_t*>(job.payload) : job.packed) +
        job.at;
    typename Block::template Local<std::uint32_t> nonzero;
    block.each([&](int t) {
      nonzero[t] = 0;
      if (t == 0) {
        const std::uint32_t at = job.first / kTile + tile.index;
        job.states[0][at] = job.states[1][at] = 0;
        if (tile.index == 0)
          job.payload[job.first / layout.bucket] =
              std::bit_cast<std::uint32_t>(job.findings->scale);
      }
      const std::uint32_t begin = tile.index * kBytes;
      const std::uint32_t end = begin + kBytes < length ? begin + kBytes : length;
      const TernaryDigit digit{.stochastic = false};
      for (auto j = begin + static_cast<std::uint32_t>(t); j < end; j += kThreads)
        bytes[j] =
            quartic_byte<std::uint64_t>(j, length, job.n, [&](std::uint32_t, std::uint32_t i) {
              return digit(job, job.findings->scale, i, job.c()[i], nonzero[t]);
            });
    });
    count_nonzero(block, job, nonzero, tiles_of(job.n, kTile));
  }
};

}  // namespace thinpipe::cuda
