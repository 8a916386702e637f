// Codes of a few bits, every one by a scale of its bucket or of the whole tensor. A bucket: its
// values as 32-bit floats, then the codes, lowest bit first, the last byte filled with zeros.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "compressors/cuda/kernels/chains.h"
#include "compressors/cuda/kernels/in_tile.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/cuda/kernels/words.h"
#include "compressors/kernels/quantize.h"

namespace thinpipe::cuda {

constexpr int kCodeThreads = 512;
/// Values by which a bucket's elements are coded. The first of them stand in the payload.
struct CodeValues {
  float first = 0;
  float second = 0;
};

// Floats at any address.
THINPIPE_KERNEL inline void put_float(std::uint8_t* to, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  for (std::uint32_t j = 0; j < sizeof bits; ++j) to[j] = static_cast<std::uint8_t>(bits >> 8 * j);
}
THINPIPE_KERNEL inline float float_at(const std::uint8_t* from) {
  std::uint32_t bits = 0;
  for (std::uint32_t j = 0; j < sizeof bits; ++j) bits |= std::uint32_t{from[j]} << 8 * j;
  return std::bit_cast<float>(bits);
}

/// Where buckets of codes lie.
struct CodeLayout {
  std::uint32_t header = 0;  ///< bytes of a bucket's values
  int bits = 8;              ///< of a code
  std::uint32_t bucket = 0;  ///< elements; 0: one for the whole tensor

  THINPIPE_BOTH std::size_t bytes_of_bucket(std::size_t n) const {
    return header + packed_size(n, bits);
  }
  THINPIPE_BOTH std::size_t bytes(std::size_t n) const {
    if (n == 0) return 0;
    if (bucket == 0) return bytes_of_bucket(n);
    const std::size_t last = n % bucket;
    return n / bucket * bytes_of_bucket(bucket) + (last == 0 ? 0 : bytes_of_bucket(last));
  }
  /// Elements of a tile: whole buckets.
  THINPIPE_BOTH std::uint32_t tile() const { return tile_of_buckets(bucket); }
};

// A code has
//   layout()            but for the bucket
//   Partial, chain()    a sixty-fourth of what is looked at in a bucket (chains.h)
//   values()            of a bucket, from these; whole: it is the whole tensor
//   values_of()         of a whole tensor, from what a kernel has found, or workers share
//   encode()            of an element, with what it decodes to
//   read(), decode()    the values as they stand in a payload times a factor; a term
//   good()              whether these may stand there

/// Makes the payloads of all tensors. Where a scale is for the whole of a tensor that has more than
/// a tile, a kernel has found it before; where there are no buckets, it has done the memories' sums
/// as well. Findings::counts[1] becomes the elements that do not decode to zero. Grid: the tiles of
/// CodeLayout::tile() elements.
template <class Code>
struct EncodeCodes {
  static constexpr int kThreads = kCodeThreads;
  static constexpr std::uint32_t kGroup = 8;  ///< elements that end with a byte
  struct Shared {
    float values[kTile];  ///< elements, then what they decode to
    ChainRoom<typename Code::Partial, kThreads> room;
    CodeValues scales[kMostBuckets];
  };

  const Job* jobs;
  const Tile* tiles;
  Code code;
  CodeLayout layout;
  bool packs = false;  ///< Job::packed takes them, of which another kernel makes a payload

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const std::uint32_t begin = tile.index * layout.tile();
    const std::uint32_t some = job.n - begin < layout.tile() ? job.n - begin : layout.tile();
    const std::uint32_t length = layout.bucket == 0 ? kTile : layout.bucket;
    const bool summed = layout.bucket == 0 && Code::kLooksFirst;
    block.each([&](int t) {
      if (t == 0 && tile.index == 0)
        job.findings->encoded = static_cast<std::uint32_t>(layout.bytes(job.n));
      for (auto i = static_cast<std::uint32_t>(t); i < some; i += kThreads) {
        shared.values[i] = summed ? element<Reading::kAsIs>(job, 0, begin + i)
                                  : element<Reading::kSum>(job, 0, begin + i);
      }
    });
    if (layout.bucket == 0 && (job.n > kTile || job.shared_scale > 0)) {
      block.each([&](int t) {
        if (t == 0) shared.scales[0] = code.values_of(job);
      });
    } else {
      add_chains(
          block, shared.room, shared.values, some, length,
          [&](const float* x, std::uint32_t n, std::uint32_t which) {
            return code.chain(x, n, which);
          },
          [&](std::uint32_t at, const float* x, std::uint32_t n, const auto* partials) {
            shared.scales[at] = code.values(x, n, n == job.n, partials);
          });
    }
    typename Block::template Local<std::uint32_t> nonzero;
    block.each([&](int t) {
      nonzero[t] = 0;
      auto* const out =
          (packs ? job.packed : reinterpret_cast<std::uint8_t*>(job.payload)) + job.at;
      const std::uint32_t groups = (length + kGroup - 1) / kGroup;  // of a bucket
      const std::uint32_t all = (some + length - 1) / length * groups;
      for (auto i = static_cast<std::uint32_t>(t); i < all; i += kThreads) {
        const std::uint32_t at = i / groups;
        const std::uint32_t first = i % groups * kGroup;  // of the bucket's elements
        const std::uint32_t left = some - at * length;
        const std::uint32_t size = left < length ? left : length;
        if (first < size) group(shared, job, out, begin, at, first, size, nonzero[t]);
      }
    });
    block.each([&](int t) {
      for (auto i = static_cast<std::uint32_t>(t); job.minds_sent() && i < some; i += kThreads)
        leave(job, begin + i, job.c()[begin + i], shared.values[i]);
    });
    count_nonzero(block, job, nonzero, tiles_of(job.n, layout.tile()));
  }

 private:
  /// Codes up to eight elements of a bucket, from `first` on.
  THINPIPE_KERNEL void group(Shared& shared, const Job& job, std::uint8_t* out, std::uint32_t begin,
                             std::uint32_t at, std::uint32_t first, std::uint32_t size,
                             std::uint32_t& nonzero) const {
    const std::uint32_t length = layout.bucket == 0 ? 0 : layout.bucket;
    const CodeValues scales = shared.scales[at];
    // Record of the bucket, or of the tile where there is one for all.
    std::uint8_t* const record =
        length == 0 ? out : out + (begin / length + at) * layout.bytes_of_bucket(length);
    const std::uint32_t before = (length == 0 ? begin : 0) + first;
    if (before == 0) put(record, scales);
    const std::uint32_t count = size - first < kGroup ? size - first : kGroup;
    std::uint64_t codes = 0;
    for (std::uint32_t j = 0; j < count; ++j) {
      const std::uint32_t i = at * length + first + j;
      float decoded = 0;
      const std::uint64_t own =
          code.encode(shared.values[i], scales, job.key, job.first + begin + i, decoded, nonzero);
      shared.values[i] = decoded;
      codes |= own << (j * static_cast<std::uint32_t>(layout.bits));
    }
    std::uint8_t* const to = record + layout.header + packed_size(before, layout.bits);
    for (std::size_t j = 0; j < packed_size(count, layout.bits); ++j)
      to[j] = static_cast<std::uint8_t>(codes >> 8 * j);
  }
  THINPIPE_KERNEL void put(std::uint8_t* to, const CodeValues& values) const {
    if (layout.header >= 4) put_float(to, values.first);
    if (layout.header >= 8) put_float(to + 4, values.second);
  }
};

/// out += factor * decoded, of a payload of the right length. `problem` becomes 1 where a value may
/// not stand there, 2 where what fills up a byte is not zero. Grid: the tiles of kTile elements, as
/// many as n has.
template <class Code>
struct DecodeCodes {
  static constexpr int kThreads = kCodeThreads;
  struct Shared {};

  Code code;
  CodeLayout layout;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/, const DecodeJob& job) const {
    block.each([&](int t) {
      each_in_tile<kThreads>(t, block.index(), job.payload.n,
                             [&](std::uint32_t i) { add(block, job, i); });
    });
  }

 private:
  template <class Block>
  THINPIPE_KERNEL void add(Block& block, const DecodeJob& job, std::uint32_t i) const {
    const std::uint32_t n = job.payload.n;
    const std::uint32_t length = layout.bucket == 0 ? n : layout.bucket;
    const std::uint32_t at = i / length;
    const std::uint32_t j = i - at * length;  // within the bucket
    const auto* const record = reinterpret_cast<const std::uint8_t*>(job.payload.words) +
                               at * layout.bytes_of_bucket(length);
    CodeValues values;
    if (layout.header >= 4) values.first = float_at(record);
    if (layout.header >= 8) values.second = float_at(record + 4);
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
