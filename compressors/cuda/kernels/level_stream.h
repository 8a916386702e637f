// QSGD's buckets in Elias codes, as they are written (methods/qsgd.cc): a step, the bytes of the
// codes, then their number and for each level that is not 0 its distance, its sign and itself. Each
// piece of a bucket is measured, sizes are added up over pieces, then the codes are written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compressors/cuda/kernels/codes.h"
#include "compressors/cuda/kernels/omega.h"
#include "compressors/cuda/kernels/payload_words.h"

namespace thinpipe::cuda {

/// How a tensor's buckets are cut into pieces that a block of threads has: a tile is a piece of a
/// bucket, or several whole buckets.
struct PieceCut {
  std::uint32_t n = 0;       ///< elements of the tensor
  std::uint32_t bucket = 0;  ///< of a bucket, at least one; the last may have fewer

  THINPIPE_BOTH static PieceCut of(std::uint32_t n, std::uint32_t bucket) {
    const std::uint32_t all = n == 0 ? 1 : n;
    return {n, bucket == 0 || bucket > all ? all : bucket};
  }
  /// Pieces of a whole bucket.
  THINPIPE_BOTH std::uint32_t each() const { return tiles_of(bucket, kTile); }
  /// Buckets of a tile.
  THINPIPE_BOTH std::uint32_t together() const {
    return bucket > kTile ? 1 : tile_of_buckets(bucket) / bucket;
  }
  THINPIPE_BOTH std::uint32_t buckets() const { return n == 0 ? 0 : (n - 1) / bucket + 1; }
  THINPIPE_BOTH std::uint32_t pieces() const {
    const std::uint32_t last = n % bucket;
    return n / bucket * each() + (last == 0 ? 0 : tiles_of(last, kTile));
  }
  THINPIPE_BOTH std::uint32_t tiles() const { return tiles_of(pieces(), together()); }
  /// The element that a piece begins with.
  THINPIPE_BOTH std::uint32_t begin(std::uint32_t piece) const {
    return piece / each() * bucket + piece % each() * kTile;
  }
  THINPIPE_BOTH std::uint32_t size(std::uint32_t piece) const {
    const std::uint32_t first = begin(piece);
    const std::uint32_t of_bucket = (piece / each() + 1) * bucket;  // where the bucket ends
    const std::uint32_t end = of_bucket < n ? of_bucket : n;
    return end - first < kTile ? end - first : kTile;
  }
};

/// Levels other than 0 of consecutive elements of a bucket. Places are counted from the bucket's
/// beginning on, from 1.
struct LevelRun {
  std::uint64_t bits = 0;  ///< of all codes but the first one's distance
  std::uint32_t count = 0;
  std::uint32_t first = 0;  ///< place of the first, where there is one
  std::uint32_t last = 0;

  THINPIPE_KERNEL LevelRun operator+(const LevelRun& after) const {
    if (count == 0) return after;
    if (after.count == 0) return *this;
    return {bits + after.bits + omega_bits(after.first - last), count + after.count, first,
            after.last};
  }
  /// Bits where the run begins its bucket.
  THINPIPE_KERNEL std::uint64_t all_bits() const {
    return count == 0 ? 0 : bits + omega_bits(first);
  }
};

/// Where a bucket's record begins in the payload, and what its head says.
struct LevelRecord {
  std::uint32_t begin = 0;
  std::uint32_t bytes = 0;  ///< of the codes
  std::uint32_t count = 0;

  /// Where the codes begin, behind their number.
  THINPIPE_KERNEL std::uint64_t codes() const {
    const std::uint32_t head = sizeof(float) + PayloadCount{bytes}.bytes();
    return std::uint64_t{8} * (begin + head) + omega_bits(count + 1);
  }
};

/// Workspace of one tensor, on the device.
struct LevelRoom {
  LevelRun* runs = nullptr;        ///< of each piece; then what comes before it in its bucket
  LevelRecord* records = nullptr;  ///< of each bucket
};

/// The codes of a piece: of equal length, as EncodeCodes has packed them.
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
  /// Code of the i-th element of the bucket.
  THINPIPE_KERNEL std::uint32_t code(std::uint32_t i) const {
    const std::uint64_t bit = std::uint64_t{i} * bits;
    const std::uint8_t* const at = record + header + bit / 8;
    const std::uint32_t word =
        bit % 8 + bits > 8 ? at[0] | std::uint32_t{at[1]} << 8 : std::uint32_t{at[0]};
    return word >> bit % 8 & ((std::uint32_t{1} << bits) - 1);
  }
  THINPIPE_KERNEL std::uint32_t level(std::uint32_t code) const {
    return code & ((std::uint32_t{1} << (bits - 1)) - 1);
  }
};

/// Where a tile's element belongs.
struct LevelPlace {
  std::uint32_t piece = 0;
  std::uint32_t at = 0;      ///< the piece among the tile's
  std::uint32_t first = 0;   ///< element of the tile that the piece begins with
  std::uint32_t i = 0;       ///< element of the piece
  std::uint32_t passed = 0;  ///< elements of the bucket before the piece
  bool is_there = false;

  THINPIPE_KERNEL static LevelPlace of(const PieceCut& cut, std::uint32_t tile,
                                       std::uint32_t element) {
    LevelPlace place;
    const bool whole = cut.bucket > kTile;
    place.at = whole ? 0 : element / cut.bucket;
    place.first = whole ? 0 : place.at * cut.bucket;
    place.piece = tile * cut.together() + place.at;
    place.i = element - place.first;
    if (place.at >= cut.together() || place.piece >= cut.pieces()) return place;
    place.passed = place.piece % cut.each() * kTile;
    place.is_there = place.i < cut.size(place.piece);
    return place;
  }
};

/// Eight neighbours of a tile are a thread's.
constexpr std::uint32_t kLevelsEach = 8;
constexpr int kLevelThreads = 512;
static_assert(kLevelThreads * kLevelsEach == kTile);

/// A thread's codes.
struct TileLevels {
  std::uint32_t codes[kLevelsEach];
};

/// Mask that both kernels of a tile share: elements with a level other than 0.
struct LevelMask {
  std::uint32_t words[kTile / 32];

  /// The last such place before element i of a piece, which has element `first` of the tile as its
  /// first and comes after `passed` elements of its bucket; `before`, where there is none.
  THINPIPE_KERNEL std::uint32_t previous(std::uint32_t i, std::uint32_t first, std::uint32_t passed,
                                         std::uint32_t before) const {
    std::uint32_t word = i / 32;
    std::uint32_t bits = words[word] & ((std::uint32_t{1} << i % 32) - 1);
    while (bits == 0 && word > first / 32) bits = words[--word];
    const std::uint32_t at = 32 * word + (bits == 0 ? 0 : highest(bits));
    return bits == 0 || at < first ? before : passed + (at - first) + 1;
  }
};

/// Reads the codes of a tile, and leaves a mask of those that are not 0.
template <class Block, class Codes>
THINPIPE_KERNEL void take_levels(Block& block, LevelMask& mask, const Job& job,
                                 const CodeLayout& layout, const PieceCut& cut, std::uint32_t tile,
                                 Codes& codes) {
  block.each([&](int t) {
    if (static_cast<std::uint32_t>(t) < kTile / 32) mask.words[t] = 0;
  });
  block.each([&](int t) {
    const std::uint32_t first = static_cast<std::uint32_t>(t) * kLevelsEach;
    std::uint32_t set = 0;
    for (std::uint32_t j = 0; j < kLevelsEach; ++j) {
      const LevelPlace place = LevelPlace::of(cut, tile, first + j);
      codes[t].codes[j] = 0;
      if (!place.is_there) break;
      const PackedLevels levels =
          PackedLevels::of(job, layout, cut.bucket, place.piece / cut.each());
      codes[t].codes[j] = levels.code(place.passed + place.i);
      set |= std::uint32_t{codes[t].codes[j] != 0} << j;
    }
    if (set != 0) block.set_bits(&mask.words[first / 32], set << first % 32);
  });
}

}  // namespace thinpipe::cuda
