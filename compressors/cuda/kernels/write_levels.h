// Writes QSGD's buckets in Elias codes.
#pragma once

#include <bit>
#include <cstdint>

#include "compressors/cuda/kernels/level_stream.h"

namespace thinpipe::cuda {

/// One tile, for kernels that write a tensor's levels.
struct LevelTile {
  Job job;
  LevelWorkspace workspace;
  SliceCut cut;
  std::uint32_t index;  ///< of the tile

  THINPIPE_KERNEL LevelTile(const Job* jobs, const LevelWorkspace* workspaces,
                            const CodeLayout& layout, const Tile& tile)
      : job(jobs[tile.job]),
        workspace(workspaces[tile.job]),
        cut(SliceCut::of(job.n, layout.bucket)),
        index(tile.index) {}

  /// Returns the first bit, in the payload, of the first slice of tile `tile`.
  THINPIPE_KERNEL std::uint64_t first_bit(std::uint32_t tile) const {
    const std::uint32_t slice = tile * cut.together();
    const LevelRecord record = workspace.records[slice / cut.each()];
    if (slice % cut.each() == 0) return std::uint64_t{8} * record.begin;
    return record.codes() + workspace.runs[slice].all_bits();
  }
};

/// Common part of the kernels of a tile.
struct LevelKernel : OnTiles {
  const LevelWorkspace* workspaces;
  CodeLayout layout;

  THINPIPE_KERNEL std::uint32_t level_of(std::uint32_t code) const {
    return code & ((std::uint32_t{1} << (layout.bits - 1)) - 1);
  }
};

/// Measures the codes of every slice. Grid: SliceCut::tiles() of every tensor.
struct MeasureLevels : LevelKernel {
  static constexpr int kThreads = kLevelThreads;
  struct Shared {
    LevelMask mask;
    std::uint32_t bits[kMaxBuckets];
    std::uint32_t count[kMaxBuckets];
    std::uint32_t from_end[kMaxBuckets];  ///< kTile less the index of the slice's first level
    std::uint32_t last[kMaxBuckets];
  };

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const LevelTile tile(jobs, workspaces, layout, tiles[block.index()]);
    const SliceCut& cut = tile.cut;
    typename Block::template Local<TileLevels> codes;
    each_of(block, kMaxBuckets, [&](std::uint32_t at) {
      shared.bits[at] = shared.count[at] = shared.from_end[at] = shared.last[at] = 0;
    });
    take_levels(block, shared.mask, tile.job, layout, cut, tile.index, codes);
    block.each([&](int t) {
      for (std::uint32_t j = 0; j < kLevelsEach; ++j) {
        const std::uint32_t code = codes[t].codes[j];
        if (code == 0) continue;
        const std::uint32_t element = static_cast<std::uint32_t>(t) * kLevelsEach + j;
        const LevelPlace place = LevelPlace::of(cut, tile.index, element);
        const std::uint32_t own = place.passed + place.i + 1;
        const std::uint32_t before = shared.mask.previous(element, place.first, place.passed, 0);
        std::uint32_t bits = 1 + omega_bits(level_of(code));
        if (before > 0) bits += omega_bits(own - before);
        block.add(&shared.bits[place.at], bits);
        block.add(&shared.count[place.at], 1);
        block.set_greatest(&shared.from_end[place.at], kTile - place.i);
        block.set_greatest(&shared.last[place.at], own);
      }
    });
    block.each([&](std::uint32_t at) {
      const std::uint32_t slice = tile.index * cut.together() + at;
      if (at >= cut.together() || slice >= cut.slices()) return;
      const std::uint32_t passed = slice % cut.each() * kTile;
      tile.workspace.runs[slice] = {shared.bits[at], shared.count[at],
                                    passed + (kTile - shared.from_end[at]) + 1, shared.last[at]};
    });
  }
};

/// Finds where records begin in the payload and, for every slice, a summary (LevelRun) of the
/// levels before it in its bucket. The slices are divided into parts, one per thread. Grid: one
/// block per tensor.
struct JoinLevels {
  static constexpr int kThreads = kLevelThreads;
  struct Shared {
    LevelRun runs[kThreads];  ///< by part: levels of its last bucket; later, the levels before it
    bool begins[kThreads];    ///< by part: whether its last bucket begins in it
  };

  const Job* jobs;
  const LevelWorkspace* workspaces;
  CodeLayout layout;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Job job = jobs[block.index()];
    const LevelWorkspace workspace = workspaces[block.index()];
    const SliceCut cut = SliceCut::of(job.n, layout.bucket);
    const std::uint32_t slices = cut.slices();
    const auto begin_of = [&](int part) {
      return static_cast<std::uint32_t>(std::uint64_t{slices} * static_cast<std::uint32_t>(part) /
                                        kThreads);
    };
    block.each([&](int t) {
      LevelRun run;
      bool begins = false;
      for (std::uint32_t slice = begin_of(t); slice < begin_of(t + 1); ++slice) {
        const bool first = slice % cut.each() == 0;
        run = first ? workspace.runs[slice] : run + workspace.runs[slice];
        begins = begins || first;
      }
      shared.runs[t] = run;
      shared.begins[t] = begins;
    });
    once(block, [&] {
      LevelRun before;
      for (int part = 0; part < kThreads; ++part) {
        const LevelRun own = shared.runs[part];
        shared.runs[part] = before;
        before = shared.begins[part] ? own : before + own;
      }
    });
    typename Block::template Local<std::uint32_t> bytes;
    block.each([&](int t) {
      LevelRun before = shared.runs[t];
      bytes[t] = 0;
      for (std::uint32_t slice = begin_of(t); slice < begin_of(t + 1); ++slice) {
        if (slice % cut.each() == 0) before = {};
        const LevelRun all = before + workspace.runs[slice];
        workspace.runs[slice] = before;
        before = all;
        if (!ends(cut, slice, slices)) continue;
        LevelRecord& record = workspace.records[slice / cut.each()];
        record.count = all.count;
        record.bytes =
            static_cast<std::uint32_t>((all.all_bits() + omega_bits(all.count + 1) + 7) / 8);
        bytes[t] += size_of(record);
      }
    });
    const std::uint32_t all = block.prefix(bytes);
    block.each([&](int t) {
      std::uint32_t begin = bytes[t];
      for (std::uint32_t slice = begin_of(t); slice < begin_of(t + 1); ++slice) {
        if (!ends(cut, slice, slices)) continue;
        LevelRecord& record = workspace.records[slice / cut.each()];
        record.begin = begin;
        begin += size_of(record);
      }
      if (t == 0) job.findings->encoded = all;
    });
  }

 private:
  THINPIPE_KERNEL static bool ends(const SliceCut& cut, std::uint32_t slice, std::uint32_t slices) {
    return (slice + 1) % cut.each() == 0 || slice + 1 == slices;
  }
  THINPIPE_KERNEL static std::uint32_t size_of(const LevelRecord& record) {
    return static_cast<std::uint32_t>(sizeof(float)) + PayloadCount{record.bytes}.bytes() +
           record.bytes;
  }
};

/// Clears the words that two tiles may share, and the last word. Grid: as MeasureLevels.
struct ClearLevels : LevelKernel {
  static constexpr int kThreads = 32;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    const LevelTile tile(jobs, workspaces, layout, tiles[block.index()]);
    const Job& job = tile.job;
    if (job.n == 0) return;
    once(block, [&] {
      job.payload[tile.first_bit(tile.index) / 32] = 0;
      if (tile.index == 0) job.payload[job.findings->encoded / 4] = 0;
    });
  }
};

/// Writes a tile's records, or its slice of a record. Grid: as MeasureLevels.
struct WriteLevels : LevelKernel {
  static constexpr int kThreads = kLevelThreads;
  /// Maximum bits per element: a distance of 1, a sign and a level of seven bits. Greater distances
  /// need no more, because an element at distance g takes fewer bits than g elements at distance 1.
  static constexpr std::uint32_t kMaxBits = 1 + 1 + 13;
  /// Maximum bits of a bucket's step, number of bytes, number of levels, and padding.
  static constexpr std::uint32_t kMaxHead = 32 + 40 + 42 + 8;
  static constexpr std::uint32_t kWords = (kTile * kMaxBits + kMaxBuckets * kMaxHead) / 32 + 4;
  struct Shared {
    LevelMask mask;
    std::uint32_t words[kWords];
    std::uint32_t before[kMaxBuckets];  ///< bits of the tile's earlier slices
  };

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const LevelTile tile(jobs, workspaces, layout, tiles[block.index()]);
    const Job& job = tile.job;
    const LevelWorkspace& workspace = tile.workspace;
    const SliceCut& cut = tile.cut;
    if (job.n == 0) return;
    typename Block::template Local<TileLevels> codes;
    typename Block::template Local<std::uint32_t> bits;
    each_of(block, kWords, [&](std::uint32_t i) { shared.words[i] = 0; });
    take_levels(block, shared.mask, tile.job, layout, cut, tile.index, codes);
    block.each([&](int t) {
      bits[t] = 0;
      each_level(t, shared, tile, codes[t],
                 [&](const LevelPlace&, std::uint32_t distance, std::uint32_t code) {
                   bits[t] += bits_of(distance, code);
                 });
    });
    block.prefix(bits);
    block.each([&](int t) {
      // Finds where slices begin; a slice may begin at each of a thread's elements.
      std::uint32_t sum = bits[t];
      for (std::uint32_t j = 0; j < kLevelsEach; ++j) {
        const std::uint32_t element = static_cast<std::uint32_t>(t) * kLevelsEach + j;
        const LevelPlace place = LevelPlace::of(cut, tile.index, element);
        if (!place.exists) break;
        if (place.i == 0) shared.before[place.at] = sum;
        if (const std::uint32_t code = codes[t].codes[j]; code != 0)
          sum += bits_of(distance_of(shared, workspace, place, element), code);
      }
    });
    const std::uint64_t begin = tile.first_bit(tile.index);
    const std::uint64_t aligned = begin / 32 * 32;
    block.each([&](int t) {
      std::uint32_t sum = bits[t];
      each_level(t, shared, tile, codes[t],
                 [&](const LevelPlace& place, std::uint32_t distance, std::uint32_t code) {
                   const LevelRecord& record = workspace.records[place.slice / cut.each()];
                   const std::uint64_t codes_at =
                       record.codes() + workspace.runs[place.slice].all_bits() - aligned;
                   put(block, shared, codes_at + sum - shared.before[place.at], distance, code);
                   sum += bits_of(distance, code);
                 });
      put_head(block, shared, tile, aligned, t);
    });
    const bool last = tile.index + 1 == cut.tiles();
    const std::uint64_t end =
        last ? std::uint64_t{8} * job.findings->encoded : tile.first_bit(tile.index + 1);
    block.each([&](int t) {
      // The first and the last word may also contain bits of other tiles.
      const auto words = static_cast<std::uint32_t>((end - aligned + 31) / 32);
      for (auto i = static_cast<std::uint32_t>(t); i < words; i += kThreads) {
        std::uint32_t* const to = &job.payload[aligned / 32 + i];
        if (i == 0 || (i + 1 == words && end % 32 != 0)) {
          block.set_bits(to, shared.words[i]);
        } else {
          *to = shared.words[i];
        }
      }
    });
  }

 private:
  THINPIPE_KERNEL std::uint32_t bits_of(std::uint32_t distance, std::uint32_t code) const {
    return omega_bits(distance) + 1 + omega_bits(level_of(code));
  }
  THINPIPE_KERNEL static std::uint32_t distance_of(const Shared& shared,
                                                   const LevelWorkspace& workspace,
                                                   const LevelPlace& place, std::uint32_t element) {
    const std::uint32_t before = workspace.runs[place.slice].last;
    return place.passed + place.i + 1 -
           shared.mask.previous(element, place.first, place.passed, before);
  }
  /// Calls body(place, distance, code) for a thread's levels.
  THINPIPE_KERNEL static void each_level(int t, const Shared& shared, const LevelTile& tile,
                                         const TileLevels& codes, auto body) {
    for (std::uint32_t j = 0; j < kLevelsEach; ++j) {
      if (codes.codes[j] == 0) continue;
      const std::uint32_t element = static_cast<std::uint32_t>(t) * kLevelsEach + j;
      const LevelPlace place = LevelPlace::of(tile.cut, tile.index, element);
      body(place, distance_of(shared, tile.workspace, place, element), codes.codes[j]);
    }
  }
  THINPIPE_KERNEL void put(auto& block, Shared& shared, std::uint64_t bit, std::uint32_t distance,
                           std::uint32_t code) const {
    bit += put_omega(block, shared.words, bit, distance);
    lay(block, shared.words, bit, code >> (layout.bits - 1));
    put_omega(block, shared.words, bit + 1, level_of(code));
  }
  /// Writes the head of the bucket that begins with slice t of the tile, if any.
  THINPIPE_KERNEL void put_head(auto& block, Shared& shared, const LevelTile& tile,
                                std::uint64_t aligned, int t) const {
    const SliceCut& cut = tile.cut;
    const std::uint32_t slice = tile.index * cut.together() + static_cast<std::uint32_t>(t);
    if (static_cast<std::uint32_t>(t) >= cut.together() || slice >= cut.slices()) return;
    if (slice % cut.each() != 0) return;
    const LevelRecord record = tile.workspace.records[slice / cut.each()];
    const PackedLevels levels = PackedLevels::of(tile.job, layout, cut.bucket, slice / cut.each());
    const std::uint64_t bit = std::uint64_t{8} * record.begin - aligned;
    lay(block, shared.words, bit, std::bit_cast<std::uint32_t>(levels.step()));
    const PayloadCount bytes{record.bytes};
    lay(block, shared.words, bit + 32, static_cast<std::uint32_t>(bytes.code()));
    lay(block, shared.words, bit + 64, static_cast<std::uint32_t>(bytes.code() >> 32));
    put_omega(block, shared.words, bit + 32 + 8 * bytes.bytes(), record.count + 1);
  }
};

}  // namespace thinpipe::cuda
