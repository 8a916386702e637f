// Selects the elements that a rule keeps, with their positions, in order: one kernel reads all
// elements, and a second one moves the few that it kept.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "compressors/cuda/kernels/batch.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/kernels/keys.h"

namespace thinpipe::cuda {

// Rules decide which elements a pass keeps, and which value is sent.

enum class Kept { kNo, kYes, kTie };

/// The common part of rules. A rule also has
///   of()    the rule for a job
///   look()  whether element i is kept
struct ChosenAsIs {
  static constexpr bool kTies = false;  ///< elements may tie; consecutive ties are kept

  /// Returns how many of the first `count` ties are kept.
  THINPIPE_KERNEL std::uint32_t ties(std::uint32_t /*count*/) const { return 0; }
  /// Returns the value that is sent for an element.
  THINPIPE_KERNEL float sent(float value) const { return value; }
};

/// Returns a key as an unsigned number of the same order.
template <KeyOrder order>
THINPIPE_BOTH std::uint32_t rank_of(float x) {
  const auto key = static_cast<std::uint32_t>(key_of(x, order));
  return order == KeyOrder::kMagnitude ? key : key ^ 0x80000000;
}

/// A rank above all others, except those of signed NaNs.
constexpr std::uint32_t kNoRank = 0xffffffff;

/// Keeps all elements that reach Findings::limit.
template <KeyOrder order = KeyOrder::kMagnitude>
struct Reaching : ChosenAsIs {
  std::uint32_t limit;

  THINPIPE_KERNEL static Reaching of(const Job& job) { return {{}, job.findings->limit}; }
  THINPIPE_KERNEL Kept look(std::uint32_t /*i*/, float value) const {
    return rank_of<order>(value) >= limit ? Kept::kYes : Kept::kNo;
  }
};

/// Keeps all elements above the limit, and the first Findings::ties elements equal to it.
template <KeyOrder order = KeyOrder::kMagnitude>
struct ReachingWithTies : ChosenAsIs {
  static constexpr bool kTies = true;

  std::uint32_t limit;
  std::uint32_t allowed;

  THINPIPE_KERNEL static ReachingWithTies of(const Job& job) {
    return {{}, job.findings->limit, job.findings->ties};
  }
  THINPIPE_KERNEL Kept look(std::uint32_t /*i*/, float value) const {
    const std::uint32_t rank = rank_of<order>(value);
    return rank > limit ? Kept::kYes : rank == limit ? Kept::kTie : Kept::kNo;
  }
  THINPIPE_KERNEL std::uint32_t ties(std::uint32_t count) const {
    return count < allowed ? count : allowed;
  }
};

/// Keeps all elements that exceed tau = Job::factor, and sends their signs (Strom).
struct Stepping : Reaching<> {
  float tau;

  THINPIPE_KERNEL static Stepping of(const Job& job) {
    return {Reaching<>::of(job), static_cast<float>(job.factor)};
  }
  THINPIPE_KERNEL float sent(float value) const { return std::copysign(tau, value); }
};

/// Keeps the elements in Job::drawn, and sends them times Job::factor (random-k).
struct Drawn : ChosenAsIs {
  const std::uint32_t* bits;
  float factor;

  THINPIPE_KERNEL static Drawn of(const Job& job) {
    return {{}, job.drawn, static_cast<float>(job.factor)};
  }
  THINPIPE_KERNEL Kept look(std::uint32_t i, float /*value*/) const {
    return (bits[i / 32] >> i % 32 & 1) != 0 ? Kept::kYes : Kept::kNo;
  }
  THINPIPE_KERNEL float sent(float value) const { return canonical(factor * value); }
};

/// Adds the second moments to their sum v, keeps the elements that exceed the variance criterion
/// and reach Findings::limit, and multiplies v by its decay zeta. The hybrid method, with tau =
/// Job::factor > 0, sends steps of +tau or -tau instead of the values.
struct Unambiguous : ChosenAsIs {
  const float* q;
  float* v;
  float* corrected;
  float alpha;
  float zeta;
  float tau;
  std::uint32_t limit;

  THINPIPE_KERNEL static Unambiguous of(const Job& job) {
    return {{},
            job.q,
            job.v,
            job.corrected,
            job.alpha,
            job.zeta,
            static_cast<float>(job.factor),
            job.findings->limit};
  }
  THINPIPE_KERNEL Kept look(std::uint32_t i, float r) const {
    constexpr float kMax = std::numeric_limits<float>::max();
    const float variance = v[i] + q[i];
    v[i] = zeta * variance;
    const float scaled = alpha * variance;
    const bool ambiguous = r * r <= scaled && scaled <= kMax;
    if (ambiguous || rank_of<KeyOrder::kMagnitude>(r) < limit) return Kept::kNo;
    if (corrected != nullptr) {
      const float step = std::copysign(tau, r);
      const float left = variance - 2 * step * r + step * step;
      // Replaces NaN and infinity by 0.
      corrected[i] = left > 0 && left <= kMax ? left : 0.0F;
    }
    return Kept::kYes;
  }
  THINPIPE_KERNEL float sent(float r) const {
    return corrected == nullptr ? r : std::copysign(tau, r);
  }
};

// Selection passes.

/// The default action after a choice: none.
struct NothingMore {
  THINPIPE_KERNEL void operator()(const Job& /*job*/, std::uint32_t /*count*/) const {}
};

/// The choice after all choices of the selector.
constexpr std::uint32_t kLastChoice = 0xffffffff;

/// Selection pass number `choice` of a tensor, as both kernels see it.
template <Reading reading>
struct Choice {
  bool skipped;        ///< the tensor has fewer passes
  std::uint32_t from;  ///< index in Findings::counts of the elements read, if these are chosen ones
  std::uint32_t to;    ///< and of the elements kept
  std::uint32_t n;     ///< elements read
  PartOfTiles part;

  THINPIPE_KERNEL Choice(const Job& job, std::uint32_t choice, std::uint32_t index)
      : skipped(choice != kLastChoice && job.choices < choice),
        from(choice == kLastChoice ? job.place : place_of(choice - 1)),
        to(1 - from),
        n(skipped ? 0 : elements_of<reading>(job, from)),
        part(job, tiles_of(n, kTile), index) {}

  /// Returns the first element of the part.
  THINPIPE_KERNEL std::uint32_t begin() const { return part.first * kTile; }
  /// Returns the element after the part's last one.
  THINPIPE_KERNEL std::uint32_t end() const {
    const std::uint64_t all = std::uint64_t{part.last} * kTile;
    return all < n ? static_cast<std::uint32_t>(all) : n;
  }
};

/// Reads c (gradient plus memory), or (kChosen) the elements that the previous pass kept. Writes
/// the kept elements of each part to Job::staged: from the part's first element on those that the
/// rule keeps for certain, and from its last element backwards the ties. Sets Job::part_counts to
/// the numbers of both in all earlier parts, and calls then(job, count) once per tensor, when all
/// blocks have read the rule's limits. Grid: the parts.
template <Reading reading, class Rule, class Then = NothingMore>
struct StageChosen : OnParts {
  static constexpr int kThreads = 256;
  static constexpr int kMinBlocks = static_cast<int>(kBlocksPerProcessor);
  static constexpr unsigned kWarps = kThreads / 32;
  static constexpr unsigned kRows = kTile / kThreads;  ///< rows of 32 elements per warp
  // Moving the ties reads the rule's limits again.
  static_assert(!Rule::kTies || std::is_same_v<Then, NothingMore>);

  template <class T>
  using Rows = WarpRows<T, kRows>;

  struct Shared {
    Counts warps[kWarps];  ///< elements of the tile that each warp keeps
  };

  std::uint32_t choice;  ///< number of this choice, from 1
  Then then = {};

  THINPIPE_KERNEL void operator()(auto& block, Shared& shared) const {
    const Part own = parts[block.index()];
    const Job job = jobs[own.job];
    const Choice<reading> pass(job, choice, own.index);
    if (pass.skipped || pass.part.is_empty()) return;
    const Rule rule = Rule::of(job);
    Counts kept;
    for (std::uint32_t tile = pass.part.first; tile < pass.part.last; ++tile)
      kept = kept + stage(block, shared, job, pass, rule, tile, kept);
    once(block, [&] { job.part_counts[own.index] = kept; });
    if (block.is_last(&job.findings->arrived, pass.part.parts)) add_up(block, job, pass, rule);
  }

 private:
  /// Stages a tile's elements. Returns their numbers.
  template <class Block>
  THINPIPE_KERNEL static Counts stage(Block& block, Shared& shared, const Job& job,
                                      const Choice<reading>& pass, const Rule& rule,
                                      std::uint32_t tile, const Counts& kept) {
    typename Block::template Local<Rows<float>> values;
    typename Block::template Local<std::uint32_t> above, equal;
    typename Block::template Local<Rows<std::uint32_t>> above_rows, equal_rows;
    block.each_alone([&](int t) {
      above[t] = equal[t] = 0;
      read_rows<reading>(job, pass.n, tile, t, values[t]);
      for (unsigned j = 0; j < kRows; ++j) {
        const std::uint32_t i = row_position(tile, t, j, kRows);
        if (i >= pass.n) continue;
        const Kept look = rule.look(i, values[t].words[j]);
        above[t] |= std::uint32_t{look == Kept::kYes} << j;
        if (Rule::kTies) equal[t] |= std::uint32_t{look == Kept::kTie} << j;
      }
    });
    block.ballots(above, above_rows);
    if (Rule::kTies) block.ballots(equal, equal_rows);
    block.each([&](int t) {
      if (t % 32 != 0) return;
      Counts counts;
      for (unsigned j = 0; j < kRows; ++j) {
        counts.first += ones(above_rows[t].words[j]);
        if (Rule::kTies) counts.second += ones(equal_rows[t].words[j]);
      }
      shared.warps[t / 32] = counts;
    });
    Counts all;
    for (const Counts& warp : shared.warps) all = all + warp;
    block.each([&](int t) {
      if (all.first + all.second == 0) return;
      Counts before = kept;
      for (int warp = 0; warp < t / 32; ++warp) before = before + shared.warps[warp];
      const std::uint32_t lower = lanes_before(t);
      for (unsigned j = 0; j < kRows; ++j) {
        const std::uint32_t row = above_rows[t].words[j];
        const std::uint32_t ties = Rule::kTies ? equal_rows[t].words[j] : 0;
        const bool is_above = (above[t] >> j & 1) != 0;
        if (is_above || (Rule::kTies && (equal[t] >> j & 1) != 0)) {
          const std::uint32_t i = row_position(tile, t, j, kRows);
          const std::uint32_t at = is_above ? pass.begin() + before.first + ones(row & lower)
                                            : pass.end() - 1 - before.second - ones(ties & lower);
          job.staged.positions[at] = reading == Reading::kChosen ? job.chosen.positions[i] : i;
          job.staged.values[at] = rule.sent(values[t].words[j]);
        }
        before = before + Counts{ones(row), ones(ties)};
      }
    });
    return all;
  }

  /// Replaces the parts' counts by the counts of all earlier parts.
  template <class Block>
  THINPIPE_KERNEL void add_up(Block& block, const Job& job, const Choice<reading>& pass,
                              const Rule& rule) const {
    const std::uint32_t parts_each = (pass.part.parts + kThreads - 1) / kThreads;
    typename Block::template Local<std::uint32_t> first, second;
    const auto each_part = [&](int t, auto body) {
      const std::uint32_t begin = static_cast<std::uint32_t>(t) * parts_each;
      for (std::uint32_t i = begin; i < begin + parts_each && i < pass.part.parts; ++i) body(i);
    };
    block.each([&](int t) {
      Counts sum;
      each_part(t, [&](std::uint32_t i) { sum = sum + job.part_counts[i]; });
      first[t] = sum.first;
      second[t] = sum.second;
    });
    Counts all;
    all.first = block.prefix(first);
    if (Rule::kTies) all.second = block.prefix(second);
    block.each([&](int t) {
      Counts before{first[t], Rule::kTies ? second[t] : 0};
      each_part(t, [&](std::uint32_t i) {
        const Counts own = job.part_counts[i];
        job.part_counts[i] = before;
        before = before + own;
      });
      if (t != 0) return;
      job.part_counts[pass.part.parts] = all;
      const std::uint32_t count = all.first + rule.ties(all.second);
      job.findings->counts[pass.to] = count;
      then(job, count);
    });
  }
};

/// Moves the staged elements to Job::chosen, by ascending position, without the ties that the rule
/// does not keep. Grid: the parts.
template <Reading reading, class Rule>
struct PlaceChosen : OnParts {
  static constexpr int kThreads = 256;

  std::uint32_t choice;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    const Part own = parts[block.index()];
    const Job job = jobs[own.job];
    const Choice<reading> pass(job, choice, own.index);
    if (pass.skipped || pass.part.is_empty()) return;
    const Rule rule = Rule::of(job);
    const Counts before = job.part_counts[own.index];
    const Counts after = job.part_counts[own.index + 1];
    const std::uint32_t above = after.first - before.first;
    const std::uint32_t ties = after.second - before.second;
    const std::uint32_t* const positions = job.staged.positions;
    each_of(block, above + ties, [&](std::uint32_t i) {
      const bool is_tie = i >= above;
      const std::uint32_t tie = i - above;
      const std::uint32_t from = is_tie ? pass.end() - 1 - tie : pass.begin() + i;
      const std::uint32_t position = positions[from];
      std::uint32_t at = before.first + rule.ties(before.second);
      if (!Rule::kTies) {
        at += i;
      } else if (is_tie) {
        const std::uint32_t kept = rule.ties(before.second + tie);
        if (rule.ties(before.second + tie + 1) == kept) return;
        at = before.first + kept + lower(positions + pass.begin(), above, 1, position);
      } else {
        const std::uint32_t earlier = lower(positions + pass.end() - 1, ties, -1, position);
        at = before.first + i + rule.ties(before.second + earlier);
      }
      job.chosen.positions[at] = position;
      job.chosen.values[at] = job.staged.values[from];
    });
  }

 private:
  /// Returns how many of `count` positions, which ascend in steps of `step`, are below a position.
  THINPIPE_KERNEL static std::uint32_t lower(const std::uint32_t* positions, std::uint32_t count,
                                             int step, std::uint32_t position) {
    return first_where(0, count, [&](std::uint32_t at) {
      return positions[step * static_cast<std::int64_t>(at)] >= position;
    });
  }
};

/// Performs selection pass number `choice` of a step; skips tensors with fewer passes.
template <Reading reading, class Rule, class Then = NothingMore, class Device>
void choose_elements(Device& device, const Batch& batch, std::uint32_t choice) {
  batch.launch_parts<StageChosen<reading, Rule, Then>>(device, choice);
  batch.launch_parts<PlaceChosen<reading, Rule>>(device, choice);
}

}  // namespace thinpipe::cuda
