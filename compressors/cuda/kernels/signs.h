// One bit per element, decoded to one value per sign (kernels/quantize.h).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "compressors/cuda/kernels/codes.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/kernels/quantize.h"

namespace thinpipe::cuda {

/// A thread's sums over one lane of a block's elements.
struct SignLane {
  float above = 0;              ///< sum of elements that are not negative, or of magnitudes
  float below = 0;              ///< sum of negative elements
  std::uint32_t negatives = 0;  ///< number of negative elements

  template <SignScale scale>
  THINPIPE_KERNEL void add(float x) {
    const bool negative = x < 0;
    negatives += negative ? 1 : 0;
    if constexpr (scale == SignScale::kMagnitude) {
      above += std::fabs(x);
    } else {
      // A 0 is added in place of elements of the other sign, so that a sum of -0 only is 0.
      above += negative ? 0.0F : x;
      below += negative ? x : 0.0F;
    }
  }
};

/// Adds up lanes in a tree, as SumLanes() in kernels/sign_bits.cc.
/// @param sum_at  sum_at(lane) returns the lane's sum
THINPIPE_KERNEL double sum_of_lanes(auto sum_at) {
  constexpr std::uint32_t kHalf = kSignLanes / 2;
  const auto joined = [&](std::uint32_t i) {
    return static_cast<double>(sum_at(i) + sum_at(i + kHalf));
  };
  const auto pair = [&](std::uint32_t i) { return joined(i) + joined(i + kHalf / 2); };
  return ((pair(0) + pair(4)) + (pair(2) + pair(6))) + ((pair(1) + pair(5)) + (pair(3) + pair(7)));
}

/// Adds the sums of a block's lanes.
template <SignScale scale>
THINPIPE_KERNEL void add_lanes(const SignLane* lanes, SignedSums& sums) {
  sums.positive += sum_of_lanes([&](std::uint32_t i) { return lanes[i].above; });
  if constexpr (scale == SignScale::kMeans)
    sums.negative += sum_of_lanes([&](std::uint32_t i) { return lanes[i].below; });
}
/// Adds an element after the last row of lanes.
template <SignScale scale>
THINPIPE_KERNEL void add_one(float x, SignedSums& sums) {
  if constexpr (scale == SignScale::kMagnitude) {
    sums.positive += static_cast<double>(std::fabs(x));
  } else {
    (x < 0 ? sums.negative : sums.positive) += static_cast<double>(x);
  }
}
/// Returns whether the sums must be repeated over finite values only, because sums of huge values
/// overflowed.
THINPIPE_KERNEL inline bool needs_repair(SignScale scale, const SignedSums& sums) {
  const double spread = sums.positive - sums.negative;
  return scale == SignScale::kMeans && !(spread - spread == 0);
}

/// One sign bit per element. A sign decodes to the mean of all elements of this sign, or to plus or
/// minus the mean magnitude. For buckets of at most two blocks (kSignBlock).
template <SignScale kScale>
struct SignCode {
  using Partial = SignLane;
  static constexpr bool kLooksFirst = true;
  static constexpr bool kMeans = kScale == SignScale::kMeans;
  static_assert(kMaxBucket == 2 * kSignBlock && kChains == 2 * kSignLanes);

  THINPIPE_BOTH static CodeLayout layout() { return {.header = kMeans ? 8 : 4, .bits = 1}; }

  THINPIPE_KERNEL static Partial chain(const float* x, std::uint32_t n, std::uint32_t which) {
    constexpr auto kLanes = static_cast<std::uint32_t>(kSignLanes);
    const std::uint32_t begin = which / kLanes * kSignBlock;
    const std::uint32_t end = n - begin < kSignBlock || n < begin ? n : begin + kSignBlock;
    Partial own;
    for (std::uint32_t i = begin + which % kLanes; i < end; i += kLanes) {
      if (i - which % kLanes + kLanes <= end) {
        own.add<kScale>(x[i]);
      } else {
        own.negatives += x[i] < 0 ? 1 : 0;
      }
    }
    return own;
  }
  THINPIPE_KERNEL static CodeValues values(const float* x, std::uint32_t n, bool whole,
                                           const Partial* partials) {
    SignedSums sums;
    for (std::uint32_t begin = 0; begin < n; begin += kSignBlock) {
      const std::uint32_t end = n - begin < kSignBlock ? n : begin + kSignBlock;
      // In a whole tensor, each block is added up separately.
      SignedSums own;
      if (!whole) own = sums;
      add_lanes<kScale>(partials + begin / kSignBlock * kSignLanes, own);
      for (std::uint32_t i = end - (end - begin) % kSignLanes; i < end; ++i)
        add_one<kScale>(x[i], own);
      sums.positive = whole ? sums.positive + own.positive : own.positive;
      sums.negative = whole ? sums.negative + own.negative : own.negative;
    }
    for (std::uint32_t i = 0; i < kChains; ++i) sums.negatives += partials[i].negatives;
    if (needs_repair(kScale, sums)) {
      sums.positive = sums.negative = 0;
      for (std::uint32_t begin = 0; begin < n; begin += kSignBlock) {
        const SignedSums own =
            finite_sums(x + begin, n - begin < kSignBlock ? n - begin : kSignBlock);
        sums.positive += own.positive;
        sums.negative += own.negative;
      }
    }
    const SignValues values = sign_values(kScale, sums, n);
    return {values.positive, values.negative};
  }
  THINPIPE_KERNEL static CodeValues values_of(const Job& job) {
    return {job.findings->scale, job.findings->negative};
  }
  THINPIPE_KERNEL static std::uint32_t encode(float x, const CodeValues& values, RandomKey /*key*/,
                                              std::uint32_t /*index*/, float& decoded,
                                              std::uint32_t& nonzero) {
    decoded = x < 0 ? values.second : values.first;
    nonzero += decoded != 0 ? 1 : 0;
    return x < 0 ? 1 : 0;
  }
  THINPIPE_KERNEL static bool good(const CodeValues& values) {
    const auto first = std::bit_cast<std::uint32_t>(values.first);
    if (!kMeans) return first < kInfinityBits;
    const auto second = std::bit_cast<std::uint32_t>(values.second);
    return (first & 0x7fffffff) < kInfinityBits && (second & 0x7fffffff) < kInfinityBits;
  }
  THINPIPE_KERNEL static CodeValues read(const CodeValues& values, float factor) {
    const float first = factor * values.first;
    return {first, kMeans ? factor * values.second : -first};
  }
  THINPIPE_KERNEL static float decode(std::uint32_t code, const CodeValues& values) {
    return code != 0 ? values.second : values.first;
  }
};

/// Signs that decode to plus or minus a given magnitude.
struct GivenSignCode {
  using Partial = std::uint32_t;
  static constexpr bool kLooksFirst = false;

  float magnitude;

  THINPIPE_BOTH static CodeLayout layout() { return {.header = 0, .bits = 1}; }

  THINPIPE_KERNEL static Partial chain(const float* /*x*/, std::uint32_t /*n*/,
                                       std::uint32_t /*which*/) {
    return 0;
  }
  THINPIPE_KERNEL CodeValues values(const float* /*x*/, std::uint32_t /*n*/, bool /*whole*/,
                                    const Partial* /*partials*/) const {
    return {magnitude, -magnitude};
  }
  THINPIPE_KERNEL CodeValues values_of(const Job& /*job*/) const { return {magnitude, -magnitude}; }
  THINPIPE_KERNEL static std::uint32_t encode(float x, const CodeValues& values, RandomKey key,
                                              std::uint32_t index, float& decoded,
                                              std::uint32_t& nonzero) {
    return SignCode<SignScale::kMagnitude>::encode(x, values, key, index, decoded, nonzero);
  }
  THINPIPE_KERNEL static bool good(const CodeValues& /*values*/) { return true; }
  THINPIPE_KERNEL CodeValues read(const CodeValues& /*values*/, float factor) const {
    return {factor * magnitude, -(factor * magnitude)};
  }
  THINPIPE_KERNEL static float decode(std::uint32_t code, const CodeValues& values) {
    return code != 0 ? values.second : values.first;
  }
};

// Sums of the positive and the negative elements of whole tensors, in the order of
// kernels/sign_bits.cc.

/// Blocks in a tile of kSumTile elements. A warp adds up a block.
constexpr std::uint32_t kSignBlocks = kSumTile / kSignBlock;

/// Returns the number of SignedSums in Job::block_sums: one per block, then one for each element
/// after the last full row of lanes. These last elements are added one by one.
constexpr std::size_t sign_sums_of(std::size_t n) { return n / kSignBlock + 1 + kSignLanes; }

/// Sets Findings::scale and Findings::negative to the values to which positive and negative signs
/// decode. If a tensor's sums are not finite, its scale becomes NaN. A second run with `repair`
/// corrects these tensors with sums over finite values only, and skips all other tensors. Grid: the
/// tiles of kSumTile elements.
template <SignScale kScale, bool repair>
struct AddSigns : OnTiles {
  static constexpr int kThreads = kSignBlocks * kSignLanes;
  static constexpr std::uint32_t kRows = kSignBlock / kSignLanes;
  /// Rows that a thread reads before it adds them up.
  static constexpr std::uint32_t kAtOnce = 4;

  struct Shared {
    SignLane lanes[kThreads];
    SignedSums parts[kSignParts];
    bool is_due;
  };

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    if constexpr (repair) {
      once(block, [&] { shared.is_due = job.findings->scale != job.findings->scale; });
      if (!shared.is_due) return;
    }
    auto* const sums = reinterpret_cast<SignedSums*>(job.block_sums);
    typename Block::template Local<std::uint32_t> negatives;
    block.each([&](std::uint32_t thread) {
      const auto lane = thread % static_cast<std::uint32_t>(kSignLanes);
      const std::uint32_t begin = begin_of(tile, thread / kSignLanes);
      if (begin >= job.n) return;
      const std::uint32_t n = size_of(job, begin);
      if constexpr (repair) {
        if (lane == 0) sums[begin / kSignBlock] = finite_sums(job.c() + begin, n);
      } else {
        shared.lanes[thread] = lane_of(job, begin, n / kSignLanes, lane);
        SignLane& own = shared.lanes[thread];
        const std::uint32_t left = n / kSignLanes * kSignLanes + lane;
        if (left < n) {
          SignedSums one;
          const float x = element<Reading::kSum>(job, begin + left);
          add_one<kScale>(x, one);
          own.negatives += x < 0 ? 1 : 0;
          ends(job, sums)[lane] = one;
        }
        negatives[thread] = own.negatives;
      }
    });
    if constexpr (!repair) {
      const std::uint32_t count = block.sum(negatives);
      block.each([&](std::uint32_t at) {
        if (at == 0) block.add(&job.findings->tail, count);
        if (at >= kSignBlocks || begin_of(tile, at) >= job.n) return;
        SignedSums own;
        add_lanes<kScale>(shared.lanes + at * kSignLanes, own);
        sums[begin_of(tile, at) / kSignBlock] = own;
      });
    }
    if (block.is_last(&job.findings->arrived, tiles_of(job.n, kSumTile)))
      finish(block, shared, job, sums);
  }

 private:
  THINPIPE_KERNEL static std::uint32_t begin_of(const Tile& tile, std::uint32_t block) {
    return tile.index * kSumTile + block * static_cast<std::uint32_t>(kSignBlock);
  }
  THINPIPE_KERNEL static std::uint32_t size_of(const Job& job, std::uint32_t begin) {
    return job.n - begin < kSignBlock ? job.n - begin : static_cast<std::uint32_t>(kSignBlock);
  }
  THINPIPE_KERNEL static SignedSums* ends(const Job& job, SignedSums* sums) {
    return sums + job.n / kSignBlock + 1;
  }
  THINPIPE_KERNEL static SignLane lane_of(const Job& job, std::uint32_t begin, std::uint32_t rows,
                                          std::uint32_t lane) {
    constexpr auto kLanes = static_cast<std::uint32_t>(kSignLanes);
    SignLane own;
    std::uint32_t at = begin + lane;
    std::uint32_t row = 0;
    for (; row + kAtOnce <= rows; row += kAtOnce, at += kAtOnce * kLanes) {
      Fetched read[kAtOnce];
      for (std::uint32_t j = 0; j < kAtOnce; ++j)
        read[j] = fetch<Reading::kSum>(job, at + j * kLanes);
      for (std::uint32_t j = 0; j < kAtOnce; ++j)
        own.add<kScale>(settle<Reading::kSum>(job, at + j * kLanes, read[j]));
    }
    for (; row < rows; ++row, at += kLanes) own.add<kScale>(element<Reading::kSum>(job, at));
    return own;
  }

  THINPIPE_KERNEL void finish(auto& block, Shared& shared, const Job& job, SignedSums* sums) const {
    const std::uint64_t count = (std::uint64_t{job.n} + kSignBlock - 1) / kSignBlock;
    each_of(block, kSignParts, [&](std::uint64_t part) {
      SignedSums own;
      for (std::uint64_t i = count * part / kSignParts; i < count * (part + 1) / kSignParts; ++i)
        join(own, sums[i]);
      if constexpr (!repair) {
        // The part with the last block also adds the elements after it.
        if (count * part / kSignParts < count && count * (part + 1) / kSignParts == count)
          for (std::uint32_t j = 0; j < job.n % kSignLanes; ++j) join(own, ends(job, sums)[j]);
      }
      shared.parts[part] = own;
    });
    once(block, [&] {
      SignedSums all;
      for (const SignedSums& part : shared.parts) join(all, part);
      Findings& findings = *job.findings;
      all.negatives = findings.tail;
      const bool good = repair || job.n == 0 || !needs_repair(kScale, all);
      const SignValues values = job.n == 0 ? SignValues{} : sign_values(kScale, all, job.n);
      findings.scale = good ? values.positive : std::numeric_limits<float>::quiet_NaN();
      findings.negative = values.negative;
      if (good) findings.tail = 0;
    });
  }
  THINPIPE_KERNEL static void join(SignedSums& sums, const SignedSums& other) {
    sums.positive += other.positive;
    sums.negative += other.negative;
  }
};

}  // namespace thinpipe::cuda
