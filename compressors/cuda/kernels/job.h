// Tensors as kernels see them. All pointers are device pointers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/both.h"
#include "compressors/cuda/kernels/chunk_layout.h"
#include "compressors/cuda/kernels/payload_words.h"
#include "compressors/cuda/kernels/prefix.h"
#include "compressors/encode/value_codes.h"
#include "compressors/kernels/random.h"

namespace thinpipe::cuda {

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
  std::uint32_t tag = 0;            ///< step for which positions are drawn (random-k)
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
/// Elements per tile in passes that choose elements: eight per thread, so that a multiprocessor has
/// registers for two blocks, one of which reads while the other waits for earlier tiles.
constexpr std::uint32_t kTile = 4096;
/// Elements per tile in passes that add up: a block of kernels/moments.cc.
constexpr std::uint32_t kSumTile = 32768;

THINPIPE_BOTH constexpr std::uint32_t tiles_of(std::uint32_t n, std::uint32_t tile) {
  return n == 0 ? 1 : (n - 1) / tile + 1;
}

}  // namespace thinpipe::cuda
