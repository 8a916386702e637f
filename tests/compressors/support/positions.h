// Lists of positions, running a codec over them, and bit streams written one bit at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compressors/encode/position_codec.h"
#include "compressors/kernels/random.h"
#include "tests/base/support.h"

namespace thinpipe::testing {

using Positions = std::vector<std::uint32_t>;

inline Positions random_positions(std::size_t count, std::size_t elements, std::uint64_t seed) {
  SplitMix64 random(seed);
  std::set<std::uint32_t> chosen;
  while (chosen.size() < count) {
    chosen.insert(static_cast<std::uint32_t>(random.below(elements)));
  }
  return {chosen.begin(), chosen.end()};
}

/// Each of `elements` elements with probability `density`.
inline Positions positions_at(double density, std::size_t elements, std::uint64_t seed) {
  SplitMix64 random(seed);
  Positions positions;
  for (std::uint32_t i = 0; i < elements; ++i) {
    if (static_cast<double>(random.next()) < density * 0x1p64) positions.push_back(i);
  }
  return positions;
}

struct PositionCase {
  Positions positions;
  std::size_t elements;
  std::string name() const {
    return std::to_string(positions.size()) + " of " + std::to_string(elements);
  }
};

/// None and all, few and many, gaps of every magnitude, tensors up to `most_elements`.
inline std::vector<PositionCase> position_cases(std::size_t most_elements = 4294967295U) {
  std::vector<PositionCase> all = {{{}, 0},
                                   {{}, 10},
                                   {{0}, 1},
                                   {{9}, 10},
                                   {{0, 1, 2, 3, 4}, 5},
                                   {{65534}, 70000},
                                   {{65535}, 70000},
                                   {{65536, 65537, 131073, 131074}, 200000},
                                   {{0, 65536, 131072, 268435455U}, 268435456U},
                                   {{0, 65536, 131072, 4294967294U}, 4294967295U},
                                   {{4294967294U}, 4294967295U}};
  for (std::size_t count : {1UL, 10UL, 100UL, 1000UL, 2000UL}) {
    all.push_back({random_positions(count, 2000, count), 2000});
    all.push_back({random_positions(count, 1000000, count), 1000000});
  }
  for (double density : {0.9, 0.5, 0.1, 0.01, 0.001}) {
    all.push_back({positions_at(density, 100003, 3), 100003});
  }
  // A dense half, then one long gap and a sparse rest: codes far from the length expected.
  Positions mixed = positions_at(0.5, 20000, 4);
  for (std::uint32_t position : positions_at(0.001, 1000000, 5)) {
    mixed.push_back(3000000 + position);
  }
  all.push_back({mixed, 4000000});
  std::erase_if(all, [&](const PositionCase& test) { return test.elements > most_elements; });
  return all;
}

inline std::vector<std::byte> encode(const PositionCodec& codec, const Positions& positions,
                                     std::size_t elements) {
  std::vector<std::byte> bytes(codec.max_size(positions.size(), elements));
  ByteWriter out(bytes);
  codec.encode(positions, elements, out);
  bytes.resize(out.size());
  return bytes;
}

inline Positions decode(const PositionCodec& codec, std::span<const std::byte> bytes,
                        std::size_t count, std::size_t elements) {
  PositionCursor cursor = codec.start(ByteReader(bytes), count, elements);
  Positions positions(count);
  // In ranges, as a pipeline decodes in blocks.
  const std::span<std::uint32_t> all(positions);
  codec.decode(cursor, all.first(count / 3));
  codec.decode(cursor, all.subspan(count / 3, count / 5));
  codec.decode(cursor, all.subspan(count / 3 + count / 5));
  codec.finish(cursor);
  return positions;
}

inline void expect_refused(const PositionCodec& codec, std::initializer_list<int> bytes,
                           std::size_t count, std::size_t elements) {
  EXPECT_THROW(decode(codec, bytes_of(bytes), count, elements), PayloadError);
}

/// A bit stream as wire-format.md describes it, bit by bit.
class SlowBits {
 public:
  void bit(bool one) {
    if (used_ % 8 == 0) bytes_.push_back(std::byte{0});
    if (one) bytes_.back() |= std::byte{1} << (used_ % 8);
    ++used_;
  }
  /// `count` bits of `value`, lowest first.
  void number(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bit((value >> i) % 2 == 1);
  }
  void zeros_and_one(std::uint64_t zeros) {
    for (; zeros > 0; --zeros) bit(false);
    bit(true);
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::uint64_t used_ = 0;
};

/// Distances to the position before, the first one's to -1.
inline std::vector<std::uint64_t> gaps_of(const Positions& positions) {
  std::vector<std::uint64_t> gaps;
  std::int64_t before = -1;
  for (std::uint32_t position : positions) {
    gaps.push_back(static_cast<std::uint64_t>(std::int64_t{position} - before));
    before = position;
  }
  return gaps;
}

}  // namespace thinpipe::testing
