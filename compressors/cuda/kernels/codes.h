// Codes of a few bits per element, scaled by one or two values of the bucket or of the whole
// tensor. In the payload, a bucket consists of these values as 32-bit floats, then the codes,
// lowest bit first, padded with zeros to whole bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "compressors/cuda/kernels/chains.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/cuda/kernels/words.h"
#include "compressors/kernels/quantize.h"

namespace thinpipe::cuda {

constexpr int kCodeThreads = 512;
/// Values by which a bucket's elements are coded. The payload holds the first of them, or both.
struct CodeValues {
  float first = 0;
  float second = 0;
};

// Floats at unaligned addresses.
THINPIPE_KERNEL inline void put_float(std::uint8_t* to, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  for (std::uint32_t j = 0; j < sizeof bits; ++j) to[j] = static_cast<std::uint8_t>(bits >> 8 * j);
}
THINPIPE_KERNEL inline float float_at(const std::uint8_t* from) {
  std::uint32_t bits = 0;
  for (std::uint32_t j = 0; j < sizeof bits; ++j) bits |= std::uint32_t{from[j]} << 8 * j;
  return std::bit_cast<float>(bits);
}

/// Layout of a payload of codes.
struct CodeLayout {
  std::uint32_t header = 0;  ///< bytes of a bucket's values
  int bits = 8;              ///< of a code
  std::uint32_t bucket = 0;  ///< elements; 0: the whole tensor is one bucket

  THINPIPE_BOTH std::size_t bytes_of_bucket(std::size_t n) const {
    return header + packed_size(n, bits);
  }
  THINPIPE_BOTH std::size_t bytes(std::size_t n) const {
    if (n == 0) return 0;
    if (bucket == 0) return bytes_of_bucket(n);
    const std::size_t last = n % bucket;
    return n / bucket * bytes_of_bucket(bucket) + (last == 0 ? 0 : bytes_of_bucket(last));
  }
  /// Returns the elements of a tile, which consists of whole buckets.
  THINPIPE_BOTH std::uint32_t tile() const { return tile_of_buckets(bucket); }
};

// A code has
//   layout()          the layout, except for the bucket
//   Partial, chain()  one of the 64 partial statistics of a bucket (chains.h)
//   values()          a bucket's values from its partials; whole: the bucket is the whole tensor
//   values_of()       a whole tensor's values, found by another kernel or shared by workers
//   encode()          the code of an element, and the value to which it decodes
//   read(), decode()  the payload's values times a factor; the term of one code
//   good()            whether the payload's values are valid

/// Writes the payloads of all tensors. If tensors are not divided into buckets, an earlier kernel
/// has found the scales of tensors with more than one tile. If the code needs statistics, that
/// kernel has also updated the memories. Sets Findings::counts[1] to the number of elements that do
/// not decode to zero. Grid: the tiles of CodeLayout::tile() elements.
template <class Code>
struct EncodeCodes : OnTiles {
  static constexpr int kThreads = kCodeThreads;
  struct Shared {
    float values[kTile];  ///< elements, then their decoded values
    typename Code::Partial chains[kThreads];
    CodeValues scales[kMaxBuckets];
  };

  Code code;
  CodeLayout layout;
  bool packs = false;  ///< writes to Job::packed, from which another kernel makes the payload

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const std::uint32_t begin = tile.index * layout.tile();
    const std::uint32_t some = job.n - begin < layout.tile() ? job.n - begin : layout.tile();
    const std::uint32_t length = layout.bucket == 0 ? kTile : layout.bucket;
    const bool summed = layout.bucket == 0 && Code::kLooksFirst;
    typename Block::template Local<std::uint32_t> nonzero;
    if (layout.bucket == 0 && (job.n > kTile || job.shared_scale > 0)) {
      const CodeValues scales = code.values_of(job);
      block.each([&](int t) {
        nonzero[t] = 0;
        if (t == 0 && tile.index == 0) begin_payload(job, scales);
        each_run<kThreads>(t, tile.index, job.n, [&](std::uint32_t i, std::uint32_t count) {
          code_run(job, scales, i, count, nonzero[t]);
        });
      });
      return count_nonzero(block, job, nonzero, tiles_of(job.n, kTile));
    }
    block.each([&](int t) {
      if (t == 0 && tile.index == 0)
        job.findings->encoded = static_cast<std::uint32_t>(layout.bytes(job.n));
      for (std::uint32_t i = static_cast<std::uint32_t>(t) * kRunElements; i < some;
           i += kThreads * kRunElements) {
        const std::uint32_t count = some - i < kRunElements ? some - i : kRunElements;
        float c[kRunElements] = {};
        if (summed) {
          read_run<Reading::kAsIs>(job, begin + i, count, c);
        } else {
          read_run<Reading::kSum>(job, begin + i, count, c);
        }
        store_run(shared.values + i, count, c);
      }
    });
    add_chains(block, shared.chains, shared.values, some, length, code,
               [&](std::uint32_t at, const float* x, std::uint32_t n, const auto* partials) {
                 shared.scales[at] = code.values(x, n, n == job.n, partials);
               });
    block.each([&](int t) {
      nonzero[t] = 0;
      std::uint8_t* const out = output(job);
      const std::uint32_t groups = (length + kRunElements - 1) / kRunElements;  // per bucket
      const std::uint32_t all = (some + length - 1) / length * groups;
      for (auto i = static_cast<std::uint32_t>(t); i < all; i += kThreads) {
        const std::uint32_t at = i / groups;
        const std::uint32_t first = i % groups * kRunElements;  // within the bucket
        const std::uint32_t left = some - at * length;
        const std::uint32_t size = left < length ? left : length;
        if (first < size) group(shared, job, out, begin, at, first, size, nonzero[t]);
      }
    });
    each_of(block, job.minds_sent() ? some : 0,
            [&](std::uint32_t i) { leave(job, begin + i, job.c()[begin + i], shared.values[i]); });
    count_nonzero(block, job, nonzero, tiles_of(job.n, layout.tile()));
  }

 private:
  THINPIPE_KERNEL std::uint8_t* output(const Job& job) const {
    return (packs ? job.packed : reinterpret_cast<std::uint8_t*>(job.payload)) + job.at;
  }
  THINPIPE_KERNEL void begin_payload(const Job& job, const CodeValues& scales) const {
    job.findings->encoded = static_cast<std::uint32_t>(layout.bytes(job.n));
    put(output(job), scales);
  }
  /// Returns the codes of a run that begins at element i, and sets its decoded values.
  THINPIPE_KERNEL std::uint64_t codes_of(const Job& job, const CodeValues& scales, std::uint32_t i,
                                         std::uint32_t count, const float (&c)[kRunElements],
                                         float (&decoded)[kRunElements],
                                         std::uint32_t& nonzero) const {
    std::uint64_t codes = 0;
    for (std::uint32_t j = 0; j < kRunElements; ++j) {
      if (j >= count) continue;
      const std::uint64_t own =
          code.encode(c[j], scales, job.key, job.first + i + j, decoded[j], nonzero);
      codes |= own << (j * static_cast<std::uint32_t>(layout.bits));
    }
    return codes;
  }
  /// Codes a run of a tensor whose scale is known.
  THINPIPE_KERNEL void code_run(const Job& job, const CodeValues& scales, std::uint32_t i,
                                std::uint32_t count, std::uint32_t& nonzero) const {
    float c[kRunElements] = {};
    float decoded[kRunElements] = {};
    read_run<Code::kLooksFirst ? Reading::kAsIs : Reading::kSum>(job, i, count, c);
    const std::uint64_t codes = codes_of(job, scales, i, count, c, decoded, nonzero);
    store_bytes(output(job) + layout.header + packed_size(i, layout.bits),
                static_cast<std::uint32_t>(packed_size(count, layout.bits)), codes);
    leave_run(job, i, count, c, decoded);
  }
  /// Codes up to eight elements of a bucket, from `first` on.
  THINPIPE_KERNEL void group(Shared& shared, const Job& job, std::uint8_t* out, std::uint32_t begin,
                             std::uint32_t at, std::uint32_t first, std::uint32_t size,
                             std::uint32_t& nonzero) const {
    const std::uint32_t length = layout.bucket;
    const CodeValues scales = shared.scales[at];
    // The bucket's record; without buckets, the tensor's.
    std::uint8_t* const record =
        length == 0 ? out : out + (begin / length + at) * layout.bytes_of_bucket(length);
    const std::uint32_t before = (length == 0 ? begin : 0) + first;
    if (before == 0) put(record, scales);
    const std::uint32_t count = size - first < kRunElements ? size - first : kRunElements;
    const std::uint32_t i = at * length + first;
    float c[kRunElements] = {};
    float decoded[kRunElements] = {};
    load_run(shared.values + i, count, c);
    const std::uint64_t codes = codes_of(job, scales, begin + i, count, c, decoded, nonzero);
    if (job.minds_sent()) store_run(shared.values + i, count, decoded);
    store_bytes(record + layout.header + packed_size(before, layout.bits),
                static_cast<std::uint32_t>(packed_size(count, layout.bits)), codes);
  }
  THINPIPE_KERNEL void put(std::uint8_t* to, const CodeValues& values) const {
    if (layout.header >= 4) put_float(to, values.first);
    if (layout.header >= 8) put_float(to + 4, values.second);
  }
};

/// Computes out += factor * decoded for a payload whose length the host has checked. Reports
/// problem 1 for invalid values, 2 for padding bits that are not zero. Grid: the tiles of kTile
/// elements.
template <class Code>
struct DecodeCodes {
  static constexpr int kThreads = kCodeThreads;
  struct Shared {};

  Code code;
  CodeLayout layout;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/, const DecodeJob& job) const {
    if (layout.bucket != 0) {
      return each_of_tile(block, block.index(), job.payload.n,
                          [&](std::uint32_t i) { add(block, job, i); });
    }
    const auto* const record = reinterpret_cast<const std::uint8_t*>(job.payload.words);
    const CodeValues values = values_of(record);
    block.each([&](int t) {
      if (t == 0 && block.index() == 0 && job.payload.n > 0 && !code.good(values))
        tell(block, job, 1);
      each_run<kThreads>(
          t, block.index(), job.payload.n, [&](std::uint32_t i, std::uint32_t count) {
            const auto bytes = static_cast<std::uint32_t>(packed_size(count, layout.bits));
            std::uint64_t codes =
                load_bytes(record + layout.header + packed_size(i, layout.bits), bytes);
            const CodeValues scales = code.read(values, job.factor);
            float terms[kRunElements] = {};
            for (std::uint32_t j = 0; j < kRunElements; ++j) {
              if (j >= count) continue;
              terms[j] = code.decode(static_cast<std::uint32_t>(codes) & ((1U << layout.bits) - 1),
                                     scales);
              codes >>= layout.bits;
            }
            if (codes != 0) tell(block, job, 2);
            add_run(job.out + i, count, terms);
          });
    });
  }

 private:
  THINPIPE_KERNEL CodeValues values_of(const std::uint8_t* record) const {
    CodeValues values;
    if (layout.header >= 4) values.first = float_at(record);
    if (layout.header >= 8) values.second = float_at(record + 4);
    return values;
  }
  THINPIPE_KERNEL void add(auto& block, const DecodeJob& job, std::uint32_t i) const {
    const std::uint32_t n = job.payload.n;
    const std::uint32_t length = layout.bucket;
    const std::uint32_t at = i / length;
    const std::uint32_t j = i - at * length;  // within the bucket
    const auto* const record = reinterpret_cast<const std::uint8_t*>(job.payload.words) +
                               at * layout.bytes_of_bucket(length);
    const CodeValues values = values_of(record);
    if (j == 0 && !code.good(values)) tell(block, job, 1);
    const std::uint8_t* const codes = record + layout.header;
    const std::size_t bit = std::size_t{j} * static_cast<std::size_t>(layout.bits);
    const std::size_t last = (bit + static_cast<std::size_t>(layout.bits) - 1) / 8;
    std::uint32_t word = codes[bit / 8];
    if (last != bit / 8) word |= std::uint32_t{codes[last]} << 8;
    const std::uint32_t own = word >> bit % 8 & ((1U << layout.bits) - 1);
    const float term = code.decode(own, code.read(values, job.factor));
    job.out[i] = job.out[i] + term;
    const bool is_end = i + 1 == n || j + 1 == length;
    const std::size_t used = (bit + static_cast<std::size_t>(layout.bits)) % 8;
    if (is_end && used != 0 && codes[last] >> used != 0) tell(block, job, 2);
  }
};

}  // namespace thinpipe::cuda
