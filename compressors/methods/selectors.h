// The selectors and position codecs that methods bring along, with their options. Each is defined
// with its method; sidco.h has SIDCo's.
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

/// The k = target_count(ratio) largest magnitudes.
std::unique_ptr<Selector> make_top_k_selector(std::size_t elements, const RatioSchedule& ratio);

// DGC: hierarchical selection by a sampled threshold (Deep Gradient Compression, section 5).

struct DgcOptions {
  RatioSchedule ratio = {};
  double sample = 0.01;  ///< share of the elements that is sampled
  Sampling sampling = Sampling::kUniform;
  std::uint64_t seed = 1;  ///< of the sample; every step draws another
};

/// The top ceil(sample * ratio * d) of the sample give a threshold. More than 1.3 k above it: the
/// exact top k of these. Fewer than 0.8 k: the threshold times 0.8 and again, at most 10 times.
std::unique_ptr<Selector> make_dgc_selector(std::size_t elements, const DgcOptions& options);

// GaussianK: the threshold of a normal distribution, corrected by a few counts.

struct GaussianKOptions {
  RatioSchedule ratio = {};
  bool oktopk = false;  ///< small steps, as Ok-Topk takes them
};

/// How a threshold t is corrected that z elements exceed.
struct GaussianKSteps {
  int rounds;      ///< counts at most
  unsigned parts;  ///< of which k is made here
  unsigned few;    ///< z is less than so many parts of k: t is divided by `lower`
  unsigned many;   ///< z is more than so many: t is multiplied by `raise`
  double lower;
  double raise;
  double reach;  ///< what exceeds so much of the first threshold is compacted first
};
constexpr GaussianKSteps kGaussianKSteps{
    .rounds = 3, .parts = 3, .few = 2, .many = 4, .lower = 2, .raise = 1.5, .reach = 1};
/// 1.02^-19 = 0.686: no threshold is lower.
constexpr GaussianKSteps kOkTopKSteps{
    .rounds = 20, .parts = 4, .few = 3, .many = 5, .lower = 1.02, .raise = 1.02, .reach = 0.68};

/// t = mean + |quantile(ratio / 2)| * deviation of the signed elements; z magnitudes exceed it.
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
  std::uint64_t seed = 1;  ///< of the choice among those in between
};

/// With m the mean and M the greatest magnitude, N rounds halve the bracket of q in [0, 1] for
/// thresholds m + q (M - m): `upper` is the lowest that at most k magnitudes reach, `lower` the
/// highest that more than k reach (0 if none did). All that reach `upper` are sent, and of the
/// others that reach `lower`, in order of position, as many neighbours as are missing from a random
/// start (Shi et al., MLSys 2021, alg. 1). Always exactly k.
std::unique_ptr<Selector> make_mstopk_selector(std::size_t elements, const MsTopKOptions& options);

// RedSync: thresholds between the mean and the greatest magnitude.

struct RedSyncOptions {
  RatioSchedule ratio = {};
  bool trim = false;  ///< lower the threshold in steps until at least k exceed it
};

/// With m the mean and M the greatest magnitude, thresholds are t(q) = m + q (M - m), and z of the
/// elements exceed the one that is probed (Fang et al., RedSync, 2019):
/// * bisection: lo = 0, hi = 1; while hi - lo > 0.2: q = (lo + hi) / 2; stop where k < z < 2k; else
///   hi = q where z < k / 2, and lo = q otherwise;
/// * trim: q = 0.8, 0.6, 0.4, ... (below 0 as well) until z >= k, at most 32 of them.
/// All elements above the last threshold probed are sent, however many they are.
std::unique_ptr<Selector> make_redsync_selector(std::size_t elements,
                                                const RedSyncOptions& options);

// Sparse Binary Compression: one side of the distribution.

struct SbcOptions {
  RatioSchedule ratio = {};
  double sample = 0;       ///< share of the elements that is sampled; 0: exact
  std::uint64_t seed = 1;  ///< of the sample; every step draws another
};

/// The k largest or the k smallest elements (signed), whichever have the greater mean magnitude,
/// the largest when both are equal (SBC alg. 2); k = target_count(ratio). With a sample (section
/// III, as DGC): what exceeds the ceil(sample * ratio * d)-th largest of it, or what is under the
/// as many smallest, however many these are.
std::unique_ptr<Selector> make_sbc_selector(std::size_t elements, const SbcOptions& options);

// A fixed threshold, and one that a sample estimates.

/// Every |c| > tau. It aims at no count.
std::unique_ptr<Selector> make_threshold_selector(std::size_t elements, double tau);

struct SampledThresholdOptions {
  RatioSchedule ratio = {};
  double sample = 0.001;   ///< share of the elements that is sampled, uniformly
  std::uint64_t seed = 1;  ///< of the sample; every step draws another
};

/// Every |c| above the ceil(sample * ratio * d)-th largest of the sample (Aji and Heafield, 2017,
/// section 3). However many these are.
std::unique_ptr<Selector> make_sampled_threshold_selector(std::size_t elements,
                                                          const SampledThresholdOptions& options);

// Selections that send what is unambiguous over the batch, and Strom's fixed steps.

struct VarianceOptions {
  float alpha = 1;      ///< how unambiguous an element must be: r^2 > alpha v
  float zeta = 0.999F;  ///< decay of v in every step
  std::string tensor;   ///< its name, for errors
};

/// Variance-based compression (Tsuzuku et al., fig. 1), with r the residual and gradient added up
/// and v its own sum of the second moments: v += q; send r where r^2 > alpha v, v = 0 there;
/// elsewhere v = zeta v. Goes with a memory that clears r where something was sent.
/// select() @throws InputError when there are no second moments.
std::unique_ptr<Selector> make_variance_selector(std::size_t elements,
                                                 const VarianceOptions& options);

/// The same with |r| > tau as a second condition; S = tau with the sign of r is sent and
/// v = max(v - 2 S r + S^2, 0) where it was (Tsuzuku et al., fig. 2). Goes with a residual.
std::unique_ptr<Selector> make_hybrid_selector(std::size_t elements, float tau,
                                               const VarianceOptions& options);

/// tau with the sign of c where |c| > tau (Strom, 2015). Goes with a residual.
std::unique_ptr<Selector> make_strom_selector(std::size_t elements, float tau);

/// Options from the methods' parameters. @throws InputError where a shared parameter would leave
/// out or change second moments.
VarianceOptions variance_options(const Parameters& parameters, const TensorInfo& tensor);

// Distinct random positions that sender and receiver draw alike.

/// A set of distinct positions in [0, elements) that follows from a seed, a step tag and the size
/// of the set alone: draws into a bitmap, again where a position was drawn before; of more than
/// half of the elements the others are drawn. Holds the last set that was drawn.
class SeededPositions {
 public:
  SeededPositions(std::size_t elements, std::uint64_t seed);

  /// Draws `count` <= elements positions, the same on any number of threads.
  void draw(std::uint32_t tag, std::size_t count);
  std::uint32_t tag() const { return tag_; }
  std::size_t count() const { return count_; }

  /// Fills `positions` with those of the set from `first` on, ascending; as many must be left.
  void read(std::uint64_t first, std::span<std::uint32_t> positions) const;
  /// How many of the set are less than `position`, which may be `elements`.
  std::size_t rank(std::uint64_t position) const;

 private:
  /// Sets the next numbers' bits in words [begin, end). @returns how many were not set yet.
  std::size_t set_drawn(SplitMix64 random, std::size_t numbers, std::size_t begin, std::size_t end);

  std::uint64_t seed_;
  std::size_t elements_;
  Buffer<std::uint64_t> bitmap_;
  std::uint32_t tag_ = 0;
  std::size_t count_ = 0;  ///< with a count of 0 nothing was drawn, whatever the bitmap holds
};

/// Writes the tag only; the positions must be the set that was drawn last. Decoding draws: one
/// cursor at a time.
std::unique_ptr<PositionCodec> make_seeded_codec(std::shared_ptr<SeededPositions> positions);

/// Random elements, the same for all workers: k = target_count(ratio) positions drawn for the step
/// (its low 32 bits). With `unbiased` values are multiplied by d / k, so that the expectation over
/// steps is c.
std::unique_ptr<Selector> make_random_k_selector(std::size_t elements, const RatioSchedule& ratio,
                                                 bool unbiased,
                                                 std::shared_ptr<SeededPositions> positions);

// The k largest magnitudes of every chunk (SparseLoCo section 3; DeMo section 3).

/// Consecutive chunks of a tensor, the last of which may be shorter.
struct Chunks {
  std::size_t size = 4096;  ///< a power of two, 1 to 65536
  std::size_t k = 64;       ///< elements of each; all of a chunk that has fewer

  std::size_t count(std::size_t elements) const { return (elements + size - 1) / size; }
  /// Elements chosen of a tensor of that many.
  std::size_t selected(std::size_t elements) const {
    const std::size_t tail = elements % size;
    return elements / size * std::min(k, size) + std::min(k, tail);
  }
  int position_bits() const { return std::bit_width(size) - 1; }
};

/// SparseLoCo's parameters.
Chunks chunks_of(const Parameters& parameters);

/// Ties go to the lowest position.
std::unique_ptr<Selector> make_chunked_top_k_selector(std::size_t elements, const Chunks& chunks);

/// Positions within their chunks, log2(size) bits each. Where a value codec dropped some, every
/// chunk's positions follow their number.
std::unique_ptr<PositionCodec> make_chunked_codec(const Chunks& chunks);

}  // namespace thinpipe
