// Lays down QSGD's buckets in Elias codes.
#pragma once

#include <bit>
#include <cstdint>

#include "compressors/cuda/kernels/level_stream.h"

namespace thinpipe::cuda {

/// View of one tile for kernels that write a tensor's levels.
struct LevelTile {
  Job job;
  LevelRoom room;
  PieceCut cut;
  std::uint32_t index;  ///< of the tile

  THINPIPE_KERNEL LevelTile(const Job* jobs, const LevelRoom* rooms, const CodeLayout& layout,
                            const Tile& tile)
      : job(jobs[tile.job]),
        room(rooms[tile.job]),
        cut(PieceCut::of(job.n, layout.bucket)),
        index(tile.index) {}

  /// The bit of the payload that the first piece of the tile, or of another, begins with.
  THINPIPE_KERNEL std::uint64_t first_bit(std::uint32_t tile) const {
    const std::uint32_t piece = tile * cut.together();
    const LevelRecord record = room.records[piece / cut.each()];
    if (piece % cut.each() == 0) return std::uint64_t{8} * record.begin;
    return record.codes() + room.runs[piece].all_bits();
  }
};

/// Measures the levels of every piece. Grid: PieceCut::tiles() of every tensor.
struct MeasureLevels {
  static constexpr int kThreads = kLevelThreads;
  struct Shared {
    LevelMask mask;
    std::uint32_t bits[kMostBuckets];
    std::uint32_t count[kMostBuckets];
    std::uint32_t from_end[kMostBuckets];  ///< how far before the piece's end the first is
    std::uint32_t last[kMostBuckets];
  };

  const Job* jobs;
  const Tile* tiles;
  const LevelRoom* rooms;
  CodeLayout layout;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const LevelTile tile(jobs, rooms, layout, tiles[block.index()]);
    const PieceCut& cut = tile.cut;
    typename Block::template Local<TileLevels> codes;
    block.each([&](int t) {
      if (static_cast<std::uint32_t>(t) >= kMostBuckets) return;
      shared.bits[t] = shared.count[t] = shared.from_end[t] = shared.last[t] = 0;
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
    block.each([&](int t) {
      const auto at = static_cast<std::uint32_t>(t);
      const std::uint32_t piece = tile.index * cut.together() + at;
      if (at >= cut.together() || piece >= cut.pieces()) return;
      const std::uint32_t passed = piece % cut.each() * kTile;
      tile.room.runs[piece] = {shared.bits[at], shared.count[at],
                               passed + (kTile - shared.from_end[at]) + 1, shared.last[at]};
    });
  }

 private:
  THINPIPE_KERNEL std::uint32_t level_of(std::uint32_t code) const {
    return code & ((std::uint32_t{1} << (layout.bits - 1)) - 1);
  }
};

/// Where records begin, and what comes before every piece in its bucket. All pieces in as many
/// parts as there are threads. Grid: a block a tensor.
struct JoinLevels {
  static constexpr int kThreads = kLevelThreads;
  struct Shared {
    LevelRun runs[kThreads];  ///< of a part's last bucket; then what comes before the part
    bool begins[kThreads];    ///< whether that begins in it
  };

  const Job* jobs;
  const LevelRoom* rooms;
  CodeLayout layout;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Job job = jobs[block.index()];
    const LevelRoom room = rooms[block.index()];
    const PieceCut cut = PieceCut::of(job.n, layout.bucket);
    const std::uint32_t pieces = cut.pieces();
    const auto begin_of = [&](int part) {
      return static_cast<std::uint32_t>(std::uint64_t{pieces} * static_cast<std::uint32_t>(part) /
                                        kThreads);
    };
    block.each([&](int t) {
      LevelRun run;
      bool begins = false;
      for (std::uint32_t piece = begin_of(t); piece < begin_of(t + 1); ++piece) {
        const bool first = piece % cut.each() == 0;
        run = first ? room.runs[piece] : run + room.runs[piece];
        begins = begins || first;
      }
      shared.runs[t] = run;
      shared.begins[t] = begins;
    });
    block.each([&](int t) {
      if (t != 0) return;
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
      for (std::uint32_t piece = begin_of(t); piece < begin_of(t + 1); ++piece) {
        if (piece % cut.each() == 0) before = {};
        const LevelRun all = before + room.runs[piece];
        room.runs[piece] = before;
        before = all;
        if (!ends(cut, piece, pieces)) continue;
        LevelRecord& record = room.records[piece / cut.each()];
        record.count = all.count;
        record.bytes =
            static_cast<std::uint32_t>((all.all_bits() + omega_bits(all.count + 1) + 7) / 8);
        bytes[t] += size_of(record);
      }
    });
    const std::uint32_t all = block.prefix(bytes);
    block.each([&](int t) {
      std::uint32_t begin = bytes[t];
      for (std::uint32_t piece = begin_of(t); piece < begin_of(t + 1); ++piece) {
        if (!ends(cut, piece, pieces)) continue;
        LevelRecord& record = room.records[piece / cut.each()];
        record.begin = begin;
        begin += size_of(record);
      }
      if (t == 0) job.findings->encoded = all;
    });
  }

 private:
  THINPIPE_KERNEL static bool ends(const PieceCut& cut, std::uint32_t piece, std::uint32_t pieces) {
    return (piece + 1) % cut.each() == 0 || piece + 1 == pieces;
  }
  THINPIPE_KERNEL static std::uint32_t size_of(const LevelRecord& record) {
    return static_cast<std::uint32_t>(sizeof(float)) + PayloadCount{record.bytes}.bytes() +
           record.bytes;
  }
};

/// Zeros in the words that two tiles may share, and the last. Grid: as MeasureLevels.
struct ClearLevels {
  static constexpr int kThreads = 32;
  struct Shared {};

  const Job* jobs;
  const Tile* tiles;
  const LevelRoom* rooms;
  CodeLayout layout;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const LevelTile tile(jobs, rooms, layout, tiles[block.index()]);
    const Job& job = tile.job;
    if (job.n == 0) return;
    block.each([&](int t) {
      if (t != 0) return;
      job.payload[tile.first_bit(tile.index) / 32] = 0;
      if (tile.index == 0) job.payload[job.findings->encoded / 4] = 0;
    });
  }
};

/// Writes a tile's records, or its part of one. Grid: as MeasureLevels.
struct WriteLevels {
  static constexpr int kThreads = kLevelThreads;
  /// A code of one distance, a sign and a level of seven bits; a distance of g takes fewer than g.
  static constexpr std::uint32_t kMostBits = 1 + 1 + 13;
  /// Besides, of a bucket: step, bytes, number, and what fills the last byte.
  static constexpr std::uint32_t kMostHead = 32 + 40 + 42 + 8;
  static constexpr std::uint32_t kWords = (kTile * kMostBits + kMostBuckets * kMostHead) / 32 + 4;
  struct Shared {
    LevelMask mask;
    std::uint32_t words[kWords];
    std::uint32_t before[kMostBuckets];  ///< bits of the tile before the piece
  };

  const Job* jobs;
  const Tile* tiles;
  const LevelRoom* rooms;
  CodeLayout layout;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const LevelTile tile(jobs, rooms, layout, tiles[block.index()]);
    const Job& job = tile.job;
    const LevelRoom& room = tile.room;
    const PieceCut& cut = tile.cut;
    if (job.n == 0) return;
    typename Block::template Local<TileLevels> codes;
    typename Block::template Local<std::uint32_t> bits;
    block.each([&](int t) {
      for (auto i = static_cast<std::uint32_t>(t); i < kWords; i += kThreads) shared.words[i] = 0;
    });
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
      // Where a piece begins; one may begin with each of a thread's elements.
      std::uint32_t sum = bits[t];
      for (std::uint32_t j = 0; j < kLevelsEach; ++j) {
        const std::uint32_t element = static_cast<std::uint32_t>(t) * kLevelsEach + j;
        const LevelPlace place = LevelPlace::of(cut, tile.index, element);
        if (!place.is_there) break;
        if (place.i == 0) shared.before[place.at] = sum;
        if (const std::uint32_t code = codes[t].codes[j]; code != 0)
          sum += bits_of(distance_of(shared, room, place, element), code);
      }
    });
    const std::uint64_t begin = tile.first_bit(tile.index);
    const std::uint64_t aligned = begin / 32 * 32;
    block.each([&](int t) {
      std::uint32_t sum = bits[t];
      each_level(t, shared, tile, codes[t],
                 [&](const LevelPlace& place, std::uint32_t distance, std::uint32_t code) {
                   const std::uint64_t codes_at = room.records[place.piece / cut.each()].codes() +
                                                  room.runs[place.piece].all_bits() - aligned;
                   put(block, shared, codes_at + sum - shared.before[place.at], distance, code);
                   sum += bits_of(distance, code);
                 });
      put_head(block, shared, tile, aligned, t);
    });
    const bool last = tile.index + 1 == cut.tiles();
    const std::uint64_t end =
        last ? std::uint64_t{8} * job.findings->encoded : tile.first_bit(tile.index + 1);
    block.each([&](int t) {
      // The words in which the tile begins and ends have others' bits as well.
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
  THINPIPE_KERNEL std::uint32_t level_of(std::uint32_t code) const {
    return code & ((std::uint32_t{1} << (layout.bits - 1)) - 1);
  }
  THINPIPE_KERNEL std::uint32_t bits_of(std::uint32_t distance, std::uint32_t code) const {
    return omega_bits(distance) + 1 + omega_bits(level_of(code));
  }
  THINPIPE_KERNEL static std::uint32_t distance_of(const Shared& shared, const LevelRoom& room,
                                                   const LevelPlace& place, std::uint32_t element) {
    const std::uint32_t before = room.runs[place.piece].last;
    return place.passed + place.i + 1 -
           shared.mask.previous(element, place.first, place.passed, before);
  }
  /// Calls body(place, distance, code) for a thread's levels.
  template <class Body>
  THINPIPE_KERNEL static void each_level(int t, const Shared& shared, const LevelTile& tile,
                                         const TileLevels& codes, Body body) {
    for (std::uint32_t j = 0; j < kLevelsEach; ++j) {
      if (codes.codes[j] == 0) continue;
      const std::uint32_t element = static_cast<std::uint32_t>(t) * kLevelsEach + j;
      const LevelPlace place = LevelPlace::of(tile.cut, tile.index, element);
      body(place, distance_of(shared, tile.room, place, element), codes.codes[j]);
    }
  }
  template <class Block>
  THINPIPE_KERNEL void put(Block& block, Shared& shared, std::uint64_t bit, std::uint32_t distance,
                           std::uint32_t code) const {
    bit += put_omega(block, shared.words, bit, distance);
    lay(block, shared.words, bit, code >> (layout.bits - 1));
    put_omega(block, shared.words, bit + 1, level_of(code));
  }
  /// Writes the head of the bucket that begins with the tile's t-th piece, if one does.
  template <class Block>
  THINPIPE_KERNEL void put_head(Block& block, Shared& shared, const LevelTile& tile,
                                std::uint64_t aligned, int t) const {
    const PieceCut& cut = tile.cut;
    const std::uint32_t piece = tile.index * cut.together() + static_cast<std::uint32_t>(t);
    if (static_cast<std::uint32_t>(t) >= cut.together() || piece >= cut.pieces()) return;
    if (piece % cut.each() != 0) return;
    const LevelRecord record = tile.room.records[piece / cut.each()];
    const PackedLevels levels = PackedLevels::of(tile.job, layout, cut.bucket, piece / cut.each());
    const std::uint64_t bit = std::uint64_t{8} * record.begin - aligned;
    lay(block, shared.words, bit, std::bit_cast<std::uint32_t>(levels.step()));
    const PayloadCount bytes{record.bytes};
    lay(block, shared.words, bit + 32, static_cast<std::uint32_t>(bytes.code()));
    lay(block, shared.words, bit + 64, static_cast<std::uint32_t>(bytes.code() >> 32));
    put_omega(block, shared.words, bit + 32 + 8 * bytes.bytes(), record.count + 1);
  }
};

}  // namespace thinpipe::cuda
