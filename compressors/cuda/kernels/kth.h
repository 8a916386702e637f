// Finds the k-th greatest of many keys, one digit per kernel.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/digits.h"
#include "compressors/cuda/kernels/in_tile.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/rules.h"

namespace thinpipe::cuda {

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
struct KthDigit {
  static constexpr int kThreads = 512;
  struct Shared {
    std::uint32_t bins[kBins];
    DigitSearch search;
  };

  const Job* jobs;
  const Part* parts;
  int digit;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
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
    block.each([&](int t) {
      for (auto i = static_cast<std::uint32_t>(t); i < kBins; i += kThreads)
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
template <class Keys, class Device, class Batch>
void find_kth(Device& device, const Batch& batch) {
  for (int digit = 0; digit < kDigits; ++digit)
    device.launch(KthDigit<Keys>{batch.jobs, batch.parts, digit}, batch.part_count);
}

}  // namespace thinpipe::cuda
