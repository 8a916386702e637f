// Statistics of magnitudes in one pass, added up in the order of kernels/moments.cc: bit for bit
// the same results.
#pragma once

#include <cmath>
#include <cstdint>

#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/kernels/exact_math.h"
#include "compressors/kernels/keys.h"
#include "compressors/kernels/streams.h"

namespace thinpipe::cuda {

/// The elements that are added up.
enum class Of {
  kAll,
  kTail,  ///< magnitude keys of at least Findings::limit
};

/// Sets the threshold that chosen elements exceed.
THINPIPE_KERNEL inline void set_threshold(const Job& job, double threshold) {
  job.findings->threshold = threshold;
  job.findings->limit = static_cast<std::uint32_t>(key_above(threshold));
}

/// Results of adding up all elements.
struct Totals {
  double sum = 0;       ///< of magnitudes, or of signed values (SpreadSums)
  double squares = 0;   ///< of values, if these are added up
  double mean_log = 0;  ///< of magnitudes other than 0, if these are added up
  std::uint32_t count = 0;
  std::uint32_t most = 0;  ///< the maximum magnitude key (LeastOf: see there)
};

// Kinds of sums. Partial: of one thread; Total: of all threads.

struct MagnitudeSums {
  using Partial = float;
  using Total = double;

  THINPIPE_KERNEL static void add(Partial& sum, float x) { sum += std::fabs(x); }
  THINPIPE_KERNEL static Total total(Partial sum) { return static_cast<double>(sum); }
  THINPIPE_KERNEL static void set(Totals& totals, Total sum) { totals.sum = sum; }
};

/// Squares, in double.
struct SquareSums {
  using Partial = double;
  using Total = double;

  THINPIPE_KERNEL static void add(Partial& sum, float x) {
    const auto value = static_cast<double>(x);
    sum += value * value;
  }
  THINPIPE_KERNEL static Total total(Partial sum) { return sum; }
  THINPIPE_KERNEL static void set(Totals& totals, Total sum) { totals.squares = sum; }
};

/// Values or their magnitudes, and their squares, in double.
template <bool magnitudes>
struct SpreadSumsOf {
  struct Total {
    double sum;
    double squares;

    THINPIPE_KERNEL Total& operator+=(const Total& other) {
      sum += other.sum;
      squares += other.squares;
      return *this;
    }
  };
  using Partial = Total;

  THINPIPE_KERNEL static void add(Partial& sums, float x) {
    const auto value = static_cast<double>(magnitudes ? std::fabs(x) : x);
    sums += {value, value * value};
  }
  THINPIPE_KERNEL static Total total(Partial sums) { return sums; }
  THINPIPE_KERNEL static void set(Totals& totals, Total sums) {
    totals.sum = sums.sum;
    totals.squares = sums.squares;
  }
};

using SpreadSums = SpreadSumsOf<false>;

/// Makes Totals::most kMaxKey minus the minimum key, instead of the maximum key.
constexpr std::uint32_t kMaxKey = 0x7fffffff;
template <class Sums>
struct LeastOf : Sums {
  static constexpr bool kMin = true;
};

/// Magnitudes, and their logarithms as a product (kernels/logs.cc).
struct LogSums {
  struct Partial {
    float sum = 0;
    float product = 1;  ///< of the last mantissas
    double products = 1;
    std::uint32_t rows = 0;
    std::uint32_t nonzero = 0;
    std::int32_t exponent = 0;
  };
  struct Total : LogSum {
    THINPIPE_KERNEL Total& operator+=(const Total& other) {
      join(other);
      return *this;
    }
  };

  THINPIPE_KERNEL static void add(Partial& sums, float x) {
    const SplitMagnitude split(x);
    sums.sum += std::fabs(x);
    sums.product *= split.mantissa;
    sums.exponent += split.exponent;
    sums.nonzero += split.nonzero ? 1 : 0;
    if (++sums.rows % kProductRows != 0) return;
    sums.products *= static_cast<double>(sums.product);
    sums.product = 1;
  }
  THINPIPE_KERNEL static Total total(const Partial& sums) {
    Total total;
    total.sum = static_cast<double>(sums.sum);
    total.multiply(sums.products * static_cast<double>(sums.product));
    total.exponent += sums.exponent;
    total.nonzero = sums.nonzero;
    return total;
  }
  THINPIPE_KERNEL static void set(Totals& totals, const Total& sums) {
    totals.sum = sums.sum;
    totals.mean_log = sums.log() / static_cast<double>(sums.nonzero);
  }
};

/// Adds up magnitudes and finds the maximum. One thread per tensor then calls then(job, totals). A
/// thread block reads one block of moments.cc: four streams of rows of 16 elements. A thread adds,
/// in float, the elements of one lane in at most 128 rows. Grid: the tiles of kSumTile elements.
template <Reading reading, Of of, class Then, class Sums = MagnitudeSums>
struct AddUp : OnTiles {
  using Partial = typename Sums::Partial;
  using Total = typename Sums::Total;
  static_assert(sizeof(Total) <= kSumDoubles * sizeof(double));
  static constexpr int kThreads = kMomentPartials * kMomentFlushes;
  /// Rows that a thread reads before it adds them up.
  static constexpr std::uint32_t kAtOnce = 8;

  struct Shared {
    Partial partial[kThreads];
    Total sums[kMomentPartials];
  };

  Then then = {};
  std::uint32_t fit = 1;     ///< number of this fit, from 1; tensors with fewer fits are skipped
  std::uint32_t choice = 0;  ///< the choice whose elements are read (kChosen)

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    if (job.fits < fit) return;
    const std::uint32_t from = place_of(choice);
    const std::uint32_t n = elements_of<reading>(job, from);
    const std::uint32_t blocks = tiles_of(n, kSumTile);
    if (tile.index >= blocks) return;
    const std::uint32_t begin = tile.index * kSumTile;
    const std::uint32_t some = n - begin < kSumTile ? n - begin : kSumTile;
    const std::uint32_t rows = some / kMomentPartials;
    typename Block::template Local<std::uint32_t> keys, counts;
    const std::int32_t limit = static_cast<std::int32_t>(job.findings->limit);
    block.each([&](std::uint32_t thread) {
      const std::uint32_t partial = thread % kMomentPartials;
      const std::uint32_t first = thread / kMomentPartials * kMomentRows;
      const std::uint32_t last = first + kMomentRows < rows ? first + kMomentRows : rows;
      std::uint32_t at = begin + partial / kMomentLanes * rows * kMomentLanes +
                         first * kMomentLanes + partial % kMomentLanes;
      Partial sum{};
      std::uint32_t key = 0;
      std::uint32_t count = 0;
      std::uint32_t row = first;
      for (; row + kAtOnce <= last; row += kAtOnce, at += kAtOnce * kMomentLanes) {
        Fetched read[kAtOnce];
        for (std::uint32_t j = 0; j < kAtOnce; ++j)
          read[j] = fetch<reading>(job, at + j * kMomentLanes);
        for (std::uint32_t j = 0; j < kAtOnce; ++j)
          take(settle<reading>(job, at + j * kMomentLanes, read[j]), limit, sum, key, count);
      }
      for (; row < last; ++row, at += kMomentLanes)
        take(element<reading>(job, at), limit, sum, key, count);
      shared.partial[thread] = sum;
      keys[thread] = key;
      counts[thread] = count;
    });
    block.each([&](std::uint32_t thread) {
      if (thread < kMomentPartials) {
        Total sum{};
        for (std::uint32_t flush = 0; flush < kMomentFlushes; ++flush)
          sum += Sums::total(shared.partial[flush * kMomentPartials + thread]);
        shared.sums[thread] = sum;
      }
      // The elements after the last whole row of each stream, at the end of the tensor.
      const std::uint32_t left = rows * kMomentPartials + thread;
      if (left < some) {
        Partial value{};
        take(element<reading>(job, begin + left), limit, value, keys[thread], counts[thread]);
        shared.partial[thread] = value;
      }
    });
    const std::uint32_t most = block.greatest(keys);
    const std::uint32_t count = block.sum(counts);
    once(block, [&] {
      Total sum{};
      for (std::uint32_t i = 0; i < kMomentPartials; ++i) sum += shared.sums[i];
      block_sums(job)[tile.index] = sum;
      // These elements are added one by one at the end, after all blocks.
      Total* const ends = block_sums(job) + tiles_of(job.n, kSumTile);
      for (std::uint32_t i = rows * kMomentPartials; i < some; ++i)
        ends[i - rows * kMomentPartials] = Sums::total(shared.partial[i - rows * kMomentPartials]);
      block.set_greatest(&job.findings->most, most);
      if constexpr (of == Of::kTail) block.add(&job.findings->tail, count);
    });
    if (block.is_last(&job.findings->arrived, blocks)) finish(block, shared, job, n, blocks);
  }

 private:
  THINPIPE_KERNEL static Total* block_sums(const Job& job) {
    return reinterpret_cast<Total*>(job.block_sums);
  }
  THINPIPE_KERNEL static void take(float x, std::int32_t limit, Partial& sum, std::uint32_t& key,
                                   std::uint32_t& count) {
    const std::int32_t own = key_of(x, KeyOrder::kMagnitude);
    if constexpr (of == Of::kTail) {
      if (own < limit) return;
      ++count;
    }
    Sums::add(sum, x);
    auto rank = static_cast<std::uint32_t>(own);
    if constexpr (requires { Sums::kMin; }) rank = kMaxKey - rank;
    key = rank > key ? rank : key;
  }

  THINPIPE_KERNEL void finish(auto& block, Shared& shared, const Job& job, std::uint32_t n,
                              std::uint32_t blocks) const {
    const std::uint32_t full = n / kSumTile;
    each_of(block, kMomentParts, [&](std::uint64_t part) {
      Total sum{};
      for (std::uint64_t i = full * part / kMomentParts; i < full * (part + 1) / kMomentParts; ++i)
        sum += block_sums(job)[i];
      shared.sums[part] = sum;
    });
    once(block, [&] {
      Total sum{};
      if (full < blocks) sum = block_sums(job)[full];
      for (std::uint32_t part = 0; part < kMomentParts; ++part) sum += shared.sums[part];
      const Total* const ends = block_sums(job) + tiles_of(job.n, kSumTile);
      for (std::uint32_t i = 0; i < n % kMomentPartials; ++i) sum += ends[i];
      Findings& findings = *job.findings;
      Totals totals{.count = of == Of::kTail ? findings.tail : n, .most = findings.most};
      Sums::set(totals, sum);
      then(job, totals);
      findings.tail = 0;
      findings.most = 0;
    });
  }
};

}  // namespace thinpipe::cuda
