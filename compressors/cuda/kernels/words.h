// Runs of eight consecutive elements, which one thread moves in vectors of 16 bytes, and codes of
// single elements.
#pragma once

#include <bit>
#include <cstdint>

#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/element_type.h"
#include "compressors/kernels/random.h"

namespace thinpipe::cuda {

constexpr std::uint32_t kRunElements = 8;
constexpr std::uint32_t kRunsPerTile = kTile / kRunElements;

/// One read or write of a thread.
template <class T>
struct alignas(16) Vector {
  T values[16 / sizeof(T)];
};

/// Moves a run's first `count` values. The loop has a constant length, so that the values stay in
/// registers.
template <class To, class From>
THINPIPE_KERNEL void move_run(To* to, const From* from, std::uint32_t count) {
  for (std::uint32_t j = 0; j < kRunElements; ++j)
    if (j < count) to[j] = from[j];
}
THINPIPE_KERNEL inline bool is_whole_run(const void* at, std::uint32_t count) {
  return count == kRunElements &&
         reinterpret_cast<std::uintptr_t>(at) % alignof(Vector<float>) == 0;
}
template <class T>
THINPIPE_KERNEL void load_run(const T* from, std::uint32_t count, T (&to)[kRunElements]) {
  if (!is_whole_run(from, count)) return move_run(to, from, count);
  const auto* const vectors = reinterpret_cast<const Vector<T>*>(from);
  const Vector<T> low = vectors[0], high = vectors[1];
  for (std::uint32_t j = 0; j < 4; ++j) {
    to[j] = low.values[j];
    to[4 + j] = high.values[j];
  }
}
template <class T>
THINPIPE_KERNEL void store_run(T* to, std::uint32_t count, const T (&from)[kRunElements]) {
  if (!is_whole_run(to, count)) return move_run(to, from, count);
  auto* const vectors = reinterpret_cast<Vector<T>*>(to);
  Vector<T> low, high;
  for (std::uint32_t j = 0; j < 4; ++j) {
    low.values[j] = from[j];
    high.values[j] = from[4 + j];
  }
  vectors[0] = low;
  vectors[1] = high;
}

/// Moves a run's `count` bytes, as the lowest bytes of a number.
THINPIPE_KERNEL inline void store_bytes(std::uint8_t* to, std::uint32_t count,
                                        std::uint64_t bytes) {
  if (count % 4 == 0 && reinterpret_cast<std::uintptr_t>(to) % 4 == 0) {
    auto* const words = reinterpret_cast<std::uint32_t*>(to);
    if (count >= 4) words[0] = static_cast<std::uint32_t>(bytes);
    if (count >= 8) words[1] = static_cast<std::uint32_t>(bytes >> 32);
    return;
  }
  for (std::uint32_t j = 0; j < count; ++j) to[j] = static_cast<std::uint8_t>(bytes >> 8 * j);
}
THINPIPE_KERNEL inline std::uint64_t load_bytes(const std::uint8_t* from, std::uint32_t count) {
  if (count == 8 && reinterpret_cast<std::uintptr_t>(from) % 4 == 0) {
    const auto* const words = reinterpret_cast<const std::uint32_t*>(from);
    return words[0] | std::uint64_t{words[1]} << 32;
  }
  std::uint64_t bytes = 0;
  for (std::uint32_t j = 0; j < count; ++j) bytes |= std::uint64_t{from[j]} << 8 * j;
  return bytes;
}

/// Calls body(i, count) for the runs of a tile that thread t processes.
template <int kThreads, class Body>
THINPIPE_KERNEL void each_run(int t, std::uint32_t tile, std::uint32_t n, Body body) {
  for (auto run = static_cast<std::uint32_t>(t); run < kRunsPerTile; run += kThreads) {
    const std::uint32_t i = tile * kTile + run * kRunElements;
    if (i >= n) return;
    body(i, n - i < kRunElements ? n - i : kRunElements);
  }
}

/// Reads a run of c; for kSum, updates the memory, as element() does.
template <Reading reading>
THINPIPE_KERNEL void read_run(const Job& job, std::uint32_t i, std::uint32_t count,
                              float (&c)[kRunElements]) {
  const bool sums = reading == Reading::kSum && job.r != nullptr && !job.summed;
  if (!sums) return load_run(job.c() + i, count, c);
  if (job.u != nullptr || job.h != nullptr) {
    Fetched read[kRunElements];  // all under way before the first store
    for (std::uint32_t j = 0; j < kRunElements; ++j)
      if (j < count) read[j] = fetch<reading>(job, i + j);
    for (std::uint32_t j = 0; j < kRunElements; ++j)
      if (j < count) c[j] = settle<reading>(job, i + j, read[j]);
    return;
  }
  float g[kRunElements] = {};
  load_run(job.g + i, count, g);
  load_run(job.r + i, count, c);
  for (std::uint32_t j = 0; j < kRunElements; ++j) c[j] = sum_of(job, c[j], g[j]);
  store_run(job.r + i, count, c);
}

/// Updates the memory after a run was sent: leave() for each element.
THINPIPE_KERNEL inline void leave_run(const Job& job, std::uint32_t i, std::uint32_t count,
                                      const float (&c)[kRunElements],
                                      const float (&decoded)[kRunElements]) {
  if (job.h != nullptr) {
    for (std::uint32_t j = 0; j < kRunElements; ++j)
      if (j < count) leave(job, i + j, c[j], decoded[j]);
    return;
  }
  if (!job.keeps) return;
  float left[kRunElements];
  for (std::uint32_t j = 0; j < kRunElements; ++j) left[j] = remainder_of(c[j], decoded[j]);
  store_run(job.r + i, count, left);
}

/// Adds a run's terms to the output.
THINPIPE_KERNEL inline void add_run(float* out, std::uint32_t count,
                                    const float (&terms)[kRunElements]) {
  float sums[kRunElements] = {};
  load_run(out, count, sums);
  for (std::uint32_t j = 0; j < kRunElements; ++j) sums[j] = sums[j] + terms[j];
  store_run(out, count, sums);
}

// Codes of single elements; a thread codes runs of them. A code has
//   bytes()  of a payload
//   write()  writes a run's codes, and sets its decoded values
//   read()   reads a run's values; returns false if one is invalid

/// 32-bit floats.
struct Fp32Code {
  THINPIPE_BOTH static std::size_t bytes(std::size_t n) { return n * sizeof(float); }

  THINPIPE_KERNEL static void write(const Job& job, std::uint32_t i, std::uint32_t count,
                                    const float (&c)[kRunElements],
                                    float (&decoded)[kRunElements]) {
    std::uint32_t words[kRunElements];
    for (std::uint32_t j = 0; j < kRunElements; ++j) {
      words[j] = std::bit_cast<std::uint32_t>(c[j]);
      decoded[j] = c[j];
    }
    store_run(job.payload + i, count, words);
  }
  THINPIPE_KERNEL static bool read(const std::uint32_t* payload, std::uint32_t /*n*/,
                                   std::uint32_t i, std::uint32_t count,
                                   float (&values)[kRunElements]) {
    std::uint32_t words[kRunElements] = {};
    load_run(payload + i, count, words);
    for (std::uint32_t j = 0; j < kRunElements; ++j) values[j] = std::bit_cast<float>(words[j]);
    return true;
  }
};

/// 16-bit floats (element_type.h).
struct HalfCode {
  static constexpr std::uint32_t kWords = kRunElements / 2;
  THINPIPE_BOTH static std::size_t bytes(std::size_t n) { return n * sizeof(std::uint16_t); }

  HalfFormat format;

  THINPIPE_KERNEL void write(const Job& job, std::uint32_t i, std::uint32_t count,
                             const float (&c)[kRunElements], float (&decoded)[kRunElements]) const {
    Vector<std::uint32_t> words = {};
    for (std::uint32_t j = 0; j < kRunElements; ++j) {
      const std::uint16_t half = j < count ? to_half(c[j], format) : std::uint16_t{0};
      decoded[j] = from_half(half, format);
      words.values[j / 2] |= static_cast<std::uint32_t>(half) << 16 * (j % 2);
    }
    std::uint32_t* const to = job.payload + i / 2;
    if (is_whole_run(to, count)) {
      *reinterpret_cast<Vector<std::uint32_t>*>(to) = words;
    } else {
      for (std::uint32_t j = 0; j < kWords; ++j)
        if (2 * j < count) to[j] = words.values[j];
    }
  }
  THINPIPE_KERNEL bool read(const std::uint32_t* payload, std::uint32_t /*n*/, std::uint32_t i,
                            std::uint32_t count, float (&values)[kRunElements]) const {
    const std::uint32_t* const from = payload + i / 2;
    Vector<std::uint32_t> words = {};
    if (is_whole_run(from, count)) {
      words = *reinterpret_cast<const Vector<std::uint32_t>*>(from);
    } else {
      for (std::uint32_t j = 0; j < kWords; ++j)
        if (2 * j < count) words.values[j] = from[j];
    }
    bool good = true;
    for (std::uint32_t j = 0; j < kRunElements; ++j) {
      const auto half = static_cast<std::uint16_t>(words.values[j / 2] >> 16 * (j % 2));
      if (j < count) good = good && is_finite_half(half, format);
      values[j] = from_half(half, format);
    }
    return good;
  }
};

/// A sign and an 8-bit exponent with stochastic rounding: all exponents, then the sign bits
/// (kernels/quantize.h).
struct NaturalCode {
  THINPIPE_BOTH static std::size_t bytes(std::size_t n) { return n + (n + 7) / 8; }

  THINPIPE_KERNEL static void write(const Job& job, std::uint32_t i, std::uint32_t count,
                                    const float (&c)[kRunElements],
                                    float (&decoded)[kRunElements]) {
    auto* const out = reinterpret_cast<std::uint8_t*>(job.payload);
    std::uint32_t signs = 0;
    std::uint64_t exponents = 0;
    for (std::uint32_t j = 0; j < kRunElements; ++j) {
      const auto bits = std::bit_cast<std::uint32_t>(c[j]);
      const std::uint32_t sign = bits & 0x80000000;
      const std::uint32_t magnitude = bits ^ sign;
      constexpr std::uint32_t kMax = 0x7f7fffff;  // the greatest float
      const std::uint32_t carried = magnitude + (counter_random(job.key, i + j) >> 9);
      const std::uint32_t exponent =
          magnitude > kInfinityBits ? 0 : (carried < kMax ? carried : kMax) >> 23;
      decoded[j] = std::bit_cast<float>(exponent << 23 | sign);
      exponents |= std::uint64_t{exponent} << 8 * j;
      if (j < count) signs |= sign >> 31 << j;
    }
    store_bytes(out + i, count, exponents);
    out[job.n + i / kRunElements] = static_cast<std::uint8_t>(signs);
  }
  THINPIPE_KERNEL static bool read(const std::uint32_t* payload, std::uint32_t n, std::uint32_t i,
                                   std::uint32_t count, float (&values)[kRunElements]) {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(payload);
    const std::uint32_t signs = bytes[n + i / kRunElements];
    const std::uint64_t exponents = load_bytes(bytes + i, count);
    bool good = signs >> count == 0;
    for (std::uint32_t j = 0; j < kRunElements; ++j) {
      const auto exponent = static_cast<std::uint32_t>(exponents >> 8 * j) & 0xff;
      good = good && exponent != 255;
      values[j] = std::bit_cast<float>(exponent << 23 | (signs >> j & 1) << 31);
    }
    return good;
  }
};

/// Sets Findings::counts[1] to the sum of all threads' counts over all tiles of a tensor.
THINPIPE_KERNEL void count_nonzero(auto& block, const Job& job, auto& nonzero,
                                   std::uint32_t tiles) {
  Findings& findings = *job.findings;
  const std::uint32_t count = block.sum(nonzero);
  once(block, [&] { block.add(&findings.counts[0], count); });
  if (!block.is_last(&findings.arrived, tiles)) return;
  once(block, [&] {
    findings.counts[1] = findings.counts[0];
    findings.counts[0] = 0;
  });
}

/// Writes the payloads of all tensors. Sets Findings::counts[1] to the number of elements. Grid:
/// the tiles of kTile elements.
template <class Code>
struct EncodeWords : OnTiles {
  static constexpr int kThreads = kRunsPerTile;

  Code code;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    block.each([&](int t) {
      if (t == 0 && tile.index == 0) {
        job.findings->encoded = static_cast<std::uint32_t>(Code::bytes(job.n));
        job.findings->counts[1] = job.n;
      }
      each_run<kThreads>(t, tile.index, job.n, [&](std::uint32_t i, std::uint32_t count) {
        float c[kRunElements] = {};
        float decoded[kRunElements];
        read_run<Reading::kSum>(job, i, count, c);
        code.write(job, i, count, c, decoded);
        leave_run(job, i, count, c, decoded);
      });
    });
  }
};

/// Computes out += factor * decoded for a payload whose length the host has checked. Grid: the
/// tiles of kTile elements.
template <class Code>
struct DecodeWords {
  static constexpr int kThreads = kRunsPerTile;
  struct Shared {};

  Code code;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/, const DecodeJob& job) const {
    const std::uint32_t n = job.payload.n;
    block.each([&](int t) {
      each_run<kThreads>(t, block.index(), n, [&](std::uint32_t i, std::uint32_t count) {
        float values[kRunElements] = {};
        if (!code.read(job.payload.words, n, i, count, values)) tell(block, job, 1);
        for (float& value : values) value = job.factor * value;
        add_run(job.out + i, count, values);
      });
    });
  }
};

}  // namespace thinpipe::cuda
