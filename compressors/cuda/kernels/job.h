// Tensors and payloads as kernels see them. All pointers are device pointers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/both.h"
#include "compressors/cuda/kernels/payload.h"
#include "compressors/cuda/kernels/prefix.h"
#include "compressors/encode/value_codes.h"
#include "compressors/kernels/random.h"

namespace thinpipe::cuda {

/// Division of a tensor into consecutive chunks of 2^bits elements; the last one may have fewer.
struct ChunkLayout {
  std::uint32_t n = 0;     ///< elements of the tensor
  std::uint32_t bits = 0;  ///< of a position in a chunk
  std::uint32_t k = 0;     ///< elements selected per chunk; all of a smaller chunk

  THINPIPE_BOTH std::uint32_t size() const { return std::uint32_t{1} << bits; }
  THINPIPE_BOTH std::uint32_t chunks() const { return n == 0 ? 0 : ((n - 1) >> bits) + 1; }
  /// Returns the number of elements chosen from a chunk of `elements` elements.
  THINPIPE_BOTH std::uint32_t most_of(std::uint32_t elements) const {
    return k < elements ? k : elements;
  }
  /// Returns the number of elements chosen from chunk `chunk`.
  THINPIPE_BOTH std::uint32_t most_at(std::uint32_t chunk) const {
    const std::uint32_t left = n - (chunk << bits);
    return most_of(left < size() ? left : size());
  }
  /// Returns the number of elements chosen from all chunks.
  THINPIPE_BOTH std::uint32_t selected() const {
    return (n >> bits) * most_of(size()) + most_of(n & (size() - 1));
  }
};

/// Chosen elements, by ascending position.
struct Chosen {
  std::uint32_t* positions = nullptr;
  float* values = nullptr;
};

/// Results that one kernel leaves for the next, for one tensor. One thread of the last block writes
/// them.
struct Findings {
  std::uint32_t limit = 0;  ///< magnitude keys of at least this limit are kept
  std::uint32_t ties = 0;   ///< number of keys equal to `limit` that are kept; kAllTies: all
  double threshold = 0;     ///< from which the limit was computed
  double mean = 0;          ///< of magnitudes (RedSync)
  double range = 0;         ///< maximum magnitude less the mean
  double low = 0;           ///< MSTopK's bisection: its bounds, as fractions of the range
  double high = 0;
  std::uint32_t lower = 0;        ///< limit of the lower bound
  std::uint32_t upper = 0;        ///< limit of the upper bound
  std::uint32_t lower_count = 0;  ///< elements that reach the lower limit
  std::uint32_t upper_count = 0;  ///< elements that reach the upper limit
  std::uint32_t first_tie = 0;    ///< index of the first tie that is kept
  bool settled = false;           ///< the threshold needs no more counts
  std::uint32_t counts[2] = {};   ///< elements kept by the last two choices, by place_of()
  std::uint32_t encoded = 0;      ///< bytes of the payload
  float scale = 0;                ///< of quantised values
  float negative = 0;             ///< decoded value of negative signs, if they have their own

  // Totals over a kernel's blocks, all 0 between kernels.
  std::uint32_t arrived = 0;  ///< blocks that have finished
  std::uint32_t most = 0;     ///< maximum magnitude key
  std::uint32_t tail = 0;     ///< elements of at least the limit

  // State of a search for the k-th greatest key.
  std::uint32_t rank = 0;   ///< k, less the number of keys with greater upper bits
  std::uint32_t known = 0;  ///< upper bits of the k-th key
};
constexpr std::uint32_t kAllTies = 0xffffffff;

struct SignLane;

/// One tensor in one step.
struct Job {
  std::uint32_t n = 0;              ///< elements
  std::uint32_t target = 0;         ///< k
  std::uint32_t sampled = 0;        ///< elements of the sample
  std::uint64_t sample_seed = 0;    ///< of the sample's positions
  std::uint32_t* sample = nullptr;  ///< keys of the sample; null if only one kernel uses them
  std::uint32_t sample_rank = 0;    ///< rank of the smallest sampled key to keep; 0: keep all
  double factor = 0;                ///< constant of the selector: for SIDCo, ln(1 / delta)
  double delta = 1;                 ///< SIDCo's delta
  double later_factor = 0;          ///< factor of stages after the first
  std::uint32_t fits = 1;           ///< number of fits; kernels of later fits skip the tensor
  std::uint32_t choices = 1;        ///< number of choices; kernels of later choices skip the tensor
  bool may_lower = false;           ///< a threshold that too few elements exceed (DGC)
  std::uint32_t place = 0;          ///< index in Findings::counts of the last choice
  std::uint32_t sent = 0;           ///< index in Findings::counts of the elements that are sent
  const float* q = nullptr;         ///< second moments of the step (variance)
  float* v = nullptr;               ///< sum of the second moments; null: none
  float* corrected = nullptr;       ///< new v of sent elements; null: 0
  float alpha = 1;                  ///< factor of the variance that an element must exceed
  float zeta = 1;                   ///< decay of v
  ValueSize values = {};            ///< of the payload's values
  std::uint32_t tag = 0;            ///< step for which numbers are drawn (random-k, PowerSGD)
  std::uint32_t* drawn = nullptr;   ///< drawn positions, one bit per element
  ChunkLayout chunks = {};          ///< for selection by chunks
  const std::uint32_t* densities = nullptr;  ///< [b]: maximum count with Golomb parameter b
  Int2Levels* levels = nullptr;              ///< of each group of values (int2)
  float* decoded = nullptr;                  ///< output for the decoded values; null: not needed
  std::uint32_t first = 0;                   ///< if a bucket: its first element in the tensor
  std::uint32_t at = 0;                      ///< if a bucket: the byte at which its codes begin
  std::uint32_t capacity = 0;                ///< bytes allocated for the payload
  const float* g = nullptr;
  float* r = nullptr;   ///< memory, updated to decay r + scale g; null: c is g
  float* u = nullptr;   ///< velocity (momentum correction); null: none
  float* h = nullptr;   ///< receivers' estimate (EF21), subtracted from the sum; null: none
  bool keeps = false;   ///< r stores the residual; otherwise r only holds this step's sum
  bool anew = false;    ///< the sum starts from 0 instead of r
  bool holds = false;   ///< the step accumulates without an exchange
  bool summed = false;  ///< r already contains this step's gradient
  bool clears = false;  ///< sent elements become 0, whatever they decode to
  float decay = 1;
  float scale = 1;  ///< set on the device only, if gradients are clipped
  float momentum = 0;
  bool nesterov = false;
  bool masking = false;
  Chosen chosen = {};                    ///< n elements
  Chosen staged = {};                    ///< n elements, which the passes use (choose.h)
  std::uint32_t parts = 0;               ///< into which the tensor is divided for grids of parts
  Counts* part_counts = nullptr;         ///< one more than there are parts
  double* block_sums = nullptr;          ///< at least kSumDoubles per tile that is added up
  PrefixState* states[2] = {};           ///< one per tile; all 0 between steps
  std::uint32_t* histogram = nullptr;    ///< kBins counters; all 0 between kernels
  const float* mean = nullptr;           ///< mean over workers of the last round (PowerSGD)
  float shared_scale = 0;                ///< maximum over all workers; 0: use the own scale
  RandomKey key = {};                    ///< of this step's stochastic rounding
  std::uint32_t columns = 0;             ///< of a matrix with means per column
  SignLane* lanes = nullptr;             ///< sums of the columns
  const std::uint32_t* signs = nullptr;  ///< sign bits of the rotation of blocks: 0 or 2^31
  std::uint8_t* packed = nullptr;        ///< codes of equal length, before they are recoded
  std::uint32_t* payload = nullptr;      ///< aligned, with a word after the payload
  Findings* findings = nullptr;

  /// Returns c, after the memory's update.
  THINPIPE_BOTH const float* c() const { return r == nullptr ? g : r; }
  /// Returns whether sent elements change the memory.
  THINPIPE_BOTH bool minds_sent() const { return keeps || h != nullptr; }
};

/// Returns the index (0 or 1) in Findings::counts at which selection pass number `choice`, counted
/// from 1, writes its count.
THINPIPE_BOTH constexpr std::uint32_t place_of(std::uint32_t choice) { return choice % 2; }

/// A range of a tensor's elements that one thread block works on.
struct Tile {
  std::uint32_t job = 0;
  std::uint32_t index = 0;  ///< of the tile in the tensor
};

/// One of the Job::parts parts of a tensor that one thread block works on. Another type than Tile,
/// so that a kernel for parts cannot be launched on tiles.
struct Part {
  std::uint32_t job = 0;
  std::uint32_t index = 0;  ///< of the part in the tensor
};

// The first members of kernels for many tensors, by their grid. Kernels that need shared memory
// declare a Shared of their own.
struct OnTiles {
  struct Shared {};

  const Job* jobs;
  const Tile* tiles;
};
struct OnParts {
  struct Shared {};

  const Job* jobs;
  const Part* parts;
};

/// Blocks per multiprocessor in grids of parts: as many as run at a time. Each block works on
/// several tiles, so that it loads a tensor's job once, and kernels of few elements start few
/// blocks.
constexpr std::uint32_t kBlocksPerProcessor = 3;

/// The consecutive tiles of one part of a tensor. If there are fewer tiles than parts, the last
/// parts are empty.
struct PartOfTiles {
  std::uint32_t parts;  ///< that are not empty
  std::uint32_t first;
  std::uint32_t last;  ///< the tile after the part

  /// @param tiles  of the tensor or of its chosen elements
  THINPIPE_BOTH PartOfTiles(const Job& job, std::uint32_t tiles, std::uint32_t index)
      : parts(job.parts < tiles ? job.parts : tiles), first(0), last(0) {
    if (index >= parts) return;
    const std::uint32_t each = tiles / parts, more = tiles % parts;
    first = each * index + (index < more ? index : more);
    last = first + each + (index < more ? 1 : 0);
  }
  THINPIPE_BOTH bool is_empty() const { return first >= last; }
};

/// Maximum doubles of a block's statistics.
constexpr std::size_t kSumDoubles = 4;

/// Counters for a digit of a key.
constexpr std::uint32_t kBins = 2048;
/// Elements per tile in passes that choose elements: eight per thread. A multiprocessor then has
/// registers for two blocks. One of them reads its tile while the other waits for the counts of
/// chosen elements of the tiles before its own.
constexpr std::uint32_t kTile = 4096;
/// Elements per tile in passes that add up: a block of kernels/moments.cc.
constexpr std::uint32_t kSumTile = 32768;

THINPIPE_BOTH constexpr std::uint32_t tiles_of(std::uint32_t n, std::uint32_t tile) {
  return n == 0 ? 1 : (n - 1) / tile + 1;
}

/// Calls body() in one thread of a block, and waits.
THINPIPE_KERNEL void once(auto& block, auto body) {
  block.each([&](int t) {
    if (t == 0) body();
  });
}
/// Calls body(i) for each i < n, in all threads of a block, and waits. Consecutive threads get
/// consecutive numbers.
template <class Block, class Body>
THINPIPE_KERNEL void each_of(Block& block, std::uint32_t n, Body body) {
  block.each([&](int t) {
    for (auto i = static_cast<std::uint32_t>(t); i < n; i += Block::kSize) body(i);
  });
}

/// Returns the first number from `low` on, and below `high`, for which test() is true. It must be
/// true for all later numbers, too. Returns `high` if there is none.
THINPIPE_KERNEL std::uint32_t first_where(std::uint32_t low, std::uint32_t high, auto test) {
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (test(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// Calls body(i) for each element i of a tile that thread t processes. A tile has kSize elements; n
/// is the number of elements of all tiles together. Consecutive threads get consecutive elements.
template <int kThreads, std::uint32_t kSize = kTile, class Number, class Body>
THINPIPE_KERNEL void each_in_tile(int t, std::uint32_t tile, Number n, Body body) {
  for (std::uint32_t j = 0; j < kSize; j += kThreads) {
    const std::uint32_t within = j + static_cast<std::uint32_t>(t);
    const Number i = Number{tile} * kSize + within;
    if (i >= n || (kSize % kThreads != 0 && within >= kSize)) return;
    body(i);
  }
}
/// As each_of(), for the elements of a tile.
template <std::uint32_t kSize = kTile, class Block, class Number, class Body>
THINPIPE_KERNEL void each_of_tile(Block& block, std::uint32_t tile, Number n, Body body) {
  block.each([&](int t) { each_in_tile<Block::kSize, kSize>(t, tile, n, body); });
}

struct Passed;

/// Launch grids of the decoding kernels. Every payload has its own number of blocks in each grid,
/// possibly 0. Each compression method decides which of its kernels use which grid.
enum class DecodeGrid : std::uint32_t { kPositions, kElements, kTiles, kParts, kEach };
constexpr std::size_t kPlannedGrids = 4;  ///< all but kEach, in which each payload has one block
constexpr std::size_t kDecodeGrids = kPlannedGrids + 1;

/// One payload and its output. All pointers are device pointers.
struct DecodeJob {
  PayloadView payload = {};
  std::uint32_t tensor = 0;  ///< index in the compressor
  float factor = 1;
  float* out = nullptr;
  std::uint32_t* problem = nullptr;  ///< 0 at first; set by kernels
  std::uint32_t* arrived = nullptr;  ///< 0 between kernels

  // Fields for methods, which set those that they need.
  Passed* passed = nullptr;              ///< workspace of DecodePlan::passed entries
  std::uint32_t* positions = nullptr;    ///< output array
  float* values = nullptr;               ///< output array
  std::uint32_t* begins = nullptr;       ///< of chunks or buckets
  PrefixState* states = nullptr;         ///< one per tile of kTile bytes; empty
  const std::uint32_t* signs = nullptr;  ///< Job::signs
  std::uint32_t columns = 0;             ///< Job::columns
  std::uint32_t part = 0;                ///< index in a method's own table
  std::uint32_t bits = 0;                ///< of codes of equal length (LevelView)
  std::uint32_t bucket = 0;              ///< SliceCut::bucket
  std::uint32_t* drawn = nullptr;        ///< Job::drawn
  std::uint64_t seed = 0;                ///< of drawn positions
  ChunkLayout chunks = {};               ///< Job::chunks

  std::uint32_t first_block[kDecodeGrids] = {};  ///< first block of this job, by grid
};

/// Adds a decoded value to element i of the output.
THINPIPE_KERNEL inline void add_decoded(const DecodeJob& job, std::size_t i, float value) {
  const float term = job.factor * value;
  job.out[i] = job.out[i] + term;
}

/// Reports a problem of a payload by a method's number; the maximum number is kept.
THINPIPE_KERNEL void tell(auto& block, const DecodeJob& job, auto found) {
  block.set_greatest(job.problem, static_cast<std::uint32_t>(found));
}
/// Reports the problem, if any, in all threads of a block. @returns whether there is one
template <class Block, class Problem>
THINPIPE_KERNEL bool tell_all(Block& block, const DecodeJob& job, Problem found) {
  if (found == Problem::kNone) return false;
  once(block, [&] { tell(block, job, found); });
  return true;
}

// Bit operations on rows of a warp's lanes.

THINPIPE_KERNEL inline std::uint32_t ones(std::uint32_t word) {
#ifdef __CUDACC__
  return static_cast<std::uint32_t>(__popc(word));
#else
  return static_cast<std::uint32_t>(std::popcount(word));
#endif
}
/// Returns the index of the highest 1 bit of a word, which must not be 0.
THINPIPE_KERNEL inline std::uint32_t highest(std::uint32_t word) {
#ifdef __CUDACC__
  return 31 - static_cast<std::uint32_t>(__clz(static_cast<int>(word)));
#else
  return 31 - static_cast<std::uint32_t>(std::countl_zero(word));
#endif
}
/// Returns the index of the lowest 1 bit of a word; 32 if the word is 0.
THINPIPE_KERNEL inline std::uint32_t lowest(std::uint32_t word) {
  return word == 0 ? 32 : highest(word & (0 - word));
}
/// Returns a mask of the lanes before thread t's lane.
THINPIPE_KERNEL inline std::uint32_t lanes_before(int t) {
  return (std::uint32_t{1} << t % 32) - 1;
}

/// A thread's values, one for each row of its warp.
template <class T, unsigned rows>
struct WarpRows {
  static constexpr unsigned kSize = rows;
  T words[rows];
};

/// Returns the position in the tensor of thread t's j-th element of a tile. Each warp has a
/// contiguous range of `rows` rows of 32 elements.
THINPIPE_KERNEL inline std::uint32_t row_position(std::uint32_t tile, int t, unsigned j,
                                                  unsigned rows) {
  const auto thread = static_cast<std::uint32_t>(t);
  return tile * kTile + thread / 32 * (32 * rows) + j * 32 + thread % 32;
}

}  // namespace thinpipe::cuda
