// How many stages SIDCo uses, learned from how far the last selections were off.
#pragma once

#include <cstddef>

#include "compressors/wire/bytes.h"

namespace thinpipe {

/// SIDCo algorithm 1, function "adapt": after every Q compressions, with m the mean number
/// selected, one stage fewer when m > k (1 + eps), one more when m < k (1 - eps).
///
/// `climb`: where tails are heavier than exponential the rule goes the wrong way (more stages
/// select fewer, not more). Then its direction is reversed when a move made |m - k| larger, and
/// when it wants to move past a bound, where it would stay for ever. With a residual, whose large
/// values are sent soon and so are missing, the rule goes the right way, but m takes many
/// compressions to follow a move: what was held back comes all at once, far past k. So
///  - a move that takes m past k was in the right direction, however far m then is;
///  - m must be eps k / 2 farther for a move to have made it worse, and nearer by as much for one
///    in the reversed direction to have made it better: else the rule's own direction holds again;
///  - at a bound the direction is reversed the fourth time only.
class SidcoStages {
 public:
  struct Options {
    int every = 5;
    double tolerance = 0.2;
    bool climb = false;
  };
  explicit SidcoStages(const Options& options) : options_(options) {}

  /// Stages for the next compression, 1 ... most.
  int stages(int most) const;
  /// Notes a compression that selected `count` of a target of k, with at most `most` stages.
  void note(std::size_t count, std::size_t k, int most);

  void reset();
  static constexpr std::size_t kStateSize = 5 * sizeof(std::int32_t) + 2 * sizeof(double);
  void save(ByteWriter& out) const;
  void load(ByteReader& in);

 private:
  void climb(double mean);
  void move(bool more, int most);

  Options options_;
  std::int32_t stages_ = 1;
  std::int32_t direction_ = 1;  ///< -1: the rule is reversed
  std::int32_t seen_ = 0;       ///< compressions since the last adaptation
  std::int32_t moved_ = 0;  ///< the last adaptation's move was for more (1) or fewer (-1) or none
  std::int32_t held_ = 0;   ///< adaptations in a row that a bound held back
  double sum_ = 0;          ///< of (count - k) / k since the last adaptation
  double last_ = 0;         ///< mean of these at the last adaptation
};

}  // namespace thinpipe
