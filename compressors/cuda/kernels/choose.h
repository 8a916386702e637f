// Selects the elements that a rule keeps, with their positions, in order, in one pass.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/lanes.h"
#include "compressors/cuda/kernels/rules.h"
#include "compressors/cuda/kernels/source.h"

namespace thinpipe::cuda {

/// The default action after a choice: none.
struct NothingMore {
  THINPIPE_KERNEL void operator()(const Job& /*job*/, std::uint32_t /*count*/) const {}
};

/// The choice after all choices of the selector.
constexpr std::uint32_t kLastChoice = 0xffffffff;

/// Performs selection pass number `choice` of a step; skips tensors with fewer passes. Reads c
/// (gradient plus memory), or (kChosen) the elements that the previous pass selected. Writes the
/// positions and values of the elements that the rule keeps. When all blocks have read the rule's
/// limits, one thread per tensor calls then(job, count). Grid: the tiles of kTile elements, in
/// order.
template <Reading reading, class Rule, class Then = NothingMore>
struct Choose {
  static constexpr int kThreads = 512;
  static constexpr unsigned kWarps = kThreads / 32;
  static constexpr unsigned kRows = kTile / kThreads;  ///< rows of 32 elements per warp

  template <class T>
  struct Rows {
    static constexpr unsigned kSize = kRows;
    T words[kRows];
  };

  struct Shared {
    Counts warps[kWarps];  ///< elements kept in the tile before the warp
    Counts own;            ///< elements kept in the tile
  };

  const Job* jobs;
  const Tile* tiles;
  std::uint32_t choice;  ///< number of this choice, from 1
  Then then;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const bool last = choice == kLastChoice;
    if (!last && job.choices < choice) return;
    const std::uint32_t from = last ? job.place : place_of(choice - 1);
    const std::uint32_t to = 1 - from;
    const std::uint32_t n = elements_of<reading>(job, from);
    // The next choice must find these states empty.
    block.each([&](int t) {
      if (t == 0) job.states_at(from)[tile.index] = 0;
    });
    const std::uint32_t count = tiles_of(n, kTile);
    if (tile.index >= count) return;
    const Rule rule = Rule::of(job);
    typename Block::template Local<Rows<float>> values;
    typename Block::template Local<std::uint32_t> above;
    typename Block::template Local<std::uint32_t> equal;
    typename Block::template Local<Rows<std::uint32_t>> above_rows;
    typename Block::template Local<Rows<std::uint32_t>> equal_rows;
    block.each([&](int t) {
      above[t] = equal[t] = 0;
      Fetched read[kRows];
      for (unsigned j = 0; j < kRows; ++j) {
        const std::uint32_t i = position_of(tile, t, j);
        if (i < n) read[j] = fetch<reading>(job, from, i);
      }
      for (unsigned j = 0; j < kRows; ++j) {
        const std::uint32_t i = position_of(tile, t, j);
        if (i >= n) break;
        const float value = settle<reading>(job, i, read[j]);
        values[t].words[j] = value;
        const Kept kept = rule.look(i, value);
        above[t] |= std::uint32_t{kept == Kept::kYes} << j;
        if (Rule::kTies) equal[t] |= std::uint32_t{kept == Kept::kTie} << j;
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
    block.each([&](int t) {
      if (t != 0) return;
      Counts before;
      for (Counts& warp : shared.warps) {
        const Counts own = warp;
        warp = before;
        before = before + own;
      }
      shared.own = before;
    });
    const Counts earlier = block.before(job.states_at(to), tile.index, shared.own);
    block.each([&](int t) {
      const std::uint32_t lower = lanes_before(t);
      Counts before = earlier + shared.warps[t / 32];
      for (unsigned j = 0; j < kRows; ++j) {
        const std::uint32_t row = above_rows[t].words[j];
        const std::uint32_t ties = Rule::kTies ? equal_rows[t].words[j] : 0;
        const std::uint32_t tied = before.second + ones(ties & lower);
        const bool is_tie = (equal[t] >> j & 1) != 0 && rule.ties(tied + 1) > rule.ties(tied);
        if ((above[t] >> j & 1) != 0 || is_tie) {
          const std::uint32_t at = before.first + ones(row & lower) + rule.ties(tied);
          const std::uint32_t i = position_of(tile, t, j);
          const Chosen out = job.chosen_at(to);
          out.positions[at] = reading == Reading::kChosen ? job.chosen_at(from).positions[i] : i;
          out.values[at] = rule.sent(values[t].words[j]);
        }
        before = before + Counts{ones(row), ones(ties)};
      }
      if (t == 0 && tile.index + 1 == count) {
        const Counts all = earlier + shared.own;
        const std::uint32_t chosen = all.first + rule.ties(all.second);
        job.findings->counts[to] = chosen;
        then(job, chosen);
      }
    });
  }

 private:
  THINPIPE_KERNEL static std::uint32_t position_of(const Tile& tile, int t, unsigned j) {
    return row_position(tile.index, t, j, kRows);
  }
};

}  // namespace thinpipe::cuda
