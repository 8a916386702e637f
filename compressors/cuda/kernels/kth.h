// Finds the k-th greatest of many keys, digit by digit, from counts of each digit's values.
#pragma once

#include <cstdint>

#include "base/both.h"
#include "compressors/cuda/kernels/batch.h"
#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/job.h"

namespace thinpipe::cuda {

/// Ranks have 32 bits: digits of 11, 11 and 10.
constexpr int kDigits = 3;
THINPIPE_BOTH constexpr int shift_of_digit(int digit) {
  return digit == 0 ? 21 : digit == 1 ? 10 : 0;
}
THINPIPE_BOTH constexpr int bits_of_digit(int digit) { return digit == 2 ? 10 : 11; }

/// State of a search.
struct DigitSearch {
  std::uint32_t known = 0;  ///< the digits found so far
  std::uint32_t rank = 0;   ///< of the key among those that begin with `known`, from 1

  /// Returns whether a key counts in the search for a digit.
  THINPIPE_BOTH bool matches(std::uint32_t key, int digit) const {
    return digit == 0 || key >> (shift_of_digit(digit) + bits_of_digit(digit)) == known;
  }
  THINPIPE_BOTH static std::uint32_t value(std::uint32_t key, int digit) {
    return key >> shift_of_digit(digit) & ((std::uint32_t{1} << bits_of_digit(digit)) - 1);
  }
};

/// Advances a search for the k-th greatest key by one digit. `bins` holds, for each of the digit's
/// kBins values, the number of keys with this value. All threads of a block take part; `search` is
/// in shared memory.
template <class Block>
THINPIPE_KERNEL void find_digit(Block& block, const std::uint32_t* bins, int digit,
                                DigitSearch& search) {
  constexpr int kPerThread = static_cast<int>(kBins) / Block::kSize;
  static_assert(kPerThread * Block::kSize == static_cast<int>(kBins));
  typename Block::template Local<std::uint32_t> greater;
  typename Block::template Local<DigitSearch> before;
  // From the greatest value down.
  block.each([&](int t) {
    std::uint32_t sum = 0;
    for (int i = 0; i < kPerThread; ++i)
      sum += bins[static_cast<int>(kBins) - 1 - (t * kPerThread + i)];
    greater[t] = sum;
    before[t] = search;
  });
  block.prefix(greater);
  block.each([&](int t) {
    std::uint32_t above = greater[t];
    for (int i = 0; i < kPerThread; ++i) {
      const int value = static_cast<int>(kBins) - 1 - (t * kPerThread + i);
      const std::uint32_t own = bins[value];
      const std::uint32_t rank = before[t].rank;
      if (above < rank && rank <= above + own) {
        search.known = before[t].known << bits_of_digit(digit) | static_cast<std::uint32_t>(value);
        search.rank = rank - above;
      }
      above += own;
    }
  });
}

// Searches define which keys are read, and what the found key sets.

/// Searches the keys of the elements that the first selection pass chose, for the Job::target-th
/// greatest key. Sets Findings::limit to this key, and Findings::ties to the number of keys equal
/// to it among the Job::target greatest. If the pass chose fewer elements, sets a limit that no
/// element reaches.
template <KeyOrder order = KeyOrder::kMagnitude>
struct ChosenKeys {
  THINPIPE_KERNEL static std::uint32_t count(const Job& job) {
    return job.findings->counts[place_of(1)];
  }
  THINPIPE_KERNEL static std::uint32_t key(const Job& job, std::uint32_t i) {
    return rank_of<order>(job.chosen.values[i]);
  }
  THINPIPE_KERNEL static std::uint32_t rank(const Job& job) { return job.target; }
  THINPIPE_KERNEL static void found(const Job& job, const DigitSearch& search) {
    Findings& findings = *job.findings;
    const bool enough = count(job) >= job.target && job.target > 0;
    findings.limit = enough ? search.known : kNoRank;
    findings.ties = enough ? search.rank : 0;
    if constexpr (order == KeyOrder::kMagnitude) {
      findings.threshold =
          job.target == 0 ? 0 : magnitude_of(static_cast<std::int32_t>(findings.limit));
    }
  }
};

/// Searches as ChosenKeys does if the first selection pass chose more than 1.3 k elements (DGC
/// section 5). Otherwise all chosen elements stay.
struct CrowdedKeys : ChosenKeys<> {
  THINPIPE_KERNEL static std::uint32_t count(const Job& job) {
    const std::uint32_t chosen = ChosenKeys<>::count(job);
    return std::uint64_t{10} * chosen > std::uint64_t{13} * job.target ? chosen : 0;
  }
  THINPIPE_KERNEL static void found(const Job& job, const DigitSearch& search) {
    if (count(job) > 0) ChosenKeys<>::found(job, search);
  }
};

/// Searches a sample's keys for the Job::sample_rank-th greatest, whose magnitude becomes the
/// threshold that chosen elements exceed.
struct SampledKeys {
  THINPIPE_KERNEL static std::uint32_t count(const Job& job) { return job.sampled; }
  THINPIPE_KERNEL static std::uint32_t key(const Job& job, std::uint32_t i) {
    return job.sample[i];
  }
  THINPIPE_KERNEL static std::uint32_t rank(const Job& job) { return job.sample_rank; }
  THINPIPE_KERNEL static void found(const Job& job, const DigitSearch& search) {
    Findings& findings = *job.findings;
    findings.threshold =
        job.sampled == 0 ? 0 : magnitude_of(static_cast<std::int32_t>(search.known));
    findings.limit = static_cast<std::uint32_t>(key_above(findings.threshold));
  }
};

/// As SampledKeys for signed values: chosen elements rank above the key.
template <KeyOrder order>
struct SampledRanks : SampledKeys {
  THINPIPE_KERNEL static void found(const Job& job, const DigitSearch& search) {
    job.findings->limit = search.known == kNoRank ? kNoRank : search.known + 1;
  }
};

/// Finds one digit; after the last digit, calls Keys::found(). Grid: the parts.
template <class Keys>
struct KthDigit : OnParts {
  static constexpr int kThreads = 512;
  struct Shared {
    std::uint32_t bins[kBins];
    DigitSearch search;
  };

  int digit;

  THINPIPE_KERNEL void operator()(auto& block, Shared& shared) const {
    const Part own = parts[block.index()];
    const Job job = jobs[own.job];
    const std::uint32_t count = Keys::count(job);
    const PartOfTiles part(job, tiles_of(count, kTile), own.index);
    if (part.is_empty()) return;
    Findings& findings = *job.findings;
    block.each([&](int t) {
      for (auto i = static_cast<std::uint32_t>(t); i < kBins; i += kThreads) shared.bins[i] = 0;
      if (t == 0) {
        shared.search = digit == 0 ? DigitSearch{0, Keys::rank(job)}
                                   : DigitSearch{findings.known, findings.rank};
      }
    });
    block.each([&](int t) {
      for (std::uint32_t tile = part.first; tile < part.last; ++tile) {
        each_in_tile<kThreads>(t, tile, count, [&](std::uint32_t i) {
          const std::uint32_t key = Keys::key(job, i);
          if (shared.search.matches(key, digit))
            block.add(&shared.bins[DigitSearch::value(key, digit)], 1);
        });
      }
    });
    each_of(block, kBins, [&](std::uint32_t i) {
      if (shared.bins[i] != 0) block.add(&job.histogram[i], shared.bins[i]);
    });
    if (!block.is_last(&findings.arrived, part.parts)) return;
    find_digit(block, job.histogram, digit, shared.search);
    block.each([&](int t) {
      for (auto i = static_cast<std::uint32_t>(t); i < kBins; i += kThreads) job.histogram[i] = 0;
      if (t != 0) return;
      findings.known = shared.search.known;
      findings.rank = shared.search.rank;
      if (digit + 1 == kDigits) Keys::found(job, shared.search);
    });
  }
};

/// Launches the kernels for all digits.
template <class Keys, class Device>
void find_kth(Device& device, const Batch& batch) {
  for (int digit = 0; digit < kDigits; ++digit) batch.launch_parts<KthDigit<Keys>>(device, digit);
}

}  // namespace thinpipe::cuda
