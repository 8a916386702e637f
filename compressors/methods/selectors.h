// The selectors and position codecs of the methods, with their options. Each is defined with its
// method; sidco.h has SIDCo's.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/splitmix64.h"
#include "compressors/encode/position_codec.h"
#include "compressors/kernels/buffer.h"
#include "compressors/registry.h"
#include "compressors/select/selector.h"
#include "compressors/select/top_k.h"

namespace thinpipe {

/// Makes a selector of the k = target_count(ratio) largest magnitudes.
std::unique_ptr<Selector> make_top_k_selector(std::size_t elements, const RatioSchedule& ratio);

// DGC: hierarchical selection by a sampled threshold (Deep Gradient Compression, section 5).

struct DgcOptions {
  RatioSchedule ratio = {};
  double sample = 0.01;  ///< fraction of the elements that is sampled
  Sampling sampling = Sampling::kUniform;
  std::uint64_t seed = 1;  ///< of the sample; every step draws another
};

/// Makes the selector of DGC. The threshold is the ceil(sample * ratio * d)-th largest magnitude of
/// the sample. If fewer than 0.8 k elements exceed it, the threshold is multiplied by 0.8, at most
/// 10 times. If more than 1.3 k elements exceed it, the exact top k of these are chosen.
std::unique_ptr<Selector> make_dgc_selector(std::size_t elements, const DgcOptions& options);

// GaussianK: the threshold of a normal distribution, corrected by a few counts.

struct GaussianKOptions {
  RatioSchedule ratio = {};
  bool oktopk = false;  ///< Ok-Topk's small steps
};

/// Corrections of a threshold t that z elements exceed.
struct GaussianKSteps {
  int rounds;      ///< greatest number of counts
  unsigned parts;  ///< unit of `few` and `many`: k / parts
  unsigned few;    ///< where z is less than so many units, t is divided by `lower`
  unsigned many;   ///< where z is more than so many units, t is multiplied by `raise`
  double lower;
  double raise;
  double reach;  ///< elements above reach times the first threshold are compacted first
};
constexpr GaussianKSteps kGaussianKSteps{
    .rounds = 3, .parts = 3, .few = 2, .many = 4, .lower = 2, .raise = 1.5, .reach = 1};
/// The lowest threshold is 1.02^-19 = 0.686 of the first.
constexpr GaussianKSteps kOkTopKSteps{
    .rounds = 20, .parts = 4, .few = 3, .many = 5, .lower = 1.02, .raise = 1.02, .reach = 0.68};

/// Makes GaussianK's selector: t = mean + |quantile(ratio / 2)| * deviation of the signed elements;
/// z magnitudes exceed it.
/// * Shi et al., 2019: z < 2k/3 halves t, z > 4k/3 makes it 1.5 t; at most 3 counts;
/// * `oktopk` (Li and Hoefler, 2022): z < 3k/4 divides t by 1.02, z > 5k/4 multiplies it; at most
///   20 counts.
/// All elements above the last threshold counted are sent, however many they are.
std::unique_ptr<Selector> make_gaussiank_selector(std::size_t elements,
                                                  const GaussianKOptions& options);

// MSTopK: bisection of the threshold, then exactly k elements.

struct MsTopKOptions {
  RatioSchedule ratio = {};
  int rounds = 25;         ///< N, of the bisection
  std::uint64_t seed = 1;  ///< of the choice between the two thresholds
};

/// Makes MSTopK's selector (Shi et al., MLSys 2021, alg. 1). With m the mean and M the greatest
/// magnitude, N rounds of bisection halve the bracket of q in [0, 1] for thresholds m + q (M - m).
/// `upper` is the lowest probed threshold that at most k magnitudes reach, and `lower` is the
/// highest that more than k reach (0 if there is none). All elements that reach `upper` are sent.
/// To reach exactly k elements, the selector adds elements between `lower` and `upper`: consecutive
/// ones in order of position, from a random start.
std::unique_ptr<Selector> make_mstopk_selector(std::size_t elements, const MsTopKOptions& options);

// RedSync: thresholds between the mean and the greatest magnitude.

struct RedSyncOptions {
  RatioSchedule ratio = {};
  bool trim = false;  ///< lower the threshold in steps until at least k exceed it
};

/// Makes RedSync's selector (Fang et al., RedSync, 2019). With m the mean and M the greatest
/// magnitude, thresholds are t(q) = m + q (M - m), and z elements exceed the probed one:
/// * bisection: lo = 0, hi = 1; while hi - lo > 0.2: q = (lo + hi) / 2; stop where k < z < 2k; else
///   hi = q where z < k / 2, and lo = q otherwise;
/// * trim: q = 0.8, 0.6, 0.4, ... (below 0 as well) until z >= k, at most 32 of them.
/// All elements above the last threshold probed are sent, however many they are.
std::unique_ptr<Selector> make_redsync_selector(std::size_t elements,
                                                const RedSyncOptions& options);

// Sparse Binary Compression: one side of the distribution.

struct SbcOptions {
  RatioSchedule ratio = {};
  double sample = 0;       ///< fraction of the elements that is sampled; 0: exact
  std::uint64_t seed = 1;  ///< of the sample; every step draws another
};

/// Makes SBC's selector (SBC alg. 2). It selects the k largest or the k smallest elements (signed),
/// whichever have the greater mean magnitude; if both are equal, the largest. k =
/// target_count(ratio). With a sample (section III, as DGC), let j = ceil(sample * ratio * d). It
/// then selects all elements above the j-th largest of the sample, or all below the j-th smallest,
/// however many these are.
std::unique_ptr<Selector> make_sbc_selector(std::size_t elements, const SbcOptions& options);

// A fixed threshold, and one that a sample estimates.

/// Makes a selector of every |c| > tau, which has no target count.
std::unique_ptr<Selector> make_threshold_selector(std::size_t elements, double tau);

struct SampledThresholdOptions {
  RatioSchedule ratio = {};
  double sample = 0.001;   ///< fraction of the elements that is sampled, uniformly
  std::uint64_t seed = 1;  ///< of the sample; every step draws another
};

/// Makes a selector of every |c| above the ceil(sample * ratio * d)-th largest of the sample (Aji
/// and Heafield, 2017, section 3), however many these are.
std::unique_ptr<Selector> make_sampled_threshold_selector(std::size_t elements,
                                                          const SampledThresholdOptions& options);

// Selections of elements that are unambiguous over the batch, and Strom's fixed steps.

struct VarianceOptions {
  float alpha = 1;      ///< how unambiguous an element must be: r^2 > alpha v
  float zeta = 0.999F;  ///< decay of v in every step
};

/// Makes the selector of variance-based compression (Tsuzuku et al., fig. 1). r is the sum of
/// residual and gradient, q the second moments of the step, and v the accumulated second moments.
/// Every step sets v += q for every element. If then r^2 > alpha v, the element is sent and its v
/// becomes 0; otherwise v = zeta v. Combine this selector with a memory that clears r where it was
/// sent.
/// select() reads second moments of all elements (Selector::needs_squares).
std::unique_ptr<Selector> make_variance_selector(std::size_t elements,
                                                 const VarianceOptions& options);

/// Reads options from the methods' parameters. @throws InputError where a shared parameter would
/// omit or change second moments.
VarianceOptions variance_options(const Parameters& parameters);

// Distinct random positions that sender and receivers draw alike.

/// A set of distinct positions in [0, elements), which depends only on a seed, a step tag and the
/// size of the set. Random positions are drawn and marked in a bitmap; for a position that was
/// already marked, another is drawn. For more than half of the elements, the complement of the set
/// is drawn instead. The object holds the last set drawn.
class SeededPositions {
 public:
  SeededPositions(std::size_t elements, std::uint64_t seed);

  /// Draws `count` <= elements positions, the same on any number of threads.
  void draw(std::uint32_t tag, std::size_t count);
  std::uint32_t tag() const { return tag_; }
  std::size_t count() const { return count_; }

  /// Fills `positions` with the positions of the set from `first` on, ascending; the set must have
  /// as many.
  void read(std::uint64_t first, std::span<std::uint32_t> positions) const;
  /// Returns how many positions of the set are less than `position`, which may be `elements`.
  std::size_t rank(std::uint64_t position) const;

 private:
  /// Draws `numbers` positions and sets their bits in the bitmap, but only in the words [begin,
  /// end).
  /// @returns how many of these bits were not set before.
  std::size_t set_drawn(SplitMix64 random, std::size_t numbers, std::size_t begin, std::size_t end);

  std::uint64_t seed_;
  std::size_t elements_;
  Buffer<std::uint64_t> bitmap_;
  std::uint32_t tag_ = 0;
  std::size_t count_ = 0;  ///< 0: no set was drawn, whatever the bitmap holds
};

/// Makes a codec for positions that both ends can draw themselves. The codec writes only the tag of
/// the step, from which `positions` draws the set. The positions to be encoded must be the set
/// drawn last. Decoding draws a set into `positions` again, so only one PositionCursor may be in
/// use at a time.
std::unique_ptr<PositionCodec> make_seeded_codec(std::shared_ptr<SeededPositions> positions);

/// Makes a selector of random elements, the same for all workers: k = target_count(ratio) positions
/// drawn for the step (its low 32 bits). With `unbiased` values are multiplied by d / k, so that
/// the expectation over steps is c.
std::unique_ptr<Selector> make_random_k_selector(std::size_t elements, const RatioSchedule& ratio,
                                                 bool unbiased,
                                                 std::shared_ptr<SeededPositions> positions);

// The k largest magnitudes of every chunk (SparseLoCo section 3; DeMo section 3).

/// Consecutive chunks of a tensor; the last may be shorter.
struct Chunks {
  std::size_t size = 4096;  ///< a power of two, 1 to 65536
  std::size_t k = 64;       ///< elements sent per chunk; all of a chunk that has fewer

  std::size_t count(std::size_t elements) const { return (elements + size - 1) / size; }
  /// Returns the number of elements chosen of a tensor.
  std::size_t selected(std::size_t elements) const {
    const std::size_t tail = elements % size;
    return elements / size * std::min(k, size) + std::min(k, tail);
  }
  int position_bits() const { return std::bit_width(size) - 1; }
};

/// Reads SparseLoCo's parameters.
Chunks chunks_of(const Parameters& parameters);

/// Chooses the largest magnitudes of one chunk after another. The search begins at the limit of the
/// chunk before, which saves time and does not change the choice.
class ChunkTopK {
 public:
  explicit ChunkTopK(const Chunks& chunks);

  /// Appends the k largest magnitudes of a chunk to `selection`, all of them if it has fewer.
  /// `first` is the index of the chunk's first element. Ties go to the lowest position.
  /// @returns the key of the least
  std::int32_t append(std::span<const float> chunk, std::size_t first, Selection& selection);

 private:
  std::size_t k_;
  TopK top_k_;
  Selection candidates_;
  std::int32_t limit_ = 1;  ///< that at least k elements of the last chunk reached
};

/// Makes a selector of the k largest magnitudes of every chunk. Ties go to the lowest position.
std::unique_ptr<Selector> make_chunked_top_k_selector(std::size_t elements, const Chunks& chunks);

/// Makes a codec of positions within their chunks, log2(size) bits each. If a value codec dropped
/// elements, the number of positions in a chunk is written before them.
std::unique_ptr<PositionCodec> make_chunked_codec(const Chunks& chunks);

}  // namespace thinpipe
