// Distinct random positions that sender and receiver draw alike.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "compressors/encode/position_codec.h"
#include "compressors/kernels/buffer.h"
#include "compressors/random.h"

namespace thinpipe {

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
  /// Of the next numbers, sets the bits that lie in words [begin, end). @returns how many were not.
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

}  // namespace thinpipe
