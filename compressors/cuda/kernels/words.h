// Encodes each element independently; a thread writes whole words or bytes.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "compressors/cuda/kernels/decode_job.h"
#include "compressors/cuda/kernels/in_tile.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/element_type.h"
#include "compressors/kernels/random.h"

namespace thinpipe::cuda {

// A code has
//   kElements  elements per thread and step
//   encode()   writes them, and counts those that do not decode to zero
//   add()      adds their decoded values times a factor; returns false for invalid ones

/// 32-bit floats.
struct Fp32Code {
  static constexpr std::uint32_t kElements = 1;
  THINPIPE_BOTH static std::size_t bytes(std::size_t n) { return n * sizeof(float); }

  THINPIPE_KERNEL void encode(const Job& job, std::uint32_t word, std::uint32_t& nonzero) const {
    const float c = element<Reading::kSum>(job, 0, word);
    leave(job, word, c, c);
    ++nonzero;
    job.payload[word] = std::bit_cast<std::uint32_t>(c);
  }
  THINPIPE_KERNEL bool add(const std::uint32_t* payload, std::uint32_t word, std::uint32_t /*n*/,
                           float factor, float* out) const {
    const float value = factor * std::bit_cast<float>(payload[word]);
    out[word] = out[word] + value;
    return true;
  }
};

/// 16-bit floats (element_type.h).
struct HalfCode {
  static constexpr std::uint32_t kElements = 2;
  THINPIPE_BOTH static std::size_t bytes(std::size_t n) { return n * sizeof(std::uint16_t); }

  HalfFormat format;

  THINPIPE_KERNEL void encode(const Job& job, std::uint32_t word, std::uint32_t& nonzero) const {
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
    job.payload[word] = bits;
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

/// A sign and an 8-bit exponent with stochastic rounding: all exponents, then the sign bits
/// (kernels/quantize.h).
struct NaturalCode {
  static constexpr std::uint32_t kElements = 8;
  THINPIPE_BOTH static std::size_t bytes(std::size_t n) { return n + (n + 7) / 8; }

  THINPIPE_KERNEL void encode(const Job& job, std::uint32_t word, std::uint32_t& nonzero) const {
    auto* const out = reinterpret_cast<std::uint8_t*>(job.payload);
    std::uint32_t signs = 0;
    for (std::uint32_t j = 0; j < kElements; ++j) {
      const std::uint32_t i = kElements * word + j;
      if (i >= job.n) break;
      const float c = element<Reading::kSum>(job, 0, i);
      const auto bits = std::bit_cast<std::uint32_t>(c);
      const std::uint32_t sign = bits & 0x80000000;
      const std::uint32_t magnitude = bits ^ sign;
      constexpr std::uint32_t kMax = 0x7f7fffff;  // the greatest float
      const std::uint32_t carried = magnitude + (counter_random(job.key, i) >> 9);
      const std::uint32_t exponent =
          magnitude > kInfinityBits ? 0 : (carried < kMax ? carried : kMax) >> 23;
      leave(job, i, c, std::bit_cast<float>(exponent << 23 | sign));
      out[i] = static_cast<std::uint8_t>(exponent);
      signs |= sign >> 31 << j;
      ++nonzero;
    }
    out[job.n + word] = static_cast<std::uint8_t>(signs);
  }
  THINPIPE_KERNEL bool add(const std::uint32_t* payload, std::uint32_t word, std::uint32_t n,
                           float factor, float* out) const {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(payload);
    const std::uint32_t signs = bytes[n + word];
    bool good = true;
    for (std::uint32_t j = 0; j < kElements; ++j) {
      const std::uint32_t i = kElements * word + j;
      const std::uint32_t sign = signs >> j & 1;
      if (i >= n) {
        good = good && sign == 0;
        continue;
      }
      const std::uint32_t exponent = bytes[i];
      good = good && exponent != 255;
      const float value = std::bit_cast<float>(exponent << 23 | sign << 31) * factor;
      out[i] = out[i] + value;
    }
    return good;
  }
};

/// Sets Findings::counts[1] to the sum of all threads' counts over all tiles of a tensor.
template <class Block, class Counters>
THINPIPE_KERNEL void count_nonzero(Block& block, const Job& job, Counters& nonzero,
                                   std::uint32_t tiles) {
  Findings& findings = *job.findings;
  const std::uint32_t count = block.sum(nonzero);
  block.each([&](int t) {
    if (t == 0) block.add(&findings.counts[0], count);
  });
  if (!block.is_last(&findings.arrived, tiles)) return;
  block.each([&](int t) {
    if (t != 0) return;
    findings.counts[1] = findings.counts[0];
    findings.counts[0] = 0;
  });
}

/// Writes the payloads of all tensors. Sets Findings::counts[1] to the number of elements that
/// Code::encode() counts. Grid: the tiles of kTile elements.
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
      if (t == 0 && tile.index == 0)
        findings.encoded = static_cast<std::uint32_t>(Code::bytes(job.n));
      each_in_tile<kThreads, kWords>(t, tile.index, words,
                                     [&](std::uint32_t w) { code.encode(job, w, nonzero[t]); });
    });
    count_nonzero(block, job, nonzero, tiles_of(job.n, kTile));
  }
};

/// Computes out += factor * decoded for a payload whose length the host has checked. Grid: the
/// tiles of kTile elements.
template <class Code>
struct DecodeWords {
  static constexpr int kThreads = 256;
  struct Shared {};

  Code code;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/, const DecodeJob& job) const {
    const std::uint32_t n = job.payload.n;
    constexpr std::uint32_t kWords = EncodeWords<Code>::kWords;
    const std::uint32_t words = (n + Code::kElements - 1) / Code::kElements;
    block.each([&](int t) {
      each_in_tile<kThreads, kWords>(t, block.index(), words, [&](std::uint32_t w) {
        if (!code.add(job.payload.words, w, n, job.factor, job.out)) tell(block, job, 1);
      });
    });
  }
};

}  // namespace thinpipe::cuda
