// The link rate at which a compressor's step takes as long as the uncompressed one.
#pragma once

#include <optional>
#include <span>

#include "reports/statistics/interval.h"

namespace thinpipe {

/// Speed-up over no compression at one measured link rate.
struct SpeedupAtRate {
  double rate = 0;   ///< bit/s
  Estimate speedup;  ///< step time of `none` over the compressor's
};

/// Whether compression pays at a rate, as far as its interval tells.
enum class Pays {
  kYes,   ///< the interval lies above 1
  kNo,    ///< not above 1
  kOpen,  ///< it holds both: cannot be told
};
/// An estimate without an interval tells by its value.
Pays pays(const Estimate& speedup);

struct BreakEven {
  enum class Kind {
    kNothingMeasured,
    kPaysEverywhere,  ///< faster than `none` at every measured rate, and surely so
    kPaysNowhere,     ///< likewise not faster
    kOpen,            ///< at some rates it cannot be told, and nowhere does it turn about
    kPaysBelow,       ///< pays up to `rate`
    kPaysAbove,       ///< pays only from `rate` on
  };
  Kind kind = Kind::kNothingMeasured;
  double rate = 0;            ///< bit/s; for kPaysBelow and kPaysAbove
  std::optional<double> low;  ///< where the lower ends of the intervals cross 1
  std::optional<double> high;
  int crossings = 0;  ///< more than 1: the curve crosses 1 several times; `rate` is the highest
};

/// The rule: between two neighbouring measured rates ln(speed-up) is taken as linear in ln(rate),
/// and the break-even rate is where that line is 0. Of several crossings from paying to not paying
/// the one at the highest rate counts. Nothing is extrapolated beyond the measured rates.
/// `low` and `high` are the same crossing of the curves of the intervals' lower and upper ends,
/// where those cross. Where no interval lies on one side of 1, nothing is said to cross: kOpen.
/// `points` ascend in rate; a speed-up of exactly 1 does not pay.
BreakEven break_even(std::span<const SpeedupAtRate> points);

}  // namespace thinpipe
