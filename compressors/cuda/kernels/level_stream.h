// Layout of QSGD's buckets in Elias codes (methods/qsgd.cc). A bucket's record consists of a step,
// the number of bytes of the codes, and the number of levels other than 0. The distance from the
// previous such level, the sign and the level follow for each of them. Kernels measure the codes of
// each slice of a bucket, add up the sizes, then write the codes.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/codes.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/laid_positions.h"
#include "compressors/cuda/kernels/payload.h"

namespace thinpipe::cuda {

// Elias's omega codes (wire/bits.h) of numbers below 2^31.

/// Returns the bits of the code of n >= 1.
THINPIPE_KERNEL inline std::uint32_t omega_bits(std::uint32_t n) {
  std::uint32_t bits = 1;
  for (; n > 1; n = highest(n)) bits += highest(n) + 1;
  return bits;
}

/// Writes the code of n >= 1 to bits that are 0. @returns its length in bits
THINPIPE_KERNEL std::uint32_t put_omega(auto& block, std::uint32_t* words, std::uint64_t bit,
                                        std::uint32_t n) {
  const std::uint32_t bits = omega_bits(n);
  // The last bit of the code is 0. The loop writes the groups of bits before it in reverse order,
  // beginning with the last group, which is n itself.
  for (std::uint32_t end = bits - 1; n > 1; n = highest(n)) {
    const std::uint32_t size = highest(n) + 1;
    std::uint32_t turned = 0;  // highest bit first
    for (std::uint32_t i = 0; i < size; ++i) turned |= (n >> i & 1) << (size - 1 - i);
    end -= size;
    lay(block, words, bit + end, turned);
  }
  return bits;
}

/// Reads a code.
/// @param bits_at  bits_at(bit) returns 32 bits from bit `bit`, 0 after the end
/// @returns its length in bits; 0: not a code of a number up to `most` < 2^31
THINPIPE_KERNEL std::uint32_t get_omega(auto bits_at, std::uint64_t bit, std::uint32_t most,
                                        std::uint32_t& n) {
  n = 1;
  std::uint32_t bits = 0;
  for (;;) {
    std::uint32_t window = bits_at(bit + bits);
    if ((window & 1) == 0) break;
    if (n > 30) return 0;
    // The n bits of the group after its leading 1, highest first.
    window >>= 1;
    std::uint32_t group = 1;
    for (std::uint32_t i = 0; i < n; ++i) group = group << 1 | (window >> i & 1);
    bits += 1 + n;
    n = group;
  }
  return n > most ? 0 : bits + 1;
}

/// Division of a tensor's buckets into slices. A tile, on which a thread block works, is one slice
/// of a large bucket, or several whole buckets.
struct SliceCut {
  std::uint32_t n = 0;       ///< elements of the tensor
  std::uint32_t bucket = 0;  ///< elements of a bucket, at least 1; the last may have fewer

  THINPIPE_BOTH static SliceCut of(std::uint32_t n, std::uint32_t bucket) {
    const std::uint32_t all = n == 0 ? 1 : n;
    return {n, bucket == 0 || bucket > all ? all : bucket};
  }
  /// Returns the slices of a whole bucket.
  THINPIPE_BOTH std::uint32_t each() const { return tiles_of(bucket, kTile); }
  /// Returns the buckets of a tile.
  THINPIPE_BOTH std::uint32_t together() const {
    return bucket > kTile ? 1 : tile_of_buckets(bucket) / bucket;
  }
  THINPIPE_BOTH std::uint32_t buckets() const { return n == 0 ? 0 : (n - 1) / bucket + 1; }
  THINPIPE_BOTH std::uint32_t slices() const {
    const std::uint32_t last = n % bucket;
    return n / bucket * each() + (last == 0 ? 0 : tiles_of(last, kTile));
  }
  THINPIPE_BOTH std::uint32_t tiles() const { return tiles_of(slices(), together()); }
  /// Returns the first element of a slice.
  THINPIPE_BOTH std::uint32_t begin(std::uint32_t slice) const {
    return slice / each() * bucket + slice % each() * kTile;
  }
  THINPIPE_BOTH std::uint32_t size(std::uint32_t slice) const {
    const std::uint32_t first = begin(slice);
    const std::uint32_t of_bucket = (slice / each() + 1) * bucket;  // end of the bucket
    const std::uint32_t end = of_bucket < n ? of_bucket : n;
    return end - first < kTile ? end - first : kTile;
  }
};

/// Size, number, and first and last position of the levels other than 0 among consecutive elements
/// of a bucket. Positions count from 1 at the bucket's beginning.
struct LevelRun {
  std::uint64_t bits = 0;  ///< of all codes except the first distance
  std::uint32_t count = 0;
  std::uint32_t first = 0;  ///< position of the first level, if any
  std::uint32_t last = 0;   ///< position of the last level

  THINPIPE_KERNEL LevelRun operator+(const LevelRun& after) const {
    if (count == 0) return after;
    if (after.count == 0) return *this;
    return {bits + after.bits + omega_bits(after.first - last), count + after.count, first,
            after.last};
  }
  /// Returns all bits of a run that begins a bucket.
  THINPIPE_KERNEL std::uint64_t all_bits() const {
    return count == 0 ? 0 : bits + omega_bits(first);
  }
};

/// A bucket's record in the payload.
struct LevelRecord {
  std::uint32_t begin = 0;  ///< first byte
  std::uint32_t bytes = 0;  ///< of the codes
  std::uint32_t count = 0;

  /// Returns the bit at which the codes begin, after their number.
  THINPIPE_KERNEL std::uint64_t codes() const {
    const std::uint32_t head = sizeof(float) + PayloadCount{bytes}.bytes();
    return std::uint64_t{8} * (begin + head) + omega_bits(count + 1);
  }
};

/// Workspace of one tensor.
struct LevelWorkspace {
  LevelRun* runs = nullptr;        ///< by slice: its levels; later, those before it in its bucket
  LevelRecord* records = nullptr;  ///< by bucket
};

/// The codes of a bucket, of equal length, as EncodeCodes packed them.
struct PackedLevels {
  const std::uint8_t* record;  ///< of the bucket
  std::uint32_t header;
  std::uint32_t bits;

  THINPIPE_KERNEL static PackedLevels of(const Job& job, const CodeLayout& layout,
                                         std::uint32_t bucket, std::uint32_t which) {
    return {job.packed + which * layout.bytes_of_bucket(bucket), layout.header,
            static_cast<std::uint32_t>(layout.bits)};
  }
  THINPIPE_KERNEL float step() const { return float_at(record); }
  /// Returns the code of element i of the bucket.
  THINPIPE_KERNEL std::uint32_t code(std::uint32_t i) const {
    const std::uint64_t bit = std::uint64_t{i} * bits;
    const std::uint8_t* const at = record + header + bit / 8;
    const std::uint32_t word =
        bit % 8 + bits > 8 ? at[0] | std::uint32_t{at[1]} << 8 : std::uint32_t{at[0]};
    return word >> bit % 8 & ((std::uint32_t{1} << bits) - 1);
  }
};

/// The slice of a tile's element, and the element's position in it.
struct LevelPlace {
  std::uint32_t slice = 0;
  std::uint32_t at = 0;      ///< index of the slice in the tile
  std::uint32_t first = 0;   ///< first element of the slice, in the tile
  std::uint32_t i = 0;       ///< position of the element in the slice
  std::uint32_t passed = 0;  ///< elements of the bucket before the slice
  bool exists = false;

  THINPIPE_KERNEL static LevelPlace of(const SliceCut& cut, std::uint32_t tile,
                                       std::uint32_t element) {
    LevelPlace place;
    const bool whole = cut.bucket > kTile;
    place.at = whole ? 0 : element / cut.bucket;
    place.first = whole ? 0 : place.at * cut.bucket;
    place.slice = tile * cut.together() + place.at;
    place.i = element - place.first;
    if (place.at >= cut.together() || place.slice >= cut.slices()) return place;
    place.passed = place.slice % cut.each() * kTile;
    place.exists = place.i < cut.size(place.slice);
    return place;
  }
};

/// Consecutive elements of a tile per thread.
constexpr std::uint32_t kLevelsEach = 8;
constexpr int kLevelThreads = 512;
static_assert(kLevelThreads * kLevelsEach == kTile);

/// A thread's codes.
struct TileLevels {
  std::uint32_t codes[kLevelsEach];
};

/// Mask of a tile's elements with a level other than 0.
struct LevelMask {
  std::uint32_t words[kTile / 32];

  /// Returns the position in the bucket of the last level other than 0 before element i of the
  /// tile; `before` if the slice has none.
  /// @param first   first element of the slice, in the tile
  /// @param passed  elements of the bucket before the slice
  THINPIPE_KERNEL std::uint32_t previous(std::uint32_t i, std::uint32_t first, std::uint32_t passed,
                                         std::uint32_t before) const {
    std::uint32_t word = i / 32;
    std::uint32_t bits = words[word] & ((std::uint32_t{1} << i % 32) - 1);
    while (bits == 0 && word > first / 32) bits = words[--word];
    const std::uint32_t at = 32 * word + (bits == 0 ? 0 : highest(bits));
    return bits == 0 || at < first ? before : passed + (at - first) + 1;
  }
};

/// Reads the codes of a tile and sets the mask of those that are not 0.
THINPIPE_KERNEL void take_levels(auto& block, LevelMask& mask, const Job& job,
                                 const CodeLayout& layout, const SliceCut& cut, std::uint32_t tile,
                                 auto& codes) {
  block.each([&](int t) {
    if (static_cast<std::uint32_t>(t) < kTile / 32) mask.words[t] = 0;
  });
  block.each([&](int t) {
    const std::uint32_t first = static_cast<std::uint32_t>(t) * kLevelsEach;
    std::uint32_t set = 0;
    for (std::uint32_t j = 0; j < kLevelsEach; ++j) {
      const LevelPlace place = LevelPlace::of(cut, tile, first + j);
      codes[t].codes[j] = 0;
      if (!place.exists) break;
      const PackedLevels levels =
          PackedLevels::of(job, layout, cut.bucket, place.slice / cut.each());
      codes[t].codes[j] = levels.code(place.passed + place.i);
      set |= std::uint32_t{codes[t].codes[j] != 0} << j;
    }
    if (set != 0) block.set_bits(&mask.words[first / 32], set << first % 32);
  });
}

}  // namespace thinpipe::cuda
