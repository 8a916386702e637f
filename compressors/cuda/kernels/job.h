// Kernels' view of the tensors they work on. Everything pointed to is the device's.
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

/// Elements chosen so far, by ascending position.
struct Chosen {
  std::uint32_t* positions = nullptr;
  float* values = nullptr;
};

/// One kernel's results for the next, for one tensor. One thread of the last block writes it.
struct Findings {
  std::uint32_t limit = 0;  ///< magnitude keys >= it are kept
  std::uint32_t ties = 0;   ///< how many keys equal to `limit` are kept; kAllTies: all
  double threshold = 0;     ///< that the limit comes from
  double mean = 0;          ///< of magnitudes (RedSync)
  double range = 0;         ///< from there to the greatest
  double low = 0;           ///< between these shares of it a bisection goes on (MSTopK)
  double high = 0;
  std::uint32_t lower = 0;        ///< limits there
  std::uint32_t upper = 0;        ///< likewise
  std::uint32_t lower_count = 0;  ///< how many reach them
  std::uint32_t upper_count = 0;
  std::uint32_t first_tie = 0;   ///< that is kept, of `ties`
  bool settled = false;          ///< the threshold needs no more counts
  std::uint32_t counts[2] = {};  ///< elements chosen into chosen[0] and chosen[1]
  std::uint32_t encoded = 0;     ///< bytes of the payload
  float scale = 0;               ///< of quantised values
  float negative = 0;            ///< what negative values decode to, where it is no scale

  // Totals of a kernel's blocks, all 0 between kernels.
  std::uint32_t arrived = 0;  ///< blocks that are done
  std::uint32_t most = 0;     ///< greatest magnitude key
  std::uint32_t tail = 0;     ///< elements of at least the limit

  // State of a search for the k-th greatest key.
  std::uint32_t rank = 0;   ///< k, less the keys whose upper bits are known to be greater
  std::uint32_t known = 0;  ///< upper bits of its key
};
constexpr std::uint32_t kAllTies = 0xffffffff;

struct SignLane;

/// One tensor in one step.
struct Job {
  std::uint32_t n = 0;              ///< elements
  std::uint32_t target = 0;         ///< k
  std::uint32_t sampled = 0;        ///< elements of a sample
  std::uint64_t sample_seed = 0;    ///< of the positions it is drawn from
  std::uint32_t* sample = nullptr;  ///< keys, as many; null where they do not leave a kernel
  std::uint32_t sample_rank = 0;    ///< of the sampled key that is the least to keep; 0: keep all
  double factor = 0;                ///< what the selector knows beforehand: SIDCo's ln(1 / delta)
  double share = 1;                 ///< delta itself, where it is needed (SIDCo)
  double later_factor = 0;          ///< of stages after the first
  std::uint32_t fits = 1;           ///< statistics that are made of it; later ones leave it alone
  std::uint32_t choices = 1;        ///< likewise
  bool may_lower = false;           ///< a threshold that too few exceed (DGC)
  std::uint32_t place = 0;          ///< the chosen[] that the last choice writes
  std::uint32_t sent = 0;           ///< the one that the payload is made of
  const float* q = nullptr;         ///< second moments of the step (variance)
  float* v = nullptr;               ///< their sum; null: none
  float* corrected = nullptr;       ///< what it becomes of what is sent; null: 0
  float alpha = 1;                  ///< how unambiguous an element must be
  float zeta = 1;                   ///< decay of v
  ValueSize values = {};            ///< of the payload's
  std::uint32_t tag = 0;            ///< of the step that positions are drawn for (random-k)
  std::uint32_t* drawn = nullptr;   ///< a bit an element: these positions
  ChunkLayout chunks = {};          ///< of a selection chunk by chunk
  const std::uint32_t* densities = nullptr;  ///< [b]: the most positions with Golomb parameter b
  Int2Levels* levels = nullptr;              ///< of each group of the values (int2)
  float* decoded = nullptr;  ///< takes what the chosen values decode to; null: nobody asks
  std::uint32_t first = 0;   ///< of a bucket: its first element in the tensor
  std::uint32_t at = 0;      ///< of a bucket: the byte where its codes begin
  std::uint32_t room = 0;    ///< bytes that the payload may have
  const float* g = nullptr;
  float* r = nullptr;   ///< memory; becomes decay r + scale g; null: c is g itself
  float* u = nullptr;   ///< velocity (momentum correction); null: none
  float* h = nullptr;   ///< what receivers have (EF21): c is the sum less it; null: none
  bool keeps = false;   ///< r takes what is not sent; else it is only where a sum is done
  bool anew = false;    ///< the sum begins with 0 in place of r
  bool holds = false;   ///< the sum is of a step without exchange
  bool summed = false;  ///< the sum has been done, whoever reads c first
  bool clears = false;  ///< what is sent becomes 0, whatever it decodes to
  float decay = 1;
  float scale = 1;  ///< on the device alone, where gradients are clipped
  float momentum = 0;
  bool nesterov = false;
  bool masking = false;
  Chosen chosen[2] = {};                 ///< n each: passes read the one and write the other
  double* block_sums = nullptr;          ///< kSumDoubles for each tile that is added up, and more
  PrefixState* states[2] = {};           ///< one for each tile; all 0 between steps
  std::uint32_t* histogram = nullptr;    ///< kBins; all 0 between kernels
  const float* mean = nullptr;           ///< over workers, of what the last round sent (PowerSGD)
  float shared_scale = 0;                ///< the greatest of all workers; 0: the own
  RandomKey key = {};                    ///< of this step's stochastic rounding
  std::uint32_t columns = 0;             ///< of a matrix whose columns are quantised by themselves
  SignLane* lanes = nullptr;             ///< sums of these
  const std::uint32_t* signs = nullptr;  ///< 0 or 2^31, of a rotation of blocks
  std::uint8_t* packed = nullptr;        ///< codes of equal length, before they are written anew
  std::uint32_t* payload = nullptr;      ///< aligned, with room for a word more than the payload
  Findings* findings = nullptr;

  // A choice, and no index: kernels keep a job in registers, which have none.
  THINPIPE_BOTH Chosen chosen_at(std::uint32_t i) const { return i == 0 ? chosen[0] : chosen[1]; }
  THINPIPE_BOTH PrefixState* states_at(std::uint32_t i) const {
    return i == 0 ? states[0] : states[1];
  }
  /// c, once its sum has been done.
  THINPIPE_BOTH const float* c() const { return r == nullptr ? g : r; }
  /// Whether anything becomes of what is sent, besides the payload.
  THINPIPE_BOTH bool minds_sent() const { return keeps || h != nullptr; }
};

/// Which of chosen[] and states[] a step's choice writes, the first being 1; the other one is read.
THINPIPE_BOTH constexpr std::uint32_t place_of(std::uint32_t choice) { return choice % 2; }

/// A stretch of a tensor that a block works on.
struct Tile {
  std::uint32_t job = 0;
  std::uint32_t index = 0;  ///< among the tensor's
};

/// The most that a statistic of a block takes.
constexpr std::size_t kSumDoubles = 4;

/// Counters of a digit of a key.
constexpr std::uint32_t kBins = 2048;
/// Elements of a tile in passes that choose elements: eight a thread, so that the registers of a
/// multiprocessor hold two blocks, of which one reads while the other waits for tiles before it.
constexpr std::uint32_t kTile = 4096;
/// Elements of a tile in passes that add up: a block of kernels/moments.cc.
constexpr std::uint32_t kSumTile = 32768;

THINPIPE_BOTH constexpr std::uint32_t tiles_of(std::uint32_t n, std::uint32_t tile) {
  return n == 0 ? 1 : (n - 1) / tile + 1;
}

}  // namespace thinpipe::cuda
