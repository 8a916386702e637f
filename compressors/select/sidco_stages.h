// How many stages SIDCo uses, learned from how far the last selections were off.
#pragma once

#include <cstddef>

#include "compressors/wire/bytes.h"

namespace thinpipe {

/// SIDCo algorithm 1, function "adapt": after every Q compressions, with m the mean number
/// selected, one stage fewer when m > k (1 + eps), one more when m < k (1 - eps).
///
/// `climb`: where tails are heavier than exponential the rule goes the wrong way (more stages
/// select fewer, not more). Then its direction is reversed whenever the last move made |m - k|
/// larger, and whenever it wants to move past a bound, where it would stay for ever.
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
  static constexpr std::size_t kStateSize = 4 * sizeof(std::int32_t) + 2 * sizeof(double);
  void save(ByteWriter& out) const;
  void load(ByteReader& in);

 private:
  void adapt(double off, bool want_more, int most);

  Options options_;
  std::int32_t stages_ = 1;
  std::int32_t direction_ = 1;  ///< -1: the rule is reversed
  std::int32_t seen_ = 0;       ///< compressions since the last adaptation
  std::int32_t moved_ = 0;      ///< 1: the last adaptation changed the stages
  double sum_ = 0;              ///< of (count - k) / k since the last adaptation
  double last_off_ = 0;         ///< |mean| of these at the last adaptation
};

}  // namespace thinpipe
